"""What the tasks run: the router and the zones, alive in a Python worker from one micro-batch to the next.

The functions here are called by Spark in its Python workers. Each part is kept in `_PARTS`, with the batch it has gone
through; one that is not there, or has gone through another batch than the driver says, is rebuilt from the state.
"""

import json
import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.feather as feather

from skyband.pipeline.processor import MATCH, PREPARE, ROUTE, SOURCE, java_of_worker, told_by_source, used
from skyband.pipeline.stage.ipc import packed, unpacked, unpacked_with_costs
from skyband.pipeline.stage.merge import merged
from skyband.pipeline.stage.prepare import prepare_packed
from skyband.pipeline.stage.router import NOWHERE, Router, Routing
from skyband.pipeline.stage.zone import Zone, ZoneAnswer
from skyband.pipeline.state.folder import ROUTER, State, read_log, write_log, write_parquet, write_text
from skyband.pipeline.state.snapshot import load_router, load_zone, save_router, save_zone
from skyband.pipeline.state.spec import Shape
from skyband.table.operation import without_retractions
from skyband.table.scalar import texts
from skyband.table.sieve import Sieve
from skyband.table.text_file import read_ndjson
from skyband.table.vector import words as words_of
from skyband.table.words import tokenise
from skyband.zoning import Interest

# What tasks leave for the driver, which puts it in its place when the batch counts.
# Answers go this way too: there can be many, and Spark would copy each several times.
LOG, DEAD_LETTERS, SNAPSHOT, CHANGES = "log.arrow", "dead.parquet", "snapshot", "changes.parquet"

# What a zone says when it has answered.
ANSWERED = pa.schema([("zone", pa.int32()), ("rows", pa.int64())])


class Job(NamedTuple):
    """One batch for one part: which batch, which is the last committed one, and the part's latest snapshot.

    A copy of a part that another `run` has left in a worker is not used: what that run did may not have counted. Of the
    router, only the very copy that routed the last committed batch is: another may have sent rows elsewhere.
    """

    state: str
    who: str
    batch: int
    base: int
    snapshot: int | None
    save: bool = False
    tops: bool = False
    refresh: bool = False
    interests: tuple[tuple[int, str, str], ...] = ()
    run: str = ""
    copy: str | None = None


class DonePart(NamedTuple):
    """A part and the last batch it went through with what it answered, should it be asked again."""

    part: Router | Zone
    run: str
    routing: Routing | None = None
    answer: ZoneAnswer | None = None
    copy: str = ""


_PARTS: dict[tuple[str, str], DonePart] = {}
_SHAPES: dict[str, tuple[tuple[int, int], Shape]] = {}


def shape_of(state: str) -> Shape:
    """The shape of a pipeline, read once; anew if another pipeline was begun in the folder."""
    file = State(state).shape_file
    mark = (file.stat().st_mtime_ns, file.stat().st_ino) if file.exists() else (0, 0)
    if state not in _SHAPES or _SHAPES[state][0] != mark:
        _SHAPES[state] = (mark, State(state).shape())
    return _SHAPES[state][1]


def _kept(job: Job) -> DonePart | None:
    """The part as this worker has it, if it is of this run."""
    done = _PARTS.get((job.state, job.who))
    return done if done is not None and done.run == job.run else None


def prepare(batches: Iterator[pa.RecordBatch], state: str) -> Iterator[pa.RecordBatch]:
    """Typed rows for raw ones."""
    yield from prepare_as(batches, shape_of(state))


def prepare_as(batches: Iterator[pa.RecordBatch], shape: Shape) -> Iterator[pa.RecordBatch]:
    """Typed rows for raw ones, where there is no state yet."""
    for batch in batches:
        if batch.num_rows:
            for rows in prepare_packed(pa.Table.from_batches([batch]), shape):
                yield from rows.to_batches()


def prepare_parcels(batches: Iterator[pa.RecordBatch], state: str) -> Iterator[pa.RecordBatch]:
    """Typed rows for raw ones, in parcels for the router."""
    for batch in batches:
        if batch.num_rows:
            by_source = told_by_source(batch)
            for rows in prepare_packed(pa.Table.from_batches([batch]), shape_of(state)):
                yield packed(NOWHERE, rows, {SOURCE: by_source, PREPARE: used()})
                by_source = 0.0


