"""The stages on Spark answer like one engine, whatever the stream and however it is cut into micro-batches."""

import json
import shutil
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from skyband.pipeline.config import Config, Endpoint, Ids
from skyband.pipeline.processor import STAGES
from skyband.pipeline.runner import Runner
from skyband.pipeline.sink import read_changes, read_tops
from skyband.pipeline.state.folder import State
from skyband.pipeline.state.spec import Shape
from tests.pipeline.retractions import long_stream
from tests.pipeline.streams import DIMS, WINDOWS, Alone, raw, shape_of, streams

pytestmark = pytest.mark.spark
NUMBERS = count()


def config_of(folder: Path, shape: Shape) -> Config:
    """A configuration of that shape; its sources are not read here."""
    nothing = Endpoint("ndjson", {"path": str(folder)})
    return Config(
        family=shape.family,
        publications=nothing,
        subscriptions=nothing,
        state=folder / "state",
        changes=(Endpoint("parquet", {"path": str(folder / "changes")}),),
        tops=() if shape.family == "ranked" else (Endpoint("parquet", {"path": str(folder / "tops")}),),
        engine=shape.engine,
        window=shape.settings.window,
        dims=DIMS.get(shape.family),
        ids=Ids("text", "text", "integers"),
        zones=shape.n_zones,
    )


@pytest.mark.parametrize(
    ("family", "window", "n_zones"),
    [
        ("window", "time", 2),
        ("window", "time", 1),
        ("geotext", "time", 2),
        ("ranges", "none", 2),
        ("ranked", "none", 2),
        ("ranked", "none", 1),
    ],
)
@settings(max_examples=3, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
@given(data=st.data())
def test_like_one_engine(
    spark: SparkSession, tmp_path: Path, family: str, window: str, n_zones: int, data: st.DataObject
) -> None:
    assert window in WINDOWS
    folder = tmp_path / str(next(NUMBERS))
    shape = shape_of(family, n_zones, window=window)
    state = State(folder / "state")
    state.begin(shape)
    runner, alone = Runner(spark, config_of(folder, shape), state, shape), Alone(shape)
    wanted: list[dict[str, Any]] = []
    for number, batch in enumerate(data.draw(streams(family, window))):
        if data.draw(st.integers(0, 3)) == 0:
            runner.close()
            runner = Runner(spark, config_of(folder, shape), state, shape)
        runner.run(spark.createDataFrame(raw(batch)), number)
        wanted += alone.apply(batch)
    runner.close()
    assert state.delivered == number
    assert read_changes(folder / "changes").to_pylist() == wanted if wanted else True
    if family != "ranked" and wanted:
        told = read_tops(folder / "tops")
        assert told.to_pylist() == _sorted(alone.engine.top())
    shutil.rmtree(folder)


def test_retractions_where_something_was_held_back(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skyband.pipeline.runner.REFRESH_EVERY", 2)
    shape = shape_of("window", 2)
    state = State(tmp_path / "state")
    state.begin(shape)
    config = config_of(tmp_path, shape)
    runner, alone = Runner(spark, config, state, shape), Alone(shape._replace(engine="oracle"))
    wanted: list[dict[str, Any]] = []
    n_handed = n_retracted = 0
    for number, batch in enumerate(long_stream("window", "none", seed=1)[:14]):
        if number == 9:
            runner.close()
            runner = Runner(spark, config, state, shape)
        told = runner.run(spark.createDataFrame(raw(batch)), number).report["parts"]["router"]
        n_handed, n_retracted = n_handed + told["handed_over"], n_retracted + told["retracted"]
        wanted += alone.apply(batch)
    runner.close()
    assert read_changes(tmp_path / "changes").to_pylist() == wanted
    assert read_tops(tmp_path / "tops").to_pylist() == _sorted(alone.engine.top())
    assert n_retracted == alone.engine.counters["retracted"] > 0
    assert n_handed > 0


def _sorted(tops: pa.Table) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = tops.sort_by([("subscription", "ascending"), ("rank", "ascending")]).to_pylist()
    return rows


def test_reports_say_what_was_done(spark: SparkSession, tmp_path: Path) -> None:
    shape = shape_of("window", 2, window="time")
    state = State(tmp_path / "state")
    state.begin(shape)
    runner = Runner(spark, config_of(tmp_path, shape), state, shape)
    rows = [
        _row("subscriptions", 0, {"id": "a", "k": 1, "score": "euclidean", "point": [0, 0], "threshold": 1}),
        _row("subscriptions", 1, {"id": "b", "k": 0, "score": "euclidean", "point": [0, 0]}),
        _row("publications", 0, {"id": "p", "ts": 1, "point": [0, 1]}),
        _row("publications", 1, {"id": "q", "ts": 1, "point": [9, 9]}),
        _row("publications", 2, {"id": "q", "ts": 0, "point": [0, 0]}),
    ]
    commit = runner.run(spark.createDataFrame(pa.Table.from_pylist(rows)), 0)
    runner.close()
    spent = commit.report["processor"]
    assert tuple(spent) == STAGES
    # These rows come from no source, and what the sinks take is told with the next batch.
    assert [stage for stage in STAGES if not spent[stage]] == ["source", "deliver"]
    told = commit.report["parts"]["router"]
    assert (told["commands"], told["publications"], told["dead"], told["late"]) == (1, 2, 2, 0)
    # The first one of the latest goes to both zones, for the time; the other one is out of everybody's reach.
    assert told["copies"] == 2
    letters = pa.parquet.read_table(state.dead(0)).to_pylist()
    assert [(row["noun"], row["offset"], row["reason"]) for row in letters] == [
        ("subscriptions", 1, "k: k must be at least 1"),
        ("publications", 2, "id: is in this batch already"),
    ]


def _row(noun: str, offset: int, value: dict[str, Any]) -> dict[str, Any]:
    return {"noun": noun, "origin": "o", "offset": offset, "form": "json", "value": json.dumps(value)}
