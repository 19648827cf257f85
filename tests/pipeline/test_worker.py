"""What tasks do, called here without Spark: parts are lost, asked twice and rebuilt, and answers stay the same."""

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skyband.pipeline import history
from skyband.pipeline.history import Stretch
from skyband.pipeline.runner import Due
from skyband.pipeline.stage import worker
from skyband.pipeline.stage.ipc import PARCELS, packed, unpacked
from skyband.pipeline.stage.merge import merged
from skyband.pipeline.stage.prepare import prepare_rows
from skyband.pipeline.stage.worker import Job
from skyband.pipeline.stage.zone import answer_schema
from skyband.pipeline.state.folder import ROUTER, State, move
from skyband.pipeline.state.spec import Shape
from tests.pipeline.streams import Alone, Batch, Row, raw, shape_of, streams


class Tasks:
    """A driver that calls the tasks of a batch itself and puts what they leave in place."""

    def __init__(self, folder: Path, shape: Shape) -> None:
        self.shape, self.state = shape, State(folder)
        self.state.begin(shape)
        self.base, self.copy = -1, None
        self.snapshots: dict[str, int] = {}
        self.who = [f"zone-{number}" for number in range(shape.n_zones)]

    def job(self, who: str, save: bool = False) -> Job:
        snapshot = self.snapshots.get(who)
        return Job(str(self.state.folder), who, self.base + 1, self.base, snapshot, save, run="r", copy=self.copy)

    def apply(self, batch: Batch, saved: str | None, twice: bool) -> list[Row]:
        number, left = self.base + 1, self.state.attempt(self.base + 1, "r")
        prepared = list(worker.prepare_parcels(iter(raw(batch).to_batches()), str(self.state.folder)))
        for _ in range(1 + twice):
            routed = list(worker.route(iter(prepared), self.job(ROUTER, saved == ROUTER)))
            for zone, who in enumerate(self.who):
                mine = [parcel for parcel in routed if parcel["zone"][0].as_py() == zone]
                (told,) = worker.match(iter(mine), self.job(who, saved == who))
                assert told["zone"].to_pylist() == [zone]
        reports = {path.stem: json.loads(path.read_text()) for path in left.glob("*.json")}
        assert set(reports) == {ROUTER, *self.who}
        self.copy = reports[ROUTER]["copy"]
        move(left / worker.LOG, self.state.log(number))
        if saved is not None:
            move(left / worker.SNAPSHOT, self.state.snapshot(saved, number))
            self.snapshots[saved] = number
        self.base = number
        rows: list[Row] = self._changes(left).drop_columns(["batch", "row"]).to_pylist()
        return rows

    def _changes(self, left: Path) -> pa.Table:
        if self.shape.n_zones == 1:
            return pq.read_table(left / worker.CHANGES)
        tables = [feather.read_table(left / f"answers-{zone}.arrow") for zone in range(self.shape.n_zones)]
        return merged(pa.concat_tables(tables), self.shape)


@pytest.mark.parametrize(("family", "n_zones"), [("window", 1), ("window", 2), ("ranges", 2)])
@given(data=st.data())
def test_parts_come_back_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, family: str, n_zones: int, data: st.DataObject
) -> None:
    shape = shape_of(family, n_zones)
    tasks, alone = Tasks(tmp_path_factory.mktemp("state"), shape), Alone(shape)
    for batch in data.draw(streams(family)):
        saved = data.draw(st.sampled_from([None, None, ROUTER, *tasks.who]))
        assert tasks.apply(batch, saved, twice=data.draw(st.booleans())) == alone.apply(batch)
        for lost in data.draw(st.sets(st.sampled_from([ROUTER, *tasks.who]))):
            worker._PARTS.pop((str(tasks.state.folder), lost), None)


