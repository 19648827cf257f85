"""The candidates of a row that is taken through the steps of a call: which of them wait, and when the next comes."""

from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Floats, Int64s
from skyband.kernels.compile import inlined, kernel
from skyband.kernels.slots import BLOCK
from skyband.topk.kernels.band import SIGN, K
from skyband.topk.kernels.buffer import FoundChanges
from skyband.topk.kernels.candidate import Grouped
from skyband.topk.kernels.refill import capacity_of, cut_of
from skyband.topk.kernels.scan import LARGEST, UNBOUNDED, Live, Published, Steps
from skyband.topk.kernels.score import score_run
from skyband.topk.kernels.workspace import (
    CHANCE,
    RECENT,
    RESCANNED,
    SCORED,
    SEARCH,
    BandSubscribers,
    Leaving,
    RowSettings,
    Workspace,
)

# A row that has so many times k entries has more than it needs, whatever a search looks for.
LONG = 2


class Call(NamedTuple):
    """All that `step` is given: who subscribes, what is published in which steps, and where to work and to report.

    `in_order` says that every arrival is more recent than all before it.
    """

    subscribers: BandSubscribers
    published: Published
    steps: Steps
    in_order: bool
    leaving: Leaving
    workspace: Workspace
    told: FoundChanges


class RowView(NamedTuple):
    """What stays the same of a subscription while it is taken through the steps.

    `recent` and `chance` say where its bound comes from. It is cut once it has more entries than `longest`.
    `known_gate` is the gate that the index has for it.
    """

    slot: int
    kind: int
    limit: float
    turn: int
    k: int
    window_kind: int
    window_size: int
    capacity: int
    recent: bool
    chance: bool
    longest: int
    known_gate: float


class Waiting(NamedTuple):
    """Which of the candidates in the working space are still to be offered to the row.

    Arrivals wait at the places `arrival` to `arrivals_end`, and what leaves the shared buffer at `leaver` to `end`,
    where publication p is written as -1 - p. Both are in the order of their steps, and complete up to this gate.
    """

    arrival: int
    arrivals_end: int
    leaver: int
    end: int
    gate: float


@inlined
def _longest(settings: RowSettings, k: int, depth: int, window_kind: int) -> int:
    """How many entries a row that evicts by dominance may have: as many as what a search finds seldom grows to.

    Without a window nothing ends, and nobody waits behind the first k.
    """
    if settings.bounded_by != SEARCH:
        return LARGEST
    if settings.slack != 0.0:
        return LONG * k
    return k if window_kind == UNBOUNDED else depth + k


class Progress(NamedTuple):
    """How far a call of `step` has come, for one that had no room to be called again.

    `at` has the place among the slots and the step to go on with. Above step 0 a row is half through: then there follow
    its candidates that wait, as in `Waiting`, and `gates` has the gate up to which they are complete and the one that
    the index has. So it does not matter for what a row costs whether it was interrupted.
    """

    at: Int64s
    gates: Floats


def make_progress() -> Progress:
    """Nothing done yet."""
    return Progress(np.zeros(6, np.int64), np.zeros(2))


@inlined
def pause(progress: Progress, waiting: Waiting, row: RowView, step: int) -> None:
    """Write down what is needed to go on with a row from this step on."""
    at, gates = progress
    at[1], at[2], at[3], at[4], at[5] = step, waiting.arrival, waiting.arrivals_end, waiting.leaver, waiting.end
    gates[0], gates[1] = waiting.gate, row.known_gate


@inlined
def resume_waiting(progress: Progress) -> Waiting:
    """The candidates that waited when a row was interrupted; the working space still has them."""
    at, gates = progress
    return Waiting(at[2], at[3], at[4], at[5], gates[0])


