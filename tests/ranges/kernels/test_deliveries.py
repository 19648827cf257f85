"""Pairs of tenancies and incarnations against a set of pairs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skyband.ranges.kernels import deliveries as module
from skyband.ranges.kernels.deliveries import FEWEST, DeliveryPairs, bury, remember, remembers

N_ROWS, N_OBJECTS = 6, 7
ROWS, OBJECTS = st.integers(0, N_ROWS - 1), st.integers(0, N_OBJECTS - 1)
ACTIONS = st.lists(st.tuples(st.sampled_from(["remember", "bury", "begin", "end", "bear", "anew"]), ROWS, OBJECTS))


class Twin:
    """A set of pairs of row and object."""

    def __init__(self) -> None:
        self.rows: set[int] = set()
        self.objects = 0
        self.pairs: set[tuple[int, int]] = set()

    def forget(self, row: int | None = None, object: int | None = None) -> None:
        self.pairs = {pair for pair in self.pairs if pair[0] != row and pair[1] != object}


def _do(action: str, row: int, object: int, built: DeliveryPairs, twin: Twin) -> None:
    if action == "begin":
        built.begin(np.array([row]), N_ROWS)
        twin.rows.add(row)
        twin.forget(row=row)
    elif action == "bear":
        twin.objects = max(twin.objects, object + 1)
        built.bear(twin.objects)
    elif action == "anew":
        built._lay_anew(object)
    elif action == "end" and row in twin.rows:
        built.end(np.array([row]))
        twin.rows.remove(row)
        twin.forget(row=row)
    elif action == "bury" and object < twin.objects:
        bury(built.pairs, object, row)
        assert built.pairs.death[object] == row
        twin.forget(object=object)
    elif action == "remember" and row in twin.rows and object < twin.objects:
        built.reserve(1)
        remember(built.pairs, row, object)
        twin.pairs.add((row, object))


@given(actions=ACTIONS)
def test_equals_a_set(actions: list[tuple[str, int, int]]) -> None:
    built, twin = DeliveryPairs(), Twin()
    for action, row, object in actions:
        _do(action, row, object, built, twin)
        built.check()
        for each in twin.rows:
            for other in range(twin.objects):
                assert remembers(built.pairs, each, other) == ((each, other) in twin.pairs)
        rows, objects = built.held()
        assert list(zip(rows.tolist(), objects.tolist(), strict=True)) == sorted(twin.pairs)


def test_numbers_stay_small_however_many_come_and_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SPARE", 4)
    built = DeliveryPairs()
    slots = np.arange(5, dtype=np.int64)
    built.begin(slots, 5)
    built.bear(5)
    for turn in range(100):
        built.begin(slots[1:], 5)
        for object in range(1, 5):
            bury(built.pairs, object, turn)
        built.add(slots, slots)
        built.add(slots, np.zeros(5, np.int64))
        built.check()
        assert built.pairs.next.max() < 50
        rows, objects = built.held()
        assert sorted(zip(rows.tolist(), objects.tolist(), strict=True)) == sorted(
            [(0, 0), *[(i, i) for i in range(1, 5)], *[(i, 0) for i in range(1, 5)]]
        )
        assert len(built.pairs.key) == FEWEST, "garbage takes no memory for long"


def test_many_pairs() -> None:
    built = DeliveryPairs()
    rows, objects = (part.ravel() for part in np.meshgrid(np.arange(60), np.arange(40)))
    built.begin(np.arange(60), 60)
    built.bear(40)
    chosen = (rows * 7 + objects * 3) % 5 < 2
    built.add(rows[chosen], objects[chosen])
    built.add(rows[chosen], objects[chosen])
    built.check()
    got = [remembers(built.pairs, row, object) for row, object in zip(rows.tolist(), objects.tolist(), strict=True)]
    assert got == chosen.tolist()
    assert built.n_bytes < 64 * chosen.sum()
