"""The benchmark of the pipeline: both shapes answer like one engine, and every contest is in its rows."""

import importlib.util
import json
import queue
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from skyband.bench import BENCHMARKS, Row
from skyband.bench.pipeline_contest import require_same
from skyband.bench.pipeline_cost import Pair, state_rows
from skyband.bench.pipeline_course import Bare, CourseStep, PipelineCourse
from skyband.bench.pipeline_flow import Told, next_told
from skyband.bench.pipeline_process import start, startup_rows
from skyband.bench.pipeline_scale import throughput_of, work_of
from skyband.bench.runner import WrongAnswer
from skyband.pipeline.processor import STAGES

pytest.importorskip("pyspark")
pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def course() -> PipelineCourse:
    return PipelineCourse(n_subscriptions=12, n_live=20, batch=5, n_batches=4, shrink=10_000, k=2)


def raw(step: CourseStep, first: int) -> pa.RecordBatch:
    """A step as a source yields it."""
    n = len(step.rows)
    columns = [pa.array([step.noun] * n), pa.array(["log"] * n), pa.array(np.arange(first, first + n))]
    columns += [pa.array(["json"] * n), step.texts]
    return pa.RecordBatch.from_arrays(columns, names=["noun", "origin", "offset", "form", "value"])


def test_a_course_fills_the_window_before_it_subscribes(course: PipelineCourse) -> None:
    assert [step.noun for step in course.opening] == ["publications", "subscriptions"]
    assert sum(len(step.rows) for step in course.opening + course.batches) == 12 + 20 + 4 * 5
    assert [len(texts) for texts in course.batch_texts] == [5] * 4
    assert json.loads(course.batch_texts[0][0].as_py())["id"] == 20


def test_the_parts_in_one_process_answer_like_the_engine(course: PipelineCourse) -> None:
    bare, pair = Bare(course), Pair(course)
    for step in course.batches:
        wanted = bare.feed(step)
        found = pair.take(step).select(wanted.column_names)
        assert len(wanted)
        require_same(wanted.sort_by(KEY), found.sort_by(KEY), "the pair")
    assert set(pair.spent) == {"prepare", "route", "match"}
    assert all(seconds > 0 for seconds in pair.spent.values())


KEY = [("subscription", "ascending"), ("publication", "ascending"), ("op", "ascending")]


def test_changes_that_differ_are_wrong(course: PipelineCourse) -> None:
    changes = Bare(course).changes()
    with pytest.raises(WrongAnswer, match="the other has delivered differs"):
        require_same(changes, changes.slice(1), "the other")


def test_a_log_is_smaller_than_a_snapshot(course: PipelineCourse, tmp_path: Path) -> None:
    log, snapshot = state_rows(course, tmp_path, {})
    assert 0 < log["measures"]["bytes"] < snapshot["measures"]["bytes"]
    assert log["measures"]["between"] > 1
    assert len(log["latencies"]) == len(snapshot["latencies"]) == course.n_batches - 1


@pytest.mark.spark
def test_spark_starts_in_a_process_of_its_own() -> None:
    found = start("plain")
    assert found["seconds"] > 0
    assert not found["archive"]


def test_ways_to_start_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def begin(how: str) -> dict[str, Any]:
        asked.append(how)
        return {"seconds": float(len(asked)), "archive": how == "archive" and len(asked) > 1}

    monkeypatch.setattr("skyband.bench.pipeline_process.start", begin)
    monkeypatch.setattr("skyband.bench.pipeline_process.time.sleep", lambda seconds: None)
    plain, archive = startup_rows(2, {}, lambda text: None)
    assert asked == ["archive", "archive", "plain", "archive", "plain", "archive"]
    assert plain["latencies"] == [3_000_000_000, 5_000_000_000]
    assert archive["latencies"] == [4_000_000_000, 6_000_000_000]


def test_a_stream_that_has_ended_is_not_waited_for() -> None:
    told: queue.Queue[Told] = queue.Queue()

    def check() -> None:
        raise RuntimeError("it is over")

    with pytest.raises(RuntimeError, match="it is over"):
        next_told(told, check)
    told.put(Told(0, 0.0, 1, 1, {}))
    assert next_told(told, check).n_rows == 1


def test_a_rebuild_is_told_from_none() -> None:
    told = Told(0, 0.0, 1, 1, {"router": {"rebuilt_seconds": 0.5}, "zone-0": {"rebuilt_seconds": 1e-6}})
    assert (told.n_rebuilt, round(told.rebuilt_seconds, 3)) == (1, 0.5)


def test_without_spark_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr("skyband.bench.pipeline_flow.find_spec", lambda name: None if name == "pyspark" else find(name))
    for name in ("pipeline", "pipeline-recovery", "pipeline-scale", "pipeline-throughput"):
        rows = BENCHMARKS[name].run("toy", lambda said: None)
        assert [row["skipped"] for row in rows] == [
            "Skipped: pyspark cannot be imported; `pip install skyband[spark]` brings it."
        ]
        _, cells = BENCHMARKS[name].table(rows)
        assert cells[0][-1] == rows[0]["skipped"]


def test_the_throughput_that_follows_is_bounded_by_what_is_done_alone() -> None:
    stages = {"source": 1.0, "prepare": 2.0, "route": 3.0, "merge": 3.0, "deliver": 1.0, "match": 80.0, "jvm": 10.0}
    assert throughput_of(stages, 30.0, 1) == 1e6 / 100
    assert throughput_of(stages, 30.0, 2) == 1e6 / (10 + 40 + 5)
    assert throughput_of(stages, 30.0, 8) == 1e6 / (10 + 30 + 1.25)


