"""Kernels of CIQ: covering cells, bounds on the text, lists that run out of room, checks that notice damage."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from skyband.geotext.ciq import CiqIndex
from skyband.geotext.kernels.ciq import (
    ALWAYS,
    EMPTY,
    END,
    GATE,
    LAST,
    N_LISTS,
    N_POSTINGS,
    NEVER,
    POSTINGS,
    CellEdges,
    CiqLists,
    CiqPostings,
    bound,
    copy_lists,
    covering,
    disseminate,
    enter,
    find_list,
    first_cell,
    make_lists,
    make_space,
    measure,
    min_text,
    place_lists,
    step_of,
    take_out,
)
from skyband.kernels.array import Floats
from skyband.kernels.slots import BLOCK
from skyband.topk.kernels.candidate import make_candidates
from skyband.topk.kernels.score import PLACE, Contents, Questions, place_score

UNIT = (0.0, 0.0, 1.0, 1.0)
DEPTHS = [1, 2, 3, 4]


def sides_of(space: CellEdges, cell: int) -> tuple[Floats, Floats]:
    """The least and the greatest x and y of a cell, within the unit square."""
    level = next(level for level in range(1, space.depth + 1) if cell < first_cell(level + 1))
    down, across = divmod(cell - first_cell(level), 2**level)
    low = np.array([across, down]) / 2**level
    return low, low + 1 / 2**level


def test_cells_are_numbered_level_by_level() -> None:
    assert [first_cell(level) for level in range(1, 6)] == [0, 4, 20, 84, 340]


@pytest.mark.parametrize("depth", DEPTHS)
def test_steps_are_between_their_edges(depth: int) -> None:
    random = np.random.default_rng(depth)
    edges = make_space(UNIT, depth).xs
    xs = np.concatenate([random.random(50), edges[1:-1], np.nextafter(edges[1:-1], -1.0), [0.0, 1.0, -5.0, 5.0]])
    steps = [step_of(edges, depth, float(x)) for x in xs]
    assert steps == (np.searchsorted(edges, xs, side="right") - 1).tolist()


@pytest.mark.parametrize("depth", DEPTHS)
def test_covering_cells_are_a_partition(depth: int) -> None:
    random = np.random.default_rng(depth)
    space = make_space(UNIT, depth)
    for place in [*random.random((10, 2)), [0.0, 0.0], [1.0, 1.0], [0.5, 0.5], [0.25, 1.0]]:
        cells = covering(space, *place)
        assert len({cell for cell, _ in cells}) == len({j for _, j in cells}) == 3 * depth + 1
        sides = [sides_of(space, cell) for cell, _ in cells]
        assert sum(np.prod(high - low) for low, high in sides) == 1.0
        for point in random.random((20, 2)):
            assert sum(bool(((low <= point) & (point < high)).all()) for low, high in sides) == 1
        # The four innermost are around the place itself.
        assert any(((low <= place) & (place <= high)).all() for low, high in sides[-4:])


def test_seven_cells_as_in_the_figure() -> None:
    cells = [cell for cell, _ in covering(make_space(UNIT, 2), 0.1, 0.9)]
    assert cells == [0, 1, 3, 4 + 8, 4 + 9, 4 + 12, 4 + 13]


def test_min_text_at_the_ends() -> None:
    assert min_text(np.inf, 0.5, 1.0) == ALWAYS
    assert min_text(-np.inf, 0.5, 1.0) == NEVER
    assert min_text(-0.7, 0.0, 0.3) == pytest.approx(0.7, abs=2e-6)
    assert min_text(-0.6, 0.5, 0.8) == pytest.approx(0.4, abs=2e-6)
    assert min_text(-0.7, 1.0, 0.8) == ALWAYS
    assert min_text(-0.8, 1.0, 0.7) == NEVER
    assert min_text(1e308, 1.0, 1.0) == ALWAYS
    assert min_text(-1e308, 1.0, 1.0) == NEVER


def contents_of(points: Floats, terms: list[list[int]]) -> Contents:
    n, counts = len(points), np.array([len(row) for row in terms], np.int64)
    flat = np.array([term for row in terms for term in row], np.int64)
    weights = np.concatenate([[], *(np.ones(len(row)) / max(1, len(row)) ** 0.5 for row in terms)])
    ones = np.ones(n, np.int64)
    start = np.cumsum(counts) - counts
    return Contents(np.ascontiguousarray(points.T), np.zeros(n), ones, start, counts, flat, weights, 2.0**0.5)


def questions_of(places: Floats, alphas: Floats, terms: list[list[int]]) -> Questions:
    n, said = len(places), contents_of(places, terms)
    centre = np.zeros((1, 2, BLOCK))
    centre[0, :, :n] = places.T
    words = (said.term_start, said.term_count, said.terms, said.term_weights)
    kinds = np.full(1, PLACE, np.int8)
    return Questions(kinds, centre, np.zeros((1, 0, BLOCK)), np.zeros(n), alphas, np.ones(n, np.int64), *words)


def index_of(n: int, depth: int = 2, gate: float = -0.5, seed: int = 1) -> CiqIndex:
    random = np.random.default_rng(seed)
    terms = [np.unique(random.integers(0, 12, 4)).tolist() for _ in range(n)]
    index = CiqIndex(UNIT, depth)
    index.add(np.arange(n), questions_of(random.random((n, 2)), random.random(n), terms), np.full(n, gate))
    return index


@pytest.mark.parametrize("depth", DEPTHS)
def test_min_text_is_sound(depth: int) -> None:
    """Whoever passes the gate from within a cell has at least the cell's MinT, the nearest points of it included."""
    random = np.random.default_rng(depth)
    index = index_of(40, depth)
    space, asked = index._space, index._asked
    asked.numbers[:8, 2] = [0.0, 1.0, 1e-12, 1.0 - 1e-12, 0.0, 1.0, 0.5, 0.5]
    for slot in range(40):
        x, y, alpha, _ = asked.numbers[slot].tolist()
        for cell, j in covering(space, x, y):
            low, high = sides_of(space, cell)
            points = np.concatenate([low + random.random((3, 2)) * (high - low), [np.clip([x, y], low, high)]])
            for dx, dy in points - [x, y]:
                text = float(random.random()) * (1.0 + 1e-6)
                asked.numbers[slot, GATE] = place_score(alpha, float(dx), float(dy), space.diagonal, text)
                bound(np.array([slot]), space, asked)
                assert np.float32(text) * (1.0 - 1e-7) >= asked.least[j, slot]
            # At the nearest point nothing is given away but the slack.
            if alpha < 0.99 and asked.least[j, slot] > ALWAYS:
                assert asked.least[j, slot] == pytest.approx(text, abs=2e-6)


