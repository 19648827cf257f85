"""Cosine relevance over sparse vectors: subscriptions found by the dimensions that a publication shares with them.

Dimensions have one global order, rare ones first. A subscription with unit vector u wants cosines of at least t. Its
*tail* k is the norm of its entries from the k-th in that order on. It is listed under its leading dimensions, those
whose tail reaches its *bar*, a number a little below t. Let p be a unit publication, and k the first entry of u, in the
order, whose dimension p has too. Nothing before it adds to the product, so by Cauchy and Schwarz

    u · p  <=  u_k p_k + tail(k + 1) * min(tail of p behind that dimension, norm of the m largest numbers of p)

where m is how many entries u has behind k, and this is at most tail(k) * tail of p from that dimension on. So:

- if no listed dimension is shared, then u · p <= tail(first entry not listed) < bar, and the pair is out;
- otherwise it is enough to look at the bound where the first shared dimension is listed. Where it fails there, later
  lists cannot wrongly rule the pair in or out: being ruled out is already proved, and being let in only costs a score;
- a list can be passed over as a whole when the tail of p is less than bar / tail(k), the *need* of its postings. Each
  dimension therefore has `LEVELS` lists by need, and a publication walks those that its tail reaches.

Rounding: a cosine is computed from d products, d additions and two norms. As long as no square underflows to a number
that matters, that is for norms of at least `SAFE`, it differs from the true one by less than (4d + 32) 2^-53, and so
does a bound, whose numbers are at most 1. `slack_of` is twice that, and a bar lies two slacks below the least t it
serves. Subscriptions with smaller norms are scored always, and publications with smaller norms against everybody. What
counts in the end is the score itself, added up over the entries of u by ascending dimension. Products with zero are
zero, and adding them changes nothing: a sum that starts from 0.0 is never -0.0, so it equals `score_pair` to the last
bit.

Invariants: a slot's band [`low`, `high`] holds its t = -gate; a LISTED slot has exactly its first `n_listed` entries in
lists, the list of each given by its dimension and need; `spot` of an entry is its place within that list, `seat` of an
EVERYWHERE slot its place among them; a list uses `length` of the `capacity` places from `start`, and lists do not
overlap. `mark` never holds a serial that is yet to come, and `dense` is all zero between publications.
"""

from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Floats, Int8s, Int64s
from skyband.kernels.compile import inlined, kernel
from skyband.kernels.ragged import starts_of
from skyband.topk.kernels.candidate import Candidates
from skyband.topk.kernels.score import Contents

ABSENT = 0
NOWHERE = 1
EVERYWHERE = 2
LISTED = 3

LEVELS = 16
# Publications read at a time: their numbers lie dimension by dimension, so that one alone costs a cache line for each.
TILE = 32
# How many of the largest numbers of a publication are told apart.
N_LARGEST = 16
SAFE = 1e-140
# Below this a subscription would be listed under nearly all that it has, for nearly nothing.
LOWEST = 1e-6
# A slot is listed for a t this much lower, and listed anew when t has risen this much, so that small moves are free.
MARGIN = 0.95
RISE = 1.1
# Lists that a publication is expected to meet a slot in, above which it is cheaper to score the slot always. Measured:
# sparse vectors meet less than 1; dense ones of 16 numbers meet more than 2 and are up to three times faster unlisted.
CROWDED = 2.0
FINITE = np.finfo(np.float64).max

SLOT = 0
ORDINAL = 1
BEHIND = 2


class Vectors(NamedTuple):
    """Subscriptions' vectors: `start`, `n_entries` and `norm` by slot; the others by entry, a slot's lie together.

    `dim` and `value` go by ascending dimension; `order` (which of those), `tail` and `spot` by the global order.
    """

    start: Int64s
    n_entries: Int64s
    norm: Floats
    dim: Int64s
    value: Floats
    order: Int64s
    tail: Floats
    spot: Int64s


