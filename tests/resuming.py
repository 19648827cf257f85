"""A soak that was stopped goes on where it was: tests that passed with the same sources are not run again.

What passed is written down as it passes, one test a line: its name, behind a hash of what it has run with. That is the
package, the locked versions, and the file of the test with all that it imports from other tests. An edit of a test thus
begins that one anew, and an edit of the package all of them.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
LOG = ROOT / "build" / "soak" / "passed.txt"
IMPORTED = re.compile(r"^\s*(?:from|import) (tests(?:\.\w+)*)(?: import \(?([\w, ]*))?", re.MULTILINE)


def digest(root: Path, files: Iterable[Path]) -> str:
    """A hash of the names and contents of files."""
    found = hashlib.sha256()
    for path in sorted(files):
        found.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes() + b"\0")
    return found.hexdigest()[:16]


class Sources:
    """What the tests below a folder run with."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._package = digest(root, [*(root / "src").rglob("*.py"), root / "requirements.lock"])
        self.of = cache(self._of)

    def _of(self, file: str) -> str:
        """A hash of the package, of a file of tests, and of what it imports from others."""
        return f"{self._package}-{digest(self.root, self.closure(self.root / file))}"

    def closure(self, file: Path) -> set[Path]:
        """A file of tests and all that it imports from others, directly or not, with the settings of its folders."""
        found, rest = set[Path](), [file]
        while rest:
            path = rest.pop()
            if path not in found and path.exists():
                found.add(path)
                rest += self._imports(path.read_text(encoding="utf-8"))
        return found | {folder / "conftest.py" for folder in file.parents if (folder / "conftest.py").exists()}

    def _imports(self, text: str) -> Iterator[Path]:
        for module, names in IMPORTED.findall(text):
            folder = self.root.joinpath(*module.split("."))
            yield folder.with_suffix(".py")
            yield from (folder / f"{name.strip()}.py" for name in names.split(",") if name.strip())


class Resuming:
    """Leaves out what has passed, and writes down what passes; workers are told by the process that started them."""

    def __init__(self, config: pytest.Config, path: Path, sources: Sources) -> None:
        self.path = path
        self.sources = sources
        told: list[str] | None = getattr(config, "workerinput", {}).get("passed")
        self._is_worker = told is not None
        self._passed = set(told if told is not None else self._read())

    def _read(self) -> list[str]:
        return self.path.read_text().splitlines() if self.path.exists() else []

    def _line(self, nodeid: str) -> str:
        return f"{self.sources.of(nodeid.split('::')[0])} {nodeid}"

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker, also one that takes the place of another, what had passed when the run began."""
        node.workerinput["passed"] = sorted(self._passed)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Leave out what has passed."""
        done = {item for item in items if self._line(item.nodeid) in self._passed}
        items[:] = [item for item in items if item not in done]
        config.hook.pytest_deselected(items=list(done))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write down what passes."""
        if report.when == "call" and report.passed and not self._is_worker:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a") as file:
                file.write(f"{self._line(report.nodeid)}\n")

    def pytest_report_header(self) -> str:
        """Say where it is written what is left out."""
        return f"soak: what {self.path.name} says to have passed with these sources is left out"
