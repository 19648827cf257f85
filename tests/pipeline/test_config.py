"""A configuration is read, checked and explained before anything runs."""

import datetime
from pathlib import Path
from typing import Any

import pytest

from skyband.pipeline.config import BadConfiguration, Endpoint, Ids, load_config, make_config
from skyband.table import UNBOUNDED, Bounds, Window

SMALLEST: dict[str, Any] = {
    "family": "geotext",
    "publications": {"format": "ndjson", "path": "in"},
    "subscriptions": {"format": "log", "path": "/asked"},
    "state": "state",
}


def test_a_small_configuration_has_defaults(tmp_path: Path) -> None:
    config = make_config(SMALLEST, tmp_path)
    assert config.publications == Endpoint("ndjson", {"path": str(tmp_path / "in")})
    assert config.subscriptions == Endpoint("log", {"path": "/asked"})
    assert config.state == tmp_path / "state"
    assert (config.zones, config.window, config.bounds, config.engine) == (1, UNBOUNDED, Bounds(0, 0, 1, 1), "auto")
    assert config.ids == Ids("text", "text", "text")
    assert config.trigger == 1.0


def test_yaml_is_read(tmp_path: Path) -> None:
    path = tmp_path / "pipeline.yaml"
    path.write_text("""\
family: window
engine: scan
dims: 2
window: 10m
ids: {publications: integers}
zones: 4
trigger: 500ms
publications: {format: kafka, servers: "localhost:9092", topic: said}
subscriptions: {format: csv, path: asked}
changes:
  - {format: parquet, path: out}
  - {format: postgres, dsn: "postgresql:///x", table: changes}
tops: {format: parquet, path: tops}
state: state
spark: {spark.driver.memory: 4g, spark.ui.enabled: true}
""")
    config = load_config(path)
    assert config.window == Window.time(600_000_000)
    assert config.ids == Ids("integers", "text", "text")
    assert config.trigger == 0.5
    assert [endpoint.describe() for endpoint in (*config.changes, *config.tops)] == [
        f"parquet {tmp_path / 'out'}",
        "postgres changes",
        f"parquet {tmp_path / 'tops'}",
    ]
    assert config.spark == {"spark.driver.memory": "4g", "spark.ui.enabled": "true"}


@pytest.mark.parametrize(
    ("written", "us"),
    [("1h30m", 5_400_000_000), ("1h 30m", 5_400_000_000), ("1.5h", 5_400_000_000), ("40min", 2_400_000_000),
     (" 10 s ", 10_000_000), ("500ms", 500_000), ("2d", 172_800_000_000), ("250us", 250)],
)  # fmt: skip
def test_durations_are_written_as_on_the_command_line(tmp_path: Path, written: str, us: int) -> None:
    path = tmp_path / "pipeline.yaml"
    path.write_text(f"""\
family: geotext
window: {written}
trigger: {written}
publications: {{format: ndjson, path: in}}
subscriptions: {{format: ndjson, path: asked}}
state: state
""")
    config = load_config(path)
    assert config.window == Window.time(us) == Window.time(written)
    assert config.trigger == us / 1e6
    length = datetime.timedelta(microseconds=us)
    given = make_config(SMALLEST | {"window": length, "trigger": length})
    assert (given.window, given.trigger) == (config.window, config.trigger)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"familly": "window"}, "The configuration has no key 'familly'. Did you mean family?"),
        ({"colour": 1}, "The configuration has no key 'colour'. The keys are family,"),
        ({"family": "covering"}, "family is window, geotext, ranges or ranked, not 'covering'."),
        ({"family": None}, "family is missing."),
        ({"engine": "fastest"}, "engine: The family geotext has no engine 'fastest'"),
        ({"window": "ten minutes"}, "window is a time such as 90s, 10m or 2h, or {count: 1000}, or none;"),
        ({"window": "0s"}, "window is a time such as 90s"),
        ({"window": "600"}, "window is a time such as 90s"),
        ({"window": "30m1h"}, "window is a time such as 90s"),
        ({"window": "99999999999999d"}, "window is a time such as 90s"),
        ({"window": {"count": 0}}, "window.count is an integer from 1 to"),
        ({"zones": 0}, "zones is an integer from 1 to 1024, not 0."),
        ({"zones": True}, "zones is an integer from 1 to 1024, not True."),
        ({"batch": "many"}, "batch is an integer from 1 to 10000000, not 'many'."),
        ({"trigger": "-1"}, "trigger is a time such as 1s or 500ms, not '-1'."),
        ({"trigger": "1s30m"}, "trigger is a time such as 1s or 500ms, not '1s30m'."),
        ({"trigger": datetime.timedelta(seconds=-1)}, "trigger is a time such as 1s or 500ms, not datetime"),
        ({"bounds": [0, 0, 1]}, "bounds are four numbers, x_min, y_min, x_max and y_max, or geographic"),
        ({"bounds": [1, 0, 0, 1]}, "bounds are four numbers"),
        ({"ids": "numbers"}, "ids.publications is text or integers, not 'numbers'."),
        ({"ids": {"people": "text"}}, "ids has no key 'people'."),
        ({"dims": 2}, "The family geotext has no dims: leave the key out."),
        ({"family": "window"}, "dims is missing: say how many dimensions the vectors of window have."),
        ({"family": "ranges", "dims": 1, "window": "1s"}, "The family ranges has no windows: leave the key out."),
        ({"family": "window", "dims": 1, "words": "w"}, "The family window has no words: leave the key out."),
        (
            {"family": "ranked", "dims": 1, "tops": {"format": "parquet", "path": "t"}},
            "Ranked subscriptions have no standing answer, so there are no tops to deliver.",
        ),
        ({"granularity": "row"}, "granularity is batch or publication, not 'row'."),
        ({"publications": "in"}, "publications is a mapping with a format and its options"),
        ({"publications": {"path": "in"}}, "publications is a mapping with a format and its options"),
        ({"publications": {"format": "ndjson", "path": 3}}, "publications.path must be a path, not 3."),
        ({"changes": "out"}, "changes is a mapping with a format and its options, or a list of such mappings."),
        ({"options": [1]}, "options must be a mapping, not [1]."),
        ({"options": {"on_error": "raise"}}, "options: on_error and granularity are not options of the engine here."),
        ({"state": 5}, "state must be a path, not 5."),
    ],
)
def test_what_is_wrong_is_said(change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadConfiguration) as caught:
        make_config(SMALLEST | change)
    assert str(caught.value).startswith(sentence)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("family: [", "is not a YAML file"),
        ("- one\n- two\n", "must hold a mapping with keys such as family"),
        ("family: window\n", "publications is missing."),
    ],
)
def test_a_bad_file_is_named(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "pipeline.yaml"
    path.write_text(text)
    with pytest.raises(BadConfiguration) as caught:
        load_config(path)
    assert str(caught.value).startswith(str(path))
    assert sentence in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadConfiguration, match=r"nothing.yaml cannot be read: No such file"):
        load_config(tmp_path / "nothing.yaml")


def test_words_that_cannot_be_read_are_an_error(tmp_path: Path) -> None:
    config = make_config(SMALLEST | {"words": "words.json"}, tmp_path)
    with pytest.raises(BadConfiguration, match=r"^words: .*words.json cannot be read"):
        config.settings()
