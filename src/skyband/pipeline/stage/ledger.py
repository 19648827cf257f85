"""The ledger: what the pipeline remembers of publications, whichever zones they went to.

A publication is kept back from a zone whose interest rules it out. Should that interest widen while the publication is
live, because of a new subscription for example, the zone gets it then. The ledger holds what was kept back, refuses an
id that is live already, and counts what came too late, as one engine over all subscriptions would.
"""

import heapq
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.contract import FAMILIES
from skyband.kernels.array import Bools, Int64s
from skyband.table import Window, WindowKind

Id = int | str


class Judged(NamedTuple):
    """What becomes of the publications of a batch: which are late, which are refused as live already."""

    late: Bools
    taken: Bools


class Held(NamedTuple):
    """Publications that some zone has not got: the rows, their times, and by row and zone whether it was sent."""

    rows: pa.Array
    ts: Int64s
    sent: Bools


class Ledger(Protocol):
    """What is remembered of publications."""

    def pass_time(self, now: int | None) -> None:
        """Let time pass without a publication."""

    def judge(self, said: pa.Array) -> Judged:
        """Which of these are late or taken, if they come now in this order."""

    def settle(self, said: pa.Array, wanted: Bools) -> Bools:
        """By row and zone, who gets it: who wants it, and who must have it whatever its interest is."""

    def record(self, said: pa.Array, sent: Bools, now: int | None) -> None:
        """Remember publications and which zones they were sent to; time is `now` after them."""

    def held(self) -> Held:
        """What some zone has not got yet."""

    def hand_over(self, places: Int64s, zone: int) -> None:
        """Note that these rows of `held` are sent to a zone after all."""

    def mark(self, event: dict[str, Any], zone: int) -> None:
        """Note that a zone was given something that had been kept back."""

    def save(self) -> dict[str, pa.Table]:
        """The ledger as tables by name."""

    def load(self, tables: dict[str, pa.Table]) -> None:
        """Take on what `save` returned."""


class LiveLedger:
    """For publications that are live for a window: an id is taken while its publication is remembered."""

    def __init__(self, window: Window, said_type: pa.DataType, n_zones: int) -> None:
        self._window = window
        self._n_zones = n_zones
        self._said_type = said_type
        self._now: int | None = None
        self._live: set[Id] = set()
        self._oldest: list[tuple[int, Id]] = []
        self._held = Held(pa.array([], said_type), np.empty(0, np.int64), np.empty((0, n_zones), np.bool_))

    def pass_time(self, now: int | None) -> None:
        """Forget what no window reaches any more."""
        self._now = now
        self._forget()

    def judge(self, said: pa.Array) -> Judged:
        """Late is what no window reaches when it comes; taken is an id that is remembered."""
        ids, ts = said.field("id").to_pylist(), np.asarray(said.field("ts"))
        taken = np.fromiter((id in self._live for id in ids), np.bool_, len(ids))
        late = np.zeros(len(ids), np.bool_)
        if self._window.kind == WindowKind.TIME and len(ids):
            seen = np.maximum.accumulate(np.where(taken, np.iinfo(np.int64).min, ts))
            before = np.r_[np.iinfo(np.int64).min, seen[:-1]]
            if self._now is not None:
                before = np.maximum(before, self._now)
            late = ~taken & (before > np.iinfo(np.int64).min + self._window.size) & (ts <= before - self._window.size)
        return Judged(late, taken)

    def settle(self, said: pa.Array, wanted: Bools) -> Bools:
        """Who wants it: a publication comes once."""
        return wanted

    def record(self, said: pa.Array, sent: Bools, now: int | None) -> None:
        """Remember, and forget what no window reaches any more."""
        self._now = now
        ids, ts = said.field("id").to_pylist(), np.asarray(said.field("ts"))
        self._live.update(ids)
        if self._window.kind != WindowKind.UNBOUNDED:
            for entry in zip(ts.tolist(), ids, strict=True):
                heapq.heappush(self._oldest, entry)
        self._forget()
        waiting = np.flatnonzero(~sent.all(axis=1))
        held = self._held
        rows = pa.concat_arrays([held.rows, said.take(pa.array(waiting))]) if len(waiting) else held.rows
        self._keep(Held(rows, np.r_[held.ts, ts[waiting]], np.vstack([held.sent, sent[waiting]])))

    def _forget(self) -> None:
        window = self._window
        while self._oldest and (
            len(self._oldest) > window.size
            if window.kind == WindowKind.COUNT
            else self._now is not None and self._oldest[0][0] <= self._now - window.size
        ):
            self._live.discard(heapq.heappop(self._oldest)[1])

    def _keep(self, held: Held) -> None:
        """Drop what is over, or what everybody has, once it is a good part of the whole."""
        over = held.sent.all(axis=1)
        if self._window.kind == WindowKind.TIME and self._now is not None:
            over |= held.ts <= self._now - self._window.size
        if np.count_nonzero(over) * 4 > len(held.ts):
            left = np.flatnonzero(~over)
            held = Held(held.rows.take(pa.array(left)), held.ts[left], held.sent[left])
        self._held = held

    def held(self) -> Held:
        """What some zone has not got yet, and is live."""
        held = self._held
        if self._window.kind == WindowKind.TIME and self._now is not None:
            over = held.ts <= self._now - self._window.size
            if over.any():
                left = np.flatnonzero(~over)
                self._held = held = Held(held.rows.take(pa.array(left)), held.ts[left], held.sent[left])
        return held

    def hand_over(self, places: Int64s, zone: int) -> None:
        """Note that these rows of `held` are sent to a zone after all."""
        self._held.sent[places, zone] = True

    def mark(self, event: dict[str, Any], zone: int) -> None:
        """Nothing is noted: a publication that a zone is given twice is the same to it."""

    def save(self) -> dict[str, pa.Table]:
        """Live ids with their times where there is a window, and what is held."""
        windowed = self._window.kind != WindowKind.UNBOUNDED
        ids = [id for _, id in self._oldest] if windowed else list(self._live)
        times = [ts for ts, _ in self._oldest] if windowed else [0] * len(ids)
        live = pa.table({"id": pa.array(ids, self._said_type.field("id").type), "ts": pa.array(times, pa.int64())})
        now = pa.table({"now": pa.array([self._now], pa.int64())})
        return {"live": live, "held": _held_table(self._held), "time": now}

    def load(self, tables: dict[str, pa.Table]) -> None:
        """Take on what `save` returned."""
        self._now = tables["time"]["now"][0].as_py()
        ids, times = tables["live"]["id"].to_pylist(), tables["live"]["ts"].to_pylist()
        self._live = set(ids)
        if self._window.kind != WindowKind.UNBOUNDED:
            self._oldest = list(zip(times, ids, strict=True))
            heapq.heapify(self._oldest)
        self._held = _held_of(tables["held"], self._said_type, self._n_zones)


