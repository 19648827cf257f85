"""What the tasks run over history: the router and the zones go through all batches in one task each.

There is no log here: a backfill that fails begins anew, and one that ends well leaves snapshots to go on from.
"""

import json
import time
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import pyarrow as pa

from skyband.pipeline.processor import MATCH, ROUTE, used
from skyband.pipeline.stage.dead_letter import DEAD
from skyband.pipeline.stage.router import Report, Router
from skyband.pipeline.stage.step import PUBLISH, RETRACT, runs
from skyband.pipeline.stage.worker import shape_of
from skyband.pipeline.stage.zone import Zone
from skyband.pipeline.state.folder import ROUTER, State, write_parquet, write_text
from skyband.pipeline.state.snapshot import save_router, save_zone
from skyband.pipeline.state.spec import Shape

# How often a task says how far it is, in seconds.
TELL_EVERY = 0.5


class Stretch(NamedTuple):
    """A stretch of history for one part: publications are cut into batches of `size`, commands are all in the first.

    With `until`, in microseconds, time advances to it in a batch of its own at the end. `last` is the number of the
    last batch, which only the router finds out.
    """

    state: str
    who: str
    size: int
    until: int | None = None
    last: int = -1
    tops: bool = False
    save: bool = True


def route_history(batches: Iterator[pa.RecordBatch], stretch: Stretch) -> Iterator[pa.RecordBatch]:
    """Rows with their batches and zones, for prepared rows that come in order; dead letters and a report beside."""
    shape, state = shape_of(stretch.state), State(stretch.state)
    router, began = Router(shape), time.perf_counter()
    dead, reports = [DEAD.empty_table()], list[Report]()
    told = _Teller(state, stretch.who)
    for number, rows in enumerate(_cut(batches, shape, stretch)):
        routing = router.route(number, rows)
        dead.append(routing.dead)
        reports.append(routing.report)
        told.tell(sum(report.publications for report in reports))
        yield from (batch for batch in routing.rows.to_batches() if batch.num_rows)
    if stretch.save:
        save_router(router, state.snapshot(ROUTER, router.version))
    letters = pa.concat_tables(dead)
    write_parquet(state.staged(0) / "dead.parquet", letters)
    write_text(
        state.staged(0) / f"{ROUTER}.json",
        json.dumps(
            {
                "last": router.version,
                "commands": sum(report.commands for report in reports),
                "publications": sum(report.publications for report in reports),
                "dead": len(letters),
                "late": sum(report.late for report in reports),
                "copies": sum(report.copies for report in reports),
                "handed_over": sum(report.handed_over for report in reports),
                "now": router.now,
                "retracted": sum(report.retracted for report in reports),
                "retracted_late": sum(report.retracted_late for report in reports),
                "sent": [sum(sent) for sent in zip(*(report.sent for report in reports), strict=True)],
                "seconds": time.perf_counter() - began,
                "rebuilt_seconds": 0.0,
                "subscriptions": router.n_subscriptions,
                "log_bytes": 0,
                "processor": {ROUTE: used()},
            }
        ),
    )


def _cut(batches: Iterator[pa.RecordBatch], shape: Shape, stretch: Stretch) -> Iterator[pa.Table]:
    """The rows batch by batch: all commands with the first publications, then so many publications at a time."""
    schema, cutter = shape.prepared(), _Cutter(stretch.size)
    waiting, some = [schema.empty_table()], False
    for batch in batches:
        table, begin = pa.Table.from_batches([batch.cast(schema)]), 0
        for cut in cutter.cuts(table["op"].to_pylist()):
            yield pa.concat_tables([*waiting, table.slice(begin, cut - begin)])
            waiting, begin, some = [], cut, True
        waiting.append(table.slice(begin))
    rest = pa.concat_tables(waiting)
    if len(rest) or not some:
        yield rest
    if stretch.until is not None:
        asked = {"ts": stretch.until}
        row = {"noun": "subscriptions", "origin": "until", "offset": 0, "op": "advance", "asked": asked}
        yield pa.Table.from_pylist([row], schema=schema)