class Homes(NamedTuple):
    """By slot: its gate, the band of t in which it stays where it is, and where that is.

    `least` is what a bound must reach now, as a multiple of the bar: gates move more often than bars do.
    """

    gate: Floats
    low: Floats
    high: Floats
    bar: Floats
    least: Floats
    home: Int8s
    n_listed: Int64s
    seat: Int64s


class SparsePostings(NamedTuple):
    """Postings: list `dimension * LEVELS + level` has `length` of them from `start`; `end[0]` places are given out.

    `who` is the SLOT of a posting, the ORDINAL of the entry, and how many entries come BEHIND it, at most
    N_LARGEST + 1. `parts` are its number in the unit vector and the norm of those behind it, as multiples of the bar.
    """

    start: Int64s
    capacity: Int64s
    length: Int64s
    end: Int64s
    who: Int64s
    parts: Floats


class Order(NamedTuple):
    """The global order: `dims` from first to last, and for each dimension the share of vectors that have it.

    `seen` counts on, for the next order; `slack` bounds the error of scores and bounds, twice over.
    """

    dims: Int64s
    share: Floats
    seen: Int64s
    slack: float


class SparseLists(NamedTuple):
    """All that is kept of subscriptions; the first `n_everywhere[0]` of `everywhere` are in use."""

    vectors: Vectors
    homes: Homes
    lists: SparsePostings
    order: Order
    everywhere: Int64s
    n_everywhere: Int64s


class SparseWorkspace(NamedTuple):
    """Working space. By row of a tile: the numbers that are not zero, in the global order.

    Of one publication: `dense` by dimension, `unit` and `tail` in the order, `best[m]` the norm of the m largest.
    `found` are slots to score, with `bounds`; `mark` is the serial of the publication that a slot was found for last.
    Both have room for every slot twice: those found before, and a posting of each in the next dimension.
    """

    n: Int64s
    dim: Int64s
    value: Floats
    dense: Floats
    unit: Floats
    tail: Floats
    best: Floats
    found: Int64s
    bounds: Floats
    mark: Int64s
    serial: Int64s


def slack_of(dims: int) -> float:
    """Twice the largest error of a computed cosine, or of a bound on one."""
    return max(1e-12, (8 * dims + 64) * 2.0**-53)


def make_lists(capacity: Int64s, n_spare: int) -> SparsePostings:
    """Empty lists of these capacities, and spare places behind them."""
    end = int(capacity.sum())
    size = end + n_spare
    return SparsePostings(
        start=starts_of(capacity),
        capacity=capacity,
        length=np.zeros(len(capacity), np.int64),
        end=np.array([end]),
        who=np.zeros((size, 3), np.int64),
        parts=np.zeros((size, 2)),
    )


def make_reading(dims: int, n_slots: int) -> SparseWorkspace:
    """Working space for vectors of `dims` numbers and `n_slots` slots."""
    return SparseWorkspace(
        np.zeros(TILE, np.int64),
        np.zeros((TILE, dims), np.int64),
        np.zeros((TILE, dims)),
        np.zeros(dims),
        np.zeros(dims),
        np.zeros(dims + 1),
        np.zeros(N_LARGEST + 2),
        np.zeros(2 * n_slots + 1, np.int64),
        np.zeros(2 * n_slots + 1),
        np.zeros(n_slots, np.int64),
        np.zeros(1, np.int64),
    )


@kernel
def weigh(slots: Int64s, vectors: Vectors) -> None:
    """Compute the tails of slots whose order has been written."""
    value, order, tail = vectors.value, vectors.order, vectors.tail
    for slot in slots:
        start, norm = vectors.start[slot], vectors.norm[slot]
        square = 0.0
        for at in range(start + vectors.n_entries[slot] - 1, start - 1, -1):
            unit = value[start + order[at]] / norm if norm > 0.0 else 0.0
            square += unit * unit
            tail[at] = np.sqrt(square)


@inlined
def _list_of(dim: int, tail: float, bar: float) -> int:
    """The list for an entry: by its dimension, and by how much of a publication it needs."""
    return dim * LEVELS + min(int(bar / tail * LEVELS), LEVELS - 1)


