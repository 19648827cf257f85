"""CIQ: inverted files of subscriptions in covering cells, with a bound on the text for each subscription and cell.

Space is cut into quarters `depth` times. A subscription is listed in cells that together are the whole space, each
point in one of them: at each level the three cells that are siblings of the one it lies in, and that one too at the
innermost level. A message that falls into such a cell is at least the cell's distance away, so it can only pass the
threshold θ of the subscription when its textual similarity reaches

    MinT = (θ - α * SSimUB) / (1 - α)        SSimUB = 1 - least distance to the cell / diagonal

A message looks at one cell of each level, those it falls into, walks the lists of its terms there side by side, by
slot, adds up the similarity of a slot, and scores the slots whose MinT is reached.

Rounding: whether a place is in a cell is decided by comparing it with the cell's edges, and subtraction, square, root
and quotient are monotonic as computed, so no message in a cell comes out nearer than the cell. θ is lowered by `SLACK`
for the other sums. Weights in lists and MinT have single precision, an error below 2e-7 wherever the similarity, which
is at most 1 and a little, can be near MinT; `ROUNDING` covers it. Where α is 1 the quotient has 1e-9 below the line: it
only gets smaller where it is positive, and where it is not nobody is ruled out anyway. Outer edges lie at infinity, so
a place out of bounds is in a cell too.

Invariants: a list is found by its key, from the term and the cell; its slots ascend, and lie in the first `length` of
`capacity` places of the pool from `start`; stretches do not overlap and end at `used[END]`. The lists of a cell and a
term hold exactly the slots that have the term and are covered by the cell, with the weights they give it. At least half
of `places` are empty. `least` is MinT as computed from the slot's gate, and NEVER where a cell does not cover a slot.
"""

from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Float32s, Floats, Int32s, Int64s
from skyband.kernels.compile import inlined, kernel
from skyband.topk.kernels.candidate import Candidates
from skyband.topk.kernels.score import Contents, place_score, relevance_of, say, unsay

SLACK = 1e-9
ROUNDING = 1e-6
NEVER = 2.0
ALWAYS = -1.0
EMPTY = -1
LAST = np.iinfo(np.int32).max

N_LISTS = 0
END = 1
N_POSTINGS = 2

X = 0
Y = 1
ALPHA = 2
GATE = 3

POSTINGS = 0
VERIFIED = 1
ACCEPTED = 2


class CellEdges(NamedTuple):
    """The edges of the innermost cells, ascending, one more than there are cells in a row or a column."""

    xs: Floats
    ys: Floats
    diagonal: float
    depth: int


class CiqSubscribers(NamedTuple):
    """By slot: `numbers` are X, Y, ALPHA and GATE, `span` is where its terms start and how many they are.

    `least` is (4 * (level - 1) + quarter, slot): a walk through lists stays in one row, and goes forward there.
    """

    numbers: Floats
    span: Int64s
    least: Float32s
    terms: Int64s
    weights: Floats


class CiqLists(NamedTuple):
    """Lists by number, below `used[N_LISTS]`; `places` holds numbers by hash, `slot` and `weight` are the pool."""

    places: Int32s
    key: Int64s
    start: Int64s
    capacity: Int32s
    length: Int32s
    used: Int64s
    slot: Int32s
    weight: Float32s


class CiqPostings(NamedTuple):
    """Postings of some slots, and the list that each belongs to."""

    of: Int32s
    slot: Int32s
    weight: Float32s


class CiqWorkspace(NamedTuple):
    """Working space: weights by term, cursors, slots to score with their similarity, counts.

    A message has a cursor for each list, at `at` of those up to `end`; the cursors in `order` point to ascending
    `head`, which ends in LAST.
    """

    said: Floats
    at: Int64s
    end: Int64s
    head: Int64s
    order: Int64s
    weight: Floats
    found: Int32s
    text: Float32s
    counts: Int64s


def make_space(bounds: tuple[float, float, float, float], depth: int) -> CellEdges:
    """The space of these bounds (least x and y, greatest x and y), cut into quarters that often."""
    x_min, y_min, x_max, y_max = bounds
    width, height = x_max - x_min, y_max - y_min
    steps = np.arange(2**depth + 1) / 2**depth
    xs, ys = x_min + width * steps, y_min + height * steps
    xs[0] = ys[0] = -np.inf
    xs[-1] = ys[-1] = np.inf
    return CellEdges(xs, ys, float(np.sqrt(width * width + height * height)), depth)