class _Cutter:
    """Says before which rows to cut: no more than `size` publications are in one step, as in a replay.

    A run of retractions is a step of its own, however long, and publications are counted anew after it. So batches are
    not cut within it; they are cut after it once they have grown to `size` rows.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._n_published = 0
        self._n_rows = 0
        self._retracts = False

    def cuts(self, ops: list[str | None]) -> Iterator[int]:
        """The rows of the next table that begin a batch."""
        for op, begin, end in runs(ops):
            if op == PUBLISH:
                yield from self._publish(begin, end)
            elif op == RETRACT:
                self._n_published, self._retracts = 0, True
                self._n_rows += end - begin

    def _publish(self, begin: int, end: int) -> Iterator[int]:
        if self._retracts and self._n_rows >= self._size:
            yield begin
            self._n_rows = 0
        self._retracts = False
        while end - begin > self._size - self._n_published:
            begin += self._size - self._n_published
            yield begin
            self._n_published = self._n_rows = 0
        self._n_published += end - begin
        self._n_rows += end - begin


def match_history(batches: Iterator[pa.RecordBatch], stretch: Stretch) -> Iterator[pa.RecordBatch]:
    """The answers of one zone to all rows that were sent to it; a snapshot, the tops and a report beside."""
    shape, state = shape_of(stretch.state), State(stretch.state)
    zone = Zone(shape, int(stretch.who.removeprefix("zone-")))
    began, n_rows, told = time.perf_counter(), 0, _Teller(state, stretch.who)
    for number, rows in _by_batch(batches, shape):
        changes = zone.apply(number, rows).changes
        n_rows += len(rows)
        told.tell(n_rows)
        yield from changes.to_batches()
    zone.version = stretch.last
    if stretch.save:
        save_zone(zone, state.snapshot(stretch.who, stretch.last))
    if stretch.tops:
        tops = zone.engine.top()
        tops = tops.cast(shape.rankings()) if len(tops) else shape.rankings().empty_table()
        write_parquet(state.staged(0) / f"tops-{zone.number}.parquet", tops)
    report = {
        "counters": zone.engine.counters,
        "memory": zone.engine.memory(),
        "now": zone.engine.now,
        "seconds": time.perf_counter() - began,
        "rebuilt_seconds": 0.0,
        "subscriptions": zone.n_subscriptions,
        "processor": {MATCH: used()},
    }
    write_text(state.staged(0) / f"{stretch.who}.json", json.dumps(report))


def _by_batch(batches: Iterator[pa.RecordBatch], shape: Shape) -> Iterator[tuple[int, pa.Table]]:
    """The rows of each batch; they come in the order of their batches."""
    schema = shape.routed()
    waiting: list[pa.Table] = []
    for batch in batches:
        table = pa.Table.from_batches([batch.cast(schema)])
        numbers = table["batch"].to_numpy()
        edges = [0, *(numbers[1:] != numbers[:-1]).nonzero()[0] + 1, len(table)]
        for begin, end in pairwise(edges):
            part = table.slice(int(begin), int(end - begin))
            if waiting and len(part) and waiting[0]["batch"][0] != part["batch"][0]:
                yield waiting[0]["batch"][0].as_py(), pa.concat_tables(waiting)
                waiting = []
            if len(part):
                waiting.append(part)
    if waiting:
        yield waiting[0]["batch"][0].as_py(), pa.concat_tables(waiting)


class _Teller:
    """Says now and then, in a small file, how far a task is."""

    def __init__(self, state: State, who: str) -> None:
        self._file = state.staged(0) / f"{who}.progress"
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._last = 0.0

    def tell(self, n_rows: int) -> None:
        """Write how many rows were gone through, unless that was written a moment ago."""
        if time.monotonic() - self._last >= TELL_EVERY:
            self._last = time.monotonic()
            write_text(self._file, str(n_rows))
