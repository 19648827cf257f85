"""The inbox and the search for first answers, against lists."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skyband.kernels.array import Floats
from skyband.kernels.heap import make_heap
from skyband.ranges.kernels.lowest import find_lowest, sort_objects
from skyband.ranges.kernels.message import GONE, Messages, make_messages
from skyband.ranges.kernels.range_scan import ObjectChanges
from skyband.ranges.kernels.subscriber_rows import hear, keep_in_time
from skyband.ranges.painter import SubscriberGroups
from skyband.ranges.subscribers import Subscribers
from skyband.topk.kernels.buffer import Buffers, Stamps, make_told

N_OBJECTS = 8
LABEL = np.array([3, 1, 4, 0, 5, 9, 2, 6])
HEARD = st.tuples(st.integers(0, N_OBJECTS - 1), st.sampled_from([0.0, 1.0, 2.0, 3.0, GONE]))


def _row(k: int) -> Buffers:
    by_row = [np.array([number], np.int64) for number in (0, k, k, 0, 0)]
    pool = [np.zeros(2 * k), np.zeros(2 * k, np.int64), np.zeros(2 * k, np.uint8)]
    return Buffers._make([*by_row, np.ones(1, np.bool_), np.ones(1), *pool])


@given(k=st.integers(1, 5), heard=st.lists(HEARD, max_size=30))
def test_a_row_hears_as_the_paper_says(k: int, heard: list[tuple[int, float]]) -> None:
    buffers, held = _row(k), dict[int, float]()
    for object, y in heard:
        before = dict(held)
        if object in held or y != GONE:
            held[object] = y
        best = sorted((y, -int(LABEL[object]), object) for object, y in held.items() if y != GONE)[:k]
        held = {object: y for y, _, object in best}
        changed = hear(buffers, 0, object, y, Stamps(LABEL, 0))
        assert changed == (held != before)
        size = int(buffers.size[0])
        assert buffers.item[:size].tolist() == [object for _, _, object in best]
        assert buffers.score[:size].tolist() == [y for y, _, _ in best]


def _messages(rows: list[tuple[float, float, int, float, int]], group: int) -> Messages:
    messages = make_messages(len(rows), 1)
    messages.length[0] = len(rows)
    messages.group[:] = group
    for i, (low, high, object, y, event) in enumerate(rows):
        messages.low[i], messages.high[i] = low, high
        messages.object[i], messages.y[i], messages.event[i] = object, y, event
    return messages


def _subscribers(n: int, k: int) -> Subscribers:
    """Subscription i has the range [i, i]."""
    subscribers = Subscribers(SubscriberGroups(1))
    ids = np.arange(n, dtype=np.float64)[:, np.newaxis]
    slots = subscribers.add(pa.array(range(n)), np.full(n, k, np.int64), ids, ids)
    for part in subscribers.parts(slots):
        subscribers.groups.points.add(part.group, part.slots, part.points)
    subscribers.deliveries.bear(N_OBJECTS)
    return subscribers


def _changes(objects: list[int], alive: list[bool], end: list[int]) -> ObjectChanges:
    n = len(objects)
    return ObjectChanges(np.array(objects), np.zeros((n, 1)), np.zeros(n), np.array(alive), np.array(end))


def _told(subscribers: Subscribers) -> list[tuple[int, int, int, int, bool]]:
    subscribers.change_log._keep()
    rows = []
    for step, slot, item, op, _, _, first in subscribers.change_log._told:
        columns = (step.tolist(), slot.tolist(), item.tolist(), op.tolist(), first.tolist())
        rows += list(zip(*columns, strict=True))
    subscribers.change_log.discard()
    return sorted(rows)


@pytest.mark.parametrize("room", [2, 4096])
def test_steps_are_told_one_by_one(room: int) -> None:
    subscribers = _subscribers(3, 1)
    subscribers.change_log.told = make_told(room)
    changes = _changes([0, 1, 1, 2], [True, True, False, True], [1, 2, 4])
    sent = [(0.0, 2.0, 0, 5.0, 0), (0.0, 1.0, 1, 3.0, 1), (0.0, 1.0, 1, GONE, 2), (0.0, 1.0, 0, 5.0, 2)]
    group = subscribers.groups.of(1)
    subscribers.receive(_messages(sent[:3], group), changes, LABEL)
    subscribers.receive(_messages(sent[3:], group), changes, LABEL)
    subscribers.finish(changes, LABEL)
    subscribers.check(LABEL)
    enters = [(0, row, 0, 0, True) for row in range(3)]
    second = [(1, row, item, op, op == 0) for row in range(2) for item, op in ((0, 1), (1, 0))]
    third = [(2, row, item, op, False) for row in range(2) for item, op in ((0, 0), (1, 1))]
    assert _told(subscribers) == sorted(enters + second + third)
    assert subscribers.costs() == {"received": 9, "discarded": 0}


def test_messages_that_change_nothing_are_counted() -> None:
    subscribers = _subscribers(4, 2)
    changes = _changes([0, 1], [True, True], [2])
    sent = [(0.0, 3.0, 0, 5.0, 0), (1.0, 2.0, 0, 5.0, 1), (3.0, 3.0, 1, GONE, 1), (2.0, 1.0, 1, 1.0, 1)]
    subscribers.receive(_messages(sent, subscribers.groups.of(2)), changes, LABEL)
    subscribers.finish(changes, LABEL)
    assert subscribers.costs() == {"received": 7, "discarded": 3}
    assert subscribers.costs() == {"received": 0, "discarded": 0}


def test_the_dead_are_buried_also_when_nobody_hears_of_it() -> None:
    subscribers = _subscribers(1, 1)
    group = subscribers.groups.of(1)
    steps = [
        ([(0.0, 0.0, 0, 5.0, 0)], True, [(0, True)]),
        ([(0.0, 0.0, 1, 4.0, 0)], True, [(1, True)]),
        ([(0.0, 0.0, 1, GONE, 0), (0.0, 0.0, 0, 5.0, 0)], True, [(0, False)]),
        ([(0.0, 0.0, 2, 1.0, 0)], True, [(2, True)]),
        # The death of what is in nobody's top needs no message.
        ([], False, []),
        ([(0.0, 0.0, 2, GONE, 0), (0.0, 0.0, 0, 5.0, 0)], True, [(0, True)]),
    ]
    for sent, alive, enters in steps:
        changes = _changes([0], [alive], [1])
        subscribers.receive(_messages(sent, group), changes, LABEL)
        subscribers.finish(changes, LABEL)
        assert [(item, first) for _, _, item, op, first in _told(subscribers) if op == 0] == enters


def _objects(random: np.random.Generator, n: int, dims: int) -> tuple[Floats, Floats]:
    x, y = random.integers(0, 12, (n, dims)).astype(float), random.integers(0, 5, n).astype(float)
    x[random.random((n, dims)) < 0.05] = 1e150
    return x, y


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("n", [0, 1, 40, 300])
def test_the_lowest_in_a_range(dims: int, n: int) -> None:
    random = np.random.default_rng(n + dims)
    x, y = _objects(random, n + 5, dims)
    chosen = random.permutation(n + 5)[:n].astype(np.int64)
    tie = random.permutation(n + 5).astype(np.int64)
    shelves = sort_objects(chosen, x, y, tie)
    for k in (1, 3, 50, 1000):
        for _ in range(12):
            ends = np.sort(random.choice([-np.inf, np.inf, *range(13)], (2, dims)), axis=0)
            heap = make_heap(min(k, n))
            n_found = find_lowest(shelves, ends[0], ends[1], k, heap)
            inside = [i for i in chosen.tolist() if ((ends[0] <= x[i]) & (x[i] <= ends[1])).all()]
            wanted = sorted(inside, key=lambda i: (y[i], tie[i]))[:k]
            assert shelves.object[heap.items[:n_found]].tolist() == wanted


@given(events=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), max_size=30))
def test_what_is_late_is_left_out(events: list[tuple[int, int]]) -> None:
    objects, ts = np.array(events, np.int64).reshape(-1, 2).T.copy()
    last, kept = np.full(4, -1, np.int64), np.zeros(len(events), np.int64)
    n = keep_in_time(objects, ts, last, kept)
    known, wanted = dict[int, int](), []
    for i, (object, when) in enumerate(events):
        if when >= known.get(object, -1):
            known[object] = when
            wanted.append(i)
    assert kept[:n].tolist() == wanted
    assert last.tolist() == [known.get(object, -1) for object in range(4)]