def make_lists(n_lists: int, n_postings: int) -> CiqLists:
    """No lists yet, and room for that many."""
    return CiqLists(
        np.full(1 << int(2 * n_lists).bit_length(), EMPTY, np.int32),
        np.zeros(n_lists, np.int64),
        np.zeros(n_lists, np.int64),
        np.zeros(n_lists, np.int32),
        np.zeros(n_lists, np.int32),
        np.zeros(3, np.int64),
        np.zeros(n_postings, np.int32),
        np.zeros(n_postings, np.float32),
    )


def make_postings(n: int) -> CiqPostings:
    """Room for that many postings."""
    return CiqPostings(np.zeros(n, np.int32), np.zeros(n, np.int32), np.zeros(n, np.float32))


def make_reading() -> CiqWorkspace:
    """Working space for messages without terms, and no slots."""
    integers, numbers = np.zeros(1, np.int64), np.zeros(1)
    return CiqWorkspace(
        numbers,
        integers,
        integers.copy(),
        integers.copy(),
        integers.copy(),
        numbers.copy(),
        np.zeros(0, np.int32),
        np.zeros(0, np.float32),
        np.zeros(3, np.int64),
    )


@inlined
def first_cell(level: int) -> int:
    """The number of a level's first cell, where level 1 has four; of level depth + 1, how many cells there are."""
    return ((1 << 2 * level) - 4) // 3


@inlined
def step_of(edges: Floats, depth: int, x: float) -> int:
    """Which innermost column (or row) a coordinate is in: the last whose lower edge is not above it."""
    step = 0
    for level in range(depth):
        half = 1 << (depth - level - 1)
        if x >= edges[step + half]:
            step += half
    return step


@inlined
def _gap(edges: Floats, lo: int, hi: int, x: float) -> float:
    return max(edges[lo] - x, x - edges[hi], 0.0)


@inlined
def min_text(gate: float, alpha: float, near: float) -> float:
    """What the similarity of a message must reach that is at most so near."""
    # What is left to the words is cut first: nothing overflows, and the quotient only gets larger.
    left = min(max(-gate - SLACK - alpha * near, 2.0 * ALWAYS), 2.0 * NEVER)
    return min(max(left / max(1.0 - alpha, 1e-9) - ROUNDING, ALWAYS), NEVER)


@kernel
def bound(slots: Int64s, space: CellEdges, asked: CiqSubscribers) -> None:
    """Compute MinT of slots for their covering cells, from their gates."""
    xs, ys, diagonal, depth = space
    numbers, least = asked.numbers, asked.least
    for slot in slots:
        x, y, alpha, gate = numbers[slot, X], numbers[slot, Y], numbers[slot, ALPHA], numbers[slot, GATE]
        column, row = step_of(xs, depth, x), step_of(ys, depth, y)
        for level in range(1, depth + 1):
            shift = depth - level
            own = (row >> shift & 1) << 1 | (column >> shift & 1)
            for quarter in range(4):
                j = 4 * (level - 1) + quarter
                if quarter == own and level < depth:
                    least[j, slot] = NEVER
                    continue
                lo_x = (column >> (shift + 1) << 1 | (quarter & 1)) << shift
                lo_y = (row >> (shift + 1) << 1 | quarter >> 1) << shift
                dx, dy = _gap(xs, lo_x, lo_x + (1 << shift), x), _gap(ys, lo_y, lo_y + (1 << shift), y)
                least[j, slot] = min_text(gate, alpha, 1.0 - np.sqrt(dx * dx + dy * dy) / diagonal)


@inlined
def _place(key: Int64s, places: Int32s, wanted: int) -> int:
    mask = len(places) - 1
    # In two parts, so that no product overflows; the fold brings the high bits of both down.
    code = ((wanted & 0xFFFFFFF) * 1640531527) ^ ((wanted >> 28) * 1274126177)
    place = (code ^ (code >> 29)) & mask
    while places[place] != EMPTY and key[places[place]] != wanted:
        place = (place + 1) & mask
    return place


@kernel
def find_list(lists: CiqLists, wanted: int) -> int:
    """The number of the list with a key, or EMPTY."""
    return lists.places[_place(lists.key, lists.places, wanted)]


@inlined
def _find_or_make(lists: CiqLists, wanted: int) -> int:
    """The number of the list with a key, made where there is none; EMPTY where there is no room for it."""
    key, places, used = lists.key, lists.places, lists.used
    place = _place(key, places, wanted)
    if places[place] == EMPTY and used[N_LISTS] < len(key):
        number = used[N_LISTS]
        key[number], places[place] = wanted, number
        lists.start[number], lists.capacity[number], lists.length[number] = used[END], 0, 0
        used[N_LISTS] += 1
    return places[place]