@inlined
def _room_to_append(length: int, capacity: int) -> int:
    """How many places of the pool one more posting will take."""
    return max(4, 2 * capacity) if length == capacity else 0


@kernel
def _copy_postings(
    who: Int64s,
    parts: Floats,
    start: int,
    length: int,
    to_who: Int64s,
    to_parts: Floats,
    to: int,
) -> None:
    for i in range(length):
        for j in range(who.shape[1]):
            to_who[to + i, j] = who[start + i, j]
        for j in range(parts.shape[1]):
            to_parts[to + i, j] = parts[start + i, j]


@kernel
def _lengthen(lists: SparsePostings, of: int) -> None:
    """Move a full list to the end of the pool, where it has more room."""
    start, end, length = lists.start[of], lists.end[0], lists.length[of]
    room = _room_to_append(length, length)
    _copy_postings(lists.who, lists.parts, start, length, lists.who, lists.parts, end)
    lists.start[of], lists.capacity[of] = end, room
    lists.end[0] += room


@kernel
def copy_lists(source: SparsePostings, into: SparsePostings) -> None:
    """Fill empty lists of sufficient capacity."""
    for of in range(len(source.start)):
        start, to, length = source.start[of], into.start[of], source.length[of]
        _copy_postings(source.who, source.parts, start, length, into.who, into.parts, to)
        into.length[of] = length


@inlined
def _choose(t: float, norm: float, slack: float) -> tuple[int, float, float]:
    """Where a slot that wants cosines of at least t belongs, and the band of t for which that is so."""
    if norm == 0.0:
        return (NOWHERE, 5e-324, np.inf) if t > 0.0 else (EVERYWHERE, -np.inf, 0.0)
    if norm < SAFE:
        return (NOWHERE, np.inf, np.inf) if t == np.inf else (EVERYWHERE, -np.inf, FINITE)
    if t < LOWEST:
        return EVERYWHERE, -np.inf, LOWEST
    if t > 1.0 + slack:
        return NOWHERE, 1.0 + slack, np.inf
    return LISTED, MARGIN * t, RISE * t


@kernel
def plan(slots: Int64s, index: SparseLists) -> None:
    """Choose homes for slots that have none, as their gates call for; those to be listed are not yet."""
    vectors, homes, slack, share = index.vectors, index.homes, index.order.slack, index.order.share
    row_start, n_entries, norm = vectors.start, vectors.n_entries, vectors.norm
    dim, order, tail = vectors.dim, vectors.order, vectors.tail
    gates, lows, highs, bars, least, homes_of, n_listed, seat = homes
    everywhere, n_everywhere = index.everywhere, index.n_everywhere[0]
    for slot in slots:
        home, low, high = _choose(-gates[slot], norm[slot], slack)
        start, bar, n, met = row_start[slot], low - 2.0 * slack, 0, 0.0
        if home == LISTED:
            while n < n_entries[slot] and tail[start + n] >= bar:
                met += share[dim[start + order[start + n]]]
                n += 1
            least[slot] = (-gates[slot] - 2.0 * slack) / bar
            home = LISTED if met <= CROWDED else EVERYWHERE
        if home == EVERYWHERE:
            everywhere[n_everywhere], seat[slot] = slot, n_everywhere
            n_everywhere += 1
        homes_of[slot], lows[slot], highs[slot], bars[slot] = home, low, high, bar
        n_listed[slot] = n if home == LISTED else 0
    index.n_everywhere[0] = n_everywhere


