"""History in one pass gives what one engine gives, and what the local runner writes."""

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import skyband
from skyband.contract import Granularity
from skyband.geotext import workload as geotext
from skyband.pipeline.backfill import backfill
from skyband.pipeline.config import Config, make_config
from skyband.pipeline.replay import replay_on_spark
from skyband.pipeline.run import Pipeline
from skyband.pipeline.sink import read_changes, read_tops
from skyband.pipeline.state.folder import StateError
from skyband.ranges import workload as ranges
from skyband.ranked import workload as ranked
from skyband.replay import Plan, Summary, replay
from skyband.table import Rejected, Window, write_table
from skyband.window import workload as window

pytestmark = pytest.mark.spark


class Rows:
    """A sink that keeps what it is given."""

    def __init__(self) -> None:
        self.tables: list[pa.Table] = []

    def begin(self, schema: pa.Schema) -> None:
        self.tables = [schema.empty_table()]

    def write(self, table: pa.Table) -> None:
        self.tables.append(table)

    def whole(self) -> pa.Table:
        return pa.concat_tables(self.tables).combine_chunks()


WORKS = {
    "window": lambda: window.generate(window.Options(n_publications=400, n_subscriptions=60, k=3, score="mixed")),
    "geotext": lambda: geotext.generate(geotext.Options(n_publications=400, n_subscriptions=60)),
    "ranges": lambda: ranges.generate(ranges.Options(n_objects=50, n_events=400, n_subscriptions=60)),
    "ranked": lambda: ranked.generate(ranked.Options(n_publications=100, n_subscriptions=60)),
}


def both(
    spark: SparkSession, work: Any, plan: Plan, zones: int, until: int | None = None
) -> tuple[tuple[pa.Table, Summary], tuple[pa.Table, Summary]]:
    """The change logs of both runners."""
    here, there = Rows(), Rows()
    summary = replay(work.publications, work.subscriptions, writer=here, until=until, **plan._asdict())
    other = replay_on_spark(
        work.publications, work.subscriptions, plan, zones=zones, writer=there, until=until, spark=spark
    )
    return (here.whole(), summary), (there.whole(), other)


@pytest.mark.few(4)
@pytest.mark.parametrize("zones", [1, 3])
@pytest.mark.parametrize("family", list(WORKS))
def test_runners_agree(spark: SparkSession, family: str, zones: int) -> None:
    (wanted, summary), (got, other) = both(spark, WORKS[family](), Plan(family, batch=64), zones)
    assert len(wanted) > 100
    assert got.equals(wanted)
    for name in ("n_publications", "n_subscriptions", "n_rejected", "n_late", "changes", "deliveries"):
        assert getattr(other, name) == getattr(summary, name), name


@pytest.mark.parametrize("granularity", ["batch", "publication"])
def test_runners_agree_until(spark: SparkSession, granularity: Granularity) -> None:
    work = WORKS["window"]()
    until = int(work.publications["ts"][250].as_py())
    plan = Plan("window", window=Window.time(1_000_000), batch=100, granularity=granularity)
    work = work._replace(subscriptions=work.subscriptions.select(["id", "k", "score", "point", "weights"]))
    (wanted, _), (got, _) = both(spark, work, plan, 2, until)
    assert got.equals(wanted)


@pytest.mark.few(2)
@pytest.mark.parametrize("window", [Window.time(1_000_000), Window.count(90)])
@pytest.mark.parametrize("until", [None, 250])
def test_runners_agree_on_retractions(spark: SparkSession, until: int | None, window: Window) -> None:
    work = WORKS["window"]()
    rows = with_retractions(work.publications.to_pylist())
    last = None if until is None else work.publications["ts"][until].as_py()
    work = work._replace(
        subscriptions=work.subscriptions.select(["id", "k", "score", "point", "weights"]), publications=rows
    )
    plan = Plan("window", window=window, batch=30, on_error="collect")
    (wanted, summary), (got, other) = both(spark, work, plan, 3, last)
    assert summary.n_retracted > 20
    assert got.equals(wanted)
    for name in ("n_publications", "n_rejected", "n_retracted", "n_retracted_late", "changes", "deliveries"):
        assert getattr(other, name) == getattr(summary, name), name
    assert other.counters["retracted"] == summary.n_retracted