def _held_table(held: Held) -> pa.Table:
    bits = np.packbits(held.sent, axis=1)
    sent = pa.array([row.tobytes() for row in bits], pa.binary())
    return pa.table({"said": held.rows, "sent": sent})


def _held_of(table: pa.Table, said_type: pa.DataType, n_zones: int) -> Held:
    rows = table["said"].combine_chunks()
    rows = (
        rows
        if isinstance(rows, pa.Array)
        else pa.concat_arrays(rows.chunks)
        if rows.chunks
        else pa.array([], said_type)
    )
    sent = np.zeros((len(rows), n_zones), np.bool_)
    for place, bits in enumerate(table["sent"].to_pylist()):
        sent[place] = np.unpackbits(np.frombuffer(bits, np.uint8))[:n_zones]
    return Held(rows, np.asarray(rows.field("ts")).astype(np.int64), sent)


class _Thing(NamedTuple):
    """The last word on an object: its time, the event (None once deleted), and the zones that know of it, as bits."""

    ts: int
    event: dict[str, Any] | None
    zones: int


class ObjectLedger:
    """For objects of which the last word counts: a zone that has heard of one hears of it until it is deleted."""

    def __init__(self, said_type: pa.DataType, n_zones: int) -> None:
        self._said_type = said_type
        self._n_zones = n_zones
        self._things: dict[Id, _Thing] = {}
        self._shown: list[Id] = []

    def pass_time(self, now: int | None) -> None:
        """Nothing expires."""

    def judge(self, said: pa.Array) -> Judged:
        """Late is an event that is older than the last word on its object."""
        last: dict[Id, int] = {}
        late = np.zeros(len(said), np.bool_)
        times = said.field("ts").to_pylist()
        for place, (name, ts) in enumerate(zip(said.field("object").to_pylist(), times, strict=True)):
            before = last.get(name)
            if before is None and name in self._things:
                before = self._things[name].ts
            if before is not None and ts < before:
                late[place] = True
            else:
                last[name] = ts
        return Judged(late, np.zeros(len(said), np.bool_))

    def settle(self, said: pa.Array, wanted: Bools) -> Bools:
        """Those who want it, and the zones that know of the object, from before or from earlier in the batch."""
        sent, know = wanted.copy(), dict[Id, Bools]()
        deleted = said.field("y").is_null().to_pylist()
        for place, name in enumerate(said.field("object").to_pylist()):
            if name not in know:
                thing = self._things.get(name)
                know[name] = _flags([thing.zones if thing else 0], self._n_zones)[0]
            sent[place] |= know[name]
            know[name] = np.zeros(self._n_zones, np.bool_) if deleted[place] else sent[place]
        return sent

    def record(self, said: pa.Array, sent: Bools, now: int | None) -> None:
        """Take the last word on each object."""
        for event, zones in zip(said.to_pylist(), sent, strict=True):
            before = self._things.get(event["object"])
            bits = sum(1 << int(zone) for zone in np.flatnonzero(zones)) | (before.zones if before else 0)
            deleted = event["y"] is None
            self._things[event["object"]] = _Thing(event["ts"], None if deleted else event, 0 if deleted else bits)

    def held(self) -> Held:
        """The objects that some zone does not know of."""
        whole = (1 << self._n_zones) - 1
        self._shown = [name for name, thing in self._things.items() if thing.event and thing.zones != whole]
        rows = pa.array([self._things[name].event for name in self._shown], self._said_type)
        bits = [self._things[name].zones for name in self._shown]
        times = np.array([self._things[name].ts for name in self._shown], np.int64)
        return Held(rows, times, _flags(bits, self._n_zones))

    def hand_over(self, places: Int64s, zone: int) -> None:
        """Note that these rows of `held` are sent to a zone after all."""
        for place in places.tolist():
            name = self._shown[place]
            thing = self._things[name]
            self._things[name] = thing._replace(zones=thing.zones | 1 << zone)

    def mark(self, event: dict[str, Any], zone: int) -> None:
        """The zone knows of the object from now on."""
        thing = self._things[event["object"]]
        self._things[event["object"]] = thing._replace(zones=thing.zones | 1 << zone)

    def save(self) -> dict[str, pa.Table]:
        """One row an object, deleted ones included."""
        kind = self._said_type.field("object").type
        things = list(self._things.items())
        return {
            "objects": pa.table(
                {
                    "object": pa.array([name for name, _ in things], kind),
                    "ts": pa.array([thing.ts for _, thing in things], pa.int64()),
                    "event": pa.array([thing.event for _, thing in things], self._said_type),
                    "zones": pa.array([hex(thing.zones) for _, thing in things], pa.string()),
                }
            )
        }

    def load(self, tables: dict[str, pa.Table]) -> None:
        """Take on what `save` returned."""
        for row in tables["objects"].to_pylist():
            self._things[row["object"]] = _Thing(row["ts"], row["event"], int(row["zones"], 16))