@inlined
def row_of(subscribers: BandSubscribers, slot: int, known_gate: float) -> RowView:
    """What there is to know of the row of a slot, of which the index has this gate."""
    questions, rules, bands, settings, turns = subscribers
    k, sign, depth = bands.head[slot, K], bands.gauge[slot, SIGN], settings.depth[slot]
    capacity = capacity_of(settings.keeps, sign, depth)
    return RowView(
        slot,
        questions.kinds[slot // BLOCK],
        rules.limit[slot],
        turns[slot],
        k,
        rules.window_kind[slot],
        rules.window_size[slot],
        capacity,
        settings.bounded_by == RECENT and sign != 0.0,
        settings.bounded_by == CHANCE and sign != 0.0,
        _longest(settings, k, depth, rules.window_kind[slot]) if sign != 0.0 and capacity == 0 else LARGEST,
        known_gate,
    )


@inlined
def copy_found(touched: Grouped, i: int, row: RowView, publications: Int64s, directed: Floats) -> Waiting:
    """Copy the candidates that the index has found for the i-th touched slot into the working space."""
    lo, hi, n_arrivals = touched.start[i], touched.start[i + 1], 0
    for at in range(lo, hi):
        publications[at - lo], directed[at - lo] = touched.publication[at], touched.directed[at]
        n_arrivals += touched.publication[at] >= 0
    return Waiting(0, n_arrivals, n_arrivals, hi - lo if row.recent else n_arrivals, row.known_gate)


@inlined
def arrive_step(steps: Steps, index: int) -> int:
    """The step in which a publication arrives."""
    return 0 if len(steps.end) == 1 else index - steps.first


@inlined
def leave_step(steps: Steps, live: Live, leaving: Leaving, index: int) -> int:
    """The step in which a publication leaves the shared buffer."""
    return 0 if len(steps.end) == 1 else live.stamp[index] - leaving.first_stamp


@kernel
def rescan(call: Call, row: RowView, step: int) -> Waiting:
    """Find again, with the gate as it is now, the row's candidates of later steps and what leaves from this step on."""
    questions, contents, live = call.subscribers.questions, call.published.contents, call.published.live
    slot, steps, leaving, workspace = row.slot, call.steps, call.leaving, call.workspace
    gate, n, lo, hi = call.subscribers.rules.gate[slot], 0, steps.end[step], steps.end[-1]
    if lo < hi:
        score_run(questions, slot, contents, lo, hi, workspace.said, workspace.run)
    for i in range(hi - lo):
        if workspace.run[i] <= gate and workspace.run[i] != np.inf:
            workspace.publication[n], workspace.directed[n] = lo + i, workspace.run[i]
            n += 1
    n_arrivals = n
    for index in leaving.indices:
        if leave_step(steps, live, leaving, index) >= step:
            score_run(questions, slot, contents, index, index + 1, workspace.said, workspace.run)
            if workspace.run[0] <= gate and workspace.run[0] != np.inf:
                workspace.publication[n], workspace.directed[n] = -1 - index, workspace.run[0]
                n += 1
    workspace.counts[RESCANNED] += 1
    workspace.counts[SCORED] += hi - lo + len(leaving.indices)
    return Waiting(0, n_arrivals, n_arrivals, n if row.recent else n_arrivals, gate)


@inlined
def _expire_step(row: RowView, oldest: int, step: int, steps: Steps) -> int:
    """The first step, from this one on, in which an entry of that age is over, or the number of steps."""
    nows, stamps_ends, n_steps = steps.now, steps.stamps_end, len(steps.end)
    if oldest == LARGEST or cut_of(row.window_kind, row.window_size, nows[-1], stamps_ends[-1]) < oldest:
        return n_steps
    lo, hi = step, n_steps
    while lo < hi:
        middle = (lo + hi) // 2
        if cut_of(row.window_kind, row.window_size, nows[middle], stamps_ends[middle]) >= oldest:
            hi = middle
        else:
            lo = middle + 1
    return lo


@inlined
def next_step(
    row: RowView,
    waiting: Waiting,
    step: int,
    subscribers: BandSubscribers,
    live: Live,
    steps: Steps,
    leaving: Leaving,
    publications: Int64s,
) -> int:
    """The first step, from this one on, in which something happens to the row, or the number of steps."""
    settings = subscribers.settings
    following = _expire_step(row, subscribers.rules.oldest[row.slot], step, steps)
    if waiting.arrival < waiting.arrivals_end:
        following = min(following, arrive_step(steps, publications[waiting.arrival]))
    if waiting.leaver < waiting.end:
        following = min(following, leave_step(steps, live, leaving, -1 - publications[waiting.leaver]))
    if row.recent and settings.watch[row.slot] < LARGEST:
        following = min(following, max(step, settings.watch[row.slot] + settings.n_recent + 1 - steps.stamps_end[0]))
    return following
