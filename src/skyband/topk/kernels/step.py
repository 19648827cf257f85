"""Working through steps, one subscription after the other: what arrives, what expires, what is searched and told.

Rows are independent of each other, so a call takes one touched slot through all steps before it turns to the next. An
index has found the candidates with the gates as they were before the call. Where a gate opens on the way, the rest of
the call's publications is scored for that slot alone. Nothing is allocated: a call that has no room for the next slot
returns how far it came and is called again.

What happens for every candidate is written out in one loop that gives single arrays to few functions. Handing on groups
of arrays, as everything rare does, has each array of a group counted: with a hundred of them about a microsecond.
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
from skyband.topk.kernels.refill import capacity_of, cut_of, follow_chance, follow_recent, n_within, position_of, refill
from skyband.topk.kernels.scan import LARGEST, TIME, UNBOUNDED, Live, Published, Rules, Steps
from skyband.topk.kernels.score import direction, gate_of, has_cells, on_sphere, raw_score, score_run
from skyband.topk.kernels.workspace import (
    BEST,
    CANDIDATES,
    CELL_UPDATES,
    CHANCE,
    CHANGES,
    PAIRS,
    PLACES,
    RECENT,
    RESCANNED,
    SCORED,
    SEARCH,
    SEEN,
    THRESHOLD_UPDATES,
    Desk,
    Leaving,
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
def _leave_step(steps: Steps, live: Live, leaving: Leaving, index: int) -> int:
    return 0 if len(steps.end) == 1 else live.stamp[index] - leaving.first_stamp


@kernel
def _rescan(
    party: Party, published: Published, slot: int, step: int, steps: Steps, leaving: Leaving, desk: Desk
) -> tuple[int, int]:
    """Find again, with the gate as it is now, the slot's candidates of later steps and what leaves from this step on.

    Returns how many arrive, and how many candidates there are.
    """
    questions, contents, live = party.questions, published.contents, published.live
    gate, n, lo, hi = party.rules.gate[slot], 0, steps.end[step], steps.end[-1]
    if lo < hi:
        score_run(questions, slot, contents, lo, hi, desk.said, desk.run)
    for i in range(hi - lo):
        if desk.run[i] <= gate and desk.run[i] != np.inf:
            desk.publication[n], desk.directed[n] = lo + i, desk.run[i]
            n += 1
    n_arrivals = n
    for index in leaving.indices:
        if _leave_step(steps, live, leaving, index) >= step:
            score_run(questions, slot, contents, index, index + 1, desk.said, desk.run)
            if desk.run[0] <= gate and desk.run[0] != np.inf:
                desk.publication[n], desk.directed[n] = -1 - index, desk.run[0]
                n += 1
    desk.counts[RESCANNED] += 1
    desk.counts[SCORED] += hi - lo + len(leaving.indices)
    return n_arrivals, n


@kernel
def _follow_cells(party: Party, slot: int, desk: Desk) -> None:
    """Count that the cells of interest have changed, if they have."""
    cells, questions, gate = desk.cells, party.questions, party.rules.gate[slot]
    block, i, kind = slot // BLOCK, slot % BLOCK, questions.kinds[slot // BLOCK]
    inner, outer = cells.inner[slot], cells.outer[slot]
    if not has_cells(kind) or on_sphere(kind) or inner <= gate < outer:
        return
    if inner <= outer:
        desk.counts[CELL_UPDATES] += 1
    centre, weight = questions.centre[block, :, i], questions.weight[block, :, i]
    cells.inner[slot], cells.outer[slot] = cell_band(cells.grid, kind, centre, weight, gate)


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


@kernel
def _has_room(bands: Bands, memory: Memory, told: Told, slot: int, n: int, n_told: int, wanted: Int64s) -> bool:
    """Whether the row may take n more entries, let go of all that it has then, and tell so many changes.

    What that takes is written down, for whoever makes room.
    """
    n += bands.head[slot, SIZE]
    wanted[PLACES], wanted[PAIRS], wanted[CHANGES] = most_taken(n), n, n_told
    fits = bands.end[0] + wanted[PLACES] <= len(bands.score) and told.length[0] + n_told <= len(told.step)
    return fits and has_room(memory, n)


@kernel
def note_due(rules: Rules, slot: int) -> None:
    """Lower the bound of the slot's block on when an entry is over."""
    if rules.oldest[slot] < LARGEST and rules.window_kind[slot] != UNBOUNDED:
        block, unit = slot // BLOCK, rules.window_kind[slot] - TIME
        rules.due[block, unit] = min(rules.due[block, unit], rules.oldest[slot] + rules.window_size[slot])


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
def work(
    since: Int64s,
    touched: Grouped,
    party: Party,
    published: Published,
    steps: Steps,
    in_order: bool,
    leaving: Leaving,
    desk: Desk,
    told: Told,
) -> bool:
    """Take the touched slots from `since[0]` on (that one from step `since[1]` on) through the steps.

    Of a slot's candidates, those that leave the shared buffer come last, and index p is written as -1 - p.
    Returns False, with `since` set to where to go on, when something has no room; `desk.wanted` says how much it needs.
    """
    questions, rules, bands, habit, turns = party
    live, departed, memory, counts = published.live, desk.departed, desk.memory, desk.counts
    recency, settled = Recency(live.stamp, live.base, in_order), Recency(live.stamp, live.base, False)
    kinds, gates, limits, oldest_ages = questions.kinds, rules.gate, rules.limit, rules.oldest
    window_kinds, window_sizes, depths, heads, gauges = (
        rules.window_kind,
        rules.window_size,
        habit.depth,
        bands.head,
        bands.gauge,
    )
    ends, nows, stamps_ends, base, first = steps.end, steps.now, steps.stamps_end, live.base, steps.first
    slots, starts, found, found_directed = touched
    publications, directeds, ts, stamps = desk.publication, desk.directed, live.ts, live.stamp
    dues, n_steps, keeps, bounded_by, slack = rules.due, len(ends), habit.keeps, habit.bounded_by, habit.slack
    most = len(leaving.indices) + ends[-1] - first
    for i in range(since[0], len(slots)):
        slot = slots[i]
        if i % AHEAD == 0 or i == since[0]:
            counts[SEEN] = _ask_for(slots, i, min(i + AHEAD - i % AHEAD, len(slots)), party)
        since[0] = i
        if not _has_room(bands, memory, told, slot, most + depths[slot], 2 * heads[slot, K], desk.wanted):
            return False
        kind, limit, turn, k, sign = kinds[slot // BLOCK], limits[slot], turns[slot], heads[slot, K], gauges[slot, SIGN]
        window_kind, window_size = window_kinds[slot], window_sizes[slot]
        capacity = capacity_of(keeps, sign, depths[slot])
        recent, chance = bounded_by == RECENT and sign != 0.0, bounded_by == CHANCE and sign != 0.0
        closes = bounded_by == SEARCH and capacity == 0 and sign != 0.0
        gate_before = widest = gates[slot]
        step, arrived, n_arrivals, n = since[1], 0, 0, 0
        if step == 0:
            for at in range(starts[i], starts[i + 1]):
                publications[n], directeds[n] = found[at], found_directed[at]
                n_arrivals += found[at] >= 0
                n += 1
        else:
            n_arrivals, n = _rescan(party, published, slot, step - 1, steps, leaving, desk)
        if not recent:
            n = n_arrivals
        left = n_arrivals
        while True:
            following = n_steps
            oldest = oldest_ages[slot]
            if oldest < LARGEST and cut_of(window_kind, window_size, nows[-1], stamps_ends[-1]) >= oldest:
                lo, hi = step, n_steps
                while lo < hi:
                    middle = (lo + hi) // 2
                    if cut_of(window_kind, window_size, nows[middle], stamps_ends[middle]) >= oldest:
                        hi = middle
                    else:
                        lo = middle + 1
                following = lo
            if arrived < n_arrivals:
                following = min(following, 0 if n_steps == 1 else publications[arrived] - first)
            if left < n:
                following = min(following, _leave_step(steps, live, leaving, -1 - publications[left]))
            if recent and habit.watch[slot] < LARGEST:
                following = min(following, max(step, habit.watch[slot] + habit.n_recent + 1 - stamps_ends[0]))
            step = following
            if step >= n_steps:
                break
            if told.length[0] + 2 * k > len(told.step):
                _has_room(bands, memory, told, slot, most + depths[slot], 2 * k, desk.wanted)
                break
            cut = cut_of(window_kind, window_size, nows[step], stamps_ends[step])
            changed = False
            while arrived < n_arrivals and (n_steps == 1 or publications[arrived] - first == step):
                index = publications[arrived]
                score = raw_score(kind, directeds[arrived])
                arrived += 1
                age = ts[index] if window_kind == TIME else stamps[index]
                if age <= cut or direction(kind) * score > limit:
                    continue
                counts[CANDIDATES] += 1
                position = insert(bands, slot, capacity, score, index + base, recency, departed, memory, turn)
                if position >= 0:
                    changed |= position < k
                    if window_kind != UNBOUNDED:
                        oldest_ages[slot] = min(oldest_ages[slot], age)
            if oldest_ages[slot] <= cut:
                ages = ts if window_kind == TIME else stamps
                oldest_ages[slot] = expire_row(bands, slot, ages, base, cut, departed)
            if recent:
                follow_recent(party, published, slot, step, steps, desk)
                if _gate(bands, slot, keeps, kind, limit) > widest:
                    gates[slot] = widest = _gate(bands, slot, keeps, kind, limit)
                    n_arrivals, n = _rescan(party, published, slot, step, steps, leaving, desk)
                    arrived, left = 0, n_arrivals
                while left < n and _leave_step(steps, live, leaving, -1 - publications[left]) <= step:
                    index = -1 - publications[left]
                    score = raw_score(kind, directeds[left])
                    left += 1
                    age = ts[index] if window_kind == TIME else stamps[index]
                    if age <= cut or direction(kind) * score > limit or position_of(bands, slot, index + base) >= 0:
                        continue
                    if insert(bands, slot, capacity, score, index + base, settled, departed, memory, turn) >= 0:
                        oldest_ages[slot] = min(oldest_ages[slot], age)
                changed = True
            elif _is_short(bands, slot) and not chance:
                refill(party, published, slot, step, steps, desk)
                changed = True
            if changed or departed.length[0] > 0:
                n_enters = settle_row(bands, slot, steps.offset + step, settled, departed, told)
                if memory.used[0] > 0:
                    _recall(told, n_enters, memory, turn)
            if closes and heads[slot, SIZE] > LONG * (depths[slot] if slack == 0.0 else k):
                depth = depths[slot] if slack == 0.0 else n_within(bands, slot, slack)
                if heads[slot, SIZE] > LONG * depth:
                    tighten(bands, slot, depth, memory, turn)
            if chance:
                follow_chance(party, published, slot, step, steps, desk)
            gate = _gate(bands, slot, keeps, kind, limit)
            if gate != gates[slot] or (recent and gate != gate_before):
                gates[slot] = gate
                counts[THRESHOLD_UPDATES] += 1
                if desk.cells.counted:
                    _follow_cells(party, slot, desk)
            step += 1
            if gate > widest and step < n_steps:
                widest = gate
                n_arrivals, n = _rescan(party, published, slot, step - 1, steps, leaving, desk)
                arrived, left = 0, n_arrivals
        if gates[slot] != gate_before:
            desk.moved[desk.n_moved[0]] = slot
            desk.n_moved[0] += 1
        if oldest_ages[slot] < LARGEST and window_kind != UNBOUNDED:
            block, unit = slot // BLOCK, window_kind - TIME
            dues[block, unit] = min(dues[block, unit], oldest_ages[slot] + window_size)
        since[1] = 0 if step >= n_steps else step
        if step < n_steps:
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
    """The answers of slots that are new or ask for another k, from `slots[done]` on (see `work`).

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
        n_enters = settle_row(bands, slot, steps.offset, recency, desk.departed, told)
        if memory.used[0] > 0:
            _recall(told, n_enters, memory, turns[slot])
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


@kernel
def find_due(party: Party, steps: Steps, due: Int64s) -> int:
    """Write down, in ascending order, the slots that have an entry which is over by the last step; returns how many."""
    rules, habit = party.rules, party.habit
    oldest, window_kinds, window_sizes, dues = rules.oldest, rules.window_kind, rules.window_size, rules.due
    now, stamps_end, watch = steps.now[-1], steps.stamps_end[-1], habit.watch
    recent, first_recent = habit.bounded_by == RECENT, steps.stamps_end[-1] - habit.n_recent
    n = 0
    for block in range(len(party.questions.kinds)):
        if not recent and dues[block, 0] > now and dues[block, 1] >= stamps_end:
            continue
        next_time, next_stamp = LARGEST, LARGEST
        for slot in range(block * BLOCK, (block + 1) * BLOCK):
            age, window_kind = oldest[slot], window_kinds[slot]
            over = LARGEST
            if age < LARGEST and window_kind != UNBOUNDED:
                over = age + window_sizes[slot]
            if over <= (now if window_kind == TIME else stamps_end - 1) or (recent and watch[slot] < first_recent):
                due[n] = slot
                n += 1
            elif window_kind == TIME:
                next_time = min(next_time, over)
            else:
                next_stamp = min(next_stamp, over)
        dues[block, 0], dues[block, 1] = next_time, next_stamp
    return n


@kernel
def refresh_ages(party: Party, live: Live) -> None:
    """Find the least age of each row of a count window again, after late arrivals have moved the stamps."""
    rules, bands = party.rules, party.bands
    for block in range(len(rules.due)):
        rules.due[block, 1] = LARGEST
    for slot in range(len(rules.oldest)):
        if rules.window_kind[slot] > TIME:
            oldest = LARGEST
            start = bands.head[slot, START]
            for at in range(start, start + bands.head[slot, SIZE]):
                oldest = min(oldest, live.stamp[bands.item[at] - live.base])
            rules.oldest[slot] = oldest
            note_due(rules, slot)