def _flags(bits: list[int], n_zones: int) -> Bools:
    return np.array([[(one >> zone) & 1 for zone in range(n_zones)] for one in bits], np.bool_).reshape(-1, n_zones)


class NoLedger:
    """For events that are answered at once: nothing is remembered."""

    def __init__(self, said_type: pa.DataType, n_zones: int) -> None:
        self._nothing = Held(pa.array([], said_type), np.empty(0, np.int64), np.empty((0, n_zones), np.bool_))

    def pass_time(self, now: int | None) -> None:
        """There is nothing to forget."""

    def judge(self, said: pa.Array) -> Judged:
        """Nothing is late, and no id is taken."""
        none = np.zeros(len(said), np.bool_)
        return Judged(none, none)

    def settle(self, said: pa.Array, wanted: Bools) -> Bools:
        """Who wants it."""
        return wanted

    def record(self, said: pa.Array, sent: Bools, now: int | None) -> None:
        """Remember nothing."""

    def held(self) -> Held:
        """Nothing."""
        return self._nothing

    def hand_over(self, places: Int64s, zone: int) -> None:
        """There is nothing to hand over."""

    def mark(self, event: dict[str, Any], zone: int) -> None:
        """There is nothing to note."""

    def save(self) -> dict[str, pa.Table]:
        """Nothing."""
        return {}

    def load(self, tables: dict[str, pa.Table]) -> None:
        """There is nothing to take on."""


def open_ledger(family: str, window: Window, said_type: pa.DataType, n_zones: int) -> Ledger:
    """An empty ledger of the kind that a family needs."""
    if FAMILIES[family].has_objects:
        return ObjectLedger(said_type, n_zones)
    if not FAMILIES[family].answers_stand:
        return NoLedger(said_type, n_zones)
    return LiveLedger(window, said_type, n_zones)


def unique_rows(ids: pa.Array) -> Bools:
    """Which ids are the first of their kind."""
    codes = ids.dictionary_encode().indices.to_numpy(zero_copy_only=False)
    first = np.zeros(len(ids), np.bool_)
    first[np.unique(codes, return_index=True)[1]] = True
    return first


def latest(said: pa.Array) -> int | None:
    """The largest time of publications, None without any."""
    found: int | None = pc.max(said.field("ts")).as_py() if len(said) else None
    return found
