"""The forest against dictionaries."""

import numpy as np
import pytest

from skyband.covering.forest import Forest


class Twin:
    """Parents in a dictionary (None for a root, -1 for a loose one); turns in another."""

    def __init__(self) -> None:
        self.parents: dict[int, int | None] = {}
        self.turns: dict[int, int] = {}
        self.n_turns = 0

    def put(self, slot: int, parent: int | None) -> None:
        if slot not in self.parents:
            self.turns[slot] = self.n_turns
            self.n_turns += 1
        self.parents[slot] = parent

    def children(self, slot: int) -> list[int]:
        return sorted((child for child, above in self.parents.items() if above == slot), key=self.turns.__getitem__)

    def uproot(self, slot: int) -> list[int]:
        children, above = self.children(slot), self.parents.pop(slot)
        covered = above is not None and above >= 0
        for child in children:
            self.parents[child] = above if covered else -1
        return [] if covered else children

    def roots(self) -> list[int]:
        return sorted((slot for slot, above in self.parents.items() if above is None), key=self.turns.__getitem__)

    def root_of(self, slot: int) -> int:
        while (above := self.parents[slot]) is not None and above >= 0:
            slot = above
        return slot


def assert_same(forest: Forest, twin: Twin) -> None:
    forest.check()
    assert forest.roots().tolist() == twin.roots()
    assert sorted(forest.standing().tolist()) == sorted(twin.roots())
    members = np.array(sorted(twin.parents), np.int64)
    for slot in members.tolist():
        above = twin.parents[slot]
        assert forest.is_member(slot)
        assert forest.is_root(slot) == (above is None)
        assert forest.parent(slot) == (None if above == -1 else above)
        assert forest.children(slot) == twin.children(slot)
        assert forest.root_of(slot) == twin.root_of(slot)
    order = members[np.argsort(forest.turns(members))].tolist()
    assert order == sorted(twin.parents, key=twin.turns.__getitem__)


def place(forest: Forest, twin: Twin, slot: int, random: np.random.Generator) -> None:
    """Plant or attach a new or loose one."""
    roots = twin.roots()
    if not roots or random.random() < 0.3:
        forest.plant(slot)
        twin.put(slot, None)
        return
    # Not only roots have children; a loose one must not come below itself.
    below = [other for other in twin.parents if twin.root_of(other) in roots]
    parent = int(random.choice(below))
    forest.attach(slot, parent)
    twin.put(slot, parent)


def step(forest: Forest, twin: Twin, random: np.random.Generator) -> None:
    action = random.integers(0, 6)
    roots, members = twin.roots(), list(twin.parents)
    if action <= 1 or len(members) < 3:
        free = [slot for slot in range(40) if slot not in twin.parents]
        if free:
            place(forest, twin, int(random.choice(free)), random)
    elif action == 2 and len(roots) > 1:
        root = int(random.choice(roots))
        parent = int(random.choice([slot for slot in members if twin.root_of(slot) != root]))
        forest.demote(root, parent)
        twin.parents[root] = parent
    elif action == 3:
        slot = int(random.choice(members))
        forest.detach(slot)
        twin.parents[slot] = -1
        assert_same(forest, twin)
        place(forest, twin, slot, random)
    elif action >= 4:
        loose = forest.uproot(slot := int(random.choice(members)))
        assert not forest.is_member(slot)
        assert loose == twin.uproot(slot)
        assert_same(forest, twin)
        for orphan in loose:
            place(forest, twin, orphan, random)


@pytest.mark.parametrize("seed", range(6))
def test_random_steps(seed: int) -> None:
    random = np.random.default_rng(seed)
    forest, twin = Forest(), Twin()
    for _ in range(150):
        step(forest, twin, random)
        assert_same(forest, twin)


@pytest.mark.parametrize("seed", range(4))
def test_attach_all(seed: int) -> None:
    """Many at once are as one by one; some of them may be parents of later ones."""
    random = np.random.default_rng(seed)
    forest, twin = Forest(), Twin()
    for slot in range(5):
        place(forest, twin, slot, random)
    for batch in (np.array([9, 7, 30]), np.arange(40, 60), np.zeros(0, np.int64), np.array([8])):
        there = list(twin.parents)
        parents = np.array([int(random.choice(there)) for _ in batch], np.int64)
        if len(batch) > 2:
            parents[2] = batch[0]
        forest.admit_all(batch)
        forest.attach_all(batch, parents)
        for slot, parent in zip(batch.tolist(), parents.tolist(), strict=True):
            twin.put(slot, parent)
        assert_same(forest, twin)


def test_plant_all() -> None:
    """Many at once are as one by one, those that were loose before with their turns."""
    forest, twin = Forest(), Twin()
    for slot in (4, 2):
        forest.plant(slot)
        twin.put(slot, None)
    forest.detach(4)
    forest.admit_all(np.array([9, 3]))
    forest.plant_all(np.array([3, 9, 4]))
    for slot in (9, 3):
        twin.put(slot, None)
    assert_same(forest, twin)
    assert forest.roots().tolist() == [4, 2, 9, 3]


def test_a_loose_one_can_leave() -> None:
    forest = Forest()
    forest.plant(3)
    forest.attach(1, 3)
    forest.attach(2, 1)
    assert forest.uproot(3) == [1]
    assert forest.uproot(1) == [2]
    forest.plant(2)
    forest.check()
    assert forest.roots().tolist() == [2]
    assert forest.turn(2) == 2


def test_a_slot_comes_again_as_a_newcomer() -> None:
    forest = Forest()
    forest.plant(0)
    forest.plant(1)
    assert forest.uproot(0) == []
    forest.plant(0)
    assert forest.roots().tolist() == [1, 0]


def test_empty_and_memory() -> None:
    forest = Forest()
    forest.check()
    assert len(forest.roots()) == 0
    assert not forest.is_member(0)
    assert not forest.is_member(-1)
    assert forest.memory() == 0
    forest.plant(99)
    assert forest.memory() == (8 + 4 * 4) * 100 + 4


def test_a_circle_is_found() -> None:
    forest = Forest()
    forest.plant(0)
    forest.plant(1)
    forest.demote(0, 1)
    forest.demote(1, 0)
    with pytest.raises(AssertionError, match="in a circle"):
        forest.check()
