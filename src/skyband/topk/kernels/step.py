"""Taking subscriptions through steps, one after the other: arrivals, expiries, refills, reports and gates that move.

Rows are independent of each other, so a call takes one touched slot through all steps before it turns to the next. An
index has found the candidates with the gates as they were before the call. Where a gate opens on the way, the rest of
the call's publications is scored for that slot alone. Nothing is allocated: a call that has no room for the next slot
returns how far it came and is called again. Several threads may take disjoint parts of the slots, each with a working
space, changes and an arena of the pool of its own, where no block of slots is in two parts.

What happens in every step is inlined: a call that hands on groups of arrays writes each of them to the stack, which
takes longer than most of these parts. Whatever is rare is called.
"""

import numpy as np

from skyband.kernels.array import Floats, Int64s
from skyband.kernels.compile import inlined, kernel
from skyband.kernels.slots import BLOCK
from skyband.topk.kernels.band import (
    BOUND,
    BOUND_ITEM,
    SIGN,
    SIZE,
    START,
    Bands,
    Departed,
    K,
    Recency,
    best_retracted,
    cut_row,
    depart,
    expire_row,
    insert,
    most_taken,
    remember_behind,
    settle_row,
    tighten,
)
from skyband.topk.kernels.buffer import FoundChanges
from skyband.topk.kernels.candidate import Grouped
from skyband.topk.kernels.cell_index import cell_band
from skyband.topk.kernels.deliveries import DeliverySet, has_room, recalls, remember
from skyband.topk.kernels.due import note_due
from skyband.topk.kernels.prefetch import ask_for
from skyband.topk.kernels.refill import cut_of, follow_chance, follow_recent, n_within, position_of, refill
from skyband.topk.kernels.scan import LARGEST, TIME, UNBOUNDED, Live, Published, Steps
from skyband.topk.kernels.score import Questions, direction, gate_of, has_cells, on_sphere, raw_score
from skyband.topk.kernels.waiting import (
    LONG,
    Call,
    Progress,
    RowView,
    Waiting,
    arrive_step,
    copy_found,
    leave_step,
    next_step,
    pause,
    rescan,
    resume_waiting,
    row_of,
)
from skyband.topk.kernels.workspace import (
    BEST,
    CANDIDATES,
    CELL_UPDATES,
    CHANCE,
    CHANGES,
    MENDED,
    PAIRS,
    PLACES,
    SEARCH,
    SEEN,
    THRESHOLD_UPDATES,
    BandSubscribers,
    Cells,
    RowSettings,
    Workspace,
)

# Slots whose memory is asked for at once.
AHEAD = 32


@inlined
def _gate(bands: Bands, slot: int, keeps: int, kind: int, limit: float) -> float:
    """The gate of a row: its limit, its bound, and for a row of the best its last entry."""
    key, sign = bands.gauge[slot, BOUND], bands.gauge[slot, SIGN]
    if keeps == BEST and sign != 0.0 and key < np.inf:
        size = bands.head[slot, SIZE]
        key = sign * bands.score[bands.head[slot, START] + size - 1] if size > 0 else -np.inf
    return gate_of(kind, min(key, limit))


@inlined
def _age(row: RowView, live: Live, index: int) -> int:
    """The age of a publication, in the unit of the row's window."""
    return live.ts[index] if row.window_kind == TIME else live.stamp[index]


@inlined
def _cut(row: RowView, steps: Steps, step: int) -> int:
    """The largest age that is over in this step."""
    return cut_of(row.window_kind, row.window_size, steps.now[step], steps.stamps_end[step])


@inlined
def _offer(
    subscribers: BandSubscribers,
    row: RowView,
    item: int,
    age: int,
    score: float,
    recency: Recency,
    departed: Departed,
    deliveries: DeliverySet,
) -> int:
    """Offer a publication to the row; returns its position, or -1 if the row did not take it."""
    bands, oldest, slot = subscribers.bands, subscribers.rules.oldest, row.slot
    position = insert(bands, slot, row.capacity, score, item, recency, departed, deliveries, row.turn)
    if position >= 0 and row.window_kind != UNBOUNDED:
        oldest[slot] = min(oldest[slot], age)
    return position