@kernel
def enlist(slots: Int64s, done: int, index: SparseLists) -> int:
    """Put slots into the lists planned for them, from `slots[done]` on; returns how many are done, not all if the pool
    has no room for the next one."""
    vectors, homes, lists = index.vectors, index.homes, index.lists
    dim, value, order, tail, spot = vectors.dim, vectors.value, vectors.order, vectors.tail, vectors.spot
    list_start, length, capacity, who, parts = lists.start, lists.length, lists.capacity, lists.who, lists.parts
    row_start, n_entries, norm = vectors.start, vectors.n_entries, vectors.norm
    bars, n_listed = homes.bar, homes.n_listed
    for i in range(done, len(slots)):
        slot = slots[i]
        start, n, bar, room = row_start[slot], n_entries[slot], bars[slot], 0
        for at in range(start, start + n_listed[slot]):
            of = _list_of(dim[start + order[at]], tail[at], bar)
            room += _room_to_append(length[of], capacity[of])
        if lists.end[0] + room > len(who):
            return i
        for k in range(n_listed[slot]):
            entry = start + order[start + k]
            of = _list_of(dim[entry], tail[start + k], bar)
            if length[of] == capacity[of]:
                _lengthen(lists, of)
            spot[start + k] = length[of]
            to = list_start[of] + length[of]
            length[of] += 1
            who[to, SLOT], who[to, ORDINAL], who[to, BEHIND] = slot, k, min(n - k - 1, N_LARGEST + 1)
            parts[to, 0] = value[entry] / norm[slot] / bar
            parts[to, 1] = tail[start + k + 1] / bar if k + 1 < n else 0.0
    return len(slots)


@kernel
def leave(slots: Int64s, index: SparseLists) -> None:
    """Take slots from where they are; the last of each list takes their place. Their bands are empty until planned."""
    vectors, homes, lists, everywhere = index.vectors, index.homes, index.lists, index.everywhere
    row_start, dim, order, tail, spot = vectors.start, vectors.dim, vectors.order, vectors.tail, vectors.spot
    list_start, length, who, parts = lists.start, lists.length, lists.who, lists.parts
    home, low, high, bar, n_listed, seat = homes.home, homes.low, homes.high, homes.bar, homes.n_listed, homes.seat
    for slot in slots:
        start = row_start[slot]
        for at in range(start, start + n_listed[slot]):
            of = _list_of(dim[start + order[at]], tail[at], bar[slot])
            length[of] -= 1
            to, last = list_start[of] + spot[at], list_start[of] + length[of]
            if to < last:
                for field in range(3):
                    who[to, field] = who[last, field]
                parts[to, 0], parts[to, 1] = parts[last, 0], parts[last, 1]
                spot[row_start[who[to, SLOT]] + who[to, ORDINAL]] = spot[at]
        if home[slot] == EVERYWHERE:
            index.n_everywhere[0] -= 1
            moved = everywhere[index.n_everywhere[0]]
            everywhere[seat[slot]], seat[moved] = moved, seat[slot]
        home[slot], n_listed[slot], low[slot], high[slot] = NOWHERE, 0, np.inf, -np.inf


@kernel
def adjust(slots: Int64s, gates: Floats, index: SparseLists, moved: Int64s) -> int:
    """Set the gates of slots; returns how many are beyond their band, written to `moved`, and have to leave."""
    homes, slack, n = index.homes, index.order.slack, 0
    gate, low, high, bar, least, home = homes.gate, homes.low, homes.high, homes.bar, homes.least, homes.home
    for i in range(len(slots)):
        slot = slots[i]
        gate[slot] = gates[i]
        if low[slot] <= -gates[i] <= high[slot]:
            if home[slot] == LISTED:
                least[slot] = (-gates[i] - 2.0 * slack) / bar[slot]
        elif low[slot] <= high[slot]:
            # An empty band keeps a slot that is named twice from leaving twice.
            low[slot], high[slot] = np.inf, -np.inf
            moved[n] = slot
            n += 1
    return n


@kernel
def _read(point: Floats, lo: int, hi: int, dims: Int64s, reading: SparseWorkspace) -> None:
    """Collect what is not zero in the publications lo to hi, in the global order."""
    n, dim, value = reading.n, reading.dim, reading.value
    for row in range(hi - lo):
        n[row] = 0
    for j in dims:
        numbers = point[j, lo:hi]
        is_used = False
        for row in range(hi - lo):
            is_used |= numbers[row] != 0.0
        if is_used:
            for row in range(hi - lo):
                if numbers[row] != 0.0:
                    dim[row, n[row]], value[row, n[row]] = j, numbers[row]
                    n[row] += 1