def documents(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The distinct words of each publication; null where it has none that can be read."""
    for batch in batches:
        lines = [value.replace("\n", " ").replace("\r", " ") for value in batch.column("value").to_pylist()]
        reading = read_ndjson("\n".join(lines).encode(errors="surrogatepass"))
        found = [sorted(set(words)) for words in _words_in(reading.table)]
        yield pa.RecordBatch.from_arrays([pa.array(found, pa.list_(pa.string()))], names=["words"])


def _words_in(table: pa.Table) -> Iterator[list[str]]:
    if not table.num_columns:
        return
    # Words of what is withdrawn are no document.
    sieve = Sieve(without_retractions(table), "publications")
    terms, text = words_of(sieve, "terms"), texts(sieve, "text")
    values, edges = terms.values.to_pylist(), terms.offsets.tolist()
    for row, said in enumerate(text.to_pylist()):
        if not terms.null[row]:
            yield [term for term in values[edges[row] : edges[row + 1]] if term is not None]
        elif said is not None:
            yield tokenise(said)


def route(batches: Iterator[pa.RecordBatch], job: Job) -> Iterator[pa.RecordBatch]:
    """A parcel of rows for each zone; the log, the dead letters and a report are written beside."""
    shape, state = shape_of(job.state), State(job.state)
    rows, spent = unpacked_with_costs(batches, shape.prepared())
    # Waiting for the rows is no work of this part.
    began = time.perf_counter()
    key, left = (job.state, ROUTER), state.attempt(job.batch, job.run)
    done = _kept(job)
    rebuilt = 0.0
    if done is None or done.part.version != job.batch or done.routing is None:
        if done is None or done.part.version != job.base or done.copy != job.copy:
            started = time.perf_counter()
            done = DonePart(_rebuilt_router(shape, state, job), job.run)
            rebuilt = time.perf_counter() - started
        router = done.part
        assert isinstance(router, Router)
        for zone, whole, close in job.interests:
            router.refresh(zone, Interest.from_json(whole), Interest.from_json(close))
        _PARTS.pop(key, None)
        routing = router.route(job.batch, rows)
        done = _PARTS[key] = DonePart(router, job.run, routing=routing, copy=secrets.token_hex(8))
    router, told = done.part, done.routing
    assert isinstance(router, Router)
    assert told is not None
    left.mkdir(parents=True, exist_ok=True)
    write_log(left / LOG, told.rows)
    if len(told.dead):
        write_parquet(left / DEAD_LETTERS, told.dead)
    if job.save:
        save_router(router, left / SNAPSHOT)
    seconds = time.perf_counter() - began
    report = told.report._asdict() | _costs(seconds, rebuilt, left / LOG, router.n_subscriptions)
    _write_report(left, job, report | {"copy": done.copy, "processor": spent | {ROUTE: used()}})
    for number in range(shape.n_zones):
        sent = told.rows.filter(pc.equal(told.rows["zone"], number))
        if len(sent):
            yield packed(number, sent)


def match(batches: Iterator[pa.RecordBatch], job: Job) -> Iterator[pa.RecordBatch]:
    """How many answers one zone has to the rows sent to it; they, the tops and a report are written beside."""
    shape, state = shape_of(job.state), State(job.state)
    rows = unpacked(batches, shape.routed())
    # Waiting for the rows is no work of this part.
    began = time.perf_counter()
    number = int(job.who.removeprefix("zone-"))
    key, left = (job.state, job.who), state.attempt(job.batch, job.run)
    done = _kept(job)
    rebuilt = 0.0
    if done is None or done.part.version != job.batch or done.answer is None:
        started, kept = time.perf_counter(), None if done is None else done.part
        if isinstance(kept, Zone) and job.base >= kept.version >= (-1 if job.snapshot is None else job.snapshot):
            zone = kept
        else:
            zone = _restored_zone(shape, state, job, number)
        _PARTS.pop(key, None)
        _catch_up(zone, state, job.base)
        rebuilt = time.perf_counter() - started
        done = _PARTS[key] = DonePart(zone, job.run, answer=zone.apply(job.batch, rows, job.tops))
    part, answer = done.part, done.answer
    assert isinstance(part, Zone)
    assert answer is not None
    left.mkdir(parents=True, exist_ok=True)
    if shape.n_zones == 1:
        # Nobody else's answers are to be merged with these.
        write_parquet(left / CHANGES, merged(answer.changes, shape))
    else:
        feather.write_feather(answer.changes, left / f"answers-{number}.arrow", compression="uncompressed")
    if answer.tops is not None:
        write_parquet(left / f"tops-{number}.parquet", answer.tops)
    told: dict[str, object] = {"counters": part.engine.counters, "now": part.engine.now}
    if job.save:
        started = time.perf_counter()
        save_zone(part, left / SNAPSHOT)
        told["save_seconds"] = time.perf_counter() - started
    if job.refresh:
        whole, close = part.interests()
        told["interests"] = [whole.to_json(), close.to_json()]
    seconds = time.perf_counter() - began
    told["processor"] = {MATCH: used()}
    _write_report(left, job, told | _costs(seconds, rebuilt, None, part.n_subscriptions))
    counts = [pa.array([number], pa.int32()), pa.array([len(answer.changes)], pa.int64())]
    yield pa.RecordBatch.from_arrays(counts, schema=ANSWERED)


def ping(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Nothing: a worker that is asked for nothing now and then is not let go."""
    yield from batches


def _rebuilt_router(shape: Shape, state: State, job: Job) -> Router:
    router = Router(shape) if job.snapshot is None else load_router(shape, state.snapshot(ROUTER, job.snapshot))
    for batch in range(router.version + 1, job.base + 1):
        router.relive(batch, read_log(state.log(batch)))
    return router


def _restored_zone(shape: Shape, state: State, job: Job, number: int) -> Zone:
    if job.snapshot is None:
        return Zone(shape, number)
    return load_zone(shape, number, state.snapshot(job.who, job.snapshot), job.snapshot)


def _catch_up(zone: Zone, state: State, base: int) -> None:
    """Go through the batches that this copy of the zone has not seen."""
    for batch in range(zone.version + 1, base + 1):
        rows = read_log(state.log(batch))
        zone.apply(batch, rows.filter(pc.equal(rows["zone"], zone.number)))


def _costs(seconds: float, rebuilt: float, log: Path | None, n_subscriptions: int) -> dict[str, object]:
    costs: dict[str, object] = {"seconds": seconds, "rebuilt_seconds": rebuilt, "subscriptions": n_subscriptions}
    return costs | ({} if log is None else {"log_bytes": log.stat().st_size})


def _write_report(left: Path, job: Job, report: dict[str, object]) -> None:
    left.mkdir(parents=True, exist_ok=True)
    write_text(left / f"{job.who}.json", json.dumps(report | {"java": java_of_worker()}))
