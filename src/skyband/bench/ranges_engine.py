"""The ranges family in batches and behind the contract: Paint-Batch beside change by change, and paint beside Scan.

Servers alone are measured from changes to messages; engines from a table of changes to the table of how tops changed,
with all lists kept. What is told is messages of a server, and changes of tops of an engine.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from skyband.bench.experiment import Progress
from skyband.bench.opening import open_engine
from skyband.bench.ranges_data import SEED, TOY, Crowd, RangesSetting, World, make_world, plant
from skyband.bench.ranges_trial import time_portions
from skyband.bench.row import Row, measured
from skyband.bench.runner import AT_ONCE, Taken, WrongAnswer, pieces, race
from skyband.contract import AnyEngine
from skyband.kernels.array import Int64s
from skyband.ranges import workload as ranges
from skyband.ranges.batch import BatchServer, coalesced
from skyband.ranges.kernels.message import Messages
from skyband.ranges.kernels.range_scan import ObjectChanges
from skyband.ranges.kernels.reach_count import count_each
from skyband.ranges.painter import SubscriberGroups
from skyband.ranges.server import PaintPlan, Server

IN_A_BATCH = ("Online", "Coalesce", "Paint-Batch")
MODES = {"Online": Server, "Paint-Batch": BatchServer}
K = 10
N_LOOKED_AT = 100
CHUNK = 1 << 16

Calls = dict[str, Callable[[int, int], object]]
# Sizes of batches, and how many of each are timed.
Batches = tuple[tuple[int, int], ...]


class Whole(NamedTuple):
    """All changes of a setting as one batch, for each k."""

    setting: RangesSetting
    ks: Sequence[int]


def paint_whole(whole: Whole, progress: Progress) -> Iterator[Row]:
    """The whole batch in each mode and for each k, over Paint-Sparse."""
    setting = whole.setting
    # Compiles what the modes have not in common.
    list(_batch_rows(TOY, 1, make_world(TOY)))
    progress(f"{setting.n_subscriptions:,} subscriptions: building")
    world = make_world(setting)
    for k in whole.ks:
        progress(f"a batch of {setting.n_events:,} changes, k = {k}")
        yield from _batch_rows(setting, k, world)


def _batch_rows(setting: RangesSetting, k: int, world: World) -> Iterator[Row]:
    crowd = Crowd(plant(world), k)
    given = setting._asdict() | {"k": k, "seed": SEED}
    for mode in IN_A_BATCH:
        server = (BatchServer if mode == "Paint-Batch" else Server)(world.fresh_objects(), crowd, PaintPlan("sparse"))
        changes = world.part(0, len(world.changes.object))
        if mode == "Coalesce":
            changes = chosen(changes, np.sort(coalesced(changes, 0, len(changes.object))))
        taken, received = _replay(server, changes, crowd)
        told = {name: float(n) for name, n in sorted(server.costs().items())} | {"received": received}
        yield measured(f"k = {k}", mode, given, [taken], setting.n_events, told | {"changes": len(changes.object)})


def chosen(changes: ObjectChanges, rows: Int64s) -> ObjectChanges:
    """Some of the changes, as one step."""
    object, x, y, alive, _ = changes
    return ObjectChanges(object[rows], x[rows], y[rows], alive[rows], np.array([len(rows)]))


def _replay(server: Server, changes: ObjectChanges, crowd: Crowd) -> tuple[int, float]:
    """How long the server took, and how many subscriptions its messages reached."""
    received = 0

    def see(messages: Messages) -> None:
        nonlocal received
        n = int(messages.length[0])
        reached = np.empty(n, np.int64)
        count_each(crowd.points.trees, 0, messages.low[:n], messages.high[:n], reached)
        received += int(reached.sum())

    return time_portions(server.paint(changes), see), float(received)


class Growing(NamedTuple):
    """Objects and subscriptions, the ks that these ask for in turn, and batches."""

    n_objects: int
    ks: tuple[int, ...]
    batches: Batches
    n_subscriptions: int


def compare_modes(growing: Growing, progress: Progress) -> Iterator[Row]:
    """Servers, then engines."""
    n_events = sum(batch * (n_rounds + 1) for batch, n_rounds in growing.batches)
    setting = RangesSetting(growing.n_subscriptions, n_events, n_objects=growing.n_objects, n_warm=0)
    progress(f"{growing.n_objects:,} objects, {len(growing.ks)} ks")
    yield from _servers(setting, growing.ks, growing.batches)
    yield from _engines(setting, growing.ks, growing.batches)


def _servers(setting: RangesSetting, ks: tuple[int, ...], batches: Batches) -> Iterator[Row]:
    world = make_world(setting)
    groups = divided(world, ks)
    servers = {mode: make(world.fresh_objects(), groups, PaintPlan()) for mode, make in MODES.items()}

    def call(server: Server) -> Callable[[int, int], object]:
        return lambda lo, hi: sum(int(messages.length[0]) for messages in server.paint(world.part(lo, hi)))

    calls = {mode: call(server) for mode, server in servers.items()}
    yield from _contests("server", calls, setting, ks, batches)
    online, batch = (server.objects for server in servers.values())
    if not (np.array_equal(online.y, batch.y[: online.n]) and np.array_equal(online.x, batch.x[: online.n])):
        raise WrongAnswer("The two servers end with different objects.")


def divided(world: World, ks: tuple[int, ...]) -> SubscriberGroups:
    """The subscriptions of a world, which ask for each k in turn."""
    groups, slots = SubscriberGroups(1), np.arange(len(world.points))
    for i, k in enumerate(ks):
        groups.points.add(groups.of(k), slots[i :: len(ks)], world.points[i :: len(ks)])
    return groups


def _engines(setting: RangesSetting, ks: tuple[int, ...], batches: Batches) -> Iterator[Row]:
    subscriptions = ranges.subscriptions(setting.options)
    asked = pa.array(np.resize(ks, len(subscriptions)), subscriptions["k"].type)
    subscriptions = subscriptions.set_column(subscriptions.column_names.index("k"), "k", asked)
    stream = pa.concat_tables(ranges.stream(setting.options, CHUNK)).combine_chunks()
    engines = {mode: open_engine("ranges", "paint", batch=mode == "Paint-Batch") for mode in MODES}
    for engine in engines.values():
        for at in range(0, setting.n_objects, CHUNK):
            engine.publish(stream.slice(at, min(CHUNK, setting.n_objects - at)))
        engine.subscribe(subscriptions)
    events = stream.slice(setting.n_objects)

    def call(engine: AnyEngine) -> Callable[[int, int], object]:
        return lambda lo, hi: engine.publish(events.slice(lo, hi - lo))

    calls = {mode: call(engine) for mode, engine in engines.items()}
    yield from _contests("engine", calls, setting, ks, batches)
    looked_at = subscriptions["id"].slice(0, N_LOOKED_AT).combine_chunks()
    online, batch = (engine.top(looked_at) for engine in engines.values())
    if not online.equals(batch):
        raise WrongAnswer("The two engines end in different tops.")


def _contests(what: str, calls: Calls, setting: RangesSetting, ks: tuple[int, ...], batches: Batches) -> Iterator[Row]:
    start = 0
    given = {"measured": what, "n_objects": setting.n_objects, "n_ks": len(ks), "seed": SEED}
    given["n_subscriptions"] = setting.n_subscriptions
    for batch, n_rounds in batches:
        yield from _contest(calls, given | {"batch": batch}, start, batch, n_rounds)
        start += batch * (n_rounds + 1)


def _contest(calls: Calls, given: dict[str, Any], start: int, batch: int, n_rounds: int) -> list[Row]:
    """Both modes on the same batches from `start` on, turn and turn about."""
    told = dict.fromkeys(calls, 0)

    def count(mode: str, turn: int, answer: object) -> None:
        assert isinstance(answer, int | pa.Table)
        if turn > 0:
            told[mode] += answer if isinstance(answer, int) else len(answer)

    def on_batch(call: Callable[[int, int], object]) -> Callable[[int], object]:
        return lambda turn: call(start + turn * batch, start + (turn + 1) * batch)

    def measures(mode: str, taken: Taken) -> dict[str, float]:
        return {"told": told[mode] / n_rounds / batch}

    contest = f"{given['measured']}, {given['n_objects']} objects, {given['n_ks']} ks, batches of {batch}"
    on_batches = {mode: on_batch(call) for mode, call in calls.items()}
    return race(contest, on_batches, n_rounds, batch, given, measures, after=count)


class RangesPlan(NamedTuple):
    """Subscriptions, whether Scan is asked too, objects, and rounds of changes."""

    n: int
    scanned: bool
    n_objects: int
    n_rounds: int
    batch: int


def compare_engines(behind: RangesPlan, progress: Progress) -> list[Row]:
    """Scan, where it takes part, and paint, with the lists of every subscriber."""
    n = behind.n
    progress(f"{n:,} subscriptions")
    n_events = (behind.n_rounds + 1) * behind.batch
    options = ranges.Options(n_objects=behind.n_objects, n_events=n_events, n_subscriptions=n, k=K)
    stream, subscriptions = list(ranges.stream(options, behind.batch)), ranges.subscriptions(options)
    n_before = behind.n_objects // behind.batch
    engines = {name: open_engine("ranges", name) for name in (("scan",) if behind.scanned else ()) + ("paint",)}
    for engine in engines.values():
        _fill(engine, stream[:n_before], subscriptions)
    told = dict.fromkeys(engines, 0)

    def count(name: str, turn: int, changes: object) -> None:
        assert isinstance(changes, pa.Table)
        told[name] += len(changes) if turn > 0 else 0

    def measures(name: str, taken: Taken) -> dict[str, float]:
        changed = told[name] / (behind.n_rounds * behind.batch)
        spent = sum(taken[name]) / behind.n_rounds / behind.batch
        n_bytes = sum(engines[name].memory().values())
        return {"changes": changed, "bytes": n_bytes / n, "ns_a_change": spent / max(changed, 1e-9)}

    calls = {name: lambda turn, e=engine: e.publish(stream[n_before + turn]) for name, engine in engines.items()}
    given = {"n_subscriptions": n, "k": K, "n_objects": behind.n_objects, "batch": behind.batch}
    rows = race(f"{n} subscriptions", calls, behind.n_rounds, behind.batch, given, measures, after=count)
    looked_at = subscriptions["id"].slice(0, N_LOOKED_AT).combine_chunks()
    if any(not engine.top(looked_at).equals(engines["paint"].top(looked_at)) for engine in engines.values()):
        raise WrongAnswer("Scan and paint end in different tops.")
    return rows


def _fill(engine: AnyEngine, objects: list[pa.Table], subscriptions: pa.Table) -> None:
    for batch in objects:
        engine.publish(batch)
    for piece in pieces(subscriptions, AT_ONCE):
        engine.subscribe(piece)
