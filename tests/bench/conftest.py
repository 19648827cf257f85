"""Toy runs of benchmarks, each made once, when a test first asks for it."""

import pytest

from skyband.bench import BENCHMARKS, Row


class Runs(dict[str, list[Row]]):
    """The rows of each benchmark at toy size."""

    def __missing__(self, name: str) -> list[Row]:
        self[name] = BENCHMARKS[name].run("toy", lambda said: None)
        return self[name]


@pytest.fixture(scope="session")
def runs() -> dict[str, list[Row]]:
    return Runs()
