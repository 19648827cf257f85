"""IGPT, the subscription index of the Skype paper: inverted files in the leaves of a quadtree, pruned one by one and in
groups.

A subscription s wants scores of at least theta = -gate, the paper's kScore. Given an upper bound on how near a message
m can be, that is a lower bound on their textual similarity, lambda_T (equation 4):

    lambda_T = kScore* - alpha* · near,    kScore* = theta / (1 - alpha),    alpha* = alpha / (1 - alpha)

Words have one order, larger codes first. wtsum(s.w) is the sum of s's weights from word w on, maxwt(s.w) the largest of
them; m's likewise. The list of a word in a leaf is divided into groups by alpha, and a group is sorted by kScore*, then
by slot. Each entry has the largest maxwt and alpha* of itself and those behind it in its group, so those of the first
entry are the group's own, and a bound that fails at an entry fails at all behind it (Theorems 3 and 4).

Nobody lies beyond the rim of the bounds, so the rim is not among the boundaries of the inner spatial bound.
Algorithm 1, which goes through the lists for a message, is in `dissemination`.

Rounding: theta is taken SLACK lower in every bound, weights are at most HEAVIEST, and numbers of entries are rounded to
the safe side. Divisors are at least SMALLEST, which weakens a bound where it prunes and changes nothing where not.

Invariants: a seated slot has one entry for each of its terms, in the list of its known leaf and that term; lists have
no entry twice and are not empty; a list lies in `table` at its hash or behind it with no gap between, and in the chain
of its term; SPAN is the length of the group at its first entry and 0 elsewhere; suffix maxima are exact; rooms, used or
free, do not overlap; `least` of a leaf is at most the lambda_S (equation 10) of its slots, and equal to the least one
unless the leaf is `stale`.
"""

from typing import NamedTuple

import numpy as np

from skyband.geotext.kernels.quadtree import (
    CHILD,
    COUNT,
    FIRST,
    LEAF,
    N_NODES,
    NOWHERE,
    QuadTree,
    TreePlaces,
    depth_within,
)
from skyband.kernels.array import Bools, Float32s, Floats, Int8s, Int32s, Int64s
from skyband.kernels.compile import inlined, kernel

SLACK = 1e-9
HEAVIEST = 1.0 + 1e-5
SMALLEST = 1e-9
# Larger numbers are cut to this: it is beyond any bound, and far from what float32 cannot hold.
HUGE = 1e37
ULP = 2.0**-23

# Columns of `gauge`.
ALPHA = 0
GATE = 1
INNER = 2

# Columns of `head`.
OF_LEAF = 0
TERM = 1
START = 2
LENGTH = 3
ROOM = 4
AFTER = 5
BEFORE = 6

# Columns of `who`.
SLOT = 0
SPAN = 1

# Columns of `parts`. wtsum(s.w) is WT + BEHIND, maxwt(s.w) the larger of WT and MAX_BEHIND.
WT = 0
BEHIND = 1
MAX_BEHIND = 2
NEED = 3
ALPHA_STAR = 4
TOP_WT = 5
TOP_ALPHA = 6

# Places of `used`.
POOL_END = 0
N_HEADS = 1
FREE_HEAD = 2
N_FREE_HEADS = 3

# Rooms are 1, 2, 3, 4, 6, 8, 12, ...
N_CLASSES = 64
NO_LIST = -1


class Asks(NamedTuple):
    """What subscriptions ask, by slot; `span` is where its terms start in the pool of `terms` and how many they are.

    `gauge` is ALPHA, GATE and INNER, the distance to the nearest place outside of the leaf.
    """

    gauge: Floats
    span: Int32s
    group: Int8s
    terms: Int64s
    weights: Floats


class IgptLists(NamedTuple):
    """`head` has a row for each list, `table` finds it by leaf and term, `chain` is the first list of each term.

    `who` and `parts` are the pool of entries; `free` heads the free rooms by class.
    """

    head: Int32s
    table: Int32s
    chain: Int32s
    who: Int32s
    parts: Float32s
    free: Int64s
    used: Int64s


