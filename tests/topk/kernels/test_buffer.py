"""Buffers against a list that is sorted each time."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from skyband.topk.kernels.buffer import (
    ENTER,
    LEAVE,
    MOVE,
    Buffers,
    Stamps,
    check_row,
    expire,
    find_item,
    insert,
    leave_all,
    make_ghosts,
    make_told,
    remove_at,
    settle,
)

K, CAPACITY, ITEMS = 2, 5, 40


def _one_row(sign: float = 1.0) -> Buffers:
    def integers(value: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return np.array([value], np.int64)

    room = CAPACITY + K
    pool = (np.zeros(room), np.zeros(room, np.int64), np.zeros(room, np.uint8))
    numbers = (integers(0), integers(CAPACITY), integers(K), integers(0), integers(0))
    return Buffers(*numbers, np.ones(1, np.bool_), np.array([sign]), *pool)


STAMPS = Stamps(np.arange(ITEMS, dtype=np.int64), 0)
Step = tuple[list[int], int]


@given(st.lists(st.tuples(st.lists(st.integers(0, 3), max_size=5), st.integers(0, 4)), max_size=7), st.booleans())
def test_tells_how_the_best_change(steps: list[Step], boolean: bool) -> None:
    """Arrivals and expiries in steps, few enough that the row never has to be searched for."""
    sign = 0.0 if boolean else 1.0
    row, told, ghosts = _one_row(sign), make_told(64), make_ghosts(64)
    live: list[tuple[float, int]] = []
    n_items, cut, before, seen = 0, -1, dict[int, float](), set[int]()
    for scores, older in steps:
        told.length[0] = 0
        for score in scores:
            if len(live) < CAPACITY - 1:
                assert insert(row, 0, float(score), n_items, 0, STAMPS, True, 0, ghosts)
                live.append((float(score), n_items))
                n_items += 1
        cut = max(cut, n_items - 1 - older)
        expire(row, 0, STAMPS, cut)
        live = [(score, item) for score, item in live if item > cut]
        settle(row, 0, 0, STAMPS, told)
        check_row(row, 0, STAMPS)
        best = sorted(live, key=lambda entry: (sign * entry[0], -entry[1]))[:K]
        after = {item: score for score, item in best}
        leaves = [item for item in before if item not in after]
        enters = [
            (item, score, rank + 1, item not in seen) for rank, (score, item) in enumerate(best) if item not in before
        ]
        n = int(told.length[0])
        rows = list(zip(told.op[:n].tolist(), told.item[:n].tolist(), strict=True))
        assert rows == [(LEAVE, item) for item in leaves] + [(ENTER, item) for item, *_ in enters]
        new = slice(len(leaves), n)
        values = (told.item, told.score, told.rank, told.first)
        assert list(zip(*(column[new].tolist() for column in values), strict=True)) == enters
        before, seen = after, seen | after.keys()


def test_a_full_row_gives_up_its_worst_and_is_not_whole() -> None:
    row, ghosts = _one_row(), make_ghosts(8)
    for item in range(CAPACITY):
        assert insert(row, 0, float(item), item, 0, STAMPS, True, 0, ghosts)
    assert not row.whole[0]
    assert insert(row, 0, 0.5, CAPACITY, 0, STAMPS, True, 0, ghosts)
    assert not insert(row, 0, 9.0, CAPACITY + 1, 0, STAMPS, True, 0, ghosts)
    assert row.item[:CAPACITY].tolist() == [0, CAPACITY, 1, 2, 3]
    assert ghosts.length[0] == 0


def test_a_delivered_item_that_may_return_becomes_a_ghost() -> None:
    row, told, ghosts = _one_row(), make_told(16), make_ghosts(8)
    newest = ITEMS - 1
    insert(row, 0, 1.0, newest, 0, STAMPS, True, 0, ghosts)
    settle(row, 0, 0, STAMPS, told)
    for item in range(CAPACITY):
        insert(row, 0, 0.0, item, 0, STAMPS, True, 1, ghosts)
    assert ghosts.item[: ghosts.length[0]].tolist() == [newest]
    assert ghosts.step[0] == 1


def test_a_member_that_changes_its_score_moves() -> None:
    row, told, ghosts = _one_row(), make_told(16), make_ghosts(8)
    for item in range(2):
        insert(row, 0, float(item), item, 0, STAMPS, False, 0, ghosts)
    settle(row, 0, 0, STAMPS, told)
    told.length[0] = 0
    remove_at(row, 0, find_item(row, 0, 0))
    insert(row, 0, 7.0, 0, 0, STAMPS, False, 0, ghosts)
    settle(row, 0, 0, STAMPS, told)
    assert told.op[: told.length[0]].tolist() == [MOVE]
    assert (told.item[0], told.score[0], told.rank[0], told.first[0]) == (0, 7.0, 2, False)
    told.length[0] = 0
    remove_at(row, 0, find_item(row, 0, 0))
    insert(row, 0, 7.0, 0, 0, STAMPS, False, 0, ghosts)
    settle(row, 0, 0, STAMPS, told)
    assert told.length[0] == 0
    leave_all(np.array([0]), row, told)
    assert told.item[: told.length[0]].tolist() == [1, 0]
