"""The other shape of match, to be measured beside ours: `transformWithStateInPandas`, with Spark's own state.

An engine lives in a module-level dict of the Python worker, and is at the version that its entry says. What is durable
is in Spark's state store, under the key of the zone: the version, the rows of every batch since the last snapshot, and
that snapshot in pieces. A worker whose copy is absent or at another version rebuilds it from there. Snapshots are due
when those of our own shape are. Rows and answers travel as Arrow streams in a binary column, so that no nested column
is turned into pandas objects. There is no router: publications go to all zones. Only what the benchmark needs is here.
"""

import io
import itertools
import os
import tarfile
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F  # noqa: N812 (the name that Spark's own documentation uses)
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from skyband.bench.pipeline_course import PipelineCourse
from skyband.bench.pipeline_flow import Inlet, Told, check_query, write_configuration
from skyband.contract.family import FAMILIES
from skyband.pipeline.config import load_config
from skyband.pipeline.run import begun
from skyband.pipeline.runner import Due
from skyband.pipeline.sink import open_sink, read_changes
from skyband.pipeline.source.source import read_source
from skyband.pipeline.stage import worker
from skyband.pipeline.stage.frames import own_worker
from skyband.pipeline.stage.merge import delivered_schema, merged
from skyband.pipeline.stage.zone import Zone, answer_schema
from skyband.pipeline.state.folder import State, write_parquet
from skyband.pipeline.state.snapshot import load_zone, save_zone
from skyband.pipeline.state.spec import RAW, Shape, make_shape
from skyband.zoning import Zoning

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PIECE = 4 << 20
ROWS = "slot bigint, rank int, first bigint, payload binary"
TOLD = "slot bigint, pid bigint, rebuilt_seconds double, commands bigint, publications bigint, payload binary"
# Publications are placed after all commands.
AFTER_COMMANDS = 1 << 40


class Kept(NamedTuple):
    """An engine, and how many batches it has gone through."""

    zone: Zone
    version: int


_KEPT: dict[tuple[str, int], Kept] = {}


def deal(batches: Iterator[pa.RecordBatch], state: str, slots: list[int]) -> Iterator[pa.RecordBatch]:
    """The rows of each zone as one binary value for every chunk of raw rows."""
    shape = worker.shape_of(state)
    for batch in batches:
        if batch.num_rows:
            raw = pa.Table.from_batches([batch]).cast(RAW)
            yield from _dealt(next(worker.prepare_as(iter([batch]), shape)), shape, slots, raw["noun"][0].as_py())


def _dealt(batch: pa.RecordBatch, shape: Shape, slots: list[int], noun: str) -> Iterator[pa.RecordBatch]:
    prepared = pa.Table.from_batches([batch])
    offsets = prepared["offset"].to_numpy()
    published = noun == "publications"
    zones = np.zeros(len(prepared), np.int64) if published else _zones(prepared, shape)
    for number, slot in enumerate(slots):
        mine = prepared if published else prepared.filter(pa.array(zones == number))
        at = offsets if published else offsets[zones == number]
        if len(mine):
            columns = {
                "batch": np.zeros(len(mine), np.int64),
                "zone": np.full(len(mine), number, np.int32),
                "place": at + (AFTER_COMMANDS if published else 0),
                "turn": np.full(len(mine), -1) if published else at,
            }
            arrays = [pa.array(column) for column in columns.values()] + [
                mine[name] for name in ("op", "asked", "said")
            ]
            payload = _packed(pa.Table.from_arrays(arrays, schema=shape.routed()))
            row = {"slot": [slot], "rank": [int(published)], "first": [int(at[0])], "payload": [payload]}
            schema = [("slot", pa.int64()), ("rank", pa.int32()), ("first", pa.int64()), ("payload", pa.binary())]
            yield pa.RecordBatch.from_pydict(row, schema=pa.schema(schema))


def _zones(prepared: pa.Table, shape: Shape) -> Any:
    asked = prepared["asked"].combine_chunks()
    table = pa.Table.from_arrays(asked.flatten(), names=[field.name for field in asked.type])
    return shape.zoning.zone_of(FAMILIES[shape.family].parse_subscriptions(table, shape.settings).rows)