@inlined
def _take_arrivals(call: Call, row: RowView, waiting: Waiting, step: int) -> tuple[Waiting, bool]:
    """Offer what arrives in this step to the row; says also whether that has changed the first k."""
    live, steps, workspace = call.published.live, call.steps, call.workspace
    departed, deliveries = workspace.departed, workspace.deliveries
    cut, recency = _cut(row, steps, step), Recency(live.stamp, live.base, call.in_order)
    arrival, changed = waiting.arrival, False
    while arrival < waiting.arrivals_end and arrive_step(steps, workspace.publication[arrival]) == step:
        index, score = workspace.publication[arrival], raw_score(row.kind, workspace.directed[arrival])
        age, item = _age(row, live, index), index + live.base
        arrival += 1
        if age <= cut or direction(row.kind) * score > row.limit:
            continue
        workspace.counts[CANDIDATES] += 1
        position = _offer(call.subscribers, row, item, age, score, recency, departed, deliveries)
        changed |= 0 <= position < row.k
    return Waiting(arrival, waiting.arrivals_end, waiting.leaver, waiting.end, waiting.gate), changed


@inlined
def _take_leavers(call: Call, row: RowView, waiting: Waiting, step: int) -> Waiting:
    """Offer what has left the shared buffer by this step to the row, unless the row has it already."""
    bands, live, steps, workspace = call.subscribers.bands, call.published.live, call.steps, call.workspace
    departed, deliveries = workspace.departed, workspace.deliveries
    cut, recency = _cut(row, steps, step), Recency(live.stamp, live.base, False)
    leaver = waiting.leaver
    while leaver < waiting.end and leave_step(steps, live, call.leaving, -1 - workspace.publication[leaver]) <= step:
        index, score = -1 - workspace.publication[leaver], raw_score(row.kind, workspace.directed[leaver])
        age, item = _age(row, live, index), index + live.base
        leaver += 1
        if age <= cut or direction(row.kind) * score > row.limit or position_of(bands, row.slot, item) >= 0:
            continue
        _offer(call.subscribers, row, item, age, score, recency, departed, deliveries)
    return Waiting(waiting.arrival, waiting.arrivals_end, leaver, waiting.end, waiting.gate)


@inlined
def _expire(
    subscribers: BandSubscribers, row: RowView, live: Live, steps: Steps, step: int, departed: Departed
) -> None:
    """Remove the entries that are over by this step."""
    oldest, slot, cut = subscribers.rules.oldest, row.slot, _cut(row, steps, step)
    if oldest[slot] <= cut:
        ages = live.ts if row.window_kind == TIME else live.stamp
        oldest[slot] = expire_row(subscribers.bands, slot, ages, live.base, cut, departed)


@kernel
def _follow_buffer(call: Call, row: RowView, waiting: Waiting, step: int) -> Waiting:
    """Bring the bound to the shared buffer as it is in this step, and take in what has left the buffer."""
    subscribers, slot = call.subscribers, row.slot
    follow_recent(subscribers, call.published, slot, step, call.steps, call.workspace)
    gate = _gate(subscribers.bands, slot, subscribers.settings.keeps, row.kind, row.limit)
    if gate > waiting.gate:
        subscribers.rules.gate[slot] = gate
        waiting = rescan(call, row, step)
    return _take_leavers(call, row, waiting, step)


@inlined
def _is_short(bands: Bands, slot: int) -> bool:
    """Whether the row has to be searched for: too short for the top, and not because there is nothing more."""
    return bands.head[slot, SIZE] < bands.head[slot, K] and bands.gauge[slot, BOUND] < np.inf


@kernel
def _recall(told: FoundChanges, n: int, deliveries: DeliverySet, turn: int) -> None:
    """Of the last n changes, all enters: what was delivered before and forgotten by the row is no first entry."""
    for at in range(told.length[0] - n, told.length[0]):
        if told.first[at] and recalls(deliveries, turn, told.item[at]):
            told.first[at] = False


@inlined
def _report(
    bands: Bands,
    slot: int,
    turn: int,
    step: int,
    recency: Recency,
    workspace: Workspace,
    told: FoundChanges,
) -> None:
    """Report how the first k entries have changed by this step."""
    n_enters = settle_row(bands, slot, step, recency, workspace.departed, told)
    if workspace.deliveries.used[0] > 0:
        _recall(told, n_enters, workspace.deliveries, turn)
    if workspace.known.used[0] > 0:
        _recall(told, n_enters, workspace.known, turn)


@inlined
def _length_for(k: int, depth: int) -> int:
    """How many entries a row has, and one to spare, if so many are live within its bound.

    Of the n best that are live about k (1 + ln(n / k)) are not dominated.
    """
    return min(depth, int(np.ceil(k * (1.0 + np.log(depth / k)))) + 1)


