"""The forest: who stands for whom. It knows nothing of shapes.

A *root* stands for itself; every other member has a parent that covers it, which may be covered itself. Members are
slots, small integers that the owner hands out; the place of a member in the order of arrival is kept for as long as it
is a member.

Invariants: a slot is absent, loose (detached, waiting to be placed again), a root, or a child of a member; following
parents ends at a root or at a loose one; the children of a member are linked to each other in both ways, in no order;
the roots are the first `n_roots` entries of a list, and each knows its place there.
"""

import numpy as np

from skyband.kernels.array import Int64s
from skyband.kernels.growth import grown

NONE = -1
ROOT = -1
LOOSE = -2
ABSENT = -3


class Forest:
    """Members in trees. A step costs the same however many there are, but for lists it answers with and hands on."""

    def __init__(self) -> None:
        self.n_roots = 0
        self._n_turns = 0
        self._turn = np.zeros(0, np.int64)
        self._parent = np.zeros(0, np.int32)
        self._first = np.zeros(0, np.int32)
        self._next = np.zeros(0, np.int32)
        # The sibling before; for a root its place in the list of roots.
        self._before = np.zeros(0, np.int32)
        self._roots = np.zeros(0, np.int32)

    def plant(self, slot: int) -> None:
        """A new or loose member becomes a root."""
        self._admit(slot)
        self._parent[slot] = ROOT
        self._roots = grown(self._roots, self.n_roots + 1)
        self._roots[self.n_roots] = slot
        self._before[slot] = self.n_roots
        self.n_roots += 1

    def attach(self, slot: int, parent: int) -> None:
        """A new or loose member becomes a child."""
        self._admit(slot)
        self._hang(slot, parent)

    def admit_all(self, slots: Int64s) -> None:
        """New members, in the order of their arrival, are loose until they are placed."""
        self._reserve(int(slots.max(initial=-1)))
        self._turn[slots] = self._n_turns + np.arange(len(slots))
        self._n_turns += len(slots)
        self._first[slots], self._parent[slots] = NONE, LOOSE

    def plant_all(self, slots: Int64s) -> None:
        """Loose members become roots."""
        self._roots = grown(self._roots, self.n_roots + len(slots))
        places = np.arange(self.n_roots, self.n_roots + len(slots))
        self._parent[slots], self._before[slots], self._roots[places] = ROOT, places, slots
        self.n_roots += len(slots)

    def attach_all(self, slots: Int64s, parents: Int64s) -> None:
        """Loose members become children of members that are there."""
        if not len(slots):
            return
        self._parent[slots] = parents
        order = np.argsort(parents, kind="stable")
        children, above = slots[order], parents[order]
        heads = np.append(True, above[1:] != above[:-1])
        tails = np.append(heads[1:], True)
        old = self._first[above[tails]]
        self._next[children[:-1]] = children[1:]
        self._before[children[1:]] = children[:-1]
        self._before[children[heads]] = NONE
        self._next[children[tails]] = old
        self._before[old[old != NONE]] = children[tails][old != NONE]
        self._first[above[heads]] = children[heads]

    def demote(self, slot: int, parent: int) -> None:
        """A root becomes a child and keeps its own children; the parent must not be one of its descendants."""
        self._fell(slot)
        self._hang(slot, parent)

    def detach(self, slot: int) -> None:
        """A root or child is loose from now on, with its own children, until it is planted or attached."""
        if self._parent[slot] == ROOT:
            self._fell(slot)
        else:
            self._unhang(slot)
        self._parent[slot] = LOOSE

    def uproot(self, slot: int) -> list[int]:
        """Remove a member. The children of a covered one go to its parent; those of a root are answered, now loose.

        They come in order of arrival, for the caller to `attach` or `plant` again. A loose member counts as a root.
        """
        parent = int(self._parent[slot])
        children = self.children(slot)
        if parent >= 0:
            self._unhang(slot)
            for child in children:
                self._hang(child, parent)
        else:
            if parent == ROOT:
                self._fell(slot)
            self._parent[children] = LOOSE
        self._parent[slot] = ABSENT
        return [] if parent >= 0 else children

    def is_member(self, slot: int) -> bool:
        """Whether a slot is in use here."""
        return 0 <= slot < len(self._parent) and self._parent[slot] != ABSENT

    def is_root(self, slot: int) -> bool:
        """Whether a member stands for itself."""
        return bool(self._parent[slot] == ROOT)

    def parent(self, slot: int) -> int | None:
        """The parent of a child, or None."""
        parent = int(self._parent[slot])
        return parent if parent >= 0 else None

    def parents(self, slots: Int64s) -> Int64s:
        """The parents of many; negative for those without."""
        return self._parent[slots].astype(np.int64)

    def turn(self, slot: int) -> int:
        """The place of a member in the order of arrival."""
        return int(self._turn[slot])

    def turns(self, slots: Int64s) -> Int64s:
        """The places of many in the order of arrival."""
        return self._turn[slots]

    def roots(self) -> Int64s:
        """The roots in order of arrival."""
        roots = self.standing()
        return roots[np.argsort(self._turn[roots])]

    def members(self) -> Int64s:
        """All members in order of arrival."""
        members = np.flatnonzero(self._parent != ABSENT)
        return members[np.argsort(self._turn[members])]

    def standing(self) -> Int64s:
        """The roots in no order."""
        return self._roots[: self.n_roots].astype(np.int64)

    def root_of(self, slot: int) -> int:
        """The member at the top of the tree; the cost is the depth."""
        while (parent := int(self._parent[slot])) >= 0:
            slot = parent
        return slot

    def children(self, slot: int) -> list[int]:
        """The children of a member in order of arrival."""
        found = []
        child = int(self._first[slot])
        while child != NONE:
            found.append(child)
            child = int(self._next[child])
        return sorted(found, key=self.turn)

    def memory(self) -> int:
        """The size of the arrays in bytes."""
        links = (self._parent, self._turn, self._first, self._next, self._before)
        return sum(array.nbytes for array in (*links, self._roots))

    def check(self) -> None:
        """Assert the invariants."""
        members = np.flatnonzero(self._parent != ABSENT).tolist()
        roots = self._roots[: self.n_roots].tolist()
        assert sorted(roots) == [slot for slot in members if self._parent[slot] == ROOT]
        assert all(self._before[slot] == place for place, slot in enumerate(roots))
        assert len({self.turn(slot) for slot in members}) == len(members)
        assert all(self.turn(slot) < self._n_turns for slot in members)
        n_children = 0
        for slot in members:
            n_children += self._check_children(slot)
        assert n_children == int((self._parent >= 0).sum())
        for slot in members:
            self._check_ascent(slot, len(members))

    def _check_children(self, slot: int) -> int:
        before, child, n = NONE, int(self._first[slot]), 0
        while child != NONE:
            assert self._parent[child] == slot
            assert self._before[child] == before
            before, child, n = child, int(self._next[child]), n + 1
        return n

    def _check_ascent(self, slot: int, most: int) -> None:
        for _ in range(most):
            if (parent := int(self._parent[slot])) < 0:
                assert parent != ABSENT
                return
            slot = parent
        raise AssertionError("The parents of a member go round in a circle.")

    def _reserve(self, slot: int) -> None:
        if slot < len(self._parent):
            return
        self._parent = grown(self._parent, slot + 1, fill=ABSENT)
        n = len(self._parent)
        self._turn, self._first = grown(self._turn, n), grown(self._first, n)
        self._next, self._before = grown(self._next, n), grown(self._before, n)

    def _admit(self, slot: int) -> None:
        """A new member gets its turn; a loose one has it."""
        self._reserve(slot)
        if self._parent[slot] == ABSENT:
            self._turn[slot] = self._n_turns
            self._n_turns += 1
            self._first[slot] = NONE

    def _fell(self, slot: int) -> None:
        """Take a root off the list of roots: the last one takes its place."""
        self.n_roots -= 1
        place, last = self._before[slot], self._roots[self.n_roots]
        self._roots[place] = last
        self._before[last] = place

    def _hang(self, slot: int, parent: int) -> None:
        first = self._first[parent]
        if first != NONE:
            self._before[first] = slot
        self._parent[slot], self._next[slot], self._before[slot] = parent, first, NONE
        self._first[parent] = slot

    def _unhang(self, slot: int) -> None:
        before, after = self._before[slot], self._next[slot]
        if after != NONE:
            self._before[after] = before
        if before != NONE:
            self._next[before] = after
        else:
            self._first[self._parent[slot]] = after