def test_work_is_told_for_each_row() -> None:
    spent = dict.fromkeys(("source", "prepare", "route", "merge", "deliver", "jvm"), 0.001) | {"match": 0.008}
    zones = {f"zone-{zone}": {"processor": {"match": seconds}} for zone, seconds in enumerate((0.003, 0.005))}
    told = [Told(number, 0.0, 10, 0, zones | {"router": {"copies": 15}}, spent) for number in range(2)]
    found = work_of(told)
    assert {name: round(value, 6) for name, value in found.items() if name.startswith("us.")} == {
        **dict.fromkeys(("us.source", "us.prepare", "us.route", "us.merge", "us.deliver", "us.jvm"), 100.0),
        "us.match": 800.0,
        "us.zone": 500.0,
    }
    assert found["copies"] == 1.5
    assert found["rate.1"] < found["rate.2"] < found["rate.16"] < 1e6 / (500 + 500)


@pytest.mark.spark
@pytest.mark.toy("pipeline-scale")
def test_every_stage_is_counted(runs: dict[str, list[Row]]) -> None:
    one, two = runs["pipeline-scale"]
    assert (one["algorithm"], two["algorithm"]) == ("1 zone", "2 zones")
    for row in (one, two):
        measures = row["measures"]
        assert all(measures[f"us.{stage}"] > 0 for stage in STAGES)
        assert 0 < measures["us.zone"] <= measures["us.match"]
    assert one["measures"]["copies"] == 1


class Alone:
    """The processor of the other shape with its state, but without Spark; `slots` are the keys of its zones."""

    def __init__(self, course: PipelineCourse, folder: Path, slots: list[int]) -> None:
        from pyspark.sql.streaming.tws_tester import TwsTester

        from skyband.bench.pipeline_stateful import StatefulMatch, deal
        from skyband.pipeline.state.folder import State

        State(folder).begin(Pair(course).shape)
        self.deal, self.state, self.slots = deal, str(folder), slots
        self.tester = TwsTester(StatefulMatch(self.state, slots))
        self.offsets = {"publications": 0, "subscriptions": 0}

    def feed(self, step: CourseStep) -> tuple[pa.Table, dict[str, Any]]:
        """The changes that a step brings, and what is told beside them."""
        from skyband.bench.pipeline_stateful import _unpacked

        batch = raw(step, self.offsets[step.noun])
        self.offsets[step.noun] += len(step.rows)
        dealt = pa.Table.from_batches(self.deal(iter([batch]), self.state, self.slots)).to_pandas()
        told = self.tester.testInPandas(self.slots[0], dealt).iloc[0].to_dict()
        return _unpacked(told.pop("payload")), {str(name): value for name, value in told.items()}


@pytest.fixture
def alone(course: PipelineCourse, tmp_path: Path) -> Iterator[Alone]:
    from skyband.bench import pipeline_stateful

    pipeline_stateful._KEPT.clear()
    yield Alone(course, tmp_path / "state", [7])
    pipeline_stateful._KEPT.clear()


def test_the_other_shape_answers_like_the_engine_also_when_rebuilt(course: PipelineCourse, alone: Alone) -> None:
    from skyband.bench import pipeline_stateful

    bare = Bare(course)
    for step in course.opening:
        alone.feed(step)
    for number, step in enumerate(course.batches):
        if number == 2:
            # The worker is gone; what is left is in the state.
            pipeline_stateful._KEPT.clear()
        wanted = bare.feed(step)
        found, told = alone.feed(step)
        require_same(wanted.sort_by(KEY), found.select(wanted.column_names).sort_by(KEY), "transformWithState")
        assert (told["rebuilt_seconds"] > 0) == (number == 2)
        assert (told["commands"], told["publications"]) == (0, 5)


def test_the_other_shape_goes_on_from_a_snapshot(
    course: PipelineCourse, alone: Alone, monkeypatch: pytest.MonkeyPatch
) -> None:
    from skyband.bench import pipeline_stateful
    from skyband.pipeline import runner

    monkeypatch.setattr(runner, "LOG_BATCHES", 3)
    bare = Bare(course)
    for step in course.opening + course.batches[:3]:
        alone.feed(step)
    for step in course.batches[:3]:
        bare.feed(step)
    pipeline_stateful._KEPT.clear()
    found, told = alone.feed(course.batches[3])
    wanted = bare.feed(course.batches[3])
    require_same(wanted.sort_by(KEY), found.select(wanted.column_names).sort_by(KEY), "transformWithState")
    assert told["rebuilt_seconds"] > 0


@pytest.mark.spark
@pytest.mark.toy("pipeline")
def test_every_contest_is_measured(runs: dict[str, list[Row]]) -> None:
    rows = runs["pipeline"]
    found = {(row["contest"].partition(",")[0], row["algorithm"]) for row in rows}
    assert found == {
        ("throughput", "bare"),
        ("throughput", "discard"),
        ("throughput", "parquet"),
        ("latency", "parquet"),
        ("shapes", "mapInArrow"),
        ("shapes", "transformWithState"),
        ("state", "log"),
        ("state", "snapshot"),
        ("recovery", "new process"),
    }
    for row in rows:
        if row["contest"].startswith("shapes"):
            assert row["measures"]["rebuilt_s"] > 0, "a worker was killed, so that its engine had to be rebuilt"
        if row["contest"].startswith("recovery"):
            assert row["measures"]["rebuilt_s"] > 0, "a new process has to rebuild everything"
        if row["contest"].startswith("throughput") and row["algorithm"] != "bare":
            assert row["measures"]["copies"] == 1, "there is one zone"