class Igpt(NamedTuple):
    """All that is kept of subscriptions; `least` and `stale` are by node of the tree."""

    tree: QuadTree
    seats: TreePlaces
    asks: Asks
    lists: IgptLists
    least: Floats
    stale: Bools


def make_lists(n_lists: int, n_terms: int, n_entries: int) -> IgptLists:
    """No lists, and room for so many, of so many terms, with so many entries in all."""
    return IgptLists(
        head=np.zeros((n_lists, 7), np.int32),
        table=np.full(1 << max(4, int(2 * n_lists).bit_length()), NO_LIST, np.int32),
        chain=np.full(n_terms, NO_LIST, np.int32),
        who=np.zeros((n_entries, 2), np.int32),
        parts=np.zeros((n_entries, 7), np.float32),
        free=np.full(N_CLASSES, -1, np.int64),
        used=np.array([0, 0, NO_LIST, 0]),
    )


@inlined
def theta_of(gate: float) -> float:
    """The score that a bound has to reach."""
    return -gate - SLACK


@inlined
def text_need(theta: float, alpha: float, near: float) -> float:
    """lambda_T, the least similarity of words that can do for somebody so near (equation 4)."""
    return (theta - alpha * near) / max(1.0 - alpha, SMALLEST)


@inlined
def place_need(theta: float, alpha: float) -> float:
    """lambda_S, the least nearness that can do, however similar the words are (equation 10)."""
    return (theta - (1.0 - alpha) * HEAVIEST) / max(alpha, SMALLEST)


@inlined
def near_bound(inner: float, outer: float, diagonal: float) -> float:
    """SSimUB: how near two places on both sides of a boundary can be."""
    return max(1.0 - (inner + outer) / diagonal, 0.0)


@inlined
def unseen_bound(wtsum_s: float, maxwt_m: float, wtsum_m: float, maxwt_s: float) -> float:
    """TSimUB: how similar the words that are left can be (equation 7)."""
    return min(wtsum_s * maxwt_m, wtsum_m * maxwt_s)


@inlined
def is_in_prefix(wtsum_s: float, cap: float, need: float) -> bool:
    """Whether a word is in the location-aware prefix, with `cap` the largest weight of the message (Theorem 1)."""
    return cap * wtsum_s >= need


@inlined
def is_hopeless(maxwt: float, wtsum_m: float, needed: float, alpha_star: float, reach: float) -> bool:
    """Whether a group, or what is left of one, cannot have enough in common with a message (Theorems 3 and 4)."""
    return maxwt * wtsum_m < needed - alpha_star * reach


@inlined
def rounded_up(x: float) -> np.float32:
    """A float32 that is no less, and no infinity."""
    x = min(max(x, -HUGE), HUGE)
    return np.float32(x + abs(x) * ULP + 1.0 / HUGE)


@inlined
def rounded_down(x: float) -> np.float32:
    """A float32 that is no greater, and no infinity."""
    x = min(max(x, -HUGE), HUGE)
    return np.float32(x - abs(x) * ULP - 1.0 / HUGE)


@inlined
def k_score_star(gate: float, alpha: float) -> np.float32:
    """kScore* of an entry."""
    return rounded_down(text_need(theta_of(gate), alpha, 0.0))