@kernel
def _shorten(bands: Bands, row: RowView, settings: RowSettings, departed: Departed, deliveries: DeliverySet) -> None:
    """Cut a row that is longer than what a search leaves. One that was made when little was live admits all until then.

    Where nothing ends nobody comes back from behind the first k, unless something is retracted: then whoever makes a
    table of changes knows what was delivered.
    """
    slot, k, size = row.slot, row.k, bands.head[row.slot, SIZE]
    length = k if row.window_kind == UNBOUNDED else _length_for(k, settings.depth[slot])
    if settings.slack != 0.0:
        length = n_within(bands, slot, settings.slack)
        if size <= LONG * length:
            return
    if row.window_kind != UNBOUNDED:
        remember_behind(bands, slot, length, deliveries, row.turn)
    tighten(bands, slot, length, departed)


@kernel
def _follow_cells(questions: Questions, slot: int, gate: float, cells: Cells, counts: Int64s) -> None:
    """Count that the cells of interest have changed, if they have."""
    block, i, kind = slot // BLOCK, slot % BLOCK, questions.kinds[slot // BLOCK]
    inner, outer = cells.inner[slot], cells.outer[slot]
    if not has_cells(kind) or on_sphere(kind) or inner <= gate < outer:
        return
    if inner <= outer:
        counts[CELL_UPDATES] += 1
    centre, weight = questions.centre[block, :, i], questions.weight[block, :, i]
    cells.inner[slot], cells.outer[slot] = cell_band(cells.grid, kind, centre, weight, gate)


@inlined
def _move_gate(subscribers: BandSubscribers, row: RowView, cells: Cells, counts: Int64s) -> float:
    """Bring the gate to the row as it is now; returns it."""
    gates, slot = subscribers.rules.gate, row.slot
    gate = _gate(subscribers.bands, slot, subscribers.settings.keeps, row.kind, row.limit)
    if gate != gates[slot] or (row.recent and gate != row.known_gate):
        gates[slot] = gate
        counts[THRESHOLD_UPDATES] += 1
        if cells.counted:
            _follow_cells(subscribers.questions, slot, gate, cells, counts)
    return gate


@kernel
def _has_room(
    bands: Bands, deliveries: DeliverySet, told: FoundChanges, slot: int, n: int, n_told: int, wanted: Int64s
) -> bool:
    """Whether the row may take n more entries, let go of all that it has then, and tell so many changes.

    What that takes is written down, for whoever makes room.
    """
    n += bands.head[slot, SIZE]
    wanted[PLACES], wanted[PAIRS], wanted[CHANGES] = most_taken(n), n, n_told
    fits = bands.end[0] + wanted[PLACES] <= bands.end[1] and told.length[0] + n_told <= len(told.step)
    return fits and has_room(deliveries, n)


@inlined
def _may_begin(
    subscribers: BandSubscribers, slot: int, n: int, deliveries: DeliverySet, told: FoundChanges, wanted: Int64s
) -> bool:
    """Whether there is room for n candidates and a search of a row, and for the report of one step."""
    bands, depth = subscribers.bands, subscribers.settings.depth[slot]
    return _has_room(bands, deliveries, told, slot, n + depth, 2 * bands.head[slot, K], wanted)


@inlined
def _take_step(call: Call, row: RowView, waiting: Waiting, step: int) -> Waiting:
    """Take the row through one step; returns what is still waiting after it."""
    subscribers, published, steps, workspace = call.subscribers, call.published, call.steps, call.workspace
    bands, live, slot = subscribers.bands, published.live, row.slot
    departed, deliveries = workspace.departed, workspace.deliveries
    _expire(subscribers, row, live, steps, step, departed)
    waiting, changed = _take_arrivals(call, row, waiting, step)
    if row.recent:
        waiting = _follow_buffer(call, row, waiting, step)
        changed = True
    elif _is_short(bands, slot) and not row.chance:
        refill(subscribers, published, slot, step, steps, workspace)
        changed = True
    if changed or departed.length[0] > 0:
        recency = Recency(live.stamp, live.base, False)
        _report(bands, slot, row.turn, steps.offset + step, recency, workspace, call.told)
    if bands.head[slot, SIZE] > row.longest:
        _shorten(bands, row, subscribers.settings, departed, deliveries)
    if row.chance:
        follow_chance(subscribers, published, slot, step, steps, workspace)
    gate = _move_gate(subscribers, row, workspace.cells, workspace.counts)
    if gate > waiting.gate and step + 1 < len(steps.end):
        waiting = rescan(call, row, step)
    return waiting


