"""Grouping candidates against a dictionary of lists."""

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skyband.kernels.order import order_by
from skyband.topk.kernels.candidate import Candidates, Grouped, group, make_candidates

By = dict[int, list[tuple[int, float]]]


def found_of(slots: list[int], spare: int = 3) -> Candidates:
    """A candidate for each of these slots, told apart by publication and score; arrays longer than what is in use."""
    n = len(slots)
    found = make_candidates(n + spare)
    found.slot[:n], found.slot[n:] = slots, 1
    found.publication[:n] = 100 + np.arange(n)
    found.directed[:n] = 0.5 * np.arange(n)
    found.length[0] = n
    return found


def grouped(found: Candidates, due: list[int]) -> tuple[list[int], By]:
    """The slots in the order they come, and the candidates of each."""
    n = int(found.length[0])
    room = n + len(due)
    into = Grouped(np.full(room, -7), np.full(room + 1, -7), np.full(n, -7), np.full(n, np.nan))
    n_slots = group(found, order_by(found.slot[:n]), np.array(due, np.int64), into)
    slots, start = into.slots[:n_slots].tolist(), into.start[: n_slots + 1].tolist()
    assert start[0] == 0
    assert start[-1] == n
    pairs = list(zip(into.publication.tolist(), into.directed.tolist(), strict=True))
    return slots, {slot: pairs[start[i] : start[i + 1]] for i, slot in enumerate(slots)}


def check(slots: list[int], due: list[int]) -> None:
    wanted: By = {slot: [] for slot in sorted({*slots, *due})}
    for i, slot in enumerate(slots):
        wanted[slot].append((100 + i, 0.5 * i))
    in_order, by_slot = grouped(found_of(slots), due)
    assert in_order == list(wanted)
    assert by_slot == wanted


@given(st.lists(st.integers(0, 12), max_size=40), st.sets(st.integers(0, 12)))
def test_groups_are_the_lists_of_a_dictionary(slots: list[int], due: set[int]) -> None:
    check(slots, sorted(due))


@pytest.mark.parametrize(
    "due",
    [[], [0], [1, 2], [3], [4], [5], [6, 8], [9], [10, 2**40], [0, 3, 4, 5, 9, 11], list(range(12))],
    ids=str,
)
def test_due_slots_come_before_between_among_and_after(due: list[int]) -> None:
    for slots in ([], [3], [9, 3, 5, 3, 5, 3], [3, 3, 3], [0], [2**40 + 1]):
        check(slots, due)


def test_many_candidates() -> None:
    random = np.random.default_rng(0)
    slots: npt.NDArray[np.int64] = random.integers(0, 300, 2000)
    check(slots.tolist(), np.unique(random.integers(0, 400, 200)).tolist())


def test_candidates_begin_empty() -> None:
    found = make_candidates(5)
    assert (found.length[0], found.counts[0]) == (0, 0)
    assert [len(array) for array in found[2:]] == [5, 5, 5]
    assert grouped(found, []) == ([], {})
