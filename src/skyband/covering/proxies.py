"""Proxies: which top-k/w subscriptions stand for others while their thresholds move.

A broker passes on only subscriptions whose region of interest no other one contains. Every covered one hangs below one
that contains it, so that it is known whom to look at when a region moves or leaves; only those are placed again.
Adding one costs a comparison with each root: linear in the number of roots, by bounding boxes first and by shapes for
the few that are left. Removing costs that for each member directly below a removed root; moving, in a few calls for all
moved roots, and then one by one for those that contain another one or are contained, and for each member whose
containment broke. The routing by covering of "Top-k/w publish/subscribe" leaves this check open.

Thresholds are gates, as `Engine.gates` gives them for a time t, and refuse nothing that is in a top up to t. They widen
as members expire, so that whoever refuses a publication by a proxy keeps it while it is live, moves the thresholds to
the gates of the time to come before that time comes, and hands over what they let in. Then nothing is lost, see
docs/contract.md. To drop what is worse than the k-th score loses what would be in the top when members have expired.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from skyband.contract.tops import Id
from skyband.covering.forest import Forest
from skyband.covering.region import Box, Regions, bounding_boxes, contains, nested, take, whole_space
from skyband.kernels.array import Bools, Int64s
from skyband.kernels.growth import grown_all

# So many pairs of boxes are compared at once.
PAIRS = 1 << 18


class Cover(NamedTuple):
    """What an added subscription changes: the one that stands for it, and those it stands for from now on."""

    covered_by: Id | None
    now_covers: list[Id]


class Moved(NamedTuple):
    """What moved thresholds change: those that are uncovered now, and those that are covered now."""

    promoted: list[Id]
    covered: list[Id]


class ProxySet:
    """Regions by id, and the uncovered ones among them.

    Invariants: a parent contains its child by `contains`; no root contains another one by it. Of two regions that
    contain each other the earlier stands for the later. Where all publications lie in a `domain`, only that counts.
    """

    def __init__(self, dims: int, domain: Box | None = None) -> None:
        self.domain = whole_space(dims) if domain is None else Box(*(np.asarray(side, np.float64) for side in domain))
        self._forest = Forest()
        self._slots: dict[Id, int] = {}
        self._ids: list[Id] = []
        self._free: list[int] = []
        self._regions = Regions(np.zeros(0, np.int8), np.zeros((0, dims)), np.zeros((0, dims)), np.zeros(0))
        self._box = Box(np.zeros((0, dims)), np.zeros((0, dims)))

    def __len__(self) -> int:
        return len(self._slots)

    def add(self, ids: Sequence[Id], regions: Regions) -> list[Cover]:
        """Register subscriptions, one after the other."""
        self._refuse(ids, regions)
        slots = self._take_slots(ids)
        self._regions.kinds[slots], self._regions.points[slots] = regions.kinds, regions.points
        self._regions.weights[slots], self._regions.thresholds[slots] = regions.weights, regions.thresholds
        self._measure(slots)
        return [self._add(slot) for slot in slots.tolist()]

    def remove(self, ids: Sequence[Id]) -> list[Id]:
        """Withdraw subscriptions; answers with those that are uncovered now and were not before, in order of arrival.

        A promoted one may cover a root that the withdrawn one did not, as the test of two shapes may be coarser than
        that of two others: such a root is no longer in `uncovered()`.
        """
        slots = self._find(ids)
        handed: set[int] = set()
        loose: set[int] = set()
        for slot in slots:
            if self._forest.parent(slot) is not None:
                handed.update(self._forest.children(slot))
            loose.update(self._forest.uproot(slot))
        self._give_slots(slots)
        gone = set(slots)
        below = np.array(sorted(handed - loose - gone), np.int64)
        loose |= self._loosen(below)
        return self._ids_of(self._settle(loose - gone))

    def move(self, ids: Sequence[Id], thresholds: npt.ArrayLike) -> Moved:
        """Set thresholds, the gates of a time to come; answers with who is uncovered or covered now and was not before.

        Both are in order of arrival.
        """
        slots = self._find(ids)
        limits = np.broadcast_to(np.asarray(thresholds, np.float64), (len(slots),))
        if np.isnan(limits).any():
            raise ValueError("A threshold must be a number; one that is not there yet is open.")
        at = np.array(slots, np.int64)
        self._regions.thresholds[at] = limits
        self._measure(at)
        before = set(self._forest.standing().tolist())
        loose = self._loosen(self._touched(slots))
        top = self._clashing(np.array([slot for slot in slots if slot in before], np.int64))
        for slot in top:
            self._forest.detach(slot)
        self._settle(loose | top)
        after = set(self._forest.standing().tolist())
        return Moved(self._ids_of(after - before), self._ids_of(before - after))

    def uncovered(self) -> list[Id]:
        """Those that no other one covers, in order of arrival."""
        return [self._ids[slot] for slot in self._forest.roots().tolist()]

    def covered_by(self, id: Id) -> Id | None:
        """The one that directly stands for this one, which may be covered itself, or None."""
        parent = self._forest.parent(self._slots[id])
        return None if parent is None else self._ids[parent]

    def memory(self) -> int:
        """The size of the arrays in bytes."""
        return self._forest.memory() + sum(array.nbytes for array in (*self._regions, *self._box))

    def check(self) -> None:
        """Assert the invariants; compares every root with every other one."""
        self._forest.check()
        members = np.array(sorted(self._slots.values()), np.int64)
        assert len(members) + len(self._free) == len(self._ids)
        box = bounding_boxes(take(self._regions, members), self.domain)
        assert np.array_equal(box.lo, self._box.lo[members])
        assert np.array_equal(box.hi, self._box.hi[members])
        parents = self._forest.parents(members)
        assert (parents >= -1).all()
        below = members[parents >= 0]
        assert self._stands_for(parents[parents >= 0], below).all()
        roots = self._forest.roots()
        a, b = np.repeat(roots, len(roots)), np.tile(roots, len(roots))
        assert not self._contains(a[a != b], b[a != b]).any()

    def _add(self, slot: int) -> Cover:
        covered = self._place(slot)
        parent = self._forest.parent(slot)
        return Cover(None if parent is None else self._ids[parent], self._ids_of(covered))

    def _settle(self, loose: Iterable[int]) -> list[int]:
        """Place loose members in order of arrival; answers with those that are roots in the end."""
        order = sorted(loose, key=self._forest.turn)
        for slot in order:
            self._place(slot)
        return [slot for slot in order if self._forest.is_root(slot)]

    def _place(self, slot: int) -> list[int]:
        """A new or loose member goes below the earliest root that stands for it, or becomes one.

        Answers with the roots that it stands for then.
        """
        roots = self._forest.standing()
        there, here = (
            Box(self._box.lo[roots], self._box.hi[roots]),
            Box(self._box.lo[slot], self._box.hi[slot]),
        )
        above = roots[nested(there, here)]
        own = np.full(len(above), slot)
        # A new one has no turn yet: it is the latest.
        test = self._stands_for if self._forest.is_member(slot) else self._contains
        above = above[test(above, own)]
        if len(above):
            self._forest.attach(slot, int(above[np.argmin(self._forest.turns(above))]))
            return []
        below = roots[nested(here, there)]
        below = below[self._contains(np.full(len(below), slot), below)]
        self._forest.plant(slot)
        covered: list[int] = below.tolist()
        for root in covered:
            self._forest.demote(root, slot)
        return covered

    def _touched(self, slots: list[int]) -> Int64s:
        """The covered among moved members, and the children of moved ones."""
        touched = {slot for slot in slots if self._forest.parent(slot) is not None}
        for slot in slots:
            touched.update(self._forest.children(slot))
        return np.array(sorted(touched), np.int64)

    def _clashing(self, moved: Int64s) -> set[int]:
        """The moved roots that contain another root by now, or that another one contains; the others can stay."""
        roots = self._forest.standing()
        there, clashing = Box(self._box.lo[roots], self._box.hi[roots]), set[int]()
        n_at_once = max(1, PAIRS // max(len(roots), 1))
        for some in np.split(moved, range(n_at_once, len(moved), n_at_once)):
            here = Box(self._box.lo[some], self._box.hi[some])
            for is_outer, inside in ((True, _nested_pairs(here, there)), (False, _nested_pairs(there, here).T)):
                mine, its = np.nonzero(inside & (some[:, None] != roots))
                a, b = (some[mine], roots[its]) if is_outer else (roots[its], some[mine])
                clashing.update(some[mine][self._contains(a, b)].tolist())
        return clashing

    def _loosen(self, children: Int64s) -> set[int]:
        """Detach children whose parents no longer stand for them."""
        lost = children[~self._stands_for(self._forest.parents(children), children)].tolist()
        for child in lost:
            self._forest.detach(child)
        return set(lost)

    def _contains(self, a: Int64s, b: Int64s) -> Bools:
        # Most often no box is around, or in, that of another one; a call for no pairs would still take its time.
        return contains(self._regions, a, self._regions, b, self.domain) if len(a) else np.zeros(0, np.bool_)

    def _stands_for(self, a: Int64s, b: Int64s) -> Bools:
        """Whether a contains b and, if they contain each other, came first."""
        found = self._contains(a, b)
        late = np.flatnonzero(found & (self._forest.turns(a) > self._forest.turns(b)))
        found[late] = ~self._contains(b[late], a[late])
        return found

    def _measure(self, slots: Int64s) -> None:
        self._box.lo[slots], self._box.hi[slots] = bounding_boxes(take(self._regions, slots), self.domain)

    def _ids_of(self, slots: Iterable[int]) -> list[Id]:
        return [self._ids[slot] for slot in sorted(slots, key=self._forest.turn)]

    def _find(self, ids: Sequence[Id]) -> list[int]:
        for id in ids:
            if id not in self._slots:
                raise ValueError(f"The subscription {id!r} is not registered.")
        slots = [self._slots[id] for id in ids]
        if len(set(slots)) < len(slots):
            raise ValueError("A subscription is named twice.")
        return slots

    def _refuse(self, ids: Sequence[Id], regions: Regions) -> None:
        dims = len(self.domain.lo)
        if regions.points.shape != (len(ids), dims):
            raise ValueError(f"There must be a region of {dims} dimensions for each of the {len(ids)} subscriptions.")
        seen: set[Id] = set()
        for id in ids:
            if id in self._slots or id in seen:
                raise ValueError(f"The subscription {id!r} is already registered.")
            seen.add(id)

    def _take_slots(self, ids: Sequence[Id]) -> Int64s:
        slots = []
        for id in ids:
            if not self._free:
                self._free.append(len(self._ids))
                self._ids.append(id)
            slot = self._free.pop()
            self._slots[id], self._ids[slot] = slot, id
            slots.append(slot)
        n = len(self._ids)
        self._regions, self._box = grown_all(self._regions, n), grown_all(self._box, n)
        return np.array(slots, np.int64)

    def _give_slots(self, slots: list[int]) -> None:
        for slot in slots:
            del self._slots[self._ids[slot]]
        self._free.extend(slots)


def _nested_pairs(outer: Box, inner: Box) -> Bools:
    """Which boxes enclose which others, a row for each outer one."""
    found = np.ones((len(outer.lo), len(inner.lo)), np.bool_)
    for d in range(outer.lo.shape[1]):
        found &= outer.lo[:, d, None] <= inner.lo[:, d]
        found &= inner.hi[:, d] <= outer.hi[:, d, None]
    return found