def with_retractions(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Publications of which many are withdrawn some rows later, alone and in runs, and some come again."""
    rng, found = random.Random(5), list[dict[str, Any]]()
    for place, row in enumerate(rows):
        found.append(row)
        for _ in range(rng.choice([0, 0, 0, 0, 1, 3]) if place % 100 > 40 else 0):
            chosen = rows[place - rng.randint(0, min(place, 25))]
            found.append({"op": "retract", "id": chosen["id"]} | rng.choice([{}, {"ts": row["ts"] + 1}]))
            if rng.random() < 0.1:
                found.append(chosen | {"ts": row["ts"]})
    return found


def test_bad_rows_are_refused_alike(spark: SparkSession) -> None:
    said = [{"id": 1, "ts": 1, "point": [0.0]}, {"id": 2, "ts": 2, "point": [0.0]}, {"id": 1, "ts": 3, "point": [1.0]}]
    asked = [{"id": "a", "k": 1, "score": "euclidean", "point": [0.0]}]
    plan = Plan("window", batch=2, on_error="collect")
    kept: dict[str, list[Any]] = {}
    wanted: dict[str, list[Any]] = {}
    summary = replay_on_spark(said, asked, plan, spark=spark, rejects=kept)
    assert summary.n_rejected == replay(said, asked, **plan._asdict(), rejects=wanted).n_rejected == 1
    assert kept == wanted
    with pytest.raises(Rejected, match="row 3"):
        replay_on_spark(said, asked, plan._replace(on_error="raise"), spark=spark)


def test_windows_of_two_kinds_need_the_local_runner(spark: SparkSession) -> None:
    asked = [
        {"id": "a", "k": 1, "score": "euclidean", "point": [0.0], "window_us": 5},
        {"id": "b", "k": 1, "score": "euclidean", "point": [0.0], "window_n": 5},
    ]
    with pytest.raises(ValueError, match="on Spark all are of one kind"):
        replay_on_spark([{"id": 1, "ts": 1, "point": [0.0]}], asked, spark=spark)


def config_of(folder: Path, **more: Any) -> Config:
    return make_config(
        {
            "family": "geotext",
            "window": "1h",
            "ids": "integers",
            "zones": 2,
            "publications": {"format": "ndjson", "path": "said"},
            "subscriptions": {"format": "parquet", "path": "asked"},
            "changes": {"format": "parquet", "path": "changes"},
            "tops": {"format": "parquet", "path": "tops"},
            "state": "state",
            "batch": 50,
            **more,
        },
        folder,
    )


def test_a_stream_goes_on_after_a_backfill(spark: SparkSession, tmp_path: Path) -> None:
    work = geotext.generate(geotext.Options(n_publications=300, n_subscriptions=50))
    asked = work.subscriptions.drop_columns(["window_n"])
    (tmp_path / "asked").mkdir()
    (tmp_path / "said").mkdir()
    (tmp_path / "later").mkdir()
    (tmp_path / "none").mkdir()
    write_table(asked, tmp_path / "asked" / "a.parquet")
    write_table(work.publications.slice(0, 200), tmp_path / "said" / "a.ndjson")
    (tmp_path / "said" / "b.ndjson").write_text("no JSON\n")
    seen: list[tuple[int, int]] = []
    told = backfill(config_of(tmp_path), spark, batch=50, progress=lambda done, total: seen.append((done, total)))
    assert told["batches"] == 4
    assert told["parts"]["router"]["dead"] == 1
    assert seen[-1][0] == seen[-1][1] == 201
    with pytest.raises(StateError, match="has gone on already"):
        backfill(config_of(tmp_path), spark)
    write_table(work.publications.slice(200), tmp_path / "later" / "a.ndjson")
    later = {
        "publications": {"format": "ndjson", "path": "later"},
        "subscriptions": {"format": "ndjson", "path": "none"},
    }
    pipeline = Pipeline(config_of(tmp_path, **later), spark)
    pipeline.start(until_idle=True)
    pipeline.wait()
    engine = skyband.open("geotext", window=Window.time(3_600_000_000))
    wanted = [engine.subscribe(asked)]
    # The file that came later is one batch, however many rows it has.
    batches = [work.publications.slice(start, 50) for start in range(0, 200, 50)] + [work.publications.slice(200)]
    wanted += [engine.publish(batch) for batch in batches]
    assert read_changes(tmp_path / "changes").to_pylist() == [row for table in wanted for row in table.to_pylist()]
    tops = engine.top().sort_by([("subscription", "ascending"), ("rank", "ascending")])
    assert read_tops(tmp_path / "tops").to_pylist() == tops.to_pylist()
