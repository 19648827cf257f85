"""Where the day runs: what is chosen, and what the folder of the pipeline holds before Spark is asked for anything."""

import importlib.util
import io
from pathlib import Path

import pytest
from rich.console import Console

from skyband.demo import run, show
from skyband.demo.scene import Scene, make_scene
from skyband.demo.spark import CONFIG, Starting, fit_zones, lay_out
from skyband.demo.subscriber import TWO_HOURS
from skyband.pipeline.java import NoJava
from skyband.table import Window


@pytest.fixture(scope="module")
def scene() -> Scene:
    return make_scene(5, 40, 500)


def no_java() -> None:
    raise NoJava("There is no Java here. Get one.")


def without(monkeypatch: pytest.MonkeyPatch, lacking: str) -> None:
    """Let a package, or Java, not be there."""
    if lacking == "java":
        monkeypatch.setattr("skyband.pipeline.java.find_java", no_java)
    else:
        find = importlib.util.find_spec
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == lacking else find(name))


@pytest.mark.parametrize(
    ("lacking", "words"),
    [
        ("pyspark", 'The pipeline needs pyspark, which is not installed: pip install "skyband[spark]". Until then'),
        ("java", "There is no Java here. Get one. Until then the day runs in this process, without the pipeline."),
    ],
)
def test_without_spark_the_day_runs_in_this_process(
    lacking: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without(monkeypatch, lacking)
    console = Console(file=io.StringIO(), width=100)
    summary = run(seed=1, subscribers=3, publications=1, out=tmp_path, console=console)
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue().startswith(words)
    assert (summary.runner, summary.zones, summary.pipeline) == ("local", None, None)


@pytest.mark.parametrize("lacking", ["pyspark", "pandas", "yaml", "java"])
def test_spark_that_is_asked_for_and_missing_is_an_error(
    lacking: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without(monkeypatch, lacking)
    with pytest.raises(ValueError, match="no Java" if lacking == "java" else f"needs {lacking}"):
        run(out=tmp_path / "never", runner="spark")
    assert not (tmp_path / "never").exists()


def test_spark_is_chosen_where_it_is_there() -> None:
    assert show.lacking_for_spark() is None
    assert show._wants_spark(Console(file=io.StringIO()), None)
    assert not show._wants_spark(Console(file=io.StringIO()), "local")


def test_a_session_that_cannot_start_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skyband.demo.spark.open_session", lambda name, options: no_java())
    with pytest.raises(NoJava, match="There is no Java here"):
        Starting().session()


def test_the_configuration_is_one_of_a_pipeline(scene: Scene, tmp_path: Path) -> None:
    config = lay_out(scene, tmp_path / "new")
    assert (config.zones, config.window, config.trigger) == (2, Window.time(TWO_HOURS), 0.0)
    assert config.publications.options["path"] == str(tmp_path / "new" / "log" / "publications")
    assert config.batch >= max(41, config.zones)


def test_a_step_fits_into_a_micro_batch(tmp_path: Path) -> None:
    assert lay_out(make_scene(5, 3, 20_000), tmp_path / "new").batch > 20_000 / 108


def test_an_earlier_day_is_replaced(scene: Scene, tmp_path: Path) -> None:
    lay_out(scene, tmp_path)
    (tmp_path / "state").mkdir()
    lay_out(scene, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [CONFIG, "zoning.json"]


@pytest.mark.parametrize("name", ["letter.txt", CONFIG])
def test_what_somebody_else_wrote_is_left_alone(scene: Scene, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("family: geotext\n", encoding="utf-8")
    with pytest.raises(ValueError, match="was not written by the demo"):
        lay_out(scene, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_both_zones_have_subscribers(scene: Scene) -> None:
    zones = fit_zones(scene)
    assert zones.n_zones == 2
    assert zones.counts.sum() == 40
    assert zones.counts.min() > 0
