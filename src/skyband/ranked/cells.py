"""Pages of subscriptions, by cells for exact matching, by score for relaxed: filled, divided, and emptied."""

from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Bools, Float32s, Floats, Int32s, Int64s
from skyband.kernels.growth import blank, resized_all
from skyband.kernels.ragged import owners_of, places_of, ranks_of
from skyband.ranked.groups import PlaceGroups
from skyband.ranked.kernels.cells import (
    MOST_CUTS,
    N_WORDS,
    NOBODY,
    NONE,
    OPEN,
    PAGE,
    ROWS,
    WORD,
    Pages,
    UInt32s,
    set_bits,
)
from skyband.ranked.kernels.parts import HI, KEY, LO, Parts, rounded_down, rounded_up
from skyband.ranked.kernels.tiering import DividedMembers, divide, make_corner
from skyband.ranked.part import bounded
from skyband.ranked.pool import OwnerPool

# So many ends of a dimension say how crowded its stretches are, and where a page cuts it.
SAMPLE = 1024


class AskedBoxes(NamedTuple):
    """By subscription and dimension the ends of its interval, infinite where it has none; by subscription what it can
    score, and who comes first of equal scores.
    """

    lo: Floats
    hi: Floats
    score: Floats
    label: Int64s

    def taken(self, chosen: Int64s) -> "AskedBoxes":
        """These of them, in this order."""
        return AskedBoxes(self.lo[chosen], self.hi[chosen], self.score[chosen], self.label[chosen])


