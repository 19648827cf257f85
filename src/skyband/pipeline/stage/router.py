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
from skyband.kernels.array import Bools, Int8s, Int64s
from skyband.kernels.ragged import ranks_of
from skyband.pipeline.kernels.roster import BARRED, FINE, REGISTERED, UNKNOWN
from skyband.pipeline.stage.dead_letter import Refusals, dead_letters
from skyband.pipeline.stage.flags import anywhere
from skyband.pipeline.stage.ledger import latest, open_ledger, unique_rows
from skyband.pipeline.stage.prepare import rounds
from skyband.pipeline.stage.roster import ZoneRoster
from skyband.pipeline.stage.step import (
    ADVANCES,
    HOLDS,
    PASSES,
    PUBLISHES,
    RESIZES,
    RETRACTS,
    SUBSCRIBES,
    BatchSteps,
    edges_of,
    is_command,
    numbers_of,
    words_of,
)
from skyband.pipeline.stage.structs import unfolded, whole
from skyband.pipeline.stage.zone_interest import Reaches
from skyband.pipeline.state.spec import Shape
from skyband.table import WindowKind
from skyband.zoning import Interest, interest

# A row that no zone got is kept in the log for the ledger's sake.
NOWHERE = -1
# A time before all others.
EARLIEST = np.iinfo(np.int64).min
# Why commands are refused.
FAULTS = {
    REGISTERED: "id: is already registered",
    UNKNOWN: "id: is not registered",
    BARRED: "budget: budgets are counted in one place, and need a pipeline of one zone",
}


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
        self._roster = ZoneRoster(shape.subscriptions().field("id").type)
        self._reaches = Reaches(shape.family, shape.n_zones)
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
        return len(self._roster)

    def refresh(self, zone: int, whole: Interest, close: Interest) -> None:
        """Take the interest that the engine of a zone computed after the batch that was routed last."""
        self._reaches[zone].refresh(whole, close)

    def route(self, batch: int, prepared: pa.Table) -> Routing:
        """Send the rows of a batch to zones: commands in their order, then publications and retractions in theirs."""
        prepared = _ordered(prepared)
        refusals, ops = Refusals(prepared), numbers_of(prepared["op"])
        commands = np.flatnonzero(is_command(ops))
        parts = [self._command(batch, prepared.take(pa.array(commands)), commands, refusals)]
        spoken = np.flatnonzero(ops >= PUBLISHES)
        said, its_ops = whole(prepared["said"].take(pa.array(spoken))), ops[spoken]
        # What was kept back is looked through as it was when the batch began, for all that its rows may ask for.
        self._foresee(said, its_ops)
        handed = self._hand_over(batch, said)
        self._ledger.pass_time(self.now)
        steps = BatchSteps(len(commands))
        for begin, end in edges_of(its_ops):
            run, at = said.slice(begin, end - begin), spoken[begin:end]
            publishes = its_ops[begin] == PUBLISHES
            parts.append(
                self._publish(batch, run, at, refusals, steps) if publishes else self._retract(batch, run, steps)
            )
        rows = pa.concat_tables([handed, *parts]).combine_chunks()
        dead = dead_letters(batch, prepared, refusals)
        zones, done = rows["zone"].to_numpy(), numbers_of(rows["op"])
        copied = (done == PUBLISHES) | (done == HOLDS)
        is_good, n_retracting = ~refusals.is_bad, int(np.count_nonzero(its_ops == RETRACTS))
        report = Report(
            commands=int(np.count_nonzero(is_good[commands])),
            publications=int(np.count_nonzero(is_good[spoken] & (its_ops == PUBLISHES))) - steps.n_late,
            dead=len(dead),
            late=steps.n_late,
            copies=int(np.count_nonzero(copied & (zones != NOWHERE))),
            handed_over=len(handed),
            now=self.now,
            sent=np.bincount(zones[zones != NOWHERE], minlength=self.shape.n_zones).tolist(),
            retracted=steps.n_retracted,
            retracted_late=n_retracting - steps.n_retracted,
        )
        self.version = batch
        return Routing(rows, dead, report)

    def _command(self, batch: int, rows: pa.Table, at: Int64s, refusals: Refusals) -> pa.Table:
        """Register, withdraw, resize and let time pass; what cannot be done gets its reason."""
        asked, ops = whole(rows["asked"]), numbers_of(rows["op"])
        zones, turns = np.full(len(ops), NOWHERE), np.full(len(ops), -1)
        is_good = self._advance(asked, ops, at, refusals)
        named = np.flatnonzero(ops != ADVANCES)
        if len(named):
            some = asked.take(pa.array(named))
            ruling = self._roster.judge(
                ops[named], some.field("id"), self._zones_of(asked, ops)[named], self._barred(some)
            )
            for fault, why in FAULTS.items():
                refusals.refuse(at[named[ruling.fault == fault]], why)
            is_good[named] = ruling.fault == FINE
            zones[named], turns[named] = ruling.zone, ruling.turn
        # Time passes for everybody.
        good = np.flatnonzero(is_good)
        copies = np.where(ops[good] == ADVANCES, self.shape.n_zones, 1)
        index = np.repeat(good, copies)
        told = np.where(ops[index] == ADVANCES, ranks_of(copies), zones[index])
        self._widen(asked, index, told, ops[index])
        return self._table(batch, index, told, turns[index], index, ops[index], asked, None)

    def _advance(self, asked: pa.Array, ops: Int8s, at: Int64s, refusals: Refusals) -> Bools:
        """Let time pass; which commands do so."""
        places, is_good = np.flatnonzero(ops == ADVANCES), np.zeros(len(ops), np.bool_)
        if not len(places):
            return is_good
        times = asked.field("ts").take(pa.array(places)).to_numpy(zero_copy_only=False).astype(np.int64)
        first = times[0] if self.now is None else self.now
        # What would go back never is the latest.
        before = np.maximum.accumulate(np.r_[first, times[:-1]])
        for place in np.flatnonzero(times < before).tolist():
            refusals.refuse(at[places[[place]]], f"ts: time cannot go back, it is {before[place]} already")
        is_good[places[times >= before]] = True
        self.now = int(max(first, times.max()))
        return is_good

    def _barred(self, asked: pa.Array) -> Bools:
        """Which subscriptions there cannot be, however free their ids are: budgets are counted in one place."""
        if self.shape.n_zones == 1 or "budget" not in asked.type.names:
            return np.zeros(len(asked), np.bool_)
        found: Bools = asked.field("budget").is_valid().to_numpy(zero_copy_only=False).astype(np.bool_)
        return found

    def _zones_of(self, asked: pa.Array, ops: Int8s) -> Int64s:
        zones = np.zeros(len(asked), np.int64)
        for chosen, rows in self._parsed(asked, np.flatnonzero(ops == SUBSCRIBES)):
            zones[chosen] = self.shape.zoning.zone_of(rows)
        return zones

    def _parsed(self, asked: pa.Array, chosen: Int64s) -> list[tuple[Int64s, Any]]:
        """Subscriptions as arrays, in as many parts as it takes for ids to be unique."""
        parse = FAMILIES[self.shape.family].parse_subscriptions
        if not len(chosen):
            return []
        parts = rounds(asked.field("id"), chosen, unique=True)
        return [(part, parse(unfolded(asked.take(pa.array(part))), self.shape.settings).rows) for part in parts]

    def _widen(self, asked: pa.Array, index: Int64s, zones: Int64s, ops: Int8s) -> None:
        """Let the interests of zones follow what their subscriptions ask for."""
        for zone in np.unique(zones[ops == RESIZES]).tolist():
            self._reaches[zone].loosen()
            self._grown.add(zone)
        for zone in np.unique(zones[ops == SUBSCRIBES]).tolist():
            for _, rows in self._parsed(asked, index[(ops == SUBSCRIBES) & (zones == zone)]):
                self._reaches[zone].widen(interest(self.shape.family, rows, self.shape.settings))
            self._grown.add(zone)

    def _publish(self, batch: int, said: pa.Array, at: Int64s, refusals: Refusals, steps: BatchSteps) -> pa.Table:
        """Rows for the zones that a run of publications may reach."""
        before = self.now
        said, n_late = self._judged(said, at, refusals)
        steps.n_late += n_late
        sent = self._ledger.settle(said, self._wanted(said, before))
        self._ledger.record(said, sent, self.now)
        places, zones = _zones_by_row(sent)
        first = steps.take(len(said))
        return self._spoken(batch, PUBLISHES, said, places, zones, places + first, first)

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
        times = pc.fill_null(said.field("ts"), EARLIEST).to_numpy(zero_copy_only=False)
        before = np.maximum.accumulate(np.r_[EARLIEST if self.now is None else self.now, times])[:-1]
        found: list[int] = np.flatnonzero(times > before).tolist()
        return [place for place in found if place]

    def _tell_time(self, batch: int, steps: BatchSteps) -> pa.Table:
        """A row for every zone that lets time pass to now."""
        self._ledger.pass_time(self.now)
        everybody, place = np.arange(self.shape.n_zones), steps.take(1)
        moment, same = pa.array([{"ts": self.now}], self._said_type), np.zeros(len(everybody), np.int64)
        return self._spoken(batch, PASSES, moment, same, everybody, same + place, place)

    def _withdraw(self, batch: int, said: pa.Array, steps: BatchSteps) -> pa.Table:
        """Rows for the zones that have these publications; what is not live is nobody's."""
        first, ids = steps.take(len(said)), said.field("id")
        sent = self._ledger.holders(ids)
        live = self._ledger.retract(ids)
        steps.n_retracted += int(live.sum())
        # What no zone has is withdrawn in the log alone, or a router that is rebuilt from it would take it for live.
        chosen = np.flatnonzero(live)
        places, zones = _zones_by_row(sent[chosen])
        places = chosen[places]
        return self._spoken(batch, RETRACTS, said, places, zones, places + first, first)

    def _judged(self, said: pa.Array, at: Int64s, refusals: Refusals) -> tuple[pa.Array, int]:
        """The publications to send, and how many came too late; time passes to the latest of them."""
        first = unique_rows(said.field("id"))
        refusals.refuse(at[~first], "id: is in this batch already")
        said, at = said.filter(pa.array(first)), at[first]
        judged = self._ledger.judge(said)
        refusals.refuse(at[judged.taken], "id: is live already")
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
        wanted = self._reaches.admits(rows, now)
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

    def _foresee(self, said: pa.Array, ops: Int8s) -> None:
        """Note the ids that a batch withdraws; zones that have one of them are to be given what may follow it."""
        ids = self._foreseen = said.field("id").filter(pa.array(ops == RETRACTS))
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
        if not zones or not len(held.rows):
            return self.shape.routed().empty_table()
        admitted = self._reaches.admits(self._parse_held(held.rows), self._until(coming))
        index, owners = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for zone in zones:
            missing = np.flatnonzero(~held.sent[:, zone])
            handed = missing[(admitted[:, zone] | counted)[missing]]
            self._ledger.hand_over(handed, zone)
            index.append(handed)
            owners.append(np.full(len(handed), zone))
        return self._held_rows(batch, np.concatenate(index), np.concatenate(owners), held.rows)

    def _held_rows(self, batch: int, index: Int64s, zones: Int64s, said: pa.Array) -> pa.Table:
        """Rows that come before all others, in the order in which they are given."""
        n = len(index)
        ops, places = np.full(n, HOLDS, np.int8), np.arange(-n, 0)
        return self._table(batch, index, zones, np.full(n, -1), places, ops, None, said)

    def _parse_held(self, said: pa.Array) -> Any:
        """Publications as arrays; events of several batches may share an id, which does not matter here."""
        table = unfolded(said)
        numbered = pa.array(range(len(said)), pa.int64())
        return self._parse_publications(table.set_column(0, "id", numbered), self.shape.settings).rows

    def _spoken(
        self, batch: int, op: int, said: pa.Array, index: Int64s, zones: Int64s, places: Int64s, step: int
    ) -> pa.Table:
        """Rows of one step, whose number stands for a turn: zones that miss some of a batch still keep steps apart."""
        n = len(index)
        return self._table(batch, index, zones, np.full(n, step), places, np.full(n, op, np.int8), None, said)

    def _table(
        self,
        batch: int,
        index: Int64s,
        zones: Int64s,
        turns: Int64s,
        places: Int64s,
        ops: Int8s,
        asked: pa.Array | None,
        said: pa.Array | None,
    ) -> pa.Table:
        schema, n = self.shape.routed(), len(index)
        chosen = pa.array(index)
        columns = [
            pa.array(np.full(n, batch), pa.int64()),
            pa.array(zones.astype(np.int32)),
            pa.array(places),
            pa.array(turns),
            words_of(ops),
            pa.nulls(n, schema.field("asked").type) if asked is None else asked.take(chosen),
            pa.nulls(n, schema.field("said").type) if said is None else said.take(chosen),
        ]
        return pa.Table.from_arrays(columns, schema=schema)

    def relive(self, batch: int, rows: pa.Table) -> None:
        """Go through a batch that was routed before, as its rows tell."""
        rows = rows.combine_chunks()
        ops, zones = numbers_of(rows["op"]), rows["zone"].to_numpy().astype(np.int64)
        asked, said = (whole(rows[name]) for name in ("asked", "said"))
        held = np.flatnonzero(ops == HOLDS)
        self._ledger.mark(said.take(pa.array(held)), zones[held])
        done = np.flatnonzero(is_command(ops))
        named = done[ops[done] != ADVANCES]
        ids, turns = asked.field("id").take(pa.array(named)), rows["turn"].to_numpy()
        self._roster.repeat(ops[named], ids, zones[named], turns[named])
        moments = asked.field("ts").take(pa.array(np.flatnonzero(ops == ADVANCES)))
        if len(moments):
            self.now = pc.max(moments).as_py()
            # The id of what expires is free again for the publications of this batch.
            self._ledger.pass_time(self.now)
        self._widen(asked, done, zones[done], ops[done])
        self._relive_spoken(rows, ops, said)
        self._grown = set(range(self.shape.n_zones))
        self.version = batch

    def _relive_spoken(self, rows: pa.Table, ops: Int8s, said: pa.Array) -> None:
        """Go through the runs of publications and of retractions, each row once however many zones it went to."""
        spoken = np.flatnonzero((ops >= PUBLISHES) & (ops != HOLDS))
        places, first, inverse = np.unique(rows["place"].to_numpy()[spoken], return_index=True, return_inverse=True)
        sent = np.zeros((len(places), self.shape.n_zones + 1), np.bool_)
        sent[inverse, rows["zone"].to_numpy()[spoken]] = True
        told, sent = said.take(pa.array(spoken[first])), sent[:, :-1]
        kinds = ops[spoken[first]]
        for begin, end in edges_of(kinds):
            run = told.slice(begin, end - begin)
            if kinds[begin] == RETRACTS:
                self._ledger.retract(run.field("id"))
                continue
            self._pass_time(run)
            if kinds[begin] == PASSES:
                self._ledger.pass_time(self.now)
            else:
                self._ledger.record(run, sent[begin:end], self.now)

    def save(self) -> dict[str, pa.Table]:
        """The state as tables by name; interests are rebuilt from the subscriptions of the zones."""
        kept = self._roster.kept()
        members = pa.table({"id": kept.ids, "zone": pa.array(kept.zones.astype(np.int32)), "turn": kept.turns})
        reaches = pa.table({"whole": pa.array([reach.whole.to_json() for reach in self._reaches], pa.large_string())})
        clock = pa.table(
            {
                "version": pa.array([self.version], pa.int64()),
                "now": pa.array([self.now], pa.int64()),
                "turn": pa.array([self._roster.next_turn], pa.int64()),
            }
        )
        ledger = {f"ledger-{name}": table for name, table in self._ledger.save().items()}
        return {"members": members, "reaches": reaches, "clock": clock, **ledger}

    def load(self, tables: dict[str, pa.Table]) -> None:
        """Take on what `save` returned."""
        clock = tables["clock"].to_pylist()[0]
        self.version, self.now = clock["version"], clock["now"]
        members = tables["members"]
        self._roster = ZoneRoster(self.shape.subscriptions().field("id").type)
        ops = np.full(len(members), SUBSCRIBES, np.int8)
        zones, turns = (members[name].to_numpy().astype(np.int64) for name in ("zone", "turn"))
        self._roster.repeat(ops, whole(members["id"]), zones, turns)
        self._roster.next_turn = clock["turn"]
        for reach, text in zip(self._reaches, tables["reaches"]["whole"].to_pylist(), strict=True):
            reach.whole = Interest.from_json(text)
        own = {name.removeprefix("ledger-"): table for name, table in tables.items() if name.startswith("ledger-")}
        self._ledger.load(own)


def _ordered(prepared: pa.Table) -> pa.Table:
    """Commands before publications, each in the order of their source."""
    rank = pc.cast(pc.not_equal(prepared["noun"], "subscriptions"), pa.int8())
    keys = pa.table({"rank": rank, "origin": prepared["origin"], "offset": prepared["offset"]})
    by = [("rank", "ascending"), ("origin", "ascending"), ("offset", "ascending")]
    return prepared.take(pc.sort_indices(keys, sort_keys=by)).combine_chunks()


def _zones_by_row(sent: Bools) -> tuple[Int64s, Int64s]:
    """Each row with each zone that it was sent to, or with NOWHERE."""
    n_rows, n_zones = sent.shape
    found = np.empty((n_rows, n_zones + 1), np.bool_)
    found[:, :-1], found[:, -1] = sent, ~anywhere(sent)
    places, zones = np.nonzero(found)
    return places, np.where(zones == n_zones, NOWHERE, zones)
