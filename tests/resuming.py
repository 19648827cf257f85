"""A soak that was stopped goes on where it was: tests that passed with the same sources are not run again.

What passed is written down as it passes, one name a line, in a file that is named by a hash of all sources. Any edit
begins a new one.
"""

import hashlib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build" / "soak"
SOURCES = ("src", "tests", "requirements.lock")


def sources_digest(root: Path) -> str:
    """A hash of the package, its tests and what they run with."""
    digest = hashlib.sha256()
    for name in SOURCES:
        files = sorted((root / name).rglob("*.py")) if (root / name).is_dir() else [root / name]
        for path in files:
            digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


class Resuming:
    """Leaves out what has passed, and writes down what passes; workers are told by the process that started them."""

    def __init__(self, config: pytest.Config, path: Path) -> None:
        self.path = path
        told: list[str] | None = getattr(config, "workerinput", {}).get("passed")
        self._is_worker = told is not None
        self.passed = set(told if told is not None else self._read())

    def _read(self) -> list[str]:
        return self.path.read_text().splitlines() if self.path.exists() else []

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker, also one that takes the place of another, what had passed when the run began."""
        node.workerinput["passed"] = sorted(self.passed)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Leave out what has passed."""
        done = [item for item in items if item.nodeid in self.passed]
        items[:] = [item for item in items if item.nodeid not in self.passed]
        config.hook.pytest_deselected(items=done)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write down what passes."""
        if report.when == "call" and report.passed and not self._is_worker:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a") as file:
                file.write(f"{report.nodeid}\n")

    def pytest_report_header(self) -> str:
        """Say how much is left out."""
        return f"soak: {len(self.passed)} tests have passed already with these sources"
