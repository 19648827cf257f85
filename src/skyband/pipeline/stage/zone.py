"""A zone: one engine, and what it answers to the rows of a batch. No Spark here.

Answers carry the keys that put those of all zones into the order of one engine over all subscriptions: the step of the
batch, the turn of the subscription, and the place among the rows of the zone. Rows of publications have no turn of
their own: it is the number of their step.
"""

import itertools
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.contract import AnyEngine, check
from skyband.contract.family import FAMILIES
from skyband.kernels.array import Bools, Floats, Int64s
from skyband.pipeline.stage.prepare import rounds
from skyband.pipeline.stage.step import HELD, PASS, PUBLISH, RETRACT, runs
from skyband.pipeline.stage.structs import unfolded, whole
from skyband.pipeline.state.spec import Shape
from skyband.table import WindowKind, read_table
from skyband.zoning import Interest, interest

Id = int | str

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
        self._turns: dict[Id, int] = {}
        # The subscriptions as they came, with their turns.
        self._asked: list[pa.Table] = []
        self._schema = answer_schema(shape)

    @property
    def n_subscriptions(self) -> int:
        """How many the zone has."""
        return len(self._turns)

    def apply(self, batch: int, rows: pa.Table, tops: bool = False) -> ZoneAnswer:
        """Go through the rows of a batch in their order, and answer with what changed."""
        order = pc.sort_indices(rows["place"])
        rows = rows.take(order).combine_chunks()
        ops, places = rows["op"].to_pylist(), rows["place"].to_pylist()
        asked, said = (whole(rows[name]) for name in ("asked", "said"))
        parts: list[pa.Table] = []
        turns = rows["turn"].to_pylist()
        kinds = [(op, turn if op in (PUBLISH, RETRACT, PASS) else 0) for op, turn in zip(ops, turns, strict=True)]
        for (op, step), begin, end in runs(kinds):
            spoken = said.slice(begin, end - begin)
            if op == HELD:
                self._take_held(spoken)
            elif op == PUBLISH:
                parts += self._publish(batch, spoken, PUBLISHED + step, places[begin:end])
            elif op == PASS:
                parts.append(self._keyed(batch, self.engine.advance(spoken[0]["ts"].as_py()), PUBLISHED + step))
            elif op == RETRACT:
                parts.append(self._keyed(batch, self.engine.retract(spoken.field("id")), PUBLISHED + step))
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

    def _publish(self, batch: int, said: pa.Array, step: int, places: list[int]) -> Iterator[pa.Table]:
        if not FAMILIES[self.shape.family].answers_stand:
            yield self._matches(batch, said, places)
        elif self.shape.granularity == "publication" and self.shape.n_zones > 1:
            checked = check(self.shape.family, "publications", read_table(unfolded(said)), self.engine.settings)
            self.engine.rejects += checked.rejects
            for place in range(len(checked)):
                changes = self.engine.publish(checked.slice(place, 1))
                yield self._keyed(batch, changes, PUBLISHED + places[place])
        elif self.shape.granularity == "publication":
            # One zone has all the rows, and they are in order as they are.
            changes = self.engine.publish(unfolded(said))
            yield self._with_keys(batch, changes, np.full(len(changes), step), np.zeros(len(changes), np.int64))
        else:
            yield self._keyed(batch, self.engine.publish(unfolded(said)), step)
        self._check_rejects()

    def _matches(self, batch: int, said: pa.Array, places: list[int]) -> pa.Table:
        """Matches of events: their step is the place of the event, and their turn how many it asks for."""
        found = self.engine.publish(unfolded(said))
        ids, default = said.field("id").to_pylist(), getattr(self.engine, "k", 1)
        step_of = {id: PUBLISHED + place for id, place in zip(ids, places, strict=True)}
        most = {id: k or default for id, k in zip(ids, said.field("k").to_pylist(), strict=True)}
        return self._with_keys(batch, found, _looked_up(found["event"], step_of), _looked_up(found["event"], most))

    def _command(self, batch: int, op: str, asked: pa.Array, turns: list[int], places: list[int]) -> Iterator[pa.Table]:
        if op == "advance":
            for place, ts in zip(places, asked.field("ts").to_pylist(), strict=True):
                yield self._keyed(batch, self.engine.advance(ts), place)
            return
        ids = asked.field("id")
        for part in rounds(ids, np.arange(len(asked)), unique=True):
            rows = asked.take(pa.array(part))
            step_of = dict(zip(rows.field("id").to_pylist(), [places[i] for i in part], strict=True))
            if op == "subscribe":
                self._turns |= {id: turns[i] for id, i in zip(step_of, part.tolist(), strict=True)}
                self._note(rows, [turns[i] for i in part])
                yield self._stepped(batch, self.engine.subscribe(unfolded(rows)), step_of)
            elif op == "unsubscribe":
                yield self._stepped(batch, self.engine.unsubscribe(rows.field("id")), step_of)
                for id in step_of:
                    del self._turns[id]
            else:
                for k, group in itertools.groupby(
                    zip(rows.field("k").to_pylist(), step_of, strict=True), key=lambda pair: pair[0]
                ):
                    resized = [id for _, id in group]
                    yield self._stepped(batch, self.engine.resize(pa.array(resized, ids.type), k), step_of)
        self._check_rejects()

    def _check_rejects(self) -> None:
        """Everything was checked on the way here, so an engine that refuses a row disagrees with the checks."""
        if self.engine.rejects:
            first = self.engine.rejects[0]
            raise RuntimeError(f"Zone {self.number} refused a row that had been found good: {first}.")

    def _keyed(self, batch: int, changes: pa.Table, step: int) -> pa.Table:
        # The changes of one zone are in order as they are.
        several = self.shape.n_zones > 1
        turns = _looked_up(changes["subscription"], self._turns) if several else np.zeros(len(changes), np.int64)
        return self._with_keys(batch, changes, np.full(len(changes), step), turns)

    def _stepped(self, batch: int, changes: pa.Table, step_of: dict[Id, int]) -> pa.Table:
        steps = _looked_up(changes["subscription"], step_of)
        return self._with_keys(batch, changes, steps, np.zeros(len(changes), np.int64))

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
        there = pa.array([id in self._turns for id in changed.to_pylist()], pa.bool_())
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

    def _note(self, asked: pa.Array, turns: list[int]) -> None:
        if self.shape.n_zones > 1:
            self._asked.append(pa.table({"asked": asked, "turn": pa.array(turns, pa.int64())}))

    def _current(self) -> pa.Table:
        """The subscriptions that are registered, as they came."""
        kind = self.shape.routed().field("asked").type
        schema = pa.schema([("asked", kind), ("turn", pa.int64())])
        table = pa.concat_tables([schema.empty_table(), *self._asked]).combine_chunks()
        ids = whole(table["asked"]).field("id").to_pylist()
        there = [self._turns.get(id) == turn for id, turn in zip(ids, table["turn"].to_pylist(), strict=True)]
        table = table.filter(pa.array(there, pa.bool_()))
        self._asked = [table]
        return table

    def save(self) -> dict[str, pa.Table]:
        """What the zone knows besides its engine, as tables by name."""
        kind = self.shape.subscriptions().field("id").type
        ids, turns = pa.array(list(self._turns), kind), pa.array(list(self._turns.values()), pa.int64())
        return {"turns": pa.table({"id": ids, "turn": turns}), "asked": self._current()}

    def load(self, engine: AnyEngine, tables: dict[str, pa.Table], version: int) -> None:
        """Take on what `save` returned, beside the restored engine."""
        self.engine, self.version = engine, version
        ids, turns = (tables["turns"][name].to_pylist() for name in ("id", "turn"))
        self._turns = dict(zip(ids, turns, strict=True))
        self._asked = [tables["asked"]]


def answer_schema(shape: Shape) -> pa.Schema:
    """What zones answer, with the keys of the order before it."""
    return pa.schema([pa.field(name, kind) for name, kind in KEYS] + list(shape.answers()))


def _looked_up(ids: pa.ChunkedArray, known: Mapping[Id, int]) -> Int64s:
    """What is known of each id; of one that recurs it is asked once."""
    if not len(ids):
        return np.zeros(0, np.int64)
    codes = ids.combine_chunks().dictionary_encode()
    values = np.fromiter((known[id] for id in codes.dictionary.to_pylist()), np.int64, len(codes.dictionary))
    found: Int64s = values[codes.indices.to_numpy()]
    return found