@kernel
def locate(slots: Int64s, space: CellEdges, asked: CiqSubscribers, lists: CiqLists, into: CiqPostings) -> bool:
    """Write down the postings of slots, by slot, and make lists for them; False when there is no room for a list."""
    xs, ys, _, depth = space
    of, to_slot, to_weight = into
    numbers, span, terms, weights = asked.numbers, asked.span, asked.terms, asked.weights
    n, n_cells = 0, first_cell(depth + 1)
    for slot in slots:
        column, row = step_of(xs, depth, numbers[slot, X]), step_of(ys, depth, numbers[slot, Y])
        for at in range(span[slot, 0], span[slot, 0] + span[slot, 1]):
            for level in range(1, depth + 1):
                shift, first = depth - level, first_cell(level)
                own = (row >> shift & 1) << 1 | (column >> shift & 1)
                for quarter in range(4):
                    if quarter == own and level < depth:
                        continue
                    across, down = column >> (shift + 1) << 1 | (quarter & 1), row >> (shift + 1) << 1 | quarter >> 1
                    number = _find_or_make(lists, terms[at] * n_cells + first + (down << level) + across)
                    if number == EMPTY:
                        return False
                    of[n], to_slot[n], to_weight[n] = number, slot, weights[at]
                    n += 1
    return True


@kernel
def place_lists(lists: CiqLists) -> None:
    """Write the numbers of all lists into places, which are empty."""
    key, places = lists.key, lists.places
    for number in range(lists.used[N_LISTS]):
        places[_place(key, places, key[number])] = number


@kernel
def copy_lists(old: CiqLists, new: CiqLists) -> None:
    """Copy the postings of lists to where their new stretches start."""
    old_slot, old_weight, new_slot, new_weight = old.slot, old.weight, new.slot, new.weight
    for number in range(old.used[N_LISTS]):
        source, to = old.start[number], new.start[number]
        for i in range(old.length[number]):
            new_slot[to + i], new_weight[to + i] = old_slot[source + i], old_weight[source + i]


@inlined
def _move(lists: CiqLists, number: int, need: int) -> bool:
    """Give a list a larger stretch at the end of the pool, if there is room."""
    slots, weights, start, to = lists.slot, lists.weight, lists.start[number], lists.used[END]
    capacity = need + need // 8
    if to + capacity > len(slots):
        return False
    for i in range(lists.length[number]):
        slots[to + i], weights[to + i] = slots[start + i], weights[start + i]
    lists.start[number], lists.capacity[number] = to, capacity
    lists.used[END] += capacity
    return True


@kernel
def enter(postings: CiqPostings, ends: Int64s, done: int, lists: CiqLists) -> int:
    """Merge postings into their lists; group i, those before `ends[i]`, are of one list and new to it, by slot.

    Begins with group `done` and returns the first one that there was no room for.
    """
    of, new_slot, new_weight = postings
    slots, weights, starts, lengths = lists.slot, lists.weight, lists.start, lists.length
    for group in range(done, len(ends)):
        lo, hi = ends[group - 1] if group > 0 else 0, ends[group]
        number = of[lo]
        need = lengths[number] + hi - lo
        if need > lists.capacity[number] and not _move(lists, number, need):
            return group
        start = starts[number]
        i, j, to = start + lengths[number] - 1, hi - 1, start + need - 1
        while j >= lo:
            if i >= start and slots[i] > new_slot[j]:
                slots[to], weights[to] = slots[i], weights[i]
                i -= 1
            else:
                slots[to], weights[to] = new_slot[j], new_weight[j]
                j -= 1
            to -= 1
        lengths[number] = need
        lists.used[N_POSTINGS] += hi - lo
    return len(ends)


@inlined
def _search(slots: Int32s, lo: int, hi: int, slot: int) -> int:
    while lo < hi:
        middle = (lo + hi) >> 1
        if slots[middle] < slot:
            lo = middle + 1
        else:
            hi = middle
    return lo


@kernel
def take_out(postings: CiqPostings, ends: Int64s, lists: CiqLists) -> None:
    """Take postings out of their lists; groups as in `enter`."""
    of, gone = postings.of, postings.slot
    slots, weights, starts, lengths = lists.slot, lists.weight, lists.start, lists.length
    for group in range(len(ends)):
        lo, hi = ends[group - 1] if group > 0 else 0, ends[group]
        start, end = starts[of[lo]], starts[of[lo]] + lengths[of[lo]]
        j, to = lo, _search(slots, start, end, gone[lo])
        for at in range(to, end):
            if j < hi and slots[at] == gone[j]:
                j += 1
            else:
                slots[to], weights[to] = slots[at], weights[at]
                to += 1
        lengths[of[lo]] = to - start
        lists.used[N_POSTINGS] -= hi - lo


