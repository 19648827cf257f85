"""Paint-Batch beside painting change by change, as objects, ks and batches grow: what a batch costs follows the batch.

Servers alone are measured from changes to messages, then engines from a table of changes to the table of how tops
changed, with all lists kept. What is told is messages of a server, and changes of tops of an engine.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

import skyband
from skyband.bench.benchmark import Benchmark, Column, Progress, Size
from skyband.bench.clock import time_in_turn
from skyband.bench.contest import WrongAnswer
from skyband.bench.painting import SEED, Setting, World, make_world
from skyband.bench.painting_view import shown
from skyband.bench.paper import parameter
from skyband.bench.row import Row, measured, ns_per_operation, number, ratio
from skyband.contract import AnyEngine
from skyband.ranges import workload as ranges
from skyband.ranges.batch import BatchServer
from skyband.ranges.painter import Groups
from skyband.ranges.server import Plan, Server

MODES = {"Online": Server, "Paint-Batch": BatchServer}
KS = ((10,), tuple(range(1, 11)))
N_LOOKED_AT = 100
AT_ONCE = 1 << 16


class Scale(NamedTuple):
    """Numbers of objects, sizes of batches and how many batches of each are timed, and the number of subscriptions."""

    n_objects: tuple[int, ...]
    batches: tuple[tuple[int, int], ...]
    n_subscriptions: int


SCALES: dict[Size, Scale] = {
    "toy": Scale((12, 40), ((1, 2), (4, 2)), 40),
    "small": Scale((10_000, 100_000), ((1, 100), (100, 10)), 20_000),
    "full": Scale((10_000, 100_000, 1_000_000), ((1, 200), (100, 20), (10_000, 3)), 20_000),
}

Calls = dict[str, Callable[[int, int], object]]


def measure(size: Size, progress: Progress) -> Iterator[Row]:
    """Servers, then engines, for each number of objects and of ks."""
    scale = SCALES[size]
    n_events = sum(batch * (n_rounds + 1) for batch, n_rounds in scale.batches)
    for n in scale.n_objects:
        setting = Setting(scale.n_subscriptions, n_events, n_objects=n, n_warm=0)
        for ks in KS:
            progress(f"{n:,} objects, {len(ks)} ks")
            yield from _servers(setting, ks, scale)
            yield from _engines(setting, ks, scale)


def _servers(setting: Setting, ks: tuple[int, ...], scale: Scale) -> Iterator[Row]:
    world = make_world(setting)
    groups = divided(world, ks)
    servers = {mode: make(world.fresh_objects(), groups, Plan()) for mode, make in MODES.items()}

    def call(server: Server) -> Callable[[int, int], object]:
        return lambda lo, hi: sum(int(messages.length[0]) for messages in server.paint(world.part(lo, hi)))

    calls = {mode: call(server) for mode, server in servers.items()}
    yield from _contests("server", calls, setting, ks, scale)
    online, batch = (server.objects for server in servers.values())
    if not (np.array_equal(online.y, batch.y[: online.n]) and np.array_equal(online.x, batch.x[: online.n])):
        raise WrongAnswer("The two servers end with different objects.")


def divided(world: World, ks: tuple[int, ...]) -> Groups:
    """The subscriptions of a world, which ask for each k in turn."""
    groups, slots = Groups(1), np.arange(len(world.points))
    for i, k in enumerate(ks):
        groups.points.add(groups.of(k), slots[i :: len(ks)], world.points[i :: len(ks)])
    return groups


def _engines(setting: Setting, ks: tuple[int, ...], scale: Scale) -> Iterator[Row]:
    subscriptions = ranges.subscriptions(setting.options)
    asked = pa.array(np.resize(ks, len(subscriptions)), subscriptions["k"].type)
    subscriptions = subscriptions.set_column(subscriptions.column_names.index("k"), "k", asked)
    stream = pa.concat_tables(ranges.stream(setting.options, AT_ONCE)).combine_chunks()
    engines = {mode: skyband.open("ranges", "paint", batch=mode == "Paint-Batch") for mode in MODES}
    for engine in engines.values():
        for at in range(0, setting.n_objects, AT_ONCE):
            engine.publish(stream.slice(at, min(AT_ONCE, setting.n_objects - at)))
        engine.subscribe(subscriptions)
    events = stream.slice(setting.n_objects)

    def call(engine: AnyEngine) -> Callable[[int, int], object]:
        return lambda lo, hi: engine.publish(events.slice(lo, hi - lo))

    calls = {mode: call(engine) for mode, engine in engines.items()}
    yield from _contests("engine", calls, setting, ks, scale)
    looked_at = subscriptions["id"].slice(0, N_LOOKED_AT).combine_chunks()
    online, batch = (engine.top(looked_at) for engine in engines.values())
    if not online.equals(batch):
        raise WrongAnswer("The two engines end in different tops.")


def _contests(what: str, calls: Calls, setting: Setting, ks: tuple[int, ...], scale: Scale) -> Iterator[Row]:
    start = 0
    given = {"measured": what, "n_objects": setting.n_objects, "n_ks": len(ks), "seed": SEED}
    given["n_subscriptions"] = setting.n_subscriptions
    for batch, n_rounds in scale.batches:
        yield from _contest(calls, given | {"batch": batch}, start, batch, n_rounds)
        start += batch * (n_rounds + 1)


def _contest(calls: Calls, given: dict[str, Any], start: int, batch: int, n_rounds: int) -> Iterator[Row]:
    """Both modes on the same batches from `start` on, turn and turn about."""
    told = dict.fromkeys(calls, 0)

    def count(mode: str, turn: int, answer: object) -> None:
        assert isinstance(answer, int | pa.Table)
        if turn > 0:
            told[mode] += answer if isinstance(answer, int) else len(answer)

    def on_batch(call: Callable[[int, int], object]) -> Callable[[int], object]:
        return lambda turn: call(start + turn * batch, start + (turn + 1) * batch)

    taken = time_in_turn({mode: on_batch(call) for mode, call in calls.items()}, n_rounds, n_warm=1, after=count)
    contest = f"{given['measured']}, {given['n_objects']} objects, {given['n_ks']} ks, batches of {batch}"
    for mode, own in taken.items():
        yield measured(contest, mode, given, own, batch, {"told": told[mode] / n_rounds / batch})


BENCHMARK = Benchmark(
    name="ranges-batch",
    summary="Paint-Batch and change by change, by the number of objects, of ks and of changes in a batch.",
    measure=measure,
    columns=(
        parameter("measured", "measured"),
        Column("objects", lambda row, first: f"{row['parameters']['n_objects']:,}"),
        parameter("ks", "n_ks"),
        Column("changes in a batch", lambda row, first: f"{row['parameters']['batch']:,}"),
        Column("mode", lambda row, first: row["algorithm"]),
        Column("µs a batch", lambda row, first: number(ns_per_operation(row) * row["n_operations"] / 1e3)),
        Column("ratio", ratio),
        shown("told a change", "told"),
    ),
    plots=(),
)
