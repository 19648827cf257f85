"""The crew: all parts of a call run, in threads that are gone afterwards, and what goes wrong is told once."""

import os
import threading
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skyband.kernels.crew import all_cores, even_cuts, n_shares, rounds, run
from skyband.kernels.room import NoProgress, pauses, stops
from skyband.testing.thread import eager


def test_every_task_is_done_and_answers_in_its_place() -> None:
    assert run([lambda i=i: (i, threading.get_ident()) for i in range(5)])[3][0] == 3  # type: ignore[misc]
    _, *threads = (ident for _, ident in run([lambda: (0, threading.get_ident())] * 4))
    assert threading.get_ident() not in threads


def test_tasks_run_at_a_time_and_no_thread_is_left() -> None:
    meeting = threading.Barrier(4, timeout=30.0)
    before = threading.active_count()
    assert sorted(run([meeting.wait] * 4)) == [0, 1, 2, 3]
    assert threading.active_count() == before


def test_one_task_needs_no_thread() -> None:
    assert run([threading.get_ident]) == [threading.get_ident()]


def test_the_first_error_is_raised_once_all_have_ended() -> None:
    ended = []

    def fail(late: float, name: str) -> None:
        time.sleep(late)
        ended.append(name)
        raise ValueError(name)

    with pytest.raises(ValueError, match="first"):
        run([lambda: ended.append("good"), lambda: fail(0.05, "first"), lambda: fail(0.0, "second")])
    assert sorted(ended) == ["first", "good", "second"]


def test_an_interrupt_of_the_caller_waits_for_the_others() -> None:
    ended = []

    def interrupt() -> None:
        raise KeyboardInterrupt

    def work() -> None:
        time.sleep(0.05)
        ended.append(True)

    with pytest.raises(KeyboardInterrupt):
        run([interrupt, work])
    assert ended


@given(st.lists(st.integers(0, 9), min_size=1, max_size=6), st.integers(1, 3))
def test_parts_that_stop_go_on_until_all_are_through(ends: list[int], pace: int) -> None:
    came, room = [0] * len(ends), [0] * len(ends)

    def part(i: int) -> Iterator[int]:
        def go_on(done: int) -> int:
            came[i] = min(done + room[i], ends[i])
            return came[i]

        return stops(go_on, ends[i], tries=2)

    stopped = []
    for i in rounds([part(i) for i in range(len(ends))]):
        stopped.append(i)
        room[i] = pace
    assert came == ends
    first_round = [i for i, end in enumerate(ends) if end]
    assert stopped[: len(first_round)] == first_round


def test_a_part_that_comes_no_further_is_found_out() -> None:
    def never() -> bool:
        return False

    def at(place: int) -> Callable[[], tuple[int]]:
        return lambda: (place,)

    with pytest.raises(NoProgress):
        for _ in rounds([pauses(never, at(1)), pauses(never, at(2))]):
            pass


@given(st.lists(st.integers(0, 20), min_size=1, max_size=50), st.integers(1, 8))
def test_cuts_share_the_work_out(work: list[int], n: int) -> None:
    ends = np.cumsum(work)
    cuts = even_cuts(ends, n)
    assert cuts[0] == 0
    assert cuts[-1] == len(work)
    assert (np.diff(cuts) > 0).all()
    assert len(cuts) <= n + 1
    shares = [sum(work[lo:hi]) for lo, hi in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True)]
    assert max(shares) <= sum(work) / n + max(work)


def test_little_work_stays_in_one_thread() -> None:
    assert [n_shares(4, n, 100) for n in (0, 99, 199, 200, 399, 10_000)] == [1, 1, 1, 2, 3, 4]
    with eager():
        assert [n_shares(4, n, 100) for n in (0, 1, 2, 10_000)] == [1, 1, 2, 4]


def test_as_many_cores_as_the_process_may_use() -> None:
    assert 1 <= all_cores() <= (os.cpu_count() or 1)