@kernel
def measure(contents: Contents, lo: int, hi: int) -> tuple[int, int]:
    """How many terms the publications lo to hi have at most, and one more than the largest code."""
    terms, most, n_codes = contents.terms, 0, 0
    for publication in range(lo, hi):
        start, n = contents.term_start[publication], contents.term_count[publication]
        most = max(most, n)
        for at in range(start, start + n):
            n_codes = max(n_codes, terms[at] + 1)
    return most, n_codes


@kernel
def _open(lists: CiqLists, contents: Contents, publication: int, cell: int, n_cells: int, reading: CiqWorkspace) -> int:
    """Set a cursor to the start of each list that a message has in a cell; returns how many there are."""
    terms, said, start = contents.terms, contents.term_weights, contents.term_start[publication]
    n = 0
    for i in range(start, start + contents.term_count[publication]):
        number = find_list(lists, terms[i] * n_cells + cell)
        if number != EMPTY and lists.length[number] > 0:
            at = lists.start[number]
            reading.at[n], reading.end[n] = at, at + lists.length[number]
            reading.head[n], reading.weight[n] = lists.slot[at], said[i]
            reading.counts[POSTINGS] += lists.length[number]
            n += 1
    return n


@inlined
def _settle(heads: Int64s, order: Int64s, i: int, n: int, head: int, which: int) -> None:
    """Put a cursor whose place i is free among those behind it, which are sorted."""
    while i + 1 < n and heads[i + 1] < head:
        heads[i], order[i] = heads[i + 1], order[i + 1]
        i += 1
    heads[i], order[i] = head, which


@kernel
def _walk(lists: CiqLists, least: Float32s, n: int, n_found: int, reading: CiqWorkspace) -> int:
    """Go through n lists side by side and add the slots that reach their MinT; returns how many are found now."""
    slots, weights, found, texts = lists.slot, lists.weight, reading.found, reading.text
    ats, ends, heads, order, said = reading.at, reading.end, reading.head, reading.order, reading.weight
    for i in range(n - 1, -1, -1):
        _settle(heads, order, i, n, heads[i], i)
    heads[n] = LAST
    while heads[0] < LAST:
        first, second, which = heads[0], heads[1], order[0]
        if first < second:
            # A stretch of slots that no other list has: nothing to add up, and nothing to look for.
            at, end, weight = ats[which], ends[which], said[which]
            slot = first
            while slot < second:
                text = weights[at] * weight
                if text >= least[slot]:
                    found[n_found], texts[n_found] = slot, text
                    n_found += 1
                at += 1
                slot = slots[at] if at < end else LAST
            ats[which] = at
            _settle(heads, order, 0, n, slot, which)
        else:
            text, m = 0.0, 0
            while heads[m] == first:
                text += weights[ats[order[m]]] * said[order[m]]
                m += 1
            if text >= least[first]:
                found[n_found], texts[n_found] = first, text
                n_found += 1
            for i in range(m - 1, -1, -1):
                which = order[i]
                at = ats[which] + 1
                ats[which] = at
                _settle(heads, order, i, n, slots[at] if at < ends[which] else LAST, which)
    return n_found


@kernel
def _find(
    space: CellEdges,
    asked: CiqSubscribers,
    lists: CiqLists,
    contents: Contents,
    publication: int,
    reading: CiqWorkspace,
) -> int:
    """Collect the slots that a message may pass; returns how many."""
    depth, n_cells, n_found = space.depth, first_cell(space.depth + 1), 0
    column = step_of(space.xs, depth, contents.point[0, publication])
    row = step_of(space.ys, depth, contents.point[1, publication])
    for level in range(1, depth + 1):
        across, down = column >> (depth - level), row >> (depth - level)
        cell = first_cell(level) + (down << level) + across
        n = _open(lists, contents, publication, cell, n_cells, reading)
        least = asked.least[4 * (level - 1) + ((down & 1) << 1 | (across & 1))]
        n_found = _walk(lists, least, n, n_found, reading)
    return n_found


