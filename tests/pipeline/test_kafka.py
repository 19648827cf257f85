"""Where the jars of the Kafka connector come from: the cache, Maven, or the user."""

import os
import stat
import sys
from pathlib import Path

import pytest

from skyband.pipeline import kafka
from skyband.pipeline.kafka import CONNECTOR, NoKafka, Unresolved, fetch_jars, kafka_jars, kafka_packages

VERSION = "7.8.9"

# Stands in for Maven: makes an empty jar for each package that the file beside it lists, and counts how often it ran.
MAVEN = f"""#!{sys.executable}
import pathlib, re, sys
here = pathlib.Path(__file__).parent
with (here / "asked").open("a") as file:
    print(file=file)
(jars,) = [pathlib.Path(argument.split("=")[1]) for argument in sys.argv if "outputDirectory" in argument]
pom = pathlib.Path("pom.xml").read_text()
for artifact, version in re.findall(r"<artifactId>([^<]*)</artifactId><version>([^<]*)</version>.*?</dependency>", pom):
    if f"{{artifact}}-{{version}}" not in (here / "has").read_text().split():
        sys.exit(print(f"[ERROR] Could not find artifact {{artifact}}-{{version}}") or 1)
    jars.mkdir(exist_ok=True)
    (jars / f"{{artifact}}-{{version}}.jar").touch()
"""


@pytest.fixture
def maven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a stand-in for Maven; its file `has` lists what can be had."""
    monkeypatch.setenv("SKYBAND_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(kafka, "_spark_version", lambda: VERSION)
    folder = tmp_path / "maven"
    folder.mkdir()
    (folder / "mvn").write_text(MAVEN)
    (folder / "mvn").chmod(stat.S_IRWXU)
    (folder / "has").write_text("")
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return folder


def asked(folder: Path) -> int:
    """How often Maven was started."""
    path = folder / "asked"
    return len(path.read_text().splitlines()) if path.exists() else 0


def test_the_connector_of_the_same_version_is_fetched_once(maven: Path) -> None:
    (maven / "has").write_text(f"spark-sql-kafka-0-10_2.13-{VERSION}\n")
    jars = kafka_jars()
    assert [jar.name for jar in jars] == [f"spark-sql-kafka-0-10_2.13-{VERSION}.jar"]
    assert kafka_jars() == jars
    assert asked(maven) == 1
    assert all(jar.is_file() for jar in jars)
    assert [path.name for path in jars[0].parents[1].iterdir()] == [jars[0].parent.name]


def test_older_jars_stand_in_where_the_tests_have_run_with_them(
    maven: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(kafka.STAND_INS, VERSION, (f"{CONNECTOR}:7.7.0", "org.example:more:1"))
    (maven / "has").write_text("spark-sql-kafka-0-10_2.13-7.7.0\nmore-1\n")
    jars = kafka_jars()
    assert [jar.name for jar in jars] == ["more-1.jar", "spark-sql-kafka-0-10_2.13-7.7.0.jar"]
    assert "Older jars stand in: more-1.jar, spark-sql-kafka-0-10_2.13-7.7.0.jar." in caplog.text
    assert kafka_jars() == jars
    assert asked(maven) == 2


def test_jars_that_cannot_be_had_are_an_error_that_says_what_to_do(maven: Path) -> None:
    with pytest.raises(
        NoKafka, match=r"Maven could not fetch .*Could not find artifact .*give .*7\.8\.9 .*spark\.jars"
    ):
        kafka_jars()
    with pytest.raises(Unresolved, match=r"could not fetch org.example:thing:1 \(Could not find artifact thing-1\)"):
        fetch_jars("thing", "org.example:thing:1")
    assert not list(maven.parent.glob("cache/jars/*"))


def test_without_maven_the_error_says_so(maven: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(maven.parent))
    with pytest.raises(NoKafka, match=r"Maven is not installed\. Install Maven \(the command mvn\)"):
        kafka_jars()


@pytest.mark.parametrize(
    "options",
    [
        {"spark.jars": "other.jar,folder/spark-sql-kafka-0-10_2.13-1.jar"},
        {"spark.jars.packages": f"{CONNECTOR}:1"},
    ],
)
def test_what_the_user_gives_is_enough(maven: Path, options: dict[str, str]) -> None:
    assert kafka_jars(options) == []
    assert asked(maven) == 0


def test_the_jars_of_another_process_stay(maven: Path, tmp_path: Path) -> None:
    (maven / "has").write_text("thing-1\n")
    (jar,) = fetch_jars("thing", "org.example:thing:1")
    (tmp_path / "mine").mkdir()
    kafka._take_place(tmp_path / "mine", jar.parent)
    assert jar.is_file()


def test_packages_have_the_version_of_spark(maven: Path) -> None:
    assert kafka_packages() == (f"{CONNECTOR}:{VERSION}",)
    assert kafka_packages("1.2.3") == (f"{CONNECTOR}:1.2.3",)
