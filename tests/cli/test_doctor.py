"""`skyband doctor`: what it finds, and when it fails."""

import io
import re
import subprocess
import tomllib
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from skyband.cli import check
from tests.cli.calling import call, document

ROOT = Path(__file__).resolve().parents[2]


def test_this_machine_is_fit() -> None:
    done = call("doctor")
    assert done.exit_code == 0
    assert re.search(r"^kernels +ok +compiled, and their answers are the oracle's$", done.stdout, re.MULTILINE)
    said = document("doctor")
    assert {finding["state"] for finding in said} <= {"ok", "warning"}
    assert all(bool(finding["mend"]) == (finding["state"] != "ok") for finding in said)


def test_every_dependency_is_looked_for() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    assert [re.match(r"[a-z]+", need)[0] for need in project["dependencies"]] == list(check.PACKAGES)  # type: ignore[index]  # every requirement begins with a name


def test_a_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        if name in ("rich", "pandas"):
            raise PackageNotFoundError
        return "1.0"

    monkeypatch.setattr(check, "version", version)
    found = {finding.what: finding for finding in check.check_packages()}
    assert (found["rich"].state, found["pandas"].state, found["click"].state) == ("lacking", "warning", "ok")
    done = call("doctor")
    assert done.exit_code == 1
    assert done.stderr == "Error: This machine lacks rich.\n"


def test_wrong_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "_changes", lambda engine: [{"engine": engine}])
    assert [finding.state for finding in check.check_kernels()][-1] == "lacking"

    def fail(engine: str) -> None:
        raise RuntimeError("no compiler")

    monkeypatch.setattr(check, "_changes", fail)
    assert [finding.found for finding in check.check_kernels()][-1] == "RuntimeError: no compiler"


def test_java(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr("shutil.which", lambda name: None)
    [finding] = check.check_java()
    assert (finding.state, "Spark" in finding.mend) == ("warning", True)
    monkeypatch.setenv("JAVA_HOME", "nowhere")
    assert next(check.check_java()).state == "warning"
    answer = subprocess.CompletedProcess([], 0, "", 'openjdk version "21"\nmore\n')
    monkeypatch.setattr("subprocess.run", lambda *_, **__: answer)
    assert next(check.check_java()).found == 'openjdk version "21"'


def test_cache_memory_and_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skyband.kernels.compile.CACHE", None)
    [finding] = check.check_cache()
    assert (finding.state, "SKYBAND_CACHE_DIR" in finding.mend) == ("warning", True)
    monkeypatch.setattr(check, "GIB", 2**60)
    assert [finding.state for finding in check.check_machine()] == ["ok", "warning"]
    monkeypatch.setattr(check, "_changes", lambda engine: [])
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert [finding.state for finding in check.check_kernels()] == ["warning", "ok"]


def test_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    for encoding, state in (("utf-8", "ok"), ("latin-1", "warning")):
        stream = io.TextIOWrapper(io.BytesIO(), encoding)
        monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
        monkeypatch.setattr("sys.stdout", stream)
        assert next(check.check_terminal()).state == state
