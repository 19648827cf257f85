"""Where a number comes from."""

import json
import platform
import subprocess
from pathlib import Path
from typing import Any

import pytest

import skyband
from skyband.bench import machine


def test_provenance_says_where_a_row_comes_from() -> None:
    found = machine.provenance()
    assert found["at"].utcoffset().total_seconds() == 0
    assert set(found["machine"]) == {"cores", "memory", "processor"}
    assert set(found["versions"]) == {"python", "numpy", "numba", "pyarrow", "skyband", "kernels"}
    assert found["commit"]


def test_provenance_names_no_host() -> None:
    found = machine.provenance()
    said = json.dumps([found["machine"], found["versions"], found["commit"]])
    assert not platform.node() or f'"{platform.node()}"' not in said


def test_outside_of_a_checkout_the_version_stands_for_the_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any, **options: Any) -> None:
        raise subprocess.CalledProcessError(128, "git")

    monkeypatch.setattr(subprocess, "run", fail)
    assert machine.commit() == skyband.__version__


def test_processor_is_the_model_name_where_there_is_one(tmp_path: Path) -> None:
    listing = tmp_path / "cpuinfo"
    listing.write_text("processor\t: 0\nmodel name\t: Fast 9000\n")
    assert machine.processor(listing) == "Fast 9000"
    assert machine.processor(tmp_path / "absent") == (platform.processor() or platform.machine())


def test_a_package_that_is_not_installed_has_an_unknown_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "PACKAGES", ("no-such-package",))
    assert machine.versions()["no-such-package"] == "unknown"
