"""The jars of Spark's Kafka connector, which PySpark does not bring: fetched by Maven once, or given by the user."""

import importlib.metadata
import logging
import os
import shutil
import subprocess
import tempfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CONNECTOR = "org.apache.spark:spark-sql-kafka-0-10_2.13"
KAFKA_PACKAGES = (
    CONNECTOR,
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13",
    "org.apache.kafka:kafka-clients",
    "org.apache.commons:commons-pool2",
)
"""What the connector consists of; everything else that it needs is in PySpark. The first two have Spark's version."""

STAND_INS = {
    "4.3.0": (
        f"{CONNECTOR}:4.2.0",
        "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
        "org.apache.kafka:kafka-clients:3.9.2",
        "org.apache.commons:commons-pool2:2.13.1",
    ),
}
"""By version of Spark, older jars that the tests have run with it, for where its own connector cannot be had."""

PLUGIN = "dependency:copy-dependencies"
LONGEST_FETCH_SECONDS = 900

_POM = """<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>skyband</groupId><artifactId>jars</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>{dependencies}</dependencies>
</project>
"""
_DEPENDENCY = "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version>{}</dependency>"
_ALONE = "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"

_LOGGER = logging.getLogger(__name__)


class NoKafka(ValueError):
    """The Kafka connector is neither here nor to be had, with what to do about it."""


class Unresolved(ValueError):
    """Maven is not there, or could not fetch what it was asked for."""


class _Wanted(NamedTuple):
    """Packages to fetch, with what they depend on or alone, and which of the jars to keep (all if none is named)."""

    packages: tuple[str, ...]
    alone: bool
    kept: tuple[str, ...] = ()


def kafka_packages(version: str | None = None) -> tuple[str, ...]:
    """The Maven coordinates of the connector for a version of Spark, or for the one that is installed."""
    return (f"{CONNECTOR}:{version or _spark_version()}",)


def kafka_jars(options: Mapping[str, str] = {}) -> list[Path]:
    """The jars to add to a Spark session with these options; none if the options bring the connector themselves.

    They are kept in the user's cache folder. The first time they are fetched with Maven.
    """
    given = ",".join(options.get(name, "") for name in ("spark.jars", "spark.jars.packages"))
    if CONNECTOR.split(":")[1] in given:
        return []
    version = _spark_version()
    artifacts = tuple(name.split(":")[1] for name in KAFKA_PACKAGES)
    ways = {f"spark-kafka-{version}": _Wanted(kafka_packages(version), alone=False, kept=artifacts)}
    if version in STAND_INS:
        ways[f"spark-kafka-{version}-stand-in"] = _Wanted(STAND_INS[version], alone=True)
    folders = [_folder(name, wanted) for name, wanted in ways.items()]
    kept = next((folder for folder in folders if folder.is_dir()), None)
    return sorted(kept.glob("*.jar")) if kept else _first_that_resolves(ways, version)


def _first_that_resolves(ways: Mapping[str, _Wanted], version: str) -> list[Path]:
    reasons = []
    for name, wanted in ways.items():
        try:
            jars = _kept_jars(name, wanted)
        except Unresolved as error:
            reasons.append(str(error))
            continue
        if reasons:
            _LOGGER.warning("%s Older jars stand in: %s.", reasons[0], ", ".join(jar.name for jar in jars))
        return jars
    raise NoKafka(
        f"The Kafka connector of Spark {version} is not here: {reasons[0]} Install Maven (the command mvn) so that it"
        f" can be fetched, or give {kafka_packages(version)[0]} and what it depends on in spark.jars."
    )


def add_kafka(spark: "SparkSession") -> None:
    """Give a running session the connector, unless it has it."""
    artifact = CONNECTOR.split(":")[1]
    if any(artifact in row[0] for row in spark.sql("LIST JARS").collect()):
        return
    for jar in kafka_jars():
        spark.sql(f"ADD JAR '{jar}'")


def fetch_jars(name: str, *packages: str) -> list[Path]:
    """The jars of Maven packages and of all they depend on, kept in the user's cache folder under this name."""
    return _kept_jars(name, _Wanted(packages, alone=False))


def _spark_version() -> str:
    try:
        return importlib.metadata.version("pyspark")
    except importlib.metadata.PackageNotFoundError:
        raise NoKafka('Kafka needs Spark, which is not installed: run pip install "skyband[spark]".') from None


def _kept_jars(name: str, wanted: _Wanted) -> list[Path]:
    folder = _folder(name, wanted)
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{name}-", ignore_cleanup_errors=True) as scratch:
            _fetch(wanted, Path(scratch))
            _take_place(Path(scratch) / "jars", folder)
    return sorted(folder.glob("*.jar"))


def _folder(name: str, wanted: _Wanted) -> Path:
    # Imported late: the module of the cache folder brings the compiler.
    from skyband.kernels.compile import cache_root

    return cache_root() / "jars" / f"{name}-{zlib.crc32(repr(wanted).encode()):08x}"


def _take_place(made: Path, folder: Path) -> None:
    """The folder appears whole; if another process was quicker, its own stays."""
    try:
        os.rename(made, folder)
    except OSError:
        if not folder.is_dir():
            raise


def _fetch(wanted: _Wanted, scratch: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise Unresolved("Maven is not installed.")
    (scratch / "pom.xml").write_text(_pom(wanted.packages, wanted.alone), encoding="utf-8")
    command = [maven, "--batch-mode", "--quiet", PLUGIN, f"-DoutputDirectory={scratch / 'jars'}"]
    command += ["-DincludeScope=runtime"]
    command += [f"-DincludeArtifactIds={','.join(wanted.kept)}"] if wanted.kept else []
    try:
        done = subprocess.run(
            command, cwd=scratch, capture_output=True, text=True, timeout=LONGEST_FETCH_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise Unresolved(
            f"Maven took more than {LONGEST_FETCH_SECONDS} seconds to fetch {wanted.packages[0]}."
        ) from None
    if done.returncode or not any((scratch / "jars").glob("*.jar")):
        said = next((line for line in done.stdout.splitlines() if "[ERROR]" in line), "it gave no reason")
        raise Unresolved(
            f"Maven could not fetch {wanted.packages[0]} ({said.partition('[ERROR]')[2].strip() or said})."
        )


def _pom(packages: Sequence[str], alone: bool) -> str:
    dependencies = [
        _DEPENDENCY.format(*map(escape, package.split(":")), _ALONE if alone else "") for package in packages
    ]
    return _POM.format(dependencies="".join(dependencies))
