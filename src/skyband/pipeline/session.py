"""The Spark session of the pipeline: started with a Java that fits and settings that suit micro-batches.

Spark is imported when a session is opened, so this module can be imported where Spark is not installed.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import os
import re
import signal
import subprocess
import sys
import threading
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from skyband.pipeline.java import (
    Archive,
    Java,
    class_archive,
    find_java,
    folder_for_files,
    launcher_home,
    make_archive_later,
)
from skyband.table.write import replacing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark import SparkContext
    from pyspark.sql import SparkSession

INSTALL = 'Run: pip install "skyband[spark]"'
OLDEST, TOO_NEW = (4, 2), (5,)
STREAMING = "spark.sql.streaming"
STATE = f"{STREAMING}.stateStore"

DEFAULTS = {
    "spark.driver.memory": "2g",
    # Takes less memory than Java's own choice.
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC",
    "spark.log.level": "ERROR",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # A stream runs thousands of small jobs: keep no more of them in memory than an error would be looked for in.
    "spark.ui.retainedJobs": "50",
    "spark.ui.retainedStages": "50",
    "spark.ui.retainedTasks": "1000",
    "spark.sql.ui.retainedExecutions": "50",
    # Jobs are small: many partitions, and plans that adapt, cost them more than they bring.
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.locality.wait": "0",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # Rather an error than a slow conversion, row by row.
    "spark.sql.execution.arrow.pyspark.fallback.enabled": "false",
    "spark.python.worker.reuse": "true",
    # Unix sockets are quicker for tiny batches, and slower for large ones.
    "spark.python.unix.domain.socket.enabled": "false",
    # Quicker than the default for the small files of each micro-batch.
    f"{STREAMING}.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    # A query that is told to stop ends the micro-batch it is in, however long that takes.
    f"{STREAMING}.stopTimeout": "0",
    f"{STATE}.providerClass": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    f"{STATE}.rocksdb.changelogCheckpointing.enabled": "true",
}
# A session on one machine listens to nobody else.
LOCAL = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}

# The last logger is Spark's own for programs in Python: left alone, it says on the console that it changes the level.
LOGGING = """\
status = error
rootLogger.level = error
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{yyyy-MM-dd HH:mm:ss} %p %c{1}: %m%n%ex
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = error
"""


class NoSpark(ValueError):
    """Spark is not installed, does not fit, or did not start."""


class OtherSession(ValueError):
    """A Spark session with other settings runs in this process."""


class _Started(NamedTuple):
    """The session of this process, and the Java process that it was started with."""

    session: SparkSession
    settings: Mapping[str, str]
    java: Java
    archive: Archive | None
    class_path: str


_started: _Started | None = None
_lock = threading.Lock()


def open_session(
    *,
    master: str = "local[*]",
    name: str = "skyband",
    options: Mapping[str, str] = {},
    packages: Sequence[str] = (),
    jars: Sequence[Path] = (),
) -> SparkSession:
    """A running Spark session with the pipeline's settings, which `options` override.

    A process has one session: asked again for the same settings it returns the one that runs.
    """
    global _started
    settings = session_settings(master, options, packages, jars)
    require_spark()
    from pyspark import SparkContext

    with _lock:
        context = SparkContext._active_spark_context
        if context is not None:
            return _running(settings, context)
        if _started is not None and _started.settings == settings:
            _started = _started._replace(session=_create(settings, name))
            return _started.session
        # What Spark was told when its Java process started would hold for the next session too.
        _end_java()
        return _start(settings, name)


def session_settings(
    master: str, options: Mapping[str, str], packages: Sequence[str] = (), jars: Sequence[Path] = ()
) -> dict[str, str]:
    """All settings of a session, given ones above our own."""
    is_local = master == "local" or master.startswith("local[")
    settings = DEFAULTS | (LOCAL if is_local else {}) | dict(options) | {"spark.master": master}
    for key, more in (("spark.jars.packages", packages), ("spark.jars", jars)):
        both = [*filter(None, settings.get(key, "").split(",")), *map(str, more)]
        if both:
            settings[key] = ",".join(dict.fromkeys(both))
    return settings


def require_spark() -> str:
    """The version of Spark that is installed; NoSpark is raised if there is none, or one that does not fit the rest."""
    for package in ("pyspark", "pandas"):
        if importlib.util.find_spec(package) is None:
            raise NoSpark(f"The pipeline needs {package}, which is not installed. {INSTALL}")
    spark, pandas = version("pyspark"), version("pandas")
    if not OLDEST <= _numbers(spark) < TOO_NEW:
        oldest, too_new = (".".join(map(str, numbers)) for numbers in (OLDEST, TOO_NEW))
        raise NoSpark(f"The pipeline needs Spark {oldest} or newer, and below {too_new}; here is {spark}. {INSTALL}")
    if _numbers(pandas) >= (3,):
        raise NoSpark(f"Spark does not work with pandas {pandas} yet. Run: pip install 'pandas<3'")
    return spark


def _numbers(release: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", release)[:2]))


def _running(settings: Mapping[str, str], context: SparkContext) -> SparkSession:
    """The session that runs already, if its settings are the same."""
    if _started is None or _started.session.sparkContext is not context:
        raise OtherSession(
            "A Spark session that Skyband did not open runs in this process. Stop it first, or hand it to the pipeline."
        )
    there = _started.settings
    for key in sorted(there.keys() | settings.keys()):
        if there.get(key) != settings.get(key):
            was, asked = (repr(given.get(key, "not set")) for given in (there, settings))
            raise OtherSession(
                f"A Spark session with other settings runs in this process: {key} is {was} there and {asked} here. "
                "Stop that session first, or ask for the same settings."
            )
    return _started.session


def _start(settings: Mapping[str, str], name: str) -> SparkSession:
    """A session in a new Java process."""
    global _started
    from pyspark.errors import PySparkRuntimeError
    from pyspark.find_spark_home import _find_spark_home

    java, spark_home = find_java(), Path(_find_spark_home())
    archive = class_archive(java, spark_home / "jars")
    given = settings.get("spark.driver.defaultJavaOptions", "")
    options = " ".join([*_java_options(archive), given]).rstrip()
    try:
        with _environment(_variables(java, spark_home)):
            session = _create({**settings, "spark.driver.defaultJavaOptions": options}, name)
    except PySparkRuntimeError as error:
        if error.getCondition() != "JAVA_GATEWAY_EXITED":
            raise
        where = f"Java {java.release}, {java.home}, from {java.where}"
        raise NoSpark(f"Spark's Java process ended as it started ({where}); what it said is printed above.") from error
    machine: Any = session.sparkContext._jvm
    class_path = str(machine.java.lang.System.getProperty("java.class.path"))
    _started = _Started(session, dict(settings), java, archive, class_path)
    return session


def _create(settings: Mapping[str, str], name: str) -> SparkSession:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName(name)
    for key, value in settings.items():
        builder = builder.config(key, value)
    # Workers on this machine run this Python, whatever was set for another program; on others the path may be another.
    is_here = settings["spark.master"].startswith("local")
    python = sys.executable if is_here else os.environ.get("PYSPARK_PYTHON", sys.executable)
    with _environment({"PYSPARK_PYTHON": python, "PYSPARK_DRIVER_PYTHON": sys.executable}), _own_interrupts():
        return builder.getOrCreate()


def _java_options(archive: Archive | None) -> list[str]:
    """What Java is always told: how to log, the zone of its clock, and where its archive of classes is."""
    logging = folder_for_files() / "log4j2.properties"
    if not logging.exists() or logging.read_text(encoding="utf-8") != LOGGING:
        with replacing(logging) as temporary:
            temporary.write_text(LOGGING, encoding="utf-8")
    options = [f"-Dlog4j2.configurationFile={logging.as_uri()}", "-Duser.timezone=UTC"]
    return [f'"{option}"' if " " in option else option for option in (*options, *(archive.options if archive else ()))]


def _variables(java: Java, spark_home: Path) -> dict[str, str]:
    """The environment of Spark's launcher, which would otherwise start a Python to find Spark."""
    return {"JAVA_HOME": str(launcher_home(java)), "SPARK_HOME": str(spark_home)}