@inlined
def _measure(row: int, norm: float, reading: SparseWorkspace) -> None:
    """The unit vector of a publication, its tails, and the norms of its largest numbers."""
    value, unit, tail, best, n = reading.value[row], reading.unit, reading.tail, reading.best, reading.n[row]
    best[:] = 0.0
    square = tail[n] = 0.0
    for k in range(n - 1, -1, -1):
        unit[k] = value[k] / norm
        square += unit[k] * unit[k]
        tail[k] = np.sqrt(square)
        size, m = abs(unit[k]), N_LARGEST
        if size > best[m]:
            while m > 1 and best[m - 1] < size:
                best[m] = best[m - 1]
                m -= 1
            best[m] = size
    square = 0.0
    for m in range(1, N_LARGEST + 1):
        square += best[m] * best[m]
        best[m] = np.sqrt(square)
    # More entries than are told apart: the tail alone bounds them.
    best[N_LARGEST + 1] = np.inf


@inlined
def _walk(index: SparseLists, row: int, n_found: int, reading: SparseWorkspace) -> int:
    """Find the slots that the lists cannot rule out, behind `n_found` others; returns how many there are then."""
    lists, least = index.lists, index.homes.least
    start, length, who, parts = lists.start, lists.length, lists.who, lists.parts
    dim, unit, tail, best = reading.dim[row], reading.unit, reading.tail, reading.best
    found, bounds, mark, serial = reading.found, reading.bounds, reading.mark, reading.serial[0]
    for k in range(reading.n[row]):
        x, reach, first, n = unit[k], tail[k + 1], dim[k] * LEVELS, n_found
        for of in range(first, first + min(int(tail[k] * LEVELS), LEVELS - 1) + 1):
            for at in range(start[of], start[of] + length[of]):
                # Written always, counted if wanted: about half of them are, and a branch took three times as long.
                bound = parts[at, 0] * x + parts[at, 1] * min(reach, best[who[at, BEHIND]])
                found[n], bounds[n] = who[at, SLOT], bound
                n += bound >= 1.0
        for i in range(n_found, n):
            slot = found[i]
            found[n_found] = slot
            n_found += (mark[slot] != serial) & (bounds[i] >= least[slot])
            mark[slot] = serial
    return n_found


@inlined
def _find(index: SparseLists, row: int, norm: float, reading: SparseWorkspace) -> int:
    """Write down the slots to score for a publication; returns how many."""
    home, everywhere, found, n_found = index.homes.home, index.everywhere, reading.found, index.n_everywhere[0]
    if 0.0 < norm < SAFE:
        n_found = 0
        for slot in range(len(home)):
            if home[slot] != ABSENT:
                found[n_found] = slot
                n_found += 1
        return n_found
    for i in range(n_found):
        found[i] = everywhere[i]
    if norm == 0.0:
        return n_found
    _measure(row, norm, reading)
    reading.serial[0] += 1
    return _walk(index, row, n_found, reading)


@inlined
def _score(
    index: SparseLists, n_found: int, publication: int, norm: float, reading: SparseWorkspace, into: Candidates
) -> int:
    """Score the slots found; returns how many candidates there are then, written down as far as there is room."""
    vectors, gate, dense, slots = index.vectors, index.homes.gate, reading.dense, reading.found
    start, n_entries, own_norm, dim, value = vectors.start, vectors.n_entries, vectors.norm, vectors.dim, vectors.value
    into_slot, into_publication, into_directed = into.slot, into.publication, into.directed
    n, room = into.length[0], len(into_slot)
    for i in range(n_found):
        slot = slots[i]
        total = 0.0
        for at in range(start[slot], start[slot] + n_entries[slot]):
            total += value[at] * dense[dim[at]]
        lengths = own_norm[slot] * norm
        directed = -(total / lengths) if lengths > 0.0 else -0.0
        if n < room:
            into_slot[n], into_publication[n], into_directed[n] = slot, publication, directed
        n += (directed <= gate[slot]) & (directed != np.inf)
    return n