class PageIndex(PlaceGroups):
    """Full pages, and an open one that takes what comes next; the boxes of members are in the pool of parts.

    There are cells in the first `dims` dimensions, and `n_held` parts of each member at hand.
    """

    def __init__(self, dims: int, pool: OwnerPool, n_held: int = 0) -> None:
        super().__init__(PAGE)
        self._pool = pool
        self._dims = dims
        # How many the open page had when it was filled.
        self._n_filled = 0
        bits, live = np.zeros((0, dims, ROWS, N_WORDS), np.uint32), np.zeros((0, N_WORDS), np.uint32)
        cut, ends = np.zeros((0, dims, MOST_CUTS)), np.zeros((0, dims))
        owner, score, head = np.zeros((0, PAGE), np.int32), np.zeros((0, PAGE)), np.zeros((0, N_WORDS + 1), np.int32)
        dim, weight = np.zeros((0, PAGE, n_held), np.int32), np.zeros((0, PAGE, n_held), np.float32)
        held = dim, np.zeros((0, PAGE, n_held, 2), np.float32), weight
        self.pages = Pages(bits, live, cut, ends, ends, owner, score, head, *held, np.zeros(0, np.int64))

    @property
    def n_bytes(self) -> int:
        return super().n_bytes + sum(array.nbytes for array in self.pages)

    def add(self, parts: Parts, owners: Int64s) -> None:
        """Take in members, who are in the pool."""
        if not len(owners):
            return
        self._know(owners)
        boxes = self._boxes(parts, owners)
        if len(owners) <= self._room and 2 * (self._n_open + len(owners)) <= 3 * self._n_filled:
            self._append(parts, owners, boxes)
        else:
            self._build(parts, owners, boxes)
        self._sort(parts)

    def remove(self, parts: Parts, owners: Int64s) -> None:
        """Let members go, who are still in the pool; a page that is half empty is given up, and its others move."""
        page, place = np.divmod(self._place[owners], PAGE)
        # Several may leave the same word.
        np.bitwise_and.at(self.pages.live, (page, place // WORD), ~_bit(place))
        sparse = self._leave(owners)
        movers = [self._members(each) for each in sparse]
        for each in sparse:
            self._clear(each)
        for some in movers:
            self.add(parts, some)
        self._sort(parts)

    def _boxes(self, parts: Parts, owners: Int64s) -> AskedBoxes:
        n, (at, member) = len(owners), self._parts_of(owners)
        celled = parts.dim[at] < self._dims
        at, member = at[celled], member[celled]
        lo, hi = np.full((n, self._dims), -np.inf), np.full((n, self._dims), np.inf)
        lo[member, parts.dim[at]], hi[member, parts.dim[at]] = parts.fact[at, LO], parts.fact[at, HI]
        # Every row of an owner has its whole score; who has no rows, in relaxed matching, scores nothing.
        score, some = np.zeros(n), self._pool.n_owned[owners] > 0
        score[some] = parts.fact[self._pool.first[owners[some]], KEY]
        return AskedBoxes(lo, hi, score, parts.label[owners])

    def _parts_of(self, owners: Int64s) -> tuple[Int64s, Int64s]:
        """Where the parts of these owners are, and whose each is."""
        sizes = self._pool.n_parts[owners].astype(np.int64)
        return places_of(self._pool.first[owners], sizes), owners_of(sizes)

    def _held(self, parts: Parts, owners: Int64s) -> tuple[Int32s, Float32s, Float32s]:
        """The dimensions, ends and weights of the heaviest parts that are not open on both sides."""
        n_held = self.pages.dim.shape[2]
        at, member = self._parts_of(owners)
        closed = bounded(parts.fact[at, LO], parts.fact[at, HI])
        at, member = at[closed], member[closed]
        order = np.lexsort((-parts.weight[at], member))
        rank = ranks_of(np.bincount(member, minlength=len(owners)))
        at, member, rank = at[order][rank < n_held], member[rank < n_held], rank[rank < n_held]
        dim = np.full((len(owners), n_held), NONE, np.int32)
        end, weight = np.zeros((*dim.shape, 2), np.float32), np.zeros(dim.shape, np.float32)
        dim[member, rank], weight[member, rank] = parts.dim[at], rounded_down(parts.weight[at])
        end[member, rank, 0] = rounded_down(parts.fact[at, LO])
        end[member, rank, 1] = rounded_up(parts.fact[at, HI])
        return dim, end, weight

    def _append(self, parts: Parts, owners: Int64s, boxes: AskedBoxes) -> None:
        pages, page = self.pages, self._open
        at = self._join(owners)
        self._write(parts, page, at, owners, boxes)
        pages.lo[page] = np.minimum(pages.lo[page], boxes.lo.min(axis=0))
        pages.hi[page] = np.maximum(pages.hi[page], boxes.hi.max(axis=0))
        # The first of each word that has new members, the dead included, and of the page.
        places = np.arange(at[0] // WORD * WORD, self._n_open)
        label = parts.label[pages.owner[page, places]]
        order = places[np.lexsort((~label, -pages.score[page, places], places // WORD))]
        heads = order[np.unique(order // WORD, return_index=True)[1]]
        pages.head[page, heads // WORD] = heads
        among = np.append(heads, pages.head[page, N_WORDS])
        label = parts.label[pages.owner[page, among]]
        pages.head[page, N_WORDS] = among[np.lexsort((~label, -pages.score[page, among]))[0]]

    def _write(self, parts: Parts, page: int, at: Int64s, owners: Int64s, boxes: AskedBoxes) -> None:
        """Put members at these places, which follow each other."""
        pages = self.pages
        pages.owner[page, at], pages.score[page, at] = owners, boxes.score
        np.bitwise_or.at(pages.live[page], at // WORD, _bit(at))
        set_bits(pages.bits[page], int(at[0]), *_cells(pages.cut[page], boxes))
        if pages.dim.shape[2]:
            pages.dim[page, at], pages.end[page, at], pages.weight[page, at] = self._held(parts, owners)

    def _build(self, parts: Parts, owners: Int64s, boxes: AskedBoxes) -> None:
        """Divide new members and those of the open page among full pages and a new open one."""
        if self._open >= 0:
            owners = np.concatenate([self._members(self._open), owners])
            self._clear(self._open)
            boxes = self._boxes(parts, owners)
        self._open = -1
        ranking = np.lexsort((~boxes.label, -boxes.score))
        order = _division(boxes, ranking)
        rank = np.empty(len(order), np.int64)
        rank[ranking] = np.arange(len(order))
        self._reserve(-(-len(order) // PAGE))
        for start in range(0, len(order), PAGE):
            members = order[start : start + PAGE]
            members = members[np.argsort(rank[members])]
            self._fill(parts, self._free.pop(0), owners[members], boxes.taken(members))

    def _fill(self, parts: Parts, page: int, owners: Int64s, boxes: AskedBoxes) -> None:
        """Have these members in a page without any; they are given best first."""
        pages = self.pages
        for j in range(self._dims):
            cuts = _cuts(boxes.lo[:, j], boxes.hi[:, j])
            pages.cut[page, j, : len(cuts)] = cuts
        self._write(parts, page, np.arange(len(owners)), owners, boxes)
        pages.lo[page], pages.hi[page] = boxes.lo.min(axis=0), boxes.hi.max(axis=0)
        heads = np.arange(0, len(owners), WORD)
        pages.head[page, heads // WORD], pages.head[page, N_WORDS] = heads, 0
        self._settle(page, owners)
        self._n_filled = len(owners)

    def _lengthen(self, n: int) -> None:
        self.pages = resized_all(self.pages, n, (name for name in Pages._fields if name != "order"))

    def _empty(self, page: int) -> None:
        pages = self.pages
        pages.bits[page], pages.live[page] = 0, 0
        pages.cut[page], pages.lo[page], pages.hi[page] = np.inf, np.inf, -np.inf
        pages.head[page] = NOBODY

    def _members(self, page: int) -> Int64s:
        members: Int64s = self.pages.owner[page, self._places(page)].astype(np.int64)
        return members

    def _places(self, page: int) -> Int64s:
        """The places of a page that are live."""
        places = np.arange(PAGE)
        live: Bools = self.pages.live[page, places // WORD] & _bit(places) > 0
        return np.flatnonzero(live)

    def _sort(self, parts: Parts) -> None:
        pages, used = self.pages, self._used
        head = pages.head[used, N_WORDS]
        order = np.lexsort((~parts.label[pages.owner[used, head]], -pages.score[used, head]))
        self.pages = pages._replace(order=used[order])

    def check(self, parts: Parts) -> None:
        """Assert that pages say what holds for their members, and that these are where they should be."""
        pages = self.pages
        assert set(pages.order.tolist()) == set(range(len(self._n_live))) - set(self._free)
        assert int(self._n_live.sum()) == int(self._pool.alive.sum())
        for page in pages.order.tolist():
            at, owners = self._places(page), self._members(page)
            assert self._n_live[page] == len(owners)
            assert (self._place[owners] == page * PAGE + at).all()
            self._check_page(page, at, self._boxes(parts, owners), parts)
            held = pages.dim[page, at], pages.end[page, at], pages.weight[page, at]
            assert all(map(np.array_equal, held, self._held(parts, owners)))

    def _check_page(self, page: int, at: Int64s, boxes: AskedBoxes, parts: Parts) -> None:
        pages = self.pages
        assert np.array_equal(pages.score[page, at], boxes.score)
        assert (pages.lo[page] <= boxes.lo).all()
        assert (pages.hi[page] >= boxes.hi).all()
        first, last, opened = _cells(pages.cut[page], boxes)
        row = np.arange(ROWS)[:, None, None]
        wanted = np.where(row == OPEN, opened, (first <= row) & (row <= last))
        held = pages.bits[page][:, :, at // WORD] & _bit(at) > 0
        assert np.array_equal(held.transpose(1, 2, 0), wanted)
        for heads in (pages.head[page, at // WORD], np.full(len(at), pages.head[page, N_WORDS])):
            score, label = pages.score[page, heads], parts.label[pages.owner[page, heads]]
            assert ((score > boxes.score) | ((score == boxes.score) & (label >= boxes.label))).all()


def _bit(place: Int64s) -> UInt32s:
    return np.left_shift(np.uint32(1), (place % WORD).astype(np.uint32), dtype=np.uint32)


def _cuts(lo: Floats, hi: Floats) -> Floats:
    """Where the members of a page cut a dimension: as many ends between two cuts as between any others."""
    ends = np.concatenate([lo, hi])
    ends = np.unique(ends[np.isfinite(ends)])
    if len(ends) <= MOST_CUTS:
        return ends
    return ends[np.arange(1, MOST_CUTS + 1) * len(ends) // (MOST_CUTS + 1)]


def _cells(cut: Floats, boxes: AskedBoxes) -> tuple[Int64s, Int64s, Bools]:
    """By member and dimension the first and last cell of its interval, and whether it leaves the dimension open."""
    first, last = np.empty(boxes.lo.shape, np.int64), np.empty(boxes.lo.shape, np.int64)
    for j in range(len(cut)):
        cuts = cut[j][np.isfinite(cut[j])]
        first[:, j], last[:, j] = (np.searchsorted(cuts, ends[:, j], "right") for ends in boxes[:2])
    return first, last, (boxes.lo == -np.inf) & (boxes.hi == np.inf)


def _division(boxes: AskedBoxes, ranking: Int64s) -> Int64s:
    """An order in which every PAGE members are a page that few events reach, or that few can beat."""
    n, dims = boxes.lo.shape
    end = blank((n, 2 * dims + 2), dtype=np.float32)
    for j in range(dims):
        step = max(n // SAMPLE, 1)
        ends = np.concatenate([boxes.lo[::step, j], boxes.hi[::step, j]])
        ends = np.sort(ends[np.isfinite(ends)])
        for side, given in enumerate((boxes.lo[:, j], boxes.hi[:, j])):
            end[:, 2 * j + side] = np.searchsorted(ends, given, "right") / max(len(ends), 1)
    # What is scored is one more dimension: the share of all that come after the k-th.
    end[ranking, 2 * dims + 1] = np.arange(n, 0, -1) / n
    order, stack = np.arange(n), np.zeros(256, np.int64)
    members = DividedMembers(end, np.zeros((n, dims + 1), np.float32), PAGE, True)
    divide(members, order, 0, n, stack, make_corner(dims + 1))
    return order
