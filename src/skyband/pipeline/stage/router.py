"""The router: which zones a row goes to, decided in one place for all rows of a batch. No Spark here.

It knows every subscription by its id and zone, the interest of every zone, and the ledger of publications. Its state
follows from the rows it sent out: it is rebuilt from their log, on the safe side where an interest was refreshed.

A batch that withdraws publications is several steps: `docs/partitioning.md` tells who has to get what before.
"""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.contract.family import FAMILIES
from skyband.kernels.array import Bools, Int64s
from skyband.pipeline.stage.dead_letter import dead_letters
from skyband.pipeline.stage.ledger import latest, open_ledger, unique_rows
from skyband.pipeline.stage.prepare import rounds
from skyband.pipeline.stage.step import HELD, PASS, PUBLISH, RETRACT, BatchSteps, runs
from skyband.pipeline.stage.structs import unfolded, whole
from skyband.pipeline.stage.zone_interest import Reach
from skyband.pipeline.state.spec import Shape
from skyband.table import WindowKind
from skyband.zoning import Interest, interest

Id = int | str

# A row that no zone got is kept in the log for the ledger's sake.
NOWHERE = -1


class Report(NamedTuple):
    """What a batch came to; `copies` counts the publications that zones got, those kept back before included.

    `retracted` counts the publications that were withdrawn, `retracted_late` the retractions that found nothing live.
    """

    commands: int
    publications: int
    dead: int
    late: int
    copies: int
    handed_over: int
    now: int | None
    sent: list[int]
    retracted: int = 0
    retracted_late: int = 0


class Routing(NamedTuple):
    """Rows for the zones, rows that are good for nothing, and a report."""

    rows: pa.Table
    dead: pa.Table
    report: Report