def _packed(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _unpacked(payload: bytes) -> pa.Table:
    return pa.ipc.open_stream(payload).read_all()


class StatefulMatch(StatefulProcessor):
    """Matches the rows of one zone, with an engine that outlives it in the worker."""

    def __init__(self, state: str, slots: list[int]) -> None:
        self.state = state
        self.slots = slots

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state."""
        numbers = "version bigint, saved bigint, log_bytes bigint, snapshot_bytes bigint, pieces bigint"
        self.head = handle.getValueState("head", numbers)
        self.log = handle.getMapState("log", "version bigint, piece bigint", "rows binary")
        self.snapshot = handle.getMapState("snapshot", "piece bigint", "bytes binary")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802, N803  Spark's own names
        """Go through the rows of a micro-batch, and write down what it takes to do so again."""
        frame = pd.concat(list(rows)).sort_values(["rank", "first"])
        table = pa.concat_tables([_unpacked(payload) for payload in frame["payload"]])
        number = self.slots.index(key[0])
        version, saved, log_bytes, snapshot_bytes, n_pieces = self.head.get() or (0, 0, 0, 0, 0)
        kept = _KEPT.pop((self.state, number), None)
        rebuilt = 0.0
        if kept is None or kept.version != version:
            started = time.perf_counter()
            kept = Kept(self._rebuilt(number, version, saved, n_pieces), version)
            rebuilt = time.perf_counter() - started
        answer = kept.zone.apply(version, table)
        written = _packed(table)
        for piece, start in enumerate(range(0, len(written), PIECE)):
            self.log.updateValue((version, piece), (written[start : start + PIECE],))
        log_bytes += len(written)
        if Due(version + 1 - saved, log_bytes, snapshot_bytes).is_due():
            snapshot_bytes, n_pieces = self._save(kept.zone, saved, version, n_pieces)
            saved, log_bytes = version + 1, 0
        self.head.update((version + 1, saved, log_bytes, snapshot_bytes, n_pieces))
        _KEPT[self.state, number] = Kept(kept.zone, version + 1)
        told: dict[str, list[Any]] = {"slot": [key[0]], "pid": [os.getpid()], "rebuilt_seconds": [rebuilt]}
        n_said = pc.sum(pc.equal(table["op"], "publish")).as_py()
        told |= {"commands": [len(table) - n_said], "publications": [n_said]}
        yield pd.DataFrame(told | {"payload": [_packed(answer.changes)]})

    def _rebuilt(self, number: int, version: int, saved: int, n_pieces: int) -> Zone:
        zone = self._restored(number, saved, n_pieces) if saved else Zone(worker.shape_of(self.state), number)
        for each in range(saved, version):
            zone.apply(each, _unpacked(b"".join(self._pieces(each))))
        return zone

    def _pieces(self, version: int) -> Iterator[bytes]:
        for piece in itertools.count():
            found = self.log.getValue((version, piece))
            if found is None:
                return
            yield found[0]
            if len(found[0]) < PIECE:
                return

    def _restored(self, number: int, saved: int, n_pieces: int) -> Zone:
        parts = [self.snapshot.getValue((piece,)) for piece in range(n_pieces)]
        whole = io.BytesIO(b"".join(part[0] for part in parts if part is not None))
        with tempfile.TemporaryDirectory() as folder:
            with tarfile.open(fileobj=whole) as archive:
                archive.extractall(folder, filter="data")
            return load_zone(worker.shape_of(self.state), number, Path(folder) / "zone", saved - 1)

    def _save(self, zone: Zone, saved: int, version: int, n_before: int) -> tuple[int, int]:
        """Write the zone in place of the log; returns its bytes and pieces."""
        buffer = io.BytesIO()
        with tempfile.TemporaryDirectory() as folder:
            save_zone(zone, Path(folder) / "zone")
            with tarfile.open(fileobj=buffer, mode="w") as archive:
                archive.add(Path(folder) / "zone", "zone")
        whole = buffer.getvalue()
        starts = range(0, len(whole), PIECE)
        for piece, start in enumerate(starts):
            self.snapshot.updateValue((piece,), (whole[start : start + PIECE],))
        for piece in range(len(starts), n_before):
            self.snapshot.removeKey((piece,))
        for each in range(saved, version + 1):
            n_pieces = sum(1 for _ in self._pieces(each))
            for piece in range(n_pieces):
                self.log.removeKey((each, piece))
        return len(whole), len(starts)


class Stateful:
    """A stream of this shape; see `Flow`."""

    def __init__(self, spark: "SparkSession", folder: Path, course: PipelineCourse, n_zones: int, zoning: str) -> None:
        self.inlet = Inlet(folder)
        self.feed, self.append, self.wait = self.inlet.feed, self.inlet.append, self.inlet.wait
        self.spark, self.folder = spark.newSession(), folder
        (folder / "zoning.json").write_text(zoning, encoding="utf-8")
        self.config = load_config(write_configuration(folder, course, n_zones, "parquet"))
        self.shape = make_shape(self.config, Zoning.from_json(zoning))
        self.state = State(folder / "state")
        self.state.begin(self.shape)
        self.pid: int | None = None
        private = folder / "private"
        private.mkdir()
        schema = delivered_schema(self.shape)
        self.sink = open_sink(self.config.changes[0], "changes", spark=self.spark, folder=private, schema=schema)
        self.query = self._start(n_zones)
        self.inlet.check = partial(check_query, self.query)
        for step in course.opening:
            self.feed(step.noun, step.texts)

    def _start(self, n_zones: int) -> Any:
        self.spark.conf.set("spark.sql.shuffle.partitions", str(n_zones))
        slots = slots_of(self.spark, n_zones)
        endpoints = (("subscriptions", self.config.subscriptions), ("publications", self.config.publications))
        read = [
            read_source(self.spark, noun, endpoint, stream=True, max_rows=self.config.batch)
            for noun, endpoint in endpoints
        ]
        state = str(self.state.folder)
        with own_worker(self.spark.sparkContext, "prepare"):
            dealt = read[0].unionByName(read[1]).mapInArrow(partial(deal, state=state, slots=slots), ROWS)
        matched = dealt.groupBy("slot").transformWithStateInPandas(StatefulMatch(state, slots), TOLD, "Append", "None")
        writer = matched.writeStream.outputMode("append").foreachBatch(self._batch)
        writer = writer.option("checkpointLocation", str(self.state.checkpoint))
        return begun(writer.trigger(processingTime="0 milliseconds").start)

    def _batch(self, frame: "DataFrame", number: int) -> None:
        """Merge and deliver what a micro-batch told."""
        told = frame.toArrow()
        answers = pa.concat_tables(
            [answer_schema(self.shape).empty_table(), *(_unpacked(each) for each in told["payload"].to_pylist())]
        )
        changes = merged(answers, self.shape)
        changes = changes.set_column(0, "batch", pa.array(np.full(len(changes), number), pa.int64()))
        staged = self.state.staged(number) / "changes.parquet"
        write_parquet(staged, changes)
        if len(changes):
            self.sink.deliver(number, staged, len(changes))
        parts = {f"zone-{row['slot']}": row for row in told.drop_columns(["payload"]).to_pylist()}
        self.pid = next((row["pid"] for row in parts.values()), self.pid)
        # All zones get all publications, and a subscription is in one.
        n_rows = sum(row["commands"] for row in parts.values())
        n_rows += max((row["publications"] for row in parts.values()), default=0)
        self.inlet.told.put(Told(number, time.perf_counter(), n_rows, len(changes), parts))

    def changes(self) -> pa.Table:
        """All changes that were delivered."""
        return read_changes(self.folder / "changes")

    def kill(self) -> None:
        """Kill the process that holds the first engine that answered last."""
        assert self.pid is not None
        os.kill(self.pid, 9)

    def stop(self) -> None:
        """End the stream."""
        self.query.stop()
        self.sink.close()
        self.inlet.close()


def slots_of(spark: "SparkSession", n_zones: int) -> list[int]:
    """A key for each zone, of which no two come to the same partition."""
    places = spark.range(1000).select("id", F.expr(f"pmod(hash(id), {n_zones})").alias("place")).toArrow()
    first: dict[int, int] = {}
    for slot, place in zip(places["id"].to_pylist(), places["place"].to_pylist(), strict=True):
        first.setdefault(place, slot)
    return [first[place] for place in range(n_zones)]


def pid_of(spark: "SparkSession", who: str) -> int:
    """The process that a part of a pipeline lives in."""
    with own_worker(spark.sparkContext, who):
        frame = spark.range(1).coalesce(1).mapInArrow(_tell_pid, "pid bigint")
    return int(frame.toArrow()["pid"][0].as_py())


def _tell_pid(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for _ in batches:
        yield pa.RecordBatch.from_pydict({"pid": pa.array([os.getpid()], pa.int64())})
