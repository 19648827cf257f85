"""Toy runs of benchmarks, each made once, when a test first asks for it."""

import fcntl
import os
import pickle
from pathlib import Path

import pytest

from skyband.bench import BENCHMARKS, Row


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


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Row]]:
    base = tmp_path_factory.getbasetemp()
    return Runs((base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "runs")
