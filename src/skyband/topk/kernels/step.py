"""Taking subscriptions through steps, one after the other: arrivals, expiries, refills, reports and gates that move.

Rows are independent of each other, so a call takes one touched slot through all steps before it turns to the next. An
index has found the candidates with the gates as they were before the call. Where a gate opens on the way, the rest of
the call's publications is scored for that slot alone. Nothing is allocated: a call that has no room for the next slot
returns how far it came and is called again.

What happens in every step is inlined: a call that hands on groups of arrays writes each of them to the stack, which
takes longer than most of these parts. Whatever is rare is called.
"""

import numpy as np

from skyband.kernels.array import Int64s
from skyband.kernels.compile import inlined, kernel
from skyband.kernels.slots import BLOCK
from skyband.topk.kernels.band import (
    BOUND,
    MEMBER,
    SIGN,
    SIZE,
    START,
    Bands,
    K,
    Recency,
    depart,
    expire_row,
    insert,
    most_taken,
    settle_row,
    tighten,
)
from skyband.topk.kernels.buffer import Told
from skyband.topk.kernels.candidate import Grouped
from skyband.topk.kernels.cell_index import cell_band
from skyband.topk.kernels.deliveries import Memory, has_room, recalls, remember
from skyband.topk.kernels.due import note_due
from skyband.topk.kernels.refill import cut_of, follow_chance, follow_recent, n_within, position_of, refill
from skyband.topk.kernels.scan import LARGEST, TIME, UNBOUNDED, Live, Published, Steps
from skyband.topk.kernels.score import SUM, direction, gate_of, raw_score
from skyband.topk.kernels.waiting import (
    Call,
    Row,
    Waiting,
    arrive_step,
    copy_found,
    leave_step,
    next_step,
    rescan,
    row_of,
)
from skyband.topk.kernels.workspace import (
    BEST,
    CANDIDATES,
    CELL_UPDATES,
    CHANCE,
    CHANGES,
    PAIRS,
    PLACES,
    SEARCH,
    SEEN,
    THRESHOLD_UPDATES,
    Desk,
    Party,
)

# A row that holds so many times what a search looks for is cut. One that was made when little was live admits
# everything until then.
LONG = 2
# Slots whose memory is asked for at once, and numbers in a cache line.
AHEAD = 32
LINE = 8


@inlined
def _gate(bands: Bands, slot: int, keeps: int, kind: int, limit: float) -> float:
    """The gate of a row: its limit, its bound, and for a row of the best its last entry."""
    key, sign = bands.gauge[slot, BOUND], bands.gauge[slot, SIGN]
    if keeps == BEST and sign != 0.0 and key < np.inf:
        size = bands.head[slot, SIZE]
        key = sign * bands.score[bands.head[slot, START] + size - 1] if size > 0 else -np.inf
    return gate_of(kind, min(key, limit))


@inlined
def _age(row: Row, live: Live, index: int) -> int:
    """The age of a publication, in the unit of the row's window."""
    return live.ts[index] if row.window_kind == TIME else live.stamp[index]


@inlined
def _cut(row: Row, steps: Steps, step: int) -> int:
    """The largest age that is over in this step."""
    return cut_of(row.window_kind, row.window_size, steps.now[step], steps.stamps_end[step])


@inlined
def _offer(call: Call, row: Row, index: int, score: float, recency: Recency) -> int:
    """Offer a publication to the row; returns its position, or -1 if the row did not take it."""
    bands, oldest, desk, base = call.party.bands, call.party.rules.oldest, call.desk, recency.base
    slot, departed, memory = row.slot, desk.departed, desk.memory
    position = insert(bands, slot, row.capacity, score, index + base, recency, departed, memory, row.turn)
    if position >= 0 and row.window_kind != UNBOUNDED:
        oldest[slot] = min(oldest[slot], _age(row, call.published.live, index))
    return position


@inlined
def _take_arrivals(call: Call, row: Row, waiting: Waiting, step: int) -> tuple[Waiting, bool]:
    """Offer what arrives in this step to the row; says also whether that has changed the first k."""
    live, steps, desk = call.published.live, call.steps, call.desk
    cut, recency = _cut(row, steps, step), Recency(live.stamp, live.base, call.in_order)
    arrival, changed = waiting.arrival, False
    while arrival < waiting.arrivals_end and arrive_step(steps, desk.publication[arrival]) == step:
        index, score = desk.publication[arrival], raw_score(row.kind, desk.directed[arrival])
        arrival += 1
        if _age(row, live, index) <= cut or direction(row.kind) * score > row.limit:
            continue
        desk.counts[CANDIDATES] += 1
        changed |= 0 <= _offer(call, row, index, score, recency) < row.k
    return Waiting(arrival, waiting.arrivals_end, waiting.leaver, waiting.end, waiting.gate), changed