@inlined
def _note_gate(row: RowView, gates: Floats, moved: Int64s, n_moved: Int64s) -> None:
    """Note for the index that the gate has moved, if it has."""
    if gates[row.slot] != row.known_gate:
        moved[n_moved[0]] = row.slot
        n_moved[0] += 1


@kernel
def step(progress: Progress, touched: Grouped, call: Call) -> bool:
    """Take the touched slots through the steps, from where `progress` says on.

    Of a slot's candidates, those that leave the shared buffer come last, and index p is written as -1 - p.
    Returns False, with `progress` at where to go on, when something has no room; `workspace.wanted` says how much.
    """
    subscribers, steps, workspace, told = call.subscribers, call.steps, call.workspace, call.told
    slots, n_steps, deliveries, wanted = touched.slots, len(steps.end), workspace.deliveries, workspace.wanted
    live, leaving, publications = call.published.live, call.leaving, workspace.publication
    most = len(leaving.indices) + steps.end[-1] - steps.first
    since, gates = progress.at, subscribers.rules.gate
    for i in range(since[0], len(slots)):
        slot, at = slots[i], since[1]
        if i % AHEAD == 0 or i == since[0]:
            workspace.counts[SEEN] = ask_for(slots, i, min(i + AHEAD - i % AHEAD, len(slots)), subscribers)
        since[0] = i
        if not _may_begin(subscribers, slot, most, deliveries, told, wanted):
            return False
        row = row_of(subscribers, slot, progress.gates[1] if at > 0 else gates[slot])
        waiting = resume_waiting(progress) if at > 0 else copy_found(touched, i, row, publications, workspace.directed)
        at = next_step(row, waiting, at, subscribers, live, steps, leaving, publications)
        while at < n_steps and told.length[0] + 2 * row.k <= len(told.step):
            waiting = _take_step(call, row, waiting, at)
            at = next_step(row, waiting, at + 1, subscribers, live, steps, leaving, publications)
        note_due(subscribers.rules, slot)
        if at < n_steps:
            pause(progress, waiting, row, at)
            _may_begin(subscribers, slot, most, deliveries, told, wanted)
            return False
        since[1] = 0
        _note_gate(row, gates, workspace.moved, workspace.n_moved)
    since[0] = len(slots)
    return True


@kernel
def _withdraw(
    subscribers: BandSubscribers, live: Live, slot: int, step: int, steps: Steps, marks: int, workspace: Workspace
) -> None:
    """Empty the row: members depart until it is filled again, and what is live and has these marks is remembered."""
    bands, rules, deliveries = subscribers.bands, subscribers.rules, workspace.deliveries
    cut = cut_of(rules.window_kind[slot], rules.window_size[slot], steps.now[step], steps.stamps_end[step])
    ages, start = live.ts if rules.window_kind[slot] == TIME else live.stamp, bands.head[slot, START]
    for at in range(start, start + bands.head[slot, SIZE]):
        depart(bands, at, workspace.departed)
        if bands.state[at] & marks and ages[bands.item[at] - live.base] > cut:
            remember(deliveries, subscribers.turn[slot], bands.item[at])
    bands.head[slot, SIZE] = 0
    rules.oldest[slot] = LARGEST


@inlined
def _most_found(settings: RowSettings, slot: int, steps: Steps, live: Live) -> int:
    """How many publications a search for an empty row finds at most."""
    n = steps.end[0] - live.head
    return min(n, settings.depth[slot]) if settings.bounded_by == SEARCH or settings.bounded_by == CHANCE else n


