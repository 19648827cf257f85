"""A zone: one engine, and what it answers to the rows of a batch. No Spark here.

Answers carry the keys that put those of all zones into the order of one engine over all subscriptions: the step of the
batch, the turn of the subscription, and the place among the rows of the zone. Rows of publications have no turn of
their own: it is the number of their step.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.contract import AnyEngine, check
from skyband.contract.family import FAMILIES
from skyband.kernels.array import Bools, Floats, Int64s
from skyband.pipeline.stage.prepare import rounds
from skyband.pipeline.stage.roster import ZoneRoster
from skyband.pipeline.stage.step import (
    ADVANCES,
    HOLDS,
    PASSES,
    PUBLISHES,
    RETRACTS,
    SUBSCRIBES,
    UNSUBSCRIBES,
    edges_of,
    numbers_of,
)
from skyband.pipeline.stage.structs import unfolded, whole
from skyband.pipeline.state.spec import Shape
from skyband.table import WindowKind, read_table
from skyband.zoning import Interest, interest

KEYS = [("batch", pa.int64()), ("step", pa.int64()), ("turn", pa.int64()), ("pos", pa.int64())]
# Publications come after all commands; a run of them is one step unless each is a step of its own.
PUBLISHED = 2**62


class BrokenPromise(RuntimeError):
    """An interest had ruled out what reached a subscription after all; that is a fault of the program."""


class ZoneAnswer(NamedTuple):
    """What a batch changed, and the tops of those that it changed where they were asked for."""

    changes: pa.Table
    tops: pa.Table | None


class Zone:
    """The engine of one zone; `version` is the last batch it went through, -1 before any."""

    def __init__(self, shape: Shape, number: int) -> None:
        self.shape = shape
        self.number = number
        self.version = -1
        self.engine: AnyEngine = shape.open_engine()
        self._roster = ZoneRoster(shape.subscriptions().field("id").type)
        # The subscriptions as they came, with their turns.
        self._asked: list[pa.Table] = []
        self._schema = answer_schema(shape)

    @property
    def n_subscriptions(self) -> int:
        """How many the zone has."""
        return len(self._roster)

    def apply(self, batch: int, rows: pa.Table, tops: bool = False) -> ZoneAnswer:
        """Go through the rows of a batch in their order, and answer with what changed."""
        order = pc.sort_indices(rows["place"])
        rows = rows.take(order).combine_chunks()
        ops, places, turns = numbers_of(rows["op"]), rows["place"].to_numpy(), rows["turn"].to_numpy()
        asked, said = (whole(rows[name]) for name in ("asked", "said"))
        parts: list[pa.Table] = []
        # Of publications and retractions it is the number of their step that a run has in common.
        steps = np.where(np.isin(ops, (PUBLISHES, RETRACTS, PASSES)), turns, 0)
        for begin, end in edges_of(ops, steps):
            op, step, spoken = ops[begin], PUBLISHED + int(steps[begin]), said.slice(begin, end - begin)
            if op == HOLDS:
                self._take_held(spoken)
            elif op == PUBLISHES:
                parts += self._publish(batch, spoken, step, places[begin:end])
            elif op == PASSES:
                parts.append(self._keyed(batch, self.engine.advance(spoken[0]["ts"].as_py()), step))
            elif op == RETRACTS:
                parts.append(self._keyed(batch, self.engine.retract(spoken.field("id")), step))
            else:
                asking = asked.slice(begin, end - begin)
                parts += self._command(batch, op, asking, turns[begin:end], places[begin:end])
        changes = pa.concat_tables(parts).combine_chunks() if parts else self._schema.empty_table()
        self.version = batch
        return ZoneAnswer(changes, self._tops(changes) if tops else None)

    def _take_held(self, said: pa.Array) -> None:
        """Take what was kept back before: it must change no answer."""
        for chosen in rounds(said.field("id"), np.arange(len(said)), unique=True):
            changes = self.engine.publish(unfolded(said.take(pa.array(chosen))))
            if len(changes):
                raise BrokenPromise(
                    f"Zone {self.number} was not sent a publication that changes an answer: {changes.to_pylist()[0]}."
                )
        self.engine.rejects.clear()

    def _publish(self, batch: int, said: pa.Array, step: int, places: Int64s) -> Iterator[pa.Table]:
        if not FAMILIES[self.shape.family].answers_stand:
            yield self._matches(batch, said, places)
        elif self.shape.granularity == "publication" and self.shape.n_zones > 1:
            checked = check(self.shape.family, "publications", read_table(unfolded(said)), self.engine.settings)
            self.engine.rejects += checked.rejects
            for place in range(len(checked)):
                changes = self.engine.publish(checked.slice(place, 1))
                yield self._keyed(batch, changes, PUBLISHED + int(places[place]))
        elif self.shape.granularity == "publication":
            # One zone has all the rows, and they are in order as they are.
            changes = self.engine.publish(unfolded(said))
            yield self._with_keys(batch, changes, np.full(len(changes), step), np.zeros(len(changes), np.int64))
        else:
            yield self._keyed(batch, self.engine.publish(unfolded(said)), step)
        self._check_rejects()

    def _matches(self, batch: int, said: pa.Array, places: Int64s) -> pa.Table:
        """Matches of events: their step is the place of the event, and their turn how many it asks for."""
        found = self.engine.publish(unfolded(said))
        asked = pc.fill_null(said.field("k"), getattr(self.engine, "k", 1)).to_numpy(zero_copy_only=False)
        # An event may ask for none, which stands for as many as the engine gives.
        most = np.where(asked == 0, getattr(self.engine, "k", 1), asked).astype(np.int64)
        event = _places_of(found["event"], said.field("id"))
        return self._with_keys(batch, found, PUBLISHED + places[event], most[event])

    def _command(self, batch: int, op: int, asked: pa.Array, turns: Int64s, places: Int64s) -> Iterator[pa.Table]:
        if op == ADVANCES:
            for place, ts in zip(places.tolist(), asked.field("ts").to_pylist(), strict=True):
                yield self._keyed(batch, self.engine.advance(ts), place)
            return
        for part in rounds(asked.field("id"), np.arange(len(asked)), unique=True):
            rows = asked.take(pa.array(part))
            ids, steps = rows.field("id"), places[part]
            if op == SUBSCRIBES:
                self._register(op, ids, turns[part])
                self._note(rows, turns[part])
                yield self._stepped(batch, self.engine.subscribe(unfolded(rows)), ids, steps)
            elif op == UNSUBSCRIBES:
                yield self._stepped(batch, self.engine.unsubscribe(ids), ids, steps)
                self._register(op, ids, turns[part])
            else:
                ks = rows.field("k").to_numpy(zero_copy_only=False)
                for begin, end in edges_of(ks):
                    changes = self.engine.resize(ids.slice(begin, end - begin), int(ks[begin]))
                    yield self._stepped(batch, changes, ids, steps)
        self._check_rejects()

    def _register(self, op: int, ids: pa.Array, turns: Int64s) -> None:
        """Note who is there, or is not any more."""
        self._roster.repeat(np.full(len(ids), op, np.int8), ids, np.zeros(len(ids), np.int64), turns)

    def _check_rejects(self) -> None:
        """Everything was checked on the way here, so an engine that refuses a row disagrees with the checks."""
        if self.engine.rejects:
            first = self.engine.rejects[0]
            raise RuntimeError(f"Zone {self.number} refused a row that had been found good: {first}.")

    def _keyed(self, batch: int, changes: pa.Table, step: int) -> pa.Table:
        # The changes of one zone are in order as they are.
        several = self.shape.n_zones > 1
        turns = self._roster.find(whole(changes["subscription"])) if several else np.zeros(len(changes), np.int64)
        return self._with_keys(batch, changes, np.full(len(changes), step), turns)

    def _stepped(self, batch: int, changes: pa.Table, ids: pa.Array, steps: Int64s) -> pa.Table:
        its = steps[_places_of(changes["subscription"], ids)]
        return self._with_keys(batch, changes, its, np.zeros(len(changes), np.int64))

    def _with_keys(self, batch: int, changes: pa.Table, steps: Any, turns: Any) -> pa.Table:
        n = len(changes)
        if not n:
            return self._schema.empty_table()
        keys = [np.full(n, batch), steps, turns, np.arange(n)]
        columns = [pa.array(key, pa.int64()) for key in keys]
        answers = changes.cast(self.shape.answers())
        return pa.Table.from_arrays([*columns, *answers.columns], schema=self._schema)

    def _tops(self, changes: pa.Table) -> pa.Table:
        """The whole tops of the subscriptions that changed and are still there; a row of nulls for an empty one."""
        schema = self.shape.rankings()
        if not len(changes):
            return schema.empty_table()
        changed = pc.unique(changes["subscription"].combine_chunks())
        there = pa.array(self._roster.find(changed) >= 0)
        rankings = self.engine.top(changed.filter(there))
        rankings = rankings.cast(schema) if len(rankings) else schema.empty_table()
        empty = changed.filter(pc.invert(pc.is_in(changed, value_set=pc.unique(rankings["subscription"]))))
        nulls = [pa.nulls(len(empty), field.type) for field in schema if field.name != "subscription"]
        return pa.concat_tables([rankings, pa.Table.from_arrays([empty, *nulls], schema=schema)])

    def interests(self) -> tuple[Interest, Interest]:
        """What its subscriptions can be reached by, ever and from now on.

        Where nothing expires, a top that is full only gets better, so that the last of it bounds what can still enter.
        """
        table = self._current()
        parse = FAMILIES[self.shape.family].parse_subscriptions
        rows = parse(unfolded(whole(table["asked"])), self.shape.settings).rows
        ever = interest(self.shape.family, rows, self.shape.settings)
        if "window" not in rows._fields:
            return ever, ever
        worst = self._gates(rows.ids, rows.window.kind == WindowKind.UNBOUNDED)
        until = np.full(len(worst), np.iinfo(np.int64).max)
        return ever, interest(self.shape.family, rows, self.shape.settings, worst, until)

    def _gates(self, ids: pa.Array, wanted: Bools) -> Floats:
        """The gates of these, NaN for those that are open or not wanted."""
        gates = np.full(len(ids), np.nan)
        gates[wanted] = self.engine.gates(ids.filter(pa.array(wanted)))["gate"].to_numpy()
        return np.where(np.isinf(gates), np.nan, gates)

    def _note(self, asked: pa.Array, turns: Int64s) -> None:
        if self.shape.n_zones > 1:
            self._asked.append(pa.table({"asked": asked, "turn": turns}))

    def _current(self) -> pa.Table:
        """The subscriptions that are registered, as they came."""
        kind = self.shape.routed().field("asked").type
        schema = pa.schema([("asked", kind), ("turn", pa.int64())])
        table = pa.concat_tables([schema.empty_table(), *self._asked]).combine_chunks()
        there = self._roster.find(whole(table["asked"]).field("id")) == table["turn"].to_numpy()
        table = table.filter(pa.array(there))
        self._asked = [table]
        return table

    def save(self) -> dict[str, pa.Table]:
        """What the zone knows besides its engine, as tables by name."""
        kept = self._roster.kept()
        return {"turns": pa.table({"id": kept.ids, "turn": kept.turns}), "asked": self._current()}

    def load(self, engine: AnyEngine, tables: dict[str, pa.Table], version: int) -> None:
        """Take on what `save` returned, beside the restored engine."""
        self.engine, self.version = engine, version
        self._roster = ZoneRoster(self.shape.subscriptions().field("id").type)
        self._register(SUBSCRIBES, whole(tables["turns"]["id"]), tables["turns"]["turn"].to_numpy().astype(np.int64))
        self._asked = [tables["asked"]]


def answer_schema(shape: Shape) -> pa.Schema:
    """What zones answer, with the keys of the order before it."""
    return pa.schema([pa.field(name, kind) for name, kind in KEYS] + list(shape.answers()))


def _places_of(ids: pa.ChunkedArray, among: pa.Array) -> Int64s:
    """Where each id is among those that differ; all of them are there."""
    found: Int64s = pc.index_in(ids, value_set=among).to_numpy().astype(np.int64)
    return found
