"""Figure 16 of the ranges paper: a batch of changes, one at a time, coalesced by object, or by Paint-Batch."""

from collections.abc import Iterator

import numpy as np

from skyband.bench.benchmark import Benchmark, Column, Progress, Size
from skyband.bench.figure import Plot
from skyband.bench.painting import SEED, Crowd, Setting, World, make_world, plant
from skyband.bench.painting_trial import time_portions
from skyband.bench.painting_view import SCALES, K, plot, relative, shown
from skyband.bench.row import Row, measured, ns_per_operation, number
from skyband.kernels.array import Int64s
from skyband.ranges.batch import BatchServer, coalesced
from skyband.ranges.kernels.message import Messages
from skyband.ranges.kernels.range_scan import ObjectChanges
from skyband.ranges.kernels.reach_count import count_each
from skyband.ranges.server import Plan, Server

MODES = ("Online", "Coalesce", "Paint-Batch")


def measure(size: Size, progress: Progress) -> Iterator[Row]:
    """The whole batch in each mode and for each k, over Paint-Sparse."""
    scale = SCALES[size]
    setting = scale.setting._replace(n_events=scale.n_batch, n_warm=0)
    # Compiles what the modes have not in common.
    list(_rows(SCALES["toy"].setting, 1, make_world(SCALES["toy"].setting)))
    progress(f"{setting.n_subscriptions:,} subscriptions: building")
    world = make_world(setting)
    for k in scale.ks:
        progress(f"a batch of {setting.n_events:,} changes, k = {k}")
        yield from _rows(setting, k, world)


def _rows(setting: Setting, k: int, world: World) -> Iterator[Row]:
    crowd = Crowd(plant(world), k)
    given = setting._asdict() | {"k": k, "seed": SEED}
    for mode in MODES:
        server = (BatchServer if mode == "Paint-Batch" else Server)(world.fresh_objects(), crowd, Plan("sparse"))
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


def _plot(letter: str, what: str, name: str) -> Plot:
    return plot(letter, f"Figure 16({letter}): {what} for a batch", "k", name, what)


BENCHMARK = Benchmark(
    name="ranges-figure16",
    summary="Figure 16 of the ranges paper: a batch of changes online, coalesced and by Paint-Batch.",
    measure=measure,
    columns=(
        K,
        Column("mode", lambda row, first: row["algorithm"]),
        shown("changes", "changes"),
        shown("messages", "messages"),
        relative("ratio", "messages"),
        shown("received", "received"),
        relative("ratio of received", "received"),
        shown("min_y", "min_y"),
        relative("ratio of min_y", "min_y"),
        Column("µs a change", lambda row, first: number(ns_per_operation(row) / 1e3)),
    ),
    plots=(
        _plot("a", "messages generated", "messages"),
        _plot("b", "messages received", "received"),
        _plot("c", "calls of min_y", "min_y"),
    ),
)