@contextlib.contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Variables that are set for the processes started in the block."""
    before = {key: os.environ.get(key) for key in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for key, value in before.items():
            if value is None:
                del os.environ[key]
            else:
                os.environ[key] = value


@contextlib.contextmanager
def _own_interrupts() -> Iterator[None]:
    """Leave Ctrl-C to this program: Spark would cancel the jobs of a stream before anybody could end it well."""
    before = signal.getsignal(signal.SIGINT)
    yield
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, before)


def _end_java() -> None:
    """End Spark's Java process, which otherwise ends with this one."""
    global _started
    from pyspark import SparkContext

    gateway: Any = SparkContext._gateway
    SparkContext._gateway = SparkContext._jvm = None
    _started = None
    if gateway is None or gateway.proc is None:
        return
    # It may be gone already.
    with contextlib.suppress(Exception):
        gateway.shutdown()
    # Its sign to end: a pipe that closes when this process is gone too.
    gateway.proc.stdin.close()
    try:
        gateway.proc.wait(timeout=30)
    except subprocess.TimeoutExpired:
        gateway.proc.kill()
        gateway.proc.wait()


@atexit.register
def _hand_on_classes() -> None:
    """At the end of this process, have an archive made of the classes that were listed."""
    started = _started
    if started is not None and started.archive is not None and started.archive.class_list is not None:
        _end_java()
        make_archive_later(started.java, started.class_path, started.archive)