def lists_of(keys: list[int], room: int = 0) -> CiqLists:
    lists = make_lists(len(keys), room)
    lists.key[:], lists.used[N_LISTS] = keys, len(keys)
    place_lists(lists)
    return lists


def test_lists_are_found_by_their_keys() -> None:
    random = np.random.default_rng(2)
    keys = [*np.unique(random.integers(1, 2**47, 300)).tolist(), 0, 2**48, 2**47, 2**28 - 1]
    lists = lists_of(keys)
    assert [find_list(lists, key) for key in keys] == list(range(len(keys)))
    assert find_list(lists, 2**48 + 1) == EMPTY
    assert find_list(make_lists(0, 0), 5) == EMPTY


def groups_of(by_list: dict[int, list[int]]) -> tuple[CiqPostings, npt.NDArray[np.int64]]:
    of = np.array([number for number, slots in by_list.items() for _ in slots], np.int32)
    slot = np.array([slot for slots in by_list.values() for slot in slots], np.int32)
    return CiqPostings(of, slot, (slot / 2).astype(np.float32)), np.cumsum([len(slots) for slots in by_list.values()])


def held(lists: CiqLists) -> list[list[int]]:
    rows = []
    for start, length in zip(lists.start.tolist(), lists.length.tolist(), strict=True):
        rows.append(lists.slot[start : start + length].tolist())
        assert np.array_equal(lists.weight[start : start + length], lists.slot[start : start + length] / 2)
    return rows


def test_postings_are_merged_and_taken_out() -> None:
    random = np.random.default_rng(3)
    lists, wanted = lists_of([7, 8, 9], 5_000), [set[int](), set[int](), set[int]()]
    for _ in range(30):
        chosen = {of: set(random.integers(0, 60, random.integers(1, 20)).tolist()) for of in (0, 2, 1)}
        new = {of: sorted(slots - wanted[of]) for of, slots in chosen.items() if slots - wanted[of]}
        assert enter(*groups_of(new), 0, lists) == len(new)
        for of, slots in new.items():
            wanted[of] |= set(slots)
        assert held(lists) == [sorted(slots) for slots in wanted]
        gone = {of: sorted(slots)[:: random.integers(1, 4)] for of, slots in enumerate(wanted) if slots}
        take_out(*groups_of(gone), lists)
        for of, slots in gone.items():
            wanted[of] -= set(slots)
        assert held(lists) == [sorted(slots) for slots in wanted]
        assert lists.used[N_POSTINGS] == sum(len(slots) for slots in wanted)