class Router:
    """Routes batch after batch; `version` is the last one, -1 before any."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.version = -1
        self.now: int | None = None
        self._next_turn = 0
        self._members: dict[Id, tuple[int, int]] = {}
        self._reaches = [Reach(shape.family) for _ in range(shape.n_zones)]
        # Zones whose interest has grown since what was kept back was last looked through.
        self._grown = set(range(shape.n_zones))
        # The ids that the batch which is being routed withdraws.
        self._foreseen: pa.Array = pa.array([], shape.routed().field("said").type.field("id").type)
        self._said_type = shape.routed().field("said").type
        self._ledger = open_ledger(shape.family, shape.settings.window, self._said_type, shape.n_zones)
        parse = FAMILIES[shape.family].parse_publications
        assert parse is not None
        self._parse_publications = parse

    @property
    def n_subscriptions(self) -> int:
        """How many are registered."""
        return len(self._members)

    def refresh(self, zone: int, whole: Interest, close: Interest) -> None:
        """Take the interest that the engine of a zone computed after the batch that was routed last."""
        self._reaches[zone].refresh(whole, close)

    def route(self, batch: int, prepared: pa.Table) -> Routing:
        """Send the rows of a batch to zones: commands in their order, then publications and retractions in theirs."""
        prepared = _ordered(prepared)
        reasons, ops = prepared["reason"].to_pylist(), prepared["op"].to_pylist()
        commands = np.flatnonzero([op not in (None, PUBLISH, RETRACT) for op in ops])
        parts = [self._command(batch, prepared.take(pa.array(commands)), commands, reasons)]
        spoken = np.flatnonzero([op in (PUBLISH, RETRACT) for op in ops])
        said, its_ops = whole(prepared["said"]).take(pa.array(spoken)), [ops[i] for i in spoken]
        # What was kept back is looked through as it was when the batch began, for all that its rows may ask for.
        self._foresee(said, its_ops)
        handed = self._hand_over(batch, said)
        self._ledger.pass_time(self.now)
        steps = BatchSteps(len(commands))
        for op, begin, end in runs(its_ops):
            run, at = said.slice(begin, end - begin), spoken[begin:end]
            parts.append(
                self._publish(batch, run, at, reasons, steps) if op == PUBLISH else self._retract(batch, run, steps)
            )
        rows = pa.concat_tables([handed, *parts]).combine_chunks()
        dead = dead_letters(batch, prepared, reasons)
        zones = rows["zone"].to_numpy()
        copied = np.array([op in (PUBLISH, HELD) for op in rows["op"].to_pylist()], np.bool_)
        published = sum(reasons[i] is None for i, op in zip(spoken.tolist(), its_ops, strict=True) if op == PUBLISH)
        report = Report(
            commands=sum(reasons[i] is None for i in commands.tolist()),
            publications=published - steps.n_late,
            dead=len(dead),
            late=steps.n_late,
            copies=int(np.count_nonzero(copied & (zones != NOWHERE))),
            handed_over=len(handed),
            now=self.now,
            sent=np.bincount(zones[zones != NOWHERE], minlength=self.shape.n_zones).tolist(),
            retracted=steps.n_retracted,
            retracted_late=its_ops.count(RETRACT) - steps.n_retracted,
        )
        self.version = batch
        return Routing(rows, dead, report)

    def _command(self, batch: int, rows: pa.Table, at: Int64s, reasons: list[str | None]) -> pa.Table:
        """Register, withdraw, resize and let time pass; what cannot be done gets its reason."""
        asked = whole(rows["asked"])
        ops, zones_of = rows["op"].to_pylist(), self._zones_of(asked, rows["op"].to_pylist())
        ids = asked.field("id").to_pylist()
        index: list[int] = []
        zones: list[int] = []
        turns: list[int] = []
        times = asked.field("ts").to_pylist()
        budgets = asked.field("budget").to_pylist() if "budget" in asked.type.names else [None] * len(asked)
        for place, (op, id, ts) in enumerate(zip(ops, ids, times, strict=True)):
            why = self._refusal(op, id, ts, budgets[place])
            if why is not None:
                reasons[int(at[place])] = why
                continue
            if op == "advance":
                self.now = ts
                told = [(zone, -1) for zone in range(self.shape.n_zones)]
            elif op == "subscribe":
                self._members[id] = (int(zones_of[place]), self._next_turn)
                told = [self._members[id]]
                self._next_turn += 1
            elif op == "unsubscribe":
                told = [self._members.pop(id)]
            else:
                told = [self._members[id]]
            for zone, turn in told:
                index.append(place)
                zones.append(zone)
                turns.append(turn)
        table = self._table(batch, index, zones, turns, index, [ops[i] for i in index], asked, None)
        self._widen(asked, np.array(index, np.int64), zones, [ops[i] for i in index])
        return table

    def _refusal(self, op: str, id: Id, ts: int, budget: int | None) -> str | None:
        if op == "advance":
            back = self.now is not None and ts < self.now
            return f"ts: time cannot go back, it is {self.now} already" if back else None
        if op == "subscribe":
            if id in self._members:
                return "id: is already registered"
            if self.shape.n_zones > 1 and budget is not None:
                return "budget: budgets are counted in one place, and need a pipeline of one zone"
            return None
        return None if id in self._members else "id: is not registered"

    def _zones_of(self, asked: pa.Array, ops: list[str]) -> Int64s:
        zones = np.zeros(len(asked), np.int64)
        for chosen, rows in self._parsed(asked, np.flatnonzero([op == "subscribe" for op in ops])):
            zones[chosen] = self.shape.zoning.zone_of(rows)
        return zones

    def _parsed(self, asked: pa.Array, chosen: Int64s) -> list[tuple[Int64s, Any]]:
        """Subscriptions as arrays, in as many parts as it takes for ids to be unique."""
        parse = FAMILIES[self.shape.family].parse_subscriptions
        if not len(chosen):
            return []
        parts = rounds(asked.field("id"), chosen, unique=True)
        return [(part, parse(unfolded(asked.take(pa.array(part))), self.shape.settings).rows) for part in parts]

    def _widen(self, asked: pa.Array, index: Int64s, zones: list[int], ops: list[str]) -> None:
        """Let the interests of zones follow what their subscriptions ask for."""
        by_zone: dict[int, list[int]] = {}
        for place, zone, op in zip(index.tolist(), zones, ops, strict=True):
            if op == "subscribe":
                by_zone.setdefault(zone, []).append(place)
            elif op == "resize":
                self._reaches[zone].loosen()
                self._grown.add(zone)
        for zone, places in by_zone.items():
            for _, rows in self._parsed(asked, np.array(places, np.int64)):
                self._reaches[zone].widen(interest(self.shape.family, rows, self.shape.settings))
            self._grown.add(zone)

    def _publish(
        self, batch: int, said: pa.Array, at: Int64s, reasons: list[str | None], steps: BatchSteps
    ) -> pa.Table:
        """Rows for the zones that a run of publications may reach."""
        before = self.now
        said, n_late = self._judged(said, at, reasons)
        steps.n_late += n_late
        sent = self._ledger.settle(said, self._wanted(said, before))
        self._ledger.record(said, sent, self.now)
        places, zones = np.nonzero(np.c_[sent, ~sent.any(axis=1)])
        zones = np.where(zones == self.shape.n_zones, NOWHERE, zones)
        first = steps.take(len(said))
        return self._spoken(batch, PUBLISH, said, places, zones, places + first, first)

    def _retract(self, batch: int, said: pa.Array, steps: BatchSteps) -> pa.Table:
        """Rows for the zones that have what a run of retractions withdraws; time passes where one of them brings it."""
        parts = []
        for begin, end in pairwise([0, *self._moments(said), len(said)]):
            before, run = self.now, said.slice(begin, end - begin)
            self._pass_time(run.slice(0, 1))
            if self.now != before:
                parts.append(self._tell_time(batch, steps))
            parts.append(self._withdraw(batch, run, steps))
        return pa.concat_tables(parts)

    def _moments(self, said: pa.Array) -> list[int]:
        """The retractions after the first that come at a later time than it is by then."""
        now, found = self.now, []
        for place, ts in enumerate(said.field("ts").to_pylist()):
            if ts is not None and (now is None or ts > now):
                now = ts
                found.append(place)
        return [place for place in found if place]

    def _tell_time(self, batch: int, steps: BatchSteps) -> pa.Table:
        """A row for every zone that lets time pass to now."""
        self._ledger.pass_time(self.now)
        everybody, place = np.arange(self.shape.n_zones), steps.take(1)
        moment, same = pa.array([{"ts": self.now}], self._said_type), np.zeros(len(everybody), np.int64)
        return self._spoken(batch, PASS, moment, same, everybody, same + place, place)

    def _withdraw(self, batch: int, said: pa.Array, steps: BatchSteps) -> pa.Table:
        """Rows for the zones that have these publications; what is not live is nobody's."""
        first, ids = steps.take(len(said)), said.field("id")
        sent = self._ledger.holders(ids)
        live = self._ledger.retract(ids)
        steps.n_retracted += int(live.sum())
        # What no zone has is withdrawn in the log alone, or a router that is rebuilt from it would take it for live.
        places, zones = np.nonzero(np.c_[sent, ~sent.any(axis=1)] & live[:, None])
        zones = np.where(zones == self.shape.n_zones, NOWHERE, zones)
        return self._spoken(batch, RETRACT, said, places, zones, places + first, first)

    def _judged(self, said: pa.Array, at: Int64s, reasons: list[str | None]) -> tuple[pa.Array, int]:
        """The publications to send, and how many came too late; time passes to the latest of them."""
        first = unique_rows(said.field("id")) if len(said) else np.zeros(0, np.bool_)
        for place in np.flatnonzero(~first).tolist():
            reasons[int(at[place])] = "id: is in this batch already"
        said, at = said.filter(pa.array(first)), at[first]
        judged = self._ledger.judge(said)
        for place in np.flatnonzero(judged.taken).tolist():
            reasons[int(at[place])] = "id: is live already"
        said = said.filter(pa.array(~judged.taken & ~judged.late))
        self._pass_time(said)
        return said, int(judged.late.sum())

    def _pass_time(self, said: pa.Array) -> None:
        moved = latest(said)
        self.now = self.now if moved is None else moved if self.now is None else max(self.now, moved)

    def _wanted(self, said: pa.Array, before: int | None) -> Bools:
        """By publication and zone, whether the zone must have it; time was `before` until now."""
        n_zones, shape = self.shape.n_zones, self.shape
        if not len(said):
            return np.zeros((0, n_zones), np.bool_)
        if n_zones == 1 or shape.granularity == "publication" or shape.settings.window.kind == WindowKind.COUNT:
            return np.ones((len(said), n_zones), np.bool_)
        rows = self._parse_publications(unfolded(said), shape.settings).rows
        now = self.now if self.now is not None else 0
        wanted = np.stack([reach.admits(rows, now) for reach in self._reaches], axis=1)
        # Everybody has to learn what time it is, and learns it from the publication that brings it.
        if FAMILIES[shape.family].answers_stand and (before is None or now > before):
            wanted[int(np.argmax(np.asarray(said.field("ts"))))] = True
        if self._counts_all and len(self._foreseen):
            wanted[pc.is_in(said.field("id"), value_set=self._foreseen).to_numpy(zero_copy_only=False)] = True
        return wanted

    @property
    def _counts_all(self) -> bool:
        """Whether subscriptions with count windows may come to zones that were not sent everything.

        In a pipeline without a window they may, and what was withdrawn still counts in their windows.
        """
        return self.shape.n_zones > 1 and self.shape.settings.window.kind == WindowKind.UNBOUNDED

    def _foresee(self, said: pa.Array, ops: list[str]) -> None:
        """Note the ids that a batch withdraws; zones that have one of them are to be given what may follow it."""
        ids = self._foreseen = said.field("id").filter(pa.array([op == RETRACT for op in ops], pa.bool_()))
        if not len(ids) or self.shape.n_zones == 1:
            return
        # What comes in this batch is in no gate that an engine has told, so that these hold without it.
        for zone in np.flatnonzero(self._ledger.holders(ids).any(axis=0)).tolist():
            self._reaches[zone].loosen()
            self._grown.add(zone)

    def _until(self, coming: pa.Array) -> int:
        """The latest that it can be after these have come."""
        return max((time for time in (self.now, latest(coming)) if time is not None), default=0)

    def _hand_over(self, batch: int, coming: pa.Array) -> pa.Table:
        """What was kept back from zones that cannot rule it out any longer, or not until these have come."""
        zones = sorted(self._grown | {zone for zone, reach in enumerate(self._reaches) if reach.may_widen})
        self._grown = set()
        held = self._ledger.held()
        counted = np.zeros(len(held.rows), np.bool_)
        if self._counts_all and len(held.rows) and len(self._foreseen):
            counted = pc.is_in(held.rows.field("id"), value_set=self._foreseen).to_numpy(zero_copy_only=False)
            zones = list(range(self.shape.n_zones)) if counted.any() else zones
        none: list[int] = []
        if not zones or not len(held.rows):
            return self._table(batch, none, none, none, none, [], None, pa.array([], self._said_type))
        rows, now = self._parse_held(held.rows), self._until(coming)
        index, owners = none, none
        for zone in zones:
            missing = np.flatnonzero(~held.sent[:, zone])
            handed = missing[(self._reaches[zone].admits(rows, now) | counted)[missing]]
            self._ledger.hand_over(handed, zone)
            index = index + handed.tolist()
            owners = owners + [zone] * len(handed)
        places = list(range(-len(index), 0))
        return self._table(batch, index, owners, [-1] * len(index), places, [HELD] * len(index), None, held.rows)

    def _parse_held(self, said: pa.Array) -> Any:
        """Publications as arrays; events of several batches may share an id, which does not matter here."""
        table = unfolded(said)
        numbered = pa.array(range(len(said)), pa.int64())
        return self._parse_publications(table.set_column(0, "id", numbered), self.shape.settings).rows

    def _spoken(
        self, batch: int, op: str, said: pa.Array, index: Int64s, zones: Int64s, places: Int64s, step: int
    ) -> pa.Table:
        """Rows of one step, whose number stands for a turn: zones that miss some of a batch still keep steps apart."""
        n = len(index)
        return self._table(batch, index.tolist(), zones.tolist(), [step] * n, places.tolist(), [op] * n, None, said)

    def _table(
        self,
        batch: int,
        index: list[int],
        zones: list[int],
        turns: list[int],
        places: list[int],
        ops: list[str],
        asked: pa.Array | None,
        said: pa.Array | None,
    ) -> pa.Table:
        schema, n = self.shape.routed(), len(index)
        chosen = pa.array(index, pa.int64())
        columns = [
            pa.array(np.full(n, batch), pa.int64()),
            pa.array(zones, pa.int32()),
            pa.array(places, pa.int64()),
            pa.array(turns, pa.int64()),
            pa.array(ops, pa.string()),
            pa.nulls(n, schema.field("asked").type) if asked is None else asked.take(chosen),
            pa.nulls(n, schema.field("said").type) if said is None else said.take(chosen),
        ]
        return pa.Table.from_arrays(columns, schema=schema)

    def relive(self, batch: int, rows: pa.Table) -> None:
        """Go through a batch that was routed before, as its rows tell."""
        rows = rows.combine_chunks()
        ops = rows["op"].to_pylist()
        asked, said = (whole(rows[name]) for name in ("asked", "said"))
        zones, turns = rows["zone"].to_pylist(), rows["turn"].to_pylist()
        held = np.flatnonzero([op == HELD for op in ops])
        self._ledger.mark(said.take(pa.array(held)), rows["zone"].to_numpy()[held])
        done = [i for i, op in enumerate(ops) if op not in (PUBLISH, RETRACT, HELD, PASS)]
        for place in done:
            id = asked[place]["id"].as_py()
            if ops[place] == "subscribe":
                self._members[id] = (zones[place], turns[place])
                self._next_turn = max(self._next_turn, turns[place] + 1)
            elif ops[place] == "unsubscribe":
                del self._members[id]
            elif ops[place] == "advance":
                self.now = asked[place]["ts"].as_py()
                # The id of what expires is free again for the publications of this batch.
                self._ledger.pass_time(self.now)
        self._widen(asked, np.array(done, np.int64), [zones[i] for i in done], [ops[i] for i in done])
        self._relive_spoken(rows, ops, said)
        self._grown = set(range(self.shape.n_zones))
        self.version = batch

    def _relive_spoken(self, rows: pa.Table, ops: list[str], said: pa.Array) -> None:
        """Go through the runs of publications and of retractions, each row once however many zones it went to."""
        spoken = np.flatnonzero([op in (PUBLISH, RETRACT, PASS) for op in ops])
        places, first, inverse = np.unique(rows["place"].to_numpy()[spoken], return_index=True, return_inverse=True)
        sent = np.zeros((len(places), self.shape.n_zones + 1), np.bool_)
        sent[inverse, rows["zone"].to_numpy()[spoken]] = True
        told, sent = said.take(pa.array(spoken[first])), sent[:, :-1]
        for op, begin, end in runs([ops[i] for i in spoken[first]]):
            run = told.slice(begin, end - begin)
            if op == RETRACT:
                self._ledger.retract(run.field("id"))
                continue
            self._pass_time(run)
            if op == PASS:
                self._ledger.pass_time(self.now)
            else:
                self._ledger.record(run, sent[begin:end], self.now)

    def save(self) -> dict[str, pa.Table]:
        """The state as tables by name; interests are rebuilt from the subscriptions of the zones."""
        kind = self.shape.subscriptions().field("id").type
        members = pa.table(
            {
                "id": pa.array(list(self._members), kind),
                "zone": pa.array([zone for zone, _ in self._members.values()], pa.int32()),
                "turn": pa.array([turn for _, turn in self._members.values()], pa.int64()),
            }
        )
        reaches = pa.table({"whole": pa.array([reach.whole.to_json() for reach in self._reaches], pa.large_string())})
        clock = pa.table(
            {
                "version": pa.array([self.version], pa.int64()),
                "now": pa.array([self.now], pa.int64()),
                "turn": pa.array([self._next_turn], pa.int64()),
            }
        )
        ledger = {f"ledger-{name}": table for name, table in self._ledger.save().items()}
        return {"members": members, "reaches": reaches, "clock": clock, **ledger}

    def load(self, tables: dict[str, pa.Table]) -> None:
        """Take on what `save` returned."""
        clock = tables["clock"].to_pylist()[0]
        self.version, self.now, self._next_turn = clock["version"], clock["now"], clock["turn"]
        members = tables["members"].to_pydict()
        pairs = zip(members["zone"], members["turn"], strict=True)
        self._members = dict(zip(members["id"], pairs, strict=True))
        for reach, text in zip(self._reaches, tables["reaches"]["whole"].to_pylist(), strict=True):
            reach.whole = Interest.from_json(text)
        own = {name.removeprefix("ledger-"): table for name, table in tables.items() if name.startswith("ledger-")}
        self._ledger.load(own)


def _ordered(prepared: pa.Table) -> pa.Table:
    """Commands before publications, each in the order of their source."""
    rank = pa.array([0 if noun == "subscriptions" else 1 for noun in prepared["noun"].to_pylist()], pa.int8())
    keys = pa.table({"rank": rank, "origin": prepared["origin"], "offset": prepared["offset"]})
    by = [("rank", "ascending"), ("origin", "ascending"), ("offset", "ascending")]
    return prepared.take(pc.sort_indices(keys, sort_keys=by)).combine_chunks()
