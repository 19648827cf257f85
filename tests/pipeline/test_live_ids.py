"""Ids are taken as long as a window holds their publications, like a dictionary beside a heap."""

import heapq
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skyband.pipeline.stage.live_ids import LiveIds
from skyband.table import UNBOUNDED, Window

IDS: dict[Any, list[Any]] = {
    pa.string(): ["", "a", "ä", "aa", "b", "B", "c" * 40, "d"],
    pa.int64(): [0, -1, 2**63 - 1, -(2**63), 7, 8, 9, 10],
}
WINDOWS = {"time": Window.time(5), "count": Window.count(4), "none": UNBOUNDED}
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["add", "add", "add", "retract", "forget", "save"]),
        st.lists(st.tuples(st.integers(0, 7), st.integers(-3, 12)), max_size=6, unique_by=lambda pair: pair[0]),
        st.integers(-3, 15),
    ),
    max_size=12,
)


class Twin:
    """A dictionary of what is live, and a heap of all that keeps a place."""

    def __init__(self, window: str) -> None:
        self.window, self.live, self.oldest, self.n = window, dict[Any, int](), list[tuple[int, Any, int]](), 0

    def add(self, ids: list[Any], ts: list[int]) -> None:
        for id, time in zip(ids, ts, strict=True):
            self.live[id] = self.n
            heapq.heappush(self.oldest, (time, id, self.n))
            self.n += 1

    def forget(self, now: int) -> None:
        while self.window != "none" and self.oldest and self._is_over(now):
            _, id, number = heapq.heappop(self.oldest)
            if self.live.get(id) == number:
                del self.live[id]

    def _is_over(self, now: int) -> bool:
        size = WINDOWS[self.window].size
        return len(self.oldest) > size if self.window == "count" else self.oldest[0][0] <= now - size


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("kind", IDS, ids=str)
@given(steps=STEPS)
def test_like_a_heap(kind: pa.DataType, window: str, steps: list[tuple[str, list[tuple[int, int]], int]]) -> None:
    live, twin, now = LiveIds(WINDOWS[window], kind), Twin(window), -100
    known = pa.array(IDS[kind], kind)
    for what, rows, moment in steps:
        names, times = [IDS[kind][name] for name, _ in rows], [ts for _, ts in rows]
        ids = pa.array(["left", *names] if kind == pa.string() else [1, *names], kind).slice(1)
        if what == "add":
            # Who publishes asks before: what is taken is refused.
            fresh = ~live.are_live(ids)
            assert fresh.tolist() == [name not in twin.live for name in names]
            live.add(ids.filter(pa.array(fresh)), np.array(times, np.int64)[fresh])
            chosen = [i for i, is_fresh in enumerate(fresh) if is_fresh]
            twin.add([names[i] for i in chosen], [times[i] for i in chosen])
            live.forget(now)
            twin.forget(now)
        elif what == "retract":
            assert live.retract(ids).tolist() == [twin.live.pop(name, None) is not None for name in names]
        elif what == "forget":
            now = max(now, moment)
            live.forget(now)
            twin.forget(now)
        else:
            table = live.save()
            live = LiveIds(WINDOWS[window], kind)
            live.load(table)
        live.check()
        assert live.are_live(known).tolist() == [name in twin.live for name in IDS[kind]]
        assert len(live) == len(twin.live)


def test_withdrawn_ones_keep_a_place_that_is_saved() -> None:
    live = LiveIds(Window.count(2), pa.string())
    live.add(pa.array(["a", "b"]), np.array([5, 5]))
    live.retract(pa.array(["a"]))
    live.add(pa.array(["a"]), np.array([3]))
    live.forget(None)
    # The later one of the id is the earlier one of the stream, and is beyond the last two.
    assert live.save().to_pylist() == [
        {"id": "a", "ts": 5, "retracted": True},
        {"id": "b", "ts": 5, "retracted": False},
    ]
    assert live.are_live(pa.array(["a", "b"])).tolist() == [False, True]


def test_states_of_earlier_versions_are_read() -> None:
    for window in WINDOWS.values():
        live = LiveIds(window, pa.string())
        live.load(pa.table({"id": ["a", "b"], "ts": [1, 2]}))
        assert live.are_live(pa.array(["b", "c", "a"])).tolist() == [True, False, True]