def test_a_full_pool_stops_the_merge() -> None:
    lists, groups = lists_of([1, 2, 3], 6), groups_of({0: [1, 2, 3], 1: [1, 5], 2: [4, 6]})
    assert enter(*groups, 0, lists) == 2
    assert held(lists) == [[1, 2, 3], [1, 5], []]
    assert (lists.used[END], lists.used[N_POSTINGS]) == (5, 5)
    start, pool = np.array([10, 0, 5]), make_lists(0, 20)
    new = lists._replace(start=start, slot=pool.slot, weight=pool.weight, capacity=np.array([3, 2, 2], np.int32))
    copy_lists(lists, new)
    assert enter(*groups, 2, new) == 3
    assert held(new) == [[1, 2, 3], [1, 5], [4, 6]]


def test_messages_are_measured() -> None:
    contents = contents_of(np.zeros((4, 2)), [[3, 1], [], [9, 0, 2], [50]])
    assert measure(contents, 0, 4) == (3, 51)
    assert measure(contents, 0, 2) == (2, 4)
    assert measure(contents, 1, 2) == (0, 0)
    assert measure(contents, 2, 2) == (0, 0)


def test_a_message_without_room_leaves_no_trace() -> None:
    index = index_of(30, gate=np.inf)
    random = np.random.default_rng(5)
    contents = contents_of(random.random((3, 2)), [[1, 2], [3, 4, 5], [6]])
    whole = index.route(contents, 0, 3, make_candidates(100))
    counts, n = index.counters, whole.publication[: whole.length[0]].tolist().count(0)
    index._reading.counts[:] = 0
    into = make_candidates(n)
    step = (index._space, index._asked, index._lists, contents)
    assert disseminate(*step, 0, 3, index._reading, into) == 1
    assert (into.length[0], into.counts[0]) == (n, n)
    assert not index._reading.said.any()
    assert index._reading.counts[POSTINGS] < counts["postings"]
    into = make_candidates(100)
    assert disseminate(*step, 1, 3, index._reading, into) == 3
    assert index.counters == counts
    assert into.slot[: into.length[0]].tolist() == whole.slot[n : whole.length[0]].tolist()


def test_slots_are_found_in_order_and_once() -> None:
    index = index_of(200, depth=1, gate=np.inf)
    into = index.route(contents_of(np.full((1, 2), 0.3), [list(range(12))]), 0, 1, make_candidates(200))
    assert into.slot[: into.length[0]].tolist() == list(range(200))
    assert index.counters["postings"] == index._asked.span[:, 1].sum()
    assert index._reading.head[0] == LAST


def _swap_postings(index: CiqIndex) -> None:
    at = index._lists.start[np.argmax(index._lists.length)]
    index._lists.slot[[at, at + 1]] = index._lists.slot[[at + 1, at]]


def _change_weight(index: CiqIndex) -> None:
    index._lists.weight[index._lists.start[np.argmax(index._lists.length)]] *= 1.5


def _lose_posting(index: CiqIndex) -> None:
    index._lists.length[np.argmax(index._lists.length)] -= 1


def _overlap(index: CiqIndex) -> None:
    index._lists.start[1] = index._lists.start[0]


def _move_gate(index: CiqIndex) -> None:
    index._asked.numbers[3, GATE] = -0.9


def _lose_list(index: CiqIndex) -> None:
    index._lists.places[np.flatnonzero(index._lists.places != EMPTY)[0]] = EMPTY


def _change_key(index: CiqIndex) -> None:
    index._lists.key[0] += 1_000_000


def _move_place(index: CiqIndex) -> None:
    index._asked.numbers[3, :2] = 1.0 - index._asked.numbers[3, :2]


def _forget(index: CiqIndex) -> None:
    index._present[2] = False


def _say(index: CiqIndex) -> None:
    index._reading.said[0] = 1.0


DAMAGES = [
    _swap_postings,
    _change_weight,
    _lose_posting,
    _overlap,
    _move_gate,
    _lose_list,
    _change_key,
    _move_place,
    _forget,
    _say,
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_the_check_notices_damage(damage: Any) -> None:
    index = index_of(40)
    index.check()
    damage(index)
    with pytest.raises(AssertionError):
        index.check()
