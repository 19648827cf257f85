"""Vendored files: each is the one that the list names, and a changed one is noticed."""

import shutil
from pathlib import Path

import pytest

from skyband.server.console.vendored import CONSOLE, VendoredFolder
from tests.server.axe import AXE

FOLDERS = {"console": CONSOLE, "tests": AXE}


@pytest.mark.parametrize("name", FOLDERS)
def test_the_files_are_those_of_the_list(name: str) -> None:
    assert FOLDERS[name].differences() == ()


@pytest.mark.parametrize("name", FOLDERS)
def test_every_file_comes_with_a_version_and_a_licence(name: str) -> None:
    files = FOLDERS[name].files()
    for file in files:
        assert file.version[0].isdigit()
        assert file.licence
        assert len(file.sha256) == 64
    packages = {file.package for file in files}
    assert packages == {file.package for file in files if file.path == "LICENSE"}


def test_what_differs_is_told(tmp_path: Path) -> None:
    shutil.copytree(CONSOLE.folder, tmp_path, dirs_exist_ok=True)
    (tmp_path / "uplot.js").write_text("something else")
    (tmp_path / "land.json").unlink()
    (tmp_path / "more.js").write_text("")
    assert VendoredFolder(CONSOLE.list, tmp_path).differences() == (
        "more.js is not in the list.",
        "land.json is missing.",
        "uplot.js is not the file that the list has the hash of.",
    )
