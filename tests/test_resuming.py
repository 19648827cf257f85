"""A soak that is stopped and started again runs what is left."""

import os
import subprocess
import sys
from pathlib import Path

from tests.resuming import ROOT, sources_digest

CONFTEST = """
from pathlib import Path
from tests.resuming import Resuming

def pytest_configure(config):
    config.pluginmanager.register(Resuming(config, Path(__file__).parent / "passed.txt"), "resuming")
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


def test_what_has_passed_is_not_run_again(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_six.py").write_text(TESTS)
    assert "1 failed, 5 passed" in _run(tmp_path, "-n", "2")
    (tmp_path / "mended").touch()
    assert "1 passed" in _run(tmp_path, "-n", "2")
    assert "6 deselected" in _run(tmp_path, "-n", "0")


def test_an_edit_begins_anew(tmp_path: Path) -> None:
    for name in ("src", "tests"):
        (tmp_path / name).mkdir()
    (tmp_path / "requirements.lock").write_text("")
    (tmp_path / "src" / "one.py").write_text("1")
    before = sources_digest(tmp_path)
    (tmp_path / "src" / "one.py").write_text("2")
    assert sources_digest(tmp_path) != before
    assert len(sources_digest(tmp_path)) == 16