@inlined
def _spread(row: int, reading: SparseWorkspace, is_wanted: bool) -> None:
    """Write a publication's numbers at their dimensions, or take them back."""
    dense, dim, value = reading.dense, reading.dim[row], reading.value[row]
    for k in range(reading.n[row]):
        dense[dim[k]] = value[k] if is_wanted else 0.0


@kernel
def match(index: SparseLists, contents: Contents, lo: int, hi: int, reading: SparseWorkspace, into: Candidates) -> int:
    """Find the slots that publications lo to hi pass the gates of; returns the first one that there was no room for."""
    order, norms, seen = index.order, contents.norm, index.order.seen
    for first in range(lo, hi, TILE):
        end = min(first + TILE, hi)
        _read(contents.point, first, end, order.dims, reading)
        for row in range(end - first):
            norm = norms[first + row]
            n_found = _find(index, row, norm, reading)
            _spread(row, reading, True)
            n = _score(index, n_found, first + row, norm, reading, into)
            _spread(row, reading, False)
            if n > len(into.slot):
                return first + row
            into.length[0] = n
            into.counts[0] += n_found
            for k in range(reading.n[row]):
                seen[reading.dim[row, k]] += 1
    return hi


def check_index(index: SparseLists) -> None:
    """Assert the invariants."""
    vectors, homes, lists, order, everywhere, n_everywhere = index
    used = np.flatnonzero(lists.capacity)
    used = used[np.argsort(lists.start[used])]
    assert (lists.start[used][1:] >= (lists.start + lists.capacity)[used][:-1]).all()
    assert (lists.start + lists.capacity).max() <= lists.end[0] <= len(lists.who)
    assert np.array_equal(np.sort(order.dims), np.arange(len(order.dims)))
    assert set(everywhere[: n_everywhere[0]].tolist()) == set(np.flatnonzero(homes.home == EVERYWHERE).tolist())
    assert lists.length.sum() == homes.n_listed.sum()
    assert (homes.n_listed[homes.home != LISTED] == 0).all()
    for slot in np.flatnonzero(homes.home != ABSENT).tolist():
        assert homes.low[slot] <= -homes.gate[slot] <= homes.high[slot]
        _check_row(vectors, order, slot)
        if homes.home[slot] == EVERYWHERE:
            assert everywhere[homes.seat[slot]] == slot
        if homes.home[slot] == LISTED:
            _check_listed(vectors, homes, lists, slot)


def _check_row(vectors: Vectors, order: Order, slot: int) -> None:
    row = slice(vectors.start[slot], vectors.start[slot] + vectors.n_entries[slot])
    rank = np.argsort(order.dims)
    assert (np.diff(vectors.dim[row]) > 0).all()
    assert (vectors.value[row] != 0.0).all()
    assert np.array_equal(vectors.order[row], np.argsort(rank[vectors.dim[row]]))
    assert (np.diff(vectors.tail[row]) <= 0.0).all()


def _check_listed(vectors: Vectors, homes: Homes, lists: SparsePostings, slot: int) -> None:
    start, bar = int(vectors.start[slot]), homes.bar[slot]
    tails = vectors.tail[start : start + vectors.n_entries[slot]]
    assert bar < homes.low[slot]
    assert homes.n_listed[slot] == (tails >= bar).sum() > 0
    for k in range(homes.n_listed[slot]):
        of = _list_of(vectors.dim[start + vectors.order[start + k]], tails[k], bar)
        spot = vectors.spot[start + k]
        at = lists.start[of] + spot
        assert spot < lists.length[of]
        assert lists.who[at].tolist() == [slot, k, min(len(tails) - k - 1, N_LARGEST + 1)]
        assert lists.parts[at, 1] == (tails[k + 1] / bar if k + 1 < len(tails) else 0.0)