@inlined
def _take_leavers(call: Call, row: Row, waiting: Waiting, step: int) -> Waiting:
    """Offer what has left the shared buffer by this step to the row, unless the row has it already."""
    bands, live, steps, leaving, desk = call.party.bands, call.published.live, call.steps, call.leaving, call.desk
    cut, recency = _cut(row, steps, step), Recency(live.stamp, live.base, False)
    leaver = waiting.leaver
    while leaver < waiting.end and leave_step(steps, live, leaving, -1 - desk.publication[leaver]) <= step:
        index, score = -1 - desk.publication[leaver], raw_score(row.kind, desk.directed[leaver])
        leaver += 1
        if _age(row, live, index) <= cut or direction(row.kind) * score > row.limit:
            continue
        if position_of(bands, row.slot, index + live.base) < 0:
            _offer(call, row, index, score, recency)
    return Waiting(waiting.arrival, waiting.arrivals_end, leaver, waiting.end, waiting.gate)


@inlined
def _expire(call: Call, row: Row, step: int) -> None:
    """Remove the entries that are over by this step."""
    bands, oldest, live = call.party.bands, call.party.rules.oldest, call.published.live
    cut = _cut(row, call.steps, step)
    if oldest[row.slot] <= cut:
        ages = live.ts if row.window_kind == TIME else live.stamp
        oldest[row.slot] = expire_row(bands, row.slot, ages, live.base, cut, call.desk.departed)


@inlined
def _follow_buffer(call: Call, row: Row, waiting: Waiting, step: int) -> Waiting:
    """Bring the bound to the shared buffer as it is in this step, and take in what has left the buffer."""
    party, slot = call.party, row.slot
    follow_recent(party, call.published, slot, step, call.steps, call.desk)
    gate = _gate(party.bands, slot, party.habit.keeps, row.kind, row.limit)
    if gate > waiting.gate:
        party.rules.gate[slot] = gate
        waiting = rescan(call, row, step)
    return _take_leavers(call, row, waiting, step)


@inlined
def _is_short(bands: Bands, slot: int) -> bool:
    """Whether the row has to be searched for: too short for the top, and not because there is nothing more."""
    return bands.head[slot, SIZE] < bands.head[slot, K] and bands.gauge[slot, BOUND] < np.inf


@kernel
def _recall(told: Told, n: int, memory: Memory, turn: int) -> None:
    """Of the last n changes, all enters: what was delivered before and forgotten by the row is no first entry."""
    for at in range(told.length[0] - n, told.length[0]):
        if told.first[at] and recalls(memory, turn, told.item[at]):
            told.first[at] = False


@inlined
def _report(bands: Bands, slot: int, turn: int, step: int, recency: Recency, desk: Desk, told: Told) -> None:
    """Tell how the first k entries have changed by this step."""
    n_enters = settle_row(bands, slot, step, recency, desk.departed, told)
    if desk.memory.used[0] > 0:
        _recall(told, n_enters, desk.memory, turn)


@inlined
def _shorten(party: Party, row: Row, memory: Memory) -> None:
    """Cut the row if it holds far more than a search looks for."""
    bands, slot, slack, depth = party.bands, row.slot, party.habit.slack, party.habit.depth[row.slot]
    size = bands.head[slot, SIZE]
    if size > LONG * (depth if slack == 0.0 else row.k):
        if slack != 0.0:
            depth = n_within(bands, slot, slack)
        if size > LONG * depth:
            tighten(bands, slot, depth, memory, row.turn)


@kernel
def _follow_cells(party: Party, slot: int, desk: Desk) -> None:
    """Count that the cells of interest have changed, if they have."""
    cells, questions, gate = desk.cells, party.questions, party.rules.gate[slot]
    block, i, kind = slot // BLOCK, slot % BLOCK, questions.kinds[slot // BLOCK]
    inner, outer = cells.inner[slot], cells.outer[slot]
    if kind > SUM or inner <= gate < outer:
        return
    if inner <= outer:
        desk.counts[CELL_UPDATES] += 1
    centre, weight = questions.centre[block, :, i], questions.weight[block, :, i]
    cells.inner[slot], cells.outer[slot] = cell_band(cells.grid, kind, centre, weight, gate)