@inlined
def _room_of(room_class: int) -> int:
    if room_class == 0:
        return 1
    return (2 if room_class % 2 == 1 else 3) << ((room_class - 1) // 2)


@inlined
def class_for(length: int) -> int:
    """The class of the smallest room for this many entries."""
    room_class = 0
    while _room_of(room_class) < length:
        room_class += 1
    return room_class


@inlined
def _hash(leaf: int, term: int) -> int:
    # Odd multipliers below 2**31 and a fold, so that no product overflows and all bits reach the low ones.
    code = (int(leaf) * 1640531527) ^ (int(term) * 1274126177)
    return code ^ (code >> 29)


@inlined
def _place_of(lists: IgptLists, leaf: int, term: int) -> int:
    """Where in the table the list is, or could be."""
    table, head = lists.table, lists.head
    mask = len(table) - 1
    place = _hash(leaf, term) & mask
    while table[place] != NO_LIST and (head[table[place], OF_LEAF] != leaf or head[table[place], TERM] != term):
        place = (place + 1) & mask
    return place


@kernel
def find_list(lists: IgptLists, leaf: int, term: int) -> int:
    """The list of a term in a leaf, or NO_LIST."""
    return lists.table[_place_of(lists, leaf, term)]


@inlined
def _take_room(lists: IgptLists, length: int) -> tuple[int, int]:
    """A room for so many entries, which there is: where it starts and how many it has."""
    room_class = class_for(length)
    start, room = lists.free[room_class], _room_of(room_class)
    if start >= 0:
        lists.free[room_class] = lists.who[start, SLOT]
    else:
        start = lists.used[POOL_END]
        lists.used[POOL_END] += room
    return start, room


@inlined
def _free_room(lists: IgptLists, start: int, room: int) -> None:
    room_class = class_for(room)
    lists.who[start, SLOT] = lists.free[room_class]
    lists.free[room_class] = start


@kernel
def _make_list(lists: IgptLists, place: int, leaf: int, term: int) -> int:
    """A list with room for one entry, at a place of the table that is free."""
    head, chain, used = lists.head, lists.chain, lists.used
    of = used[FREE_HEAD]
    if of == NO_LIST:
        of = used[N_HEADS]
        used[N_HEADS] += 1
    else:
        used[FREE_HEAD] = head[of, AFTER]
        used[N_FREE_HEADS] -= 1
    start, room = _take_room(lists, 1)
    head[of, OF_LEAF], head[of, TERM], head[of, START], head[of, LENGTH], head[of, ROOM] = leaf, term, start, 0, room
    head[of, BEFORE], head[of, AFTER] = NO_LIST, chain[term]
    if chain[term] != NO_LIST:
        head[chain[term], BEFORE] = of
    chain[term] = lists.table[place] = of
    return of


@inlined
def _close_gap(lists: IgptLists, gap: int) -> None:
    """Empty a place of the table, and move up what would not be found across it."""
    table, head = lists.table, lists.head
    mask = len(table) - 1
    at = (gap + 1) & mask
    while table[at] != NO_LIST:
        ideal = _hash(head[table[at], OF_LEAF], head[table[at], TERM]) & mask
        if (at - ideal) & mask >= (at - gap) & mask:
            table[gap], gap = table[at], at
        at = (at + 1) & mask
    table[gap] = NO_LIST


@kernel
def _drop_list(lists: IgptLists, place: int) -> None:
    """Give up the list at a place of the table, with all that is in it."""
    head, chain, used, of = lists.head, lists.chain, lists.used, lists.table[place]
    before, after = head[of, BEFORE], head[of, AFTER]
    if before == NO_LIST:
        chain[head[of, TERM]] = after
    else:
        head[before, AFTER] = after
    if after != NO_LIST:
        head[after, BEFORE] = before
    _free_room(lists, head[of, START], head[of, ROOM])
    _close_gap(lists, place)
    head[of, LENGTH], head[of, AFTER] = 0, used[FREE_HEAD]
    used[FREE_HEAD] = of
    used[N_FREE_HEADS] += 1


@inlined
def _copy_entry(who: Int32s, parts: Float32s, at: int, to_who: Int32s, to_parts: Float32s, to: int) -> None:
    for j in range(2):
        to_who[to, j] = who[at, j]
    for j in range(7):
        to_parts[to, j] = parts[at, j]


@kernel
def _lengthen(lists: IgptLists, of: int) -> None:
    """Move a full list to a larger room."""
    head, who, parts = lists.head, lists.who, lists.parts
    old, length = head[of, START], head[of, LENGTH]
    start, room = _take_room(lists, length + 1)
    for i in range(length):
        _copy_entry(who, parts, old + i, who, parts, start + i)
    _free_room(lists, old, head[of, ROOM])
    head[of, START], head[of, ROOM] = start, room


@inlined
def _find_group(lists: IgptLists, groups: Int8s, of: int, group: int) -> tuple[int, int]:
    """Where a group of a list starts, or would, and how many entries it has."""
    who, at = lists.who, lists.head[of, START]
    end = at + lists.head[of, LENGTH]
    while at < end and groups[who[at, SLOT]] < group:
        at += who[at, SPAN]
    return at, who[at, SPAN] if at < end and groups[who[at, SLOT]] == group else 0


@inlined
def _find_entry(lists: IgptLists, first: int, n: int, need: np.float32, slot: int) -> int:
    """Where an entry is in a group, or would be."""
    who, parts, lo, hi = lists.who, lists.parts, first, first + n
    while lo < hi:
        middle = (lo + hi) // 2
        other = parts[middle, NEED]
        if other < need or (other == need and who[middle, SLOT] < slot):
            lo = middle + 1
        else:
            hi = middle
    return lo


@kernel
def _repair(parts: Float32s, first: int, end: int, low: int, high: int) -> None:
    """Make the suffix maxima of a group right that are wrong from `low` to `high`, and so perhaps before."""
    for at in range(high, first - 1, -1):
        wt, alpha = max(parts[at, WT], parts[at, MAX_BEHIND]), parts[at, ALPHA_STAR]
        if at + 1 < end:
            wt, alpha = max(wt, parts[at + 1, TOP_WT]), max(alpha, parts[at + 1, TOP_ALPHA])
        if at < low and parts[at, TOP_WT] == wt and parts[at, TOP_ALPHA] == alpha:
            return
        parts[at, TOP_WT], parts[at, TOP_ALPHA] = wt, alpha


@inlined
def _write_entry(asks: Asks, slot: int, term_at: int, parts: Float32s, at: int) -> None:
    """Write the numbers of an entry that depend on its subscription alone."""
    terms, weights, start = asks.terms, asks.weights, asks.span[slot, 0]
    behind, largest = 0.0, 0.0
    for other in range(start, start + asks.span[slot, 1]):
        if terms[other] < terms[term_at]:
            behind += weights[other]
            largest = max(largest, weights[other])
    alpha, gate = asks.gauge[slot, ALPHA], asks.gauge[slot, GATE]
    parts[at, WT], parts[at, BEHIND] = rounded_up(weights[term_at]), rounded_up(behind)
    parts[at, MAX_BEHIND], parts[at, NEED] = rounded_up(largest), k_score_star(gate, alpha)
    parts[at, ALPHA_STAR] = rounded_up(alpha / max(1.0 - alpha, SMALLEST))


@kernel
def _insert(lists: IgptLists, asks: Asks, of: int, slot: int, term_at: int) -> None:
    """Put an entry into a list; the pool has room for it."""
    head, who, parts = lists.head, lists.who, lists.parts
    if head[of, LENGTH] == head[of, ROOM]:
        _lengthen(lists, of)
    end = head[of, START] + head[of, LENGTH]
    first, n = _find_group(lists, asks.group, of, asks.group[slot])
    need = k_score_star(asks.gauge[slot, GATE], asks.gauge[slot, ALPHA])
    at = _find_entry(lists, first, n, need, slot)
    if n > 0:
        who[first, SPAN] = 0
    for to in range(end, at, -1):
        _copy_entry(who, parts, to - 1, who, parts, to)
    who[at, SLOT], who[at, SPAN] = slot, 0
    who[first, SPAN] = n + 1
    _write_entry(asks, slot, term_at, parts, at)
    head[of, LENGTH] += 1
    _repair(parts, first, first + n + 1, at, at)


@kernel
def _delete(lists: IgptLists, asks: Asks, of: int, slot: int) -> None:
    """Take an entry out of a list, and leave the list, be it empty."""
    head, who, parts = lists.head, lists.who, lists.parts
    end = head[of, START] + head[of, LENGTH]
    first, n = _find_group(lists, asks.group, of, asks.group[slot])
    need = k_score_star(asks.gauge[slot, GATE], asks.gauge[slot, ALPHA])
    at = _find_entry(lists, first, n, need, slot)
    for to in range(at, end - 1):
        _copy_entry(who, parts, to + 1, who, parts, to)
    head[of, LENGTH] -= 1
    if n > 1:
        who[first, SPAN] = n - 1
        _repair(parts, first, first + n - 1, at, at - 1)


@kernel
def _shift(lists: IgptLists, asks: Asks, of: int, slot: int, need: np.float32) -> None:
    """Move an entry to where it belongs with another kScore*; the slot still has the gate of the old one."""
    who, parts = lists.who, lists.parts
    first, n = _find_group(lists, asks.group, of, asks.group[slot])
    old = k_score_star(asks.gauge[slot, GATE], asks.gauge[slot, ALPHA])
    at, to = _find_entry(lists, first, n, old, slot), _find_entry(lists, first, n, need, slot)
    wt, behind, largest, alpha = parts[at, WT], parts[at, BEHIND], parts[at, MAX_BEHIND], parts[at, ALPHA_STAR]
    who[first, SPAN] = 0
    if to > at:
        to -= 1
        for i in range(at, to):
            _copy_entry(who, parts, i + 1, who, parts, i)
    else:
        for i in range(at, to, -1):
            _copy_entry(who, parts, i - 1, who, parts, i)
    who[to, SLOT] = slot
    parts[to, WT], parts[to, BEHIND], parts[to, MAX_BEHIND], parts[to, ALPHA_STAR] = wt, behind, largest, alpha
    parts[to, NEED] = need
    who[first, SPAN] = n
    _repair(parts, first, first + n, min(at, to), max(at, to))


@inlined
def _has_room(index: Igpt, slot: int) -> bool:
    """Whether there is certainly room to list a slot."""
    lists, asks, n_places = index.lists, index.asks, 0
    head, used, start, n_terms = lists.head, lists.used, asks.span[slot, 0], asks.span[slot, 1]
    for at in range(start, start + n_terms):
        of = find_list(lists, index.seats.leaf[slot], asks.terms[at])
        length = head[of, LENGTH] if of != NO_LIST else 0
        if of == NO_LIST or length == head[of, ROOM]:
            n_places += _room_of(class_for(length + 1))
    # The table has more than twice as many places as there are heads.
    is_headed = used[N_HEADS] - used[N_FREE_HEADS] + n_terms <= len(head)
    return is_headed and used[POOL_END] + n_places <= len(lists.who)


@kernel
def enlist(slots: Int64s, done: int, index: Igpt) -> int:
    """List slots under their terms in their leaves, from `slots[done]` on; returns how many are.

    Not all are when there may be no room for the next one.
    """
    lists, asks, seats, tree = index.lists, index.asks, index.seats, index.tree
    for i in range(done, len(slots)):
        slot = slots[i]
        if not _has_room(index, slot):
            return i
        leaf = seats.leaf[slot]
        for at in range(asks.span[slot, 0], asks.span[slot, 0] + asks.span[slot, 1]):
            place = _place_of(lists, leaf, asks.terms[at])
            of = lists.table[place]
            if of == NO_LIST:
                of = _make_list(lists, place, leaf, asks.terms[at])
            _insert(lists, asks, of, slot, at)
        seats.known[slot] = leaf
        asks.gauge[slot, INNER] = depth_within(tree, leaf, seats.place[slot, 0], seats.place[slot, 1])
        index.least[leaf], index.stale[leaf] = -np.inf, True
    return len(slots)


@kernel
def abandon(slots: Int64s, index: Igpt) -> None:
    """Drop the lists of leaves that are leaves no more, given all slots they are known to hold."""
    lists, asks, known = index.lists, index.asks, index.seats.known
    for slot in slots:
        if known[slot] == NOWHERE:
            continue
        for at in range(asks.span[slot, 0], asks.span[slot, 0] + asks.span[slot, 1]):
            place = _place_of(lists, known[slot], asks.terms[at])
            if lists.table[place] != NO_LIST:
                _drop_list(lists, place)


@inlined
def _lambda_s(asks: Asks, slot: int) -> float:
    return place_need(theta_of(asks.gauge[slot, GATE]), asks.gauge[slot, ALPHA])


@kernel
def delist(slots: Int64s, index: Igpt) -> None:
    """Take slots out of their lists."""
    lists, asks, known = index.lists, index.asks, index.seats.known
    for slot in slots:
        leaf = known[slot]
        for at in range(asks.span[slot, 0], asks.span[slot, 0] + asks.span[slot, 1]):
            place = _place_of(lists, leaf, asks.terms[at])
            of = lists.table[place]
            _delete(lists, asks, of, slot)
            if lists.head[of, LENGTH] == 0:
                _drop_list(lists, place)
        known[slot] = NOWHERE
        index.stale[leaf] |= _lambda_s(asks, slot) == index.least[leaf]


@kernel
def adjust(slots: Int64s, gates: Floats, index: Igpt) -> None:
    """Set the gates of slots."""
    lists, asks, least, stale = index.lists, index.asks, index.least, index.stale
    gauge = asks.gauge
    for i in range(len(slots)):
        slot = slots[i]
        leaf, before = index.seats.known[slot], _lambda_s(asks, slot)
        need = k_score_star(gates[i], gauge[slot, ALPHA])
        if need != k_score_star(gauge[slot, GATE], gauge[slot, ALPHA]):
            for at in range(asks.span[slot, 0], asks.span[slot, 0] + asks.span[slot, 1]):
                _shift(lists, asks, find_list(lists, leaf, asks.terms[at]), slot, need)
        gauge[slot, GATE] = gates[i]
        after = _lambda_s(asks, slot)
        stale[leaf] |= (before == least[leaf]) & (after > before)
        least[leaf] = min(least[leaf], after)


@inlined
def refresh(index: Igpt) -> None:
    """Find the least lambda_S of the leaves where it may have risen."""
    node, after, least, stale = index.tree.node, index.seats.after, index.least, index.stale
    for leaf in range(index.tree.used[N_NODES]):
        if stale[leaf]:
            lowest, slot = np.inf, node[leaf, FIRST]
            for _ in range(node[leaf, COUNT]):
                lowest = min(lowest, _lambda_s(index.asks, slot))
                slot = after[slot]
            least[leaf], stale[leaf] = lowest, False


@kernel
def open_lists(terms: Int64s, leaves: Int64s, lengths: Int64s, lists: IgptLists) -> None:
    """Make empty lists with room for so many entries each; there is none yet, and they come by term, then by leaf.

    A message then goes through the memory in order: on 100,000 subscriptions it takes half the time.
    """
    head, chain, end = lists.head, lists.chain, 0
    for of in range(len(terms)):
        leaf, term, room = leaves[of], terms[of], _room_of(class_for(lengths[of]))
        lists.table[_place_of(lists, leaf, term)] = of
        head[of, OF_LEAF], head[of, TERM], head[of, START], head[of, LENGTH], head[of, ROOM] = leaf, term, end, 0, room
        head[of, BEFORE] = head[of, AFTER] = NO_LIST
        if chain[term] == NO_LIST:
            chain[term] = of
        else:
            head[of, BEFORE], head[of - 1, AFTER] = of - 1, of
        end += room
    lists.used[POOL_END], lists.used[N_HEADS] = end, len(terms)


@kernel
def pour(source: IgptLists, order: Int64s, into: IgptLists) -> None:
    """Fill lists that have just been opened, of which the i-th was the `order[i]`-th."""
    for i in range(len(order)):
        start, length, to = source.head[order[i], START], source.head[order[i], LENGTH], into.head[i, START]
        for j in range(length):
            _copy_entry(source.who, source.parts, start + j, into.who, into.parts, to + j)
        into.head[i, LENGTH] = length


@kernel
def total_room(lengths: Int64s) -> int:
    """How many places of the pool lists of these lengths take in the smallest rooms that will do."""
    total = 0
    for length in lengths:
        total += _room_of(class_for(length))
    return total


def check_lists(index: Igpt) -> None:
    """Assert the invariants of the lists and of what is kept by slot and by leaf; see `check_tree` for the tree."""
    lists, seats, asks = index.lists, index.seats, index.asks
    seated = np.flatnonzero(seats.leaf != NOWHERE)
    assert np.array_equal(seats.known[seated], seats.leaf[seated])
    assert (seats.known[seats.leaf == NOWHERE] == NOWHERE).all()
    live = np.flatnonzero(lists.head[: lists.used[N_HEADS], LENGTH])
    assert lists.head[live, LENGTH].sum() == asks.span[seated, 1].sum()
    _check_heads(lists, live)
    _check_rooms(lists, live)
    for of in live.tolist():
        _check_list(index, of)
    for slot in seated.tolist():
        x, y, leaf = float(seats.place[slot, 0]), float(seats.place[slot, 1]), int(seats.leaf[slot])
        assert asks.gauge[slot, INNER] == depth_within(index.tree, leaf, x, y)
        assert index.tree.node[leaf, CHILD] == LEAF
        assert index.least[leaf] <= _lambda_s(asks, slot)
    for leaf in np.unique(seats.leaf[seated]).tolist():
        if not index.stale[leaf]:
            assert index.least[leaf] == min(
                _lambda_s(asks, slot) for slot in np.flatnonzero(seats.leaf == leaf).tolist()
            )


def _check_heads(lists: IgptLists, live: Int64s) -> None:
    """Every list is found by its key and is in the chain of its term, nothing else is, and the others are free."""
    for of in live.tolist():
        assert find_list(lists, int(lists.head[of, OF_LEAF]), int(lists.head[of, TERM])) == of
    assert sorted(lists.table[lists.table != NO_LIST].tolist()) == live.tolist()
    chained = []
    for term, first in enumerate(lists.chain.tolist()):
        of, before = first, NO_LIST
        while of != NO_LIST:
            assert lists.head[of, TERM] == term
            assert lists.head[of, BEFORE] == before
            chained.append(of)
            of, before = int(lists.head[of, AFTER]), of
    assert sorted(chained) == live.tolist()
    free, of = [], int(lists.used[FREE_HEAD])
    while of != NO_LIST:
        free.append(of)
        of = int(lists.head[of, AFTER])
    assert len(free) == lists.used[N_FREE_HEADS]
    assert sorted(free + live.tolist()) == list(range(lists.used[N_HEADS]))
    assert 2 * len(lists.head) < len(lists.table)


def _check_rooms(lists: IgptLists, live: Int64s) -> None:
    """Rooms in use and free ones fill the pool up to its end."""
    rooms = [(int(row[START]), int(row[ROOM])) for row in lists.head[live]]
    assert (lists.head[live, LENGTH] <= lists.head[live, ROOM]).all()
    for room_class, first in enumerate(lists.free.tolist()):
        start = first
        while start >= 0:
            rooms.append((start, _room_of(room_class)))
            start = int(lists.who[start, SLOT])
    end = 0
    for start, room in sorted(rooms):
        assert start == end
        end += room
    assert end == lists.used[POOL_END] <= len(lists.who)


def _check_list(index: Igpt, of: int) -> None:
    lists, asks = index.lists, index.asks
    leaf, term, start, length = lists.head[of, :4].tolist()
    slots = lists.who[start : start + length, SLOT]
    assert len(set(slots.tolist())) == length
    assert (index.seats.leaf[slots] == leaf).all()
    assert (np.diff(asks.group[slots]) >= 0).all()
    row = np.zeros((1, 7), np.float32)
    for at in range(start, start + length):
        slot = int(lists.who[at, SLOT])
        term_start, n_terms = asks.span[slot].tolist()
        term_at = term_start + asks.terms[term_start : term_start + n_terms].tolist().index(term)
        _write_entry(asks, slot, term_at, row, 0)
        assert np.array_equal(lists.parts[at, :TOP_WT], row[0, :TOP_WT])
    for group in np.unique(asks.group[slots]).tolist():
        its = start + np.flatnonzero(asks.group[slots] == group)
        assert lists.who[its, SPAN].tolist() == [len(its)] + [0] * (len(its) - 1)
        keys = [(float(lists.parts[at, NEED]), int(lists.who[at, SLOT])) for at in its]
        assert keys == sorted(keys)
        parts = lists.parts[its]
        tops = np.maximum.accumulate(np.maximum(parts[:, WT], parts[:, MAX_BEHIND])[::-1])[::-1]
        assert np.array_equal(parts[:, TOP_WT], tops)
        assert np.array_equal(parts[:, TOP_ALPHA], np.maximum.accumulate(parts[:, ALPHA_STAR][::-1])[::-1])
