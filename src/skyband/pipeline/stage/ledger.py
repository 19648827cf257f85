"""The ledger: what the pipeline remembers of publications, whichever zones they went to.

A publication is kept back from a zone whose interest rules it out. Should that interest widen while the publication is
live, because of a new subscription for example, the zone gets it then. The ledger holds what was kept back, refuses an
id that is live already, counts what came too late, and forgets what is withdrawn, as one engine over all subscriptions
would.
"""

from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.contract import FAMILIES
from skyband.kernels.array import Bools, Int64s
from skyband.pipeline.stage.flags import everywhere
from skyband.pipeline.stage.live_ids import LiveIds
from skyband.pipeline.stage.structs import whole
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

    def mark(self, said: pa.Array, zones: Int64s) -> None:
        """Note that each of these, which had been kept back, was given to its zone."""

    def holders(self, ids: pa.Array) -> Bools:
        """By id and zone, whether the zone may have a live publication of that id; false for all where none is live."""

    def retract(self, ids: pa.Array) -> Bools:
        """Withdraw publications, which nobody is given from now on; which of them were live."""

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
        self._live = LiveIds(window, said_type.field("id").type)
        # Whether a zone may have what the ledger says it has not got, as in states of versions up to 0.1.0.
        self._in_doubt = False
        self._held = Held(pa.array([], said_type), np.empty(0, np.int64), np.empty((0, n_zones), np.bool_))

    def pass_time(self, now: int | None) -> None:
        """Forget what no window reaches any more."""
        self._now = now
        self._live.forget(now)

    def judge(self, said: pa.Array) -> Judged:
        """Late is what no window reaches when it comes; taken is an id that is remembered."""
        taken, ts = self._live.are_live(said.field("id")), np.asarray(said.field("ts"))
        late = np.zeros(len(ts), np.bool_)
        if self._window.kind == WindowKind.TIME and len(ts):
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
        self._now, ts = now, np.asarray(said.field("ts"))
        self._live.add(said.field("id"), ts)
        self._live.forget(now)
        waiting = np.flatnonzero(~everywhere(sent))
        held = self._held
        rows = pa.concat_arrays([held.rows, said.take(pa.array(waiting))]) if len(waiting) else held.rows
        self._keep(Held(rows, np.r_[held.ts, ts[waiting]], np.vstack([held.sent, sent[waiting]])))

    def _keep(self, held: Held) -> None:
        """Drop what is over, or what everybody has, once it is a good part of the whole."""
        over = everywhere(held.sent)
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

    def mark(self, said: pa.Array, zones: Int64s) -> None:
        """Note that each of these was given to its zone; one that is over is not there any more."""
        places = _places_in(self.held().rows.field("id"), said.field("id"))
        there = places >= 0
        self._held.sent[places[there], zones[there]] = True

    def holders(self, ids: pa.Array) -> Bools:
        """Who was sent it, of what is held; everybody has what is live and not held."""
        found = np.ones((len(ids), self._n_zones), np.bool_)
        places = _places_in(self.held().rows.field("id"), ids)
        if not self._in_doubt:
            found[places >= 0] = self._held.sent[places[places >= 0]]
        return found & self._live.are_live(ids)[:, None]

    def retract(self, ids: pa.Array) -> Bools:
        """Free the ids and drop what is held of them; of an id that occurs twice the first counts."""
        were_live = unique_rows(ids)
        were_live[were_live] = self._live.retract(ids.filter(pa.array(were_live)))
        left = np.flatnonzero(_places_in(ids, self._held.rows.field("id")) < 0)
        if len(left) < len(self._held.ts):
            held = self._held
            self._held = Held(held.rows.take(pa.array(left)), held.ts[left], held.sent[left])
        return were_live

    def save(self) -> dict[str, pa.Table]:
        """Live ids with their times where there is a window, withdrawn ones that keep a place, and what is held."""
        clock = {"now": pa.array([self._now], pa.int64()), "in_doubt": pa.array([self._in_doubt])}
        return {"live": self._live.save(), "held": _held_table(self._held), "time": pa.table(clock)}

    def load(self, tables: dict[str, pa.Table]) -> None:
        """Take on what `save` returned."""
        clock = tables["time"].to_pylist()[0]
        self._now = clock["now"]
        self._live = LiveIds(self._window, self._said_type.field("id").type)
        self._live.load(tables["live"])
        self._held = _held_of(tables["held"], self._said_type, self._n_zones)
        self._in_doubt = bool(clock.get("in_doubt", len(self._held.ts)))


def _places_in(known: pa.Array, ids: pa.Array) -> Int64s:
    """Where each id is among those that are known, -1 where it is not."""
    if not len(known) or not len(ids):
        return np.full(len(ids), -1, np.int64)
    found: Int64s = pc.fill_null(pc.index_in(ids, value_set=known), -1).to_numpy(zero_copy_only=False)
    return found


def _held_table(held: Held) -> pa.Table:
    bits = np.packbits(held.sent, axis=1)
    buffers = [None, pa.py_buffer(bits)]
    sent = pa.Array.from_buffers(pa.binary(bits.shape[1]), len(bits), buffers).cast(pa.binary())
    return pa.table({"said": held.rows, "sent": sent})


def _held_of(table: pa.Table, said_type: pa.DataType, n_zones: int) -> Held:
    said, sent = (whole(table[name]) for name in ("said", "sent"))
    # Bits of one length for all, so that they lie side by side.
    bits = np.frombuffer(b"".join(sent.to_pylist()), np.uint8).reshape(len(sent), -(-n_zones // 8))
    flags = np.unpackbits(bits, axis=1)[:, :n_zones].astype(np.bool_)
    return Held(said.cast(said_type), np.asarray(said.field("ts")).astype(np.int64), flags)


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

    def mark(self, said: pa.Array, zones: Int64s) -> None:
        """The zones know of the objects from now on."""
        for name, zone in zip(said.field("object").to_pylist(), zones.tolist(), strict=True):
            thing = self._things[name]
            self._things[name] = thing._replace(zones=thing.zones | 1 << zone)

    def holders(self, ids: pa.Array) -> Bools:
        """Nobody: events are not withdrawn."""
        return np.zeros((len(ids), self._n_zones), np.bool_)

    def retract(self, ids: pa.Array) -> Bools:
        """Nothing is withdrawn."""
        return np.zeros(len(ids), np.bool_)

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

    def mark(self, said: pa.Array, zones: Int64s) -> None:
        """There is nothing to note."""

    def holders(self, ids: pa.Array) -> Bools:
        """Nobody keeps events."""
        return np.zeros((len(ids), self._nothing.sent.shape[1]), np.bool_)

    def retract(self, ids: pa.Array) -> Bools:
        """Nothing is withdrawn."""
        return np.zeros(len(ids), np.bool_)

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