@inlined
def _move_gate(party: Party, row: Row, desk: Desk) -> float:
    """Bring the gate to the row as it is now; returns it."""
    gates, slot = party.rules.gate, row.slot
    gate = _gate(party.bands, slot, party.habit.keeps, row.kind, row.limit)
    if gate != gates[slot] or (row.recent and gate != row.known_gate):
        gates[slot] = gate
        desk.counts[THRESHOLD_UPDATES] += 1
        if desk.cells.counted:
            _follow_cells(party, slot, desk)
    return gate


@kernel
def _has_room(bands: Bands, memory: Memory, told: Told, slot: int, n: int, n_told: int, wanted: Int64s) -> bool:
    """Whether the row may take n more entries, let go of all that it has then, and tell so many changes.

    What that takes is written down, for whoever makes room.
    """
    n += bands.head[slot, SIZE]
    wanted[PLACES], wanted[PAIRS], wanted[CHANGES] = most_taken(n), n, n_told
    fits = bands.end[0] + wanted[PLACES] <= len(bands.score) and told.length[0] + n_told <= len(told.step)
    return fits and has_room(memory, n)


@inlined
def _may_begin(call: Call, slot: int) -> bool:
    """Whether there is room for all that may happen to a row in the steps, and for the report of one of them."""
    bands, desk, depth = call.party.bands, call.desk, call.party.habit.depth[slot]
    n = len(call.leaving.indices) + call.steps.end[-1] - call.steps.first + depth
    return _has_room(bands, desk.memory, call.told, slot, n, 2 * bands.head[slot, K], desk.wanted)


@inlined
def _may_report(call: Call, row: Row) -> bool:
    """Whether there is room for the report of one more step."""
    if call.told.length[0] + 2 * row.k <= len(call.told.step):
        return True
    _may_begin(call, row.slot)
    return False


@inlined
def _take_step(call: Call, row: Row, waiting: Waiting, step: int) -> Waiting:
    """Take the row through one step; returns what is still waiting after it."""
    party, published, steps, desk = call.party, call.published, call.steps, call.desk
    waiting, changed = _take_arrivals(call, row, waiting, step)
    _expire(call, row, step)
    if row.recent:
        waiting = _follow_buffer(call, row, waiting, step)
        changed = True
    elif _is_short(party.bands, row.slot) and not row.chance:
        refill(party, published, row.slot, step, steps, desk)
        changed = True
    if changed or desk.departed.length[0] > 0:
        recency = Recency(published.live.stamp, published.live.base, False)
        _report(party.bands, row.slot, row.turn, steps.offset + step, recency, desk, call.told)
    if row.closes:
        _shorten(party, row, desk.memory)
    if row.chance:
        follow_chance(party, published, row.slot, step, steps, desk)
    gate = _move_gate(party, row, desk)
    if gate > waiting.gate and step + 1 < len(steps.end):
        waiting = rescan(call, row, step)
    return waiting


@inlined
def _take_steps(call: Call, row: Row, waiting: Waiting, step: int) -> int:
    """Take the row from this step on through all in which something happens to it.

    Returns the number of steps, or the first one that there was no room to report.
    """
    n_steps, rules, desk = len(call.steps.end), call.party.rules, call.desk
    step = next_step(call, row, waiting, step)
    while step < n_steps and _may_report(call, row):
        waiting = _take_step(call, row, waiting, step)
        step = next_step(call, row, waiting, step + 1)
    if rules.gate[row.slot] != row.known_gate:
        desk.moved[desk.n_moved[0]] = row.slot
        desk.n_moved[0] += 1
    note_due(rules, row.slot)
    return step


