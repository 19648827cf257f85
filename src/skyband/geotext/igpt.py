"""IGPT: an index of subscriptions by place and words, the one of the Skype paper.

See `skyband.geotext.kernels.igpt` for how it works. A message costs a look at each leaf, a search in each group of the
lists of its words, and a look at each entry that group pruning leaves. A gate that moves costs the move of an entry
within its group, for each term. Groups are quantiles of alpha, fitted again when there are twice as many subscriptions;
everything is listed anew then, so that a million at once are listed in sorted order.

Top-k Spatial-keyword Publish/Subscribe Over Sliding Window (Wang, Zhang, Zhang, Lin, Huang; VLDB 2016), section 5.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from skyband.geotext.kernels.dissemination import (
    N_TALLY,
    VERIFIED,
    DisseminationWorkspace,
    MessageWords,
    Prunings,
    Similarities,
    extent_of,
    match,
)
from skyband.geotext.kernels.igpt import (
    ALPHA,
    GATE,
    LENGTH,
    N_HEADS,
    OF_LEAF,
    TERM,
    Asks,
    Igpt,
    IgptLists,
    abandon,
    adjust,
    check_lists,
    delist,
    enlist,
    make_lists,
    open_lists,
    pour,
    total_room,
)
from skyband.geotext.kernels.quadtree import (
    N_MERGES,
    N_SPLITS,
    NOWHERE,
    TreePlaces,
    check_tree,
    make_tree,
    seat,
    unseat,
)
from skyband.kernels.array import Floats, Int64s
from skyband.kernels.growth import BY_AN_EIGHTH, grown, length_for, resized, resized_all
from skyband.kernels.ragged import places_of, starts_of
from skyband.kernels.room import DOUBLINGS, stops
from skyband.kernels.slots import BLOCK
from skyband.table.argument import check_choices, check_integer
from skyband.topk.index import larger
from skyband.topk.kernels.candidate import Candidates
from skyband.topk.kernels.score import Contents, Questions

ALL = frozenset(Prunings._fields)
"""The names of all prunings."""
MOST_GROUPS = 100

_COUNTED = ("cells", "groups", "terminated", "prefix", "unseen", "entries", "verified", "accepted", "leaves")


def _no_index(bounds: tuple[float, float, float, float]) -> Igpt:
    tree = make_tree(bounds)
    n_nodes, none = len(tree.node), np.zeros(0, np.int32)
    return Igpt(
        tree,
        TreePlaces(np.zeros((0, 2)), none, none, none, none),
        Asks(np.zeros((0, 3)), np.zeros((0, 2), np.int32), np.zeros(0, np.int8), np.zeros(0, np.int64), np.zeros(0)),
        make_lists(8, 0, 64),
        np.zeros(n_nodes),
        np.zeros(n_nodes, np.bool_),
    )


def _no_reading() -> DisseminationWorkspace:
    none, numbers = np.zeros(0, np.int32), np.zeros(0)
    return DisseminationWorkspace(
        MessageWords(np.zeros(0, np.int64), numbers, np.zeros(1), np.zeros(1), np.zeros(1)),
        Similarities(none, np.zeros(64, np.int32), np.zeros(64), np.zeros(64), np.zeros(64, np.int32)),
        numbers,
        numbers,
        numbers,
        np.zeros(N_TALLY, np.int64),
        np.zeros(N_TALLY, np.int64),
    )


class IgptIndex:
    """Subscriptions by place and words; `prunings` names the bounds that are used, any of `ALL`."""

    def __init__(
        self,
        bounds: tuple[float, float, float, float],
        capacity: int = 1000,
        groups: int = 10,
        prunings: frozenset[str] = ALL,
    ) -> None:
        check_choices("prunings", prunings, sorted(ALL))
        self.capacity = check_integer("capacity", capacity, 1, 2**31 - 1)
        self.groups = check_integer("groups", groups, 1, MOST_GROUPS)
        self._prunings = Prunings(*(name in prunings for name in Prunings._fields))
        self._index = _no_index(bounds)
        self._reading = _no_reading()
        self._edges = np.zeros(groups - 1)
        self._n_present = 0
        self._n_fitted = 0
        self._n_terms = 0

    @property
    def counters(self) -> dict[str, int]:
        """What each bound has pruned so far, and what was left to do.

        Leaves pruned as `cells`, `groups` skipped, entries cut off as `terminated` or outside of the `prefix`, slots
        given up for their `unseen` words; `entries` visited, pairs `verified` and `accepted`, `leaves` not pruned.
        """
        counted = dict(zip(_COUNTED, self._reading.total.tolist(), strict=True))
        used = self._index.tree.used
        return counted | {"splits": int(used[N_SPLITS]), "merges": int(used[N_MERGES])}

    @property
    def n_bytes(self) -> int:
        tree, seats, asks, lists, least, stale = self._index
        message, found, *others = self._reading
        kept: list[npt.NDArray[Any]] = [*tree, *seats, *asks, *lists, least, stale, self._edges]
        working: list[npt.NDArray[Any]] = [*message, *found, *others]
        return sum(array.nbytes for array in kept + working)

    def add(self, slots: Int64s, questions: Questions, gates: Floats) -> None:
        """Take in new subscriptions."""
        if not len(slots):
            return
        self._reserve_slots(int(slots.max()) + 1)
        self._write(slots, questions, gates)
        self._n_present += len(slots)
        if self._n_present >= 2 * self._n_fitted:
            self._seat(slots)
            self._list_anew()
        else:
            self._relist(self._seat(slots))

    def _write(self, slots: Int64s, questions: Questions, gates: Floats) -> None:
        seats, gauge = self._index.seats, self._index.asks.gauge
        seats.place[slots] = questions.centre[slots // BLOCK, :2, slots % BLOCK]
        seats.known[slots] = NOWHERE
        gauge[slots, ALPHA], gauge[slots, GATE] = questions.alpha[slots], gates
        counts = questions.term_count[slots]
        places = places_of(questions.term_start[slots], counts)
        self._reserve_terms(len(places), int(questions.terms[places].max(initial=-1)) + 1)
        asks, end = self._index.asks, self._n_terms + len(places)
        asks.span[slots] = np.stack([self._n_terms + starts_of(counts), counts], axis=1)
        asks.terms[self._n_terms : end] = questions.terms[places]
        asks.weights[self._n_terms : end] = questions.term_weights[places]
        asks.group[slots] = np.searchsorted(self._edges, questions.alpha[slots], side="right")
        self._n_terms = end

    def _seat(self, slots: Int64s) -> Int64s:
        """Find leaves for slots; returns those whose leaf is another than is known."""
        room = min(self._n_present, len(slots) * (self.capacity + 2))
        moved, n_moved = np.empty(room, np.int64), np.zeros(1, np.int64)

        def seat_from(done: int) -> int:
            return seat(slots, done, self.capacity, *self._index[:2], n_moved, moved)

        for _ in stops(seat_from, len(slots), tries=DOUBLINGS):
            self._enlarge_tree()
        return moved[: n_moved[0]]

    def _relist(self, moved: Int64s) -> None:
        """List slots where they are now."""
        abandon(moved, self._index)
        self._enlist(moved)

    def _enlist(self, slots: Int64s) -> None:
        asks = self._index.asks
        alpha, gate = asks.gauge[slots, ALPHA], asks.gauge[slots, GATE]
        # In the order of the lists, so that most entries are put at the end of a group.
        slots = slots[np.lexsort((-gate / np.maximum(1.0 - alpha, 1e-9), asks.group[slots]))]
        for done in stops(lambda done: enlist(slots, done, self._index), len(slots)):
            self._renew_lists(int(slots[done]))

    def _list_anew(self) -> None:
        """Fit the groups to those present, and list everybody."""
        index, slots = self._index, self._present()
        alphas = index.asks.gauge[slots, ALPHA]
        self._edges = np.quantile(alphas, np.arange(1, self.groups) / self.groups)
        index.asks.group[slots] = np.searchsorted(self._edges, alphas, side="right")
        self._n_fitted = self._n_present
        counts = index.asks.span[slots, 1].astype(np.int64)
        terms = index.asks.terms[places_of(index.asks.span[slots, 0].astype(np.int64), counts)]
        keys, lengths = np.unique(terms << 32 | np.repeat(index.seats.leaf[slots], counts), return_counts=True)
        self._open(keys >> 32, keys & 0xFFFFFFFF, lengths, int(counts.max(initial=0)), 0)
        self._enlist(slots)

    def remove(self, slots: Int64s) -> None:
        """Give up subscriptions."""
        delist(slots, self._index)
        self._n_present -= len(slots)
        moved = np.empty(min(self._n_present, len(slots) * (self.capacity // 2 + 1)), np.int64)
        n_moved = unseat(slots, self.capacity, self._index.tree, self._index.seats, moved)
        self._relist(moved[:n_moved])

    def adjust(self, slots: Int64s, gates: Floats) -> None:
        """Gates have moved."""
        adjust(slots, gates, self._index)

    def route(self, contents: Contents, lo: int, hi: int, into: Candidates, threads: int = 1) -> Candidates:
        """Find every pair of a slot and one of the messages lo to hi that passes its gate."""
        if self._n_present == 0:
            return into
        self._reserve_reading(contents, lo, hi)

        def match_from(done: int) -> int:
            return match(self._index, contents, done, hi, self._prunings, self._reading, into)

        for _ in stops(match_from, hi, lo, DOUBLINGS):
            # It stopped before it had verified anything, or when there was no room for what passed.
            if self._reading.tally[VERIFIED] == 0:
                self._enlarge_found()
            else:
                into = larger(into)
        return into

    def _present(self) -> Int64s:
        return np.flatnonzero(self._index.seats.leaf != NOWHERE)

    def _reserve_slots(self, n_slots: int) -> None:
        seats, asks, have = self._index.seats, self._index.asks, len(self._index.seats.leaf)
        if n_slots <= have:
            return
        n = length_for(n_slots, have, BY_AN_EIGHTH)
        leaf, known = resized(seats.leaf, n, NOWHERE), resized(seats.known, n, NOWHERE)
        seats = resized_all(seats, n, ("place", "after", "before"))._replace(leaf=leaf, known=known)
        asks = resized_all(asks, n, ("gauge", "span", "group"))
        self._index = self._index._replace(seats=seats, asks=asks)
        found = self._reading.found
        self._reading = self._reading._replace(found=found._replace(mark=resized(found.mark, n)))

    def _reserve_terms(self, n: int, vocabulary: int) -> None:
        """Make room for terms, and lay those in use end to end when it has run out."""
        asks, lists = self._index.asks, self._index.lists
        chain = grown(lists.chain, vocabulary, -1, BY_AN_EIGHTH)
        self._index = self._index._replace(lists=lists._replace(chain=chain))
        if self._n_terms + n <= len(asks.terms):
            return
        slots = self._present()
        counts = asks.span[slots, 1].astype(np.int64)
        places = places_of(asks.span[slots, 0].astype(np.int64), counts)
        asks.span[slots, 0] = starts_of(counts)
        self._n_terms = len(places)
        length = length_for(len(places) + n, len(places), BY_AN_EIGHTH)
        terms, weights = resized(asks.terms[places], length), resized(asks.weights[places], length)
        self._index = self._index._replace(asks=asks._replace(terms=terms, weights=weights))

    def _enlarge_tree(self) -> None:
        tree, n = self._index.tree, 2 * len(self._index.tree.node)
        tree = resized_all(tree, n, ("node", "box", "middle", "is_live"))
        self._index = resized_all(self._index, n, ("least", "stale"))._replace(tree=tree)

    def _renew_lists(self, slot: int) -> None:
        """Lay the lists out anew, with an eighth to spare, and room for one more slot."""
        old, n_terms = self._index.lists, int(self._index.asks.span[slot, 1])
        order = np.flatnonzero(old.head[: old.used[N_HEADS], LENGTH])
        order = order[np.lexsort((old.head[order, OF_LEAF], old.head[order, TERM]))]
        leaves, terms, _, lengths = old.head[order, :4].astype(np.int64).T.copy()
        # A room is less than half as long again as what is in it.
        n_places = 2 * n_terms * (int(lengths.max(initial=0)) + 1)
        pour(old, order, self._open(terms, leaves, lengths, n_terms, n_places))

    def _open(self, terms: Int64s, leaves: Int64s, lengths: Int64s, n_lists: int, n_places: int) -> IgptLists:
        """Lists with room for so many entries each, as yet with none; and room for more lists and entries."""
        n, room = len(terms), total_room(lengths)
        lists = make_lists(n + n // 8 + n_lists, len(self._index.lists.chain), room + room // 8 + n_places)
        open_lists(terms, leaves, lengths, lists)
        self._index = self._index._replace(lists=lists)
        return lists

    def _reserve_reading(self, contents: Contents, lo: int, hi: int) -> None:
        message, _, said, *_ = self._reading
        n_nodes = len(self._index.tree.node)
        n_words, above = extent_of(contents, lo, hi)
        vocabulary = max(above, len(self._index.lists.chain))
        if vocabulary > len(said):
            self._reading = self._reading._replace(said=np.zeros(length_for(vocabulary, len(said), BY_AN_EIGHTH)))
        if n_nodes > len(self._reading.reach):
            self._reading = self._reading._replace(reach=np.zeros(n_nodes), far=np.zeros(n_nodes))
        if n_words > len(message.word):
            sums = (np.zeros(n_words + 1) for _ in range(3))
            message = MessageWords(np.zeros(n_words, np.int64), np.zeros(n_words), *sums)
            self._reading = self._reading._replace(message=message)

    def _enlarge_found(self) -> None:
        found = self._reading.found
        n = min(2 * len(found.slot), max(self._n_present, len(found.slot)))
        larger_found = found._replace(
            slot=np.zeros(n, np.int32), partial=np.zeros(n), rest=np.zeros(n), last=np.zeros(n, np.int32)
        )
        self._reading = self._reading._replace(found=larger_found)

    def check(self) -> None:
        """Assert the invariants."""
        index = self._index
        check_tree(index.tree, index.seats, self.capacity)
        check_lists(index)
        present = self._present()
        assert len(present) == self._n_present
        assert np.array_equal(
            index.asks.group[present], np.searchsorted(self._edges, index.asks.gauge[present, 0], "right")
        )
        assert index.asks.span[present].sum(axis=1).max(initial=0) <= self._n_terms <= len(index.asks.terms)
        assert not self._reading.found.mark.any()
        assert not self._reading.said.any()
