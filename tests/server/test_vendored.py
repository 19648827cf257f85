"""Vendored files: each is the one that the list names, and a changed one is noticed."""

import shutil
from pathlib import Path

import pytest

from skyband.server.console import vendored


def test_the_files_are_those_of_the_list() -> None:
    assert vendored.differences() == []


def test_every_file_comes_with_a_version_and_a_licence() -> None:
    for file in vendored.listed():
        assert file.version[0].isdigit()
        assert file.licence
        assert len(file.sha256) == 64
    packages = {file.package for file in vendored.listed()}
    assert packages == {file.package for file in vendored.listed() if file.path == "LICENSE"}


def test_what_differs_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(vendored.FOLDER, tmp_path, dirs_exist_ok=True)
    monkeypatch.setattr(vendored, "FOLDER", tmp_path)
    (tmp_path / "uplot.js").write_text("something else")
    (tmp_path / "land.json").unlink()
    (tmp_path / "more.js").write_text("")
    assert vendored.differences() == [
        "more.js is not in the list.",
        "land.json is missing.",
        "uplot.js is not the file that the list has the hash of.",
    ]