@kernel
def _verify(
    asked: CiqSubscribers, contents: Contents, publication: int, n: int, reading: CiqWorkspace, into: Candidates
) -> bool:
    """Score the first n slots found, and add those within their gates; False when there is no room for one."""
    numbers, span, terms, weights = asked.numbers, asked.span, asked.terms, asked.weights
    said, found, texts = reading.said, reading.found, reading.text
    to_slot, to_publication, to_directed = into.slot, into.publication, into.directed
    x, y, diagonal = contents.point[0, publication], contents.point[1, publication], contents.diagonal
    length = into.length[0]
    for i in range(n):
        slot = found[i]
        dx, dy, alpha, gate = x - numbers[slot, X], y - numbers[slot, Y], numbers[slot, ALPHA], numbers[slot, GATE]
        # The similarity is known well enough to turn most away; the sum in the slot's own order decides on the rest.
        if place_score(alpha, dx, dy, diagonal, texts[i] + ROUNDING) - SLACK > gate:
            continue
        relevance = relevance_of(terms, weights, span[slot, 0], span[slot, 0] + span[slot, 1], said)
        directed = place_score(alpha, dx, dy, diagonal, relevance)
        if relevance >= 0.0 and directed <= gate:
            if length == len(to_slot):
                return False
            to_slot[length], to_publication[length], to_directed[length] = slot, publication, directed
            length += 1
    reading.counts[VERIFIED] += n
    reading.counts[ACCEPTED] += length - into.length[0]
    into.length[0] = length
    into.counts[0] += n
    return True


@kernel
def disseminate(
    space: CellEdges,
    asked: CiqSubscribers,
    lists: CiqLists,
    contents: Contents,
    lo: int,
    hi: int,
    reading: CiqWorkspace,
    into: Candidates,
) -> int:
    """Find the slots that the publications lo to hi pass; returns the first one that there was no room for.

    That one leaves no trace.
    """
    for publication in range(lo, hi):
        n_postings = reading.counts[POSTINGS]
        n = _find(space, asked, lists, contents, publication, reading)
        say(contents, publication, reading.said)
        has_room = _verify(asked, contents, publication, n, reading, into)
        unsay(contents, publication, reading.said)
        if not has_room:
            reading.counts[POSTINGS] = n_postings
            return publication
    return hi


def covering(space: CellEdges, x: float, y: float) -> list[tuple[int, int]]:
    """The covering cells of a place and the rows of their MinT, plainly."""
    cells = []
    column, row = step_of(space.xs, space.depth, x), step_of(space.ys, space.depth, y)
    for level in range(1, space.depth + 1):
        size = 2 ** (space.depth - level)
        for quarter in range(4):
            across, down = column // size // 2 * 2 + quarter % 2, row // size // 2 * 2 + quarter // 2
            if (across, down) != (column // size, row // size) or level == space.depth:
                cells.append((first_cell(level) + down * 2**level + across, 4 * (level - 1) + quarter))
    return cells


def check_ciq(space: CellEdges, asked: CiqSubscribers, lists: CiqLists, slots: Int64s) -> None:
    """Assert the invariants, where `slots` are those present."""
    n_lists, end, n_postings = (int(n) for n in lists.used)
    numbers, start, length = range(n_lists), lists.start[:n_lists], lists.length[:n_lists]
    assert 2 * n_lists <= len(lists.places)
    assert np.array_equal(np.sort(lists.places[lists.places != EMPTY]), numbers)
    assert all(find_list(lists, int(lists.key[number])) == number for number in numbers)
    assert (length <= lists.capacity[:n_lists]).all()
    assert length.sum() == n_postings
    order = np.lexsort((lists.capacity[:n_lists], start))
    stops = (start + lists.capacity[:n_lists])[order]
    assert (np.append(start[order], end)[1:] >= stops).all()
    assert end <= len(lists.slot)
    held: dict[tuple[int, int], float] = {}
    for number in numbers:
        stretch = slice(start[number], start[number] + length[number])
        assert (np.diff(lists.slot[stretch]) > 0).all()
        pairs = zip(lists.slot[stretch].tolist(), lists.weight[stretch].tolist(), strict=True)
        held |= {(int(lists.key[number]), slot): weight for slot, weight in pairs}
    assert held == _postings_of(space, asked, slots)
    before = asked.least[:, slots].copy()
    bound(slots, space, asked)
    assert np.array_equal(before, asked.least[:, slots])


def _postings_of(space: CellEdges, asked: CiqSubscribers, slots: Int64s) -> dict[tuple[int, int], float]:
    wanted = {}
    for slot in slots.tolist():
        cells = covering(space, asked.numbers[slot, X], asked.numbers[slot, Y])
        for at in range(asked.span[slot, 0], asked.span[slot].sum()):
            for cell, _ in cells:
                key = int(asked.terms[at]) * first_cell(space.depth + 1) + cell
                wanted[key, slot] = float(np.float32(asked.weights[at]))
    return wanted