@kernel
def answer(
    slots: Int64s,
    done: int,
    subscribers: BandSubscribers,
    published: Published,
    steps: Steps,
    marks: int,
    workspace: Workspace,
    told: FoundChanges,
) -> int:
    """The answers of slots that are new, ask for another k or are searched anew, from `slots[done]` on (see `step`).

    What has one of the `marks` was delivered before. Slots are in any order, so that a block may be in the parts of two
    threads: when entries are over is noted afterwards. Returns how many slots are done.
    """
    questions, rules, bands, settings, turns = subscribers
    live, deliveries = published.live, workspace.deliveries
    recency, last_step = Recency(live.stamp, live.base, False), len(steps.end) - 1
    for i in range(done, len(slots)):
        slot = slots[i]
        n = _most_found(settings, slot, steps, live)
        n_told = 2 * bands.head[slot, K] + bands.head[slot, SIZE]
        if not _has_room(bands, deliveries, told, slot, n, n_told, workspace.wanted):
            return i
        _withdraw(subscribers, live, slot, last_step, steps, marks, workspace)
        refill(subscribers, published, slot, last_step, steps, workspace)
        _report(bands, slot, turns[slot], steps.offset, recency, workspace, told)
        rules.gate[slot] = _gate(bands, slot, settings.keeps, questions.kinds[slot // BLOCK], rules.limit[slot])
    return len(slots)


@kernel
def _find_oldest(subscribers: BandSubscribers, live: Live, slot: int) -> None:
    """Find the least age of a row again."""
    rules, bands, start = subscribers.rules, subscribers.bands, subscribers.bands.head[slot, START]
    ages = live.ts if rules.window_kind[slot] == TIME else live.stamp
    rules.oldest[slot] = LARGEST
    if rules.window_kind[slot] != UNBOUNDED:
        for at in range(start, start + bands.head[slot, SIZE]):
            rules.oldest[slot] = min(rules.oldest[slot], ages[bands.item[at] - live.base])


@kernel
def _take_out(subscribers: BandSubscribers, slot: int, best: int, live: Live, departed: Departed) -> bool:
    """Take what was retracted out of a row, the best of it at this position; says whether a search has to fill it.

    A row of the best is so without them too. In others, whatever a retracted entry has kept out comes after it in the
    order: they are complete up to there. Where the bound is not the row's own to move, nothing of it stays.
    """
    bands, settings = subscribers.bands, subscribers.settings
    sign, k = bands.gauge[slot, SIGN], bands.head[slot, K]
    if settings.keeps == BEST and sign != 0.0:
        expire_row(bands, slot, live.stamp, live.base, -1, departed)
        _find_oldest(subscribers, live, slot)
        return _is_short(bands, slot)
    if sign != 0.0 and settings.bounded_by != SEARCH:
        best = 0
    cut_row(bands, slot, best, departed)
    _find_oldest(subscribers, live, slot)
    if best < k:
        return True
    last = bands.head[slot, START] + best - 1
    bands.gauge[slot, BOUND], bands.head[slot, BOUND_ITEM] = sign * bands.score[last], bands.item[last]
    return False


@kernel
def mend(
    slots: Int64s,
    done: int,
    subscribers: BandSubscribers,
    published: Published,
    steps: Steps,
    workspace: Workspace,
    told: FoundChanges,
) -> int:
    """Take what was retracted out of the rows of slots, from `slots[done]` on (see `step`), and fill them again.

    Returns how many of them are done.
    """
    questions, rules, bands, settings, turns = subscribers
    live, deliveries = published.live, workspace.deliveries
    recency = Recency(live.stamp, live.base, False)
    for i in range(done, len(slots)):
        slot = slots[i]
        best = best_retracted(bands, slot, live.stamp, live.base)
        if best < 0:
            continue
        n, n_told = _most_found(settings, slot, steps, live), 2 * bands.head[slot, K] + bands.head[slot, SIZE]
        if not _has_room(bands, deliveries, told, slot, n, n_told, workspace.wanted):
            return i
        gate = rules.gate[slot]
        if _take_out(subscribers, slot, best, live, workspace.departed):
            refill(subscribers, published, slot, 0, steps, workspace)
        _report(bands, slot, turns[slot], steps.offset, recency, workspace, told)
        rules.gate[slot] = _gate(bands, slot, settings.keeps, questions.kinds[slot // BLOCK], rules.limit[slot])
        if rules.gate[slot] != gate:
            workspace.moved[workspace.n_moved[0]] = slot
            workspace.n_moved[0] += 1
        note_due(rules, slot)
        workspace.counts[MENDED] += 1
    return len(slots)


@kernel
def resume(slots: Int64s, subscribers: BandSubscribers, live: Live) -> None:
    """Find the gates of rows that were filled elsewhere, and when the first of their entries is over."""
    questions, rules, bands, settings, _ = subscribers
    for slot in slots:
        _find_oldest(subscribers, live, slot)
        rules.gate[slot] = _gate(bands, slot, settings.keeps, questions.kinds[slot // BLOCK], rules.limit[slot])
        note_due(rules, slot)