@kernel
def _ask_for(slots: Int64s, lo: int, hi: int, party: Party) -> int:
    """Ask for the memory of some slots at once; what comes back means nothing.

    Each slot's numbers are far apart. A processor waits for many places at a time as long as none tells it where the
    next one is, so these loops cost little more than one wait, and the work that follows finds everything near.
    """
    rules, bands, turns, depths = party.rules, party.bands, party.turn, party.habit.depth
    starts, gates, limits, oldest = bands.head, rules.gate, rules.limit, rules.oldest
    kinds, sizes, gauges = rules.window_kind, rules.window_size, bands.gauge
    seen = 0
    for i in range(lo, hi):
        slot = slots[i]
        seen += starts[slot, START] + turns[slot] + depths[slot] + kinds[slot]
        seen += (oldest[slot] > 0) + (sizes[slot] > 0)
        seen += (gates[slot] > 0.0) + (limits[slot] > 0.0) + (gauges[slot, BOUND] > 0.0)
    scores, items, states = bands.score, bands.item, bands.state
    for i in range(lo, hi):
        start, size = starts[slots[i], START], starts[slots[i], SIZE]
        for at in range(start, start + size, LINE):
            seen += items[at] + states[at] + (scores[at] > 0.0)
    return seen


@kernel
def step(since: Int64s, touched: Grouped, call: Call) -> bool:
    """Take the touched slots from `since[0]` on (that one from step `since[1]` on) through the steps.

    Of a slot's candidates, those that leave the shared buffer come last, and index p is written as -1 - p.
    Returns False, with `since` set to where to go on, when something has no room; `desk.wanted` says how much it needs.
    """
    slots, party, n_steps = touched.slots, call.party, len(call.steps.end)
    for i in range(since[0], len(slots)):
        slot = slots[i]
        if i % AHEAD == 0 or i == since[0]:
            call.desk.counts[SEEN] = _ask_for(slots, i, min(i + AHEAD - i % AHEAD, len(slots)), party)
        since[0] = i
        if not _may_begin(call, slot):
            return False
        row = row_of(party, slot)
        waiting = copy_found(touched, i, row, call.desk) if since[1] == 0 else rescan(call, row, since[1] - 1)
        reached = _take_steps(call, row, waiting, since[1])
        since[1] = reached if reached < n_steps else 0
        if reached < n_steps:
            return False
    since[0] = len(slots)
    return True


@kernel
def _withdraw(party: Party, slot: int, desk: Desk) -> None:
    """Empty the row for another k: members depart until it is filled again, and are remembered as delivered."""
    bands, start = party.bands, party.bands.head[slot, START]
    for at in range(start, start + bands.head[slot, SIZE]):
        depart(bands, at, desk.departed)
        if bands.state[at] & MEMBER:
            remember(desk.memory, party.turn[slot], bands.item[at])
    bands.head[slot, SIZE] = 0
    party.rules.oldest[slot] = LARGEST


@kernel
def answer(
    slots: Int64s,
    done: int,
    party: Party,
    published: Published,
    steps: Steps,
    desk: Desk,
    told: Told,
) -> int:
    """The answers of slots that are new or ask for another k, from `slots[done]` on (see `step`).

    Returns how many of them are done.
    """
    questions, rules, bands, habit, turns = party
    live, memory = published.live, desk.memory
    recency, last_step = Recency(live.stamp, live.base, False), len(steps.end) - 1
    for i in range(done, len(slots)):
        slot, n = slots[i], steps.end[0] - live.head
        if habit.bounded_by == SEARCH or habit.bounded_by == CHANCE:
            n = min(n, habit.depth[slot])
        n_told = 2 * bands.head[slot, K] + bands.head[slot, SIZE]
        if not _has_room(bands, memory, told, slot, n, n_told, desk.wanted):
            return i
        _withdraw(party, slot, desk)
        refill(party, published, slot, last_step, steps, desk)
        _report(bands, slot, turns[slot], steps.offset, recency, desk, told)
        rules.gate[slot] = _gate(bands, slot, habit.keeps, questions.kinds[slot // BLOCK], rules.limit[slot])
        note_due(rules, slot)
    return len(slots)


@kernel
def resume(slots: Int64s, party: Party, live: Live) -> None:
    """Find the gates of rows that were filled elsewhere, and when the first of their entries is over."""
    questions, rules, bands, habit, _ = party
    for slot in slots:
        ages, start = live.ts if rules.window_kind[slot] == TIME else live.stamp, bands.head[slot, START]
        rules.oldest[slot] = LARGEST
        if rules.window_kind[slot] != UNBOUNDED:
            for at in range(start, start + bands.head[slot, SIZE]):
                rules.oldest[slot] = min(rules.oldest[slot], ages[bands.item[at] - live.base])
        rules.gate[slot] = _gate(bands, slot, habit.keeps, questions.kinds[slot // BLOCK], rules.limit[slot])
        note_due(rules, slot)
