"""Toy runs of benchmarks, each made once, when a test first asks for it.

A test says with `@pytest.mark.toy(name, …)` which benchmarks it looks at, and is given the rows of these as `runs`.
`make test` runs one benchmark of each paper and room, `CHOSEN`; a test that looks at any other is for `make soak`.
"""

import fcntl
import os
import pickle
from pathlib import Path

import pytest

from skyband.bench import BENCHMARKS, Row
from tests.bench.chosen import CHOSEN, asked_for, starts_spark


class Runs(dict[str, list[Row]]):
    """The rows of each benchmark at toy size, kept in a folder that all processes of a test run share."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder
        folder.mkdir(exist_ok=True)

    def __missing__(self, name: str) -> list[Row]:
        path = self.folder / name
        with path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not path.exists():
                path.write_bytes(pickle.dumps(BENCHMARKS[name].run("toy", lambda said: None)))
        self[name] = pickle.loads(path.read_bytes())
        return self[name]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave what looks at other benchmarks than the chosen ones to the soak, and those that start Spark to its run."""
    for item in items:
        asked = asked_for(item)
        if not CHOSEN.issuperset(asked):
            item.add_marker("soak")
        if any(starts_spark(name) for name in asked):
            item.add_marker("spark")


@pytest.fixture(scope="session")
def all_runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Row]]:
    """The rows of every benchmark, made when they are asked for."""
    base = tmp_path_factory.getbasetemp()
    return Runs((base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "runs")


@pytest.fixture
def runs(request: pytest.FixtureRequest, all_runs: dict[str, list[Row]]) -> dict[str, list[Row]]:
    """The rows of the benchmarks that a test has said it looks at."""
    return {name: all_runs[name] for name in asked_for(request.node)}
