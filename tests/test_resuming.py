"""A soak that is stopped and started again runs what is left."""

import os
import subprocess
import sys
from pathlib import Path

from tests.resuming import ROOT, Sources

CONFTEST = """
from pathlib import Path
from tests.resuming import Resuming, Sources

def pytest_configure(config):
    here = Path(__file__).parent
    config.pluginmanager.register(Resuming(config, here / "passed.txt", Sources(here)), "resuming")
"""
TESTS = """
from pathlib import Path
import pytest

@pytest.mark.parametrize("i", range(6))
def test_it(i):
    assert i != 4 or Path(__file__).with_name("mended").exists()
"""


def _run(folder: Path, *options: str) -> str:
    command = [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "--rootdir", str(folder), *options, str(folder)]
    found = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    return found.stdout


def _tree(folder: Path, **texts: str) -> Path:
    """A package of one file, and tests with these texts."""
    (folder / "src").mkdir()
    (folder / "src" / "one.py").write_text("1")
    (folder / "requirements.lock").write_text("")
    (folder / "tests" / "room").mkdir(parents=True)
    for name, text in texts.items():
        (folder / "tests" / "room" / f"{name}.py").write_text(text)
    return folder


def test_what_has_passed_is_not_run_again(tmp_path: Path) -> None:
    _tree(tmp_path)
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_six.py").write_text(TESTS)
    assert "1 failed, 5 passed" in _run(tmp_path, "-n", "2")
    (tmp_path / "mended").touch()
    assert "1 passed" in _run(tmp_path, "-n", "2")
    assert "6 deselected" in _run(tmp_path, "-n", "0")
    (tmp_path / "src" / "one.py").write_text("2")
    assert "6 passed" in _run(tmp_path, "-n", "0")


def test_an_edit_begins_anew_what_it_is_a_part_of(tmp_path: Path) -> None:
    room = (
        _tree(
            tmp_path,
            test_a="from tests.room.shared import (\n    it,\n)",
            test_b="from tests.room import shared, other",
            test_c="import os",
            shared="from tests.room.deep import it",
            deep="",
            other="",
        )
        / "tests"
        / "room"
    )
    names = [f"tests/room/test_{name}.py" for name in "abc"]

    def changed_by(path: Path) -> list[str]:
        before = [Sources(tmp_path).of(name) for name in names]
        path.write_text("# edited")
        return [name[-4] for name, old in zip(names, before, strict=True) if Sources(tmp_path).of(name) != old]

    assert changed_by(room / "deep.py") == ["a", "b"]
    assert changed_by(room / "other.py") == ["b"]
    assert changed_by(room / "test_c.py") == ["c"]
    assert changed_by(room / "conftest.py") == ["a", "b", "c"]
    assert changed_by(tmp_path / "src" / "one.py") == ["a", "b", "c"]
    assert changed_by(tmp_path / "requirements.lock") == ["a", "b", "c"]