@pytest.mark.parametrize("family", ["window", "geotext", "ranges", "ranked"])
@given(data=st.data())
def test_history_is_cut_into_batches(
    tmp_path_factory: pytest.TempPathFactory, family: str, data: st.DataObject
) -> None:
    shape = shape_of(family, 2)
    state = State(tmp_path_factory.mktemp("state"))
    state.begin(shape)
    whole = data.draw(streams(family))
    commands = [row for batch in whole for row in batch.commands if row["op"] == "subscribe"]
    publications = [row for batch in whole for row in batch.publications]
    size, until = data.draw(st.integers(1, 5)), 50 if data.draw(st.booleans()) else None
    rows = prepare_rows(raw(Batch(commands, publications)), shape)
    chunks = iter(rows.to_batches(max_chunksize=data.draw(st.integers(1, 7))))
    stretch = Stretch(str(state.folder), ROUTER, size, until, tops=family != "ranked")
    routed = list(history.route_history(chunks, stretch))
    last = json.loads((state.staged(0) / f"{ROUTER}.json").read_text())["last"]
    tables = [answer_schema(shape).empty_table()]
    for zone in range(2):
        own = stretch._replace(who=f"zone-{zone}", last=last)
        mine = _of(zone, routed)
        tables += [pa.Table.from_batches([batch]) for batch in history.match_history(mine, own)]
    got = merged(pa.concat_tables(tables), shape).drop_columns(["batch", "row"]).to_pylist()
    assert got == _alone(shape, commands, publications, size, until)


def _of(zone: int, routed: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in routed:
        yield batch.filter(pa.compute.equal(batch["zone"], zone))


def _alone(shape: Shape, commands: list[Row], publications: list[Row], size: int, until: int | None) -> list[Row]:
    """What one engine answers; publications that cannot be used do count when batches are cut.

    Batches are of publications alone or of retractions alone, and only those of publications are cut by their size.
    """
    alone = Alone(shape)
    told = alone.apply(Batch(commands, []))
    for op, rows in itertools.groupby(publications, key=lambda row: row.get("op")):
        run = list(rows)
        step = len(run) if op == "retract" else size
        for start in range(0, len(run), step):
            told += alone.apply(Batch([], run[start : start + step]))
    if until is not None and (alone.engine.now is None or alone.engine.now <= until):
        told += alone.apply(Batch([{"op": "advance", "ts": until}], []))
    return told


def test_words_are_counted_of_publications_alone() -> None:
    rows = [
        {"id": 1, "text": "Jazz, jazz"},
        {"op": "retract", "id": 1, "text": "blues"},
        {"op": "publish", "terms": ["a"]},
    ]
    batch = pa.record_batch({"value": [json.dumps(row) for row in rows]})
    assert [words for found in worker.documents(iter([batch])) for words in found["words"].to_pylist()] == [
        ["jazz"],
        ["a"],
    ]


def test_parcels_hold_tables() -> None:
    table = pa.table({"id": ["a", "é"], "terms": [["x"], []]})
    parcels = [packed(3, table), packed(3, table.slice(0, 0)), packed(3, table.slice(1))]
    assert parcels[0].schema == PARCELS
    assert unpacked(iter(parcels), table.schema).to_pylist() == [*table.to_pylist(), table.to_pylist()[1]]
    assert unpacked(iter([]), table.schema) == table.schema.empty_table()


def test_a_part_is_due_for_a_snapshot_when_rebuilding_it_takes_long() -> None:
    report: dict[str, Any] = {"seconds": 2.0, "rebuilt_seconds": 0.5, "counters": {}}
    due = Due(0, 0, 0)
    for _ in range(3):
        due = due.after(10, report)
    assert (due.batches, due.log_bytes, due.seconds, due.is_due()) == (3, 30, 4.5, False)
    assert due.after(10, report).is_due()
    assert not due._replace(save_seconds=1.0).after(10, report).is_due()
    assert due._replace(seconds=20.0, save_seconds=9.0).is_due()
    assert not due._replace(seconds=20.0, save_seconds=11.0).is_due()
    assert due._replace(log_bytes=9 << 20).is_due()
    assert not due._replace(log_bytes=9 << 20, snapshot_bytes=30 << 20).is_due()
    assert due._replace(batches=600).is_due()
    routers = {name: report[name] for name in ("seconds", "rebuilt_seconds")}
    assert due.after(0, routers).seconds == due.seconds
