"""The crew: threads that share the work of one call.

Kernels release the interpreter lock, so that parts of a call that write to different places run side by side. The
caller takes the first part itself; for each other one a thread is started and has ended before the call returns. None
lives on between calls: there is nothing to close, and nothing for a forked process to miss. Starting and joining one
takes 50 to 100 µs, so little work stays in one thread, and whoever divides it says how much is little.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from threading import Thread
from typing import Any, Generic, TypeVar

import numpy as np

from skyband.kernels.array import Int64s

T = TypeVar("T")

MOST_THREADS = 1024
# Set by tests, which divide whatever can be divided: however little there is of it, it is not too little.
EAGER = False


def all_cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def n_shares(threads: int, n: int, least: int) -> int:
    """Among how many threads n pieces of work are divided, of which fewer than `least` are not worth a thread."""
    return max(1, min(threads, n if EAGER else n // least))


def even_cuts(ends: Int64s, n: int) -> Int64s:
    """Where to cut a sequence in up to n parts of about the same work, from 0 to its end; no part is empty.

    `ends[i]` is the work of the first i + 1 elements.
    """
    shares = np.arange(1, n) * (float(ends[-1]) / n)
    return np.unique(np.concatenate([[0], np.searchsorted(ends, shares, "left") + 1, [len(ends)]])).astype(np.int64)


class _Hand(Thread, Generic[T]):
    """A thread that does one task, and keeps what comes of it."""

    def __init__(self, task: Callable[[], T]) -> None:
        super().__init__(name="skyband", daemon=True)
        self._task = task
        self._outcome: T
        self._error: BaseException | None = None

    def run(self) -> None:
        """Do the task."""
        try:
            self._outcome = self._task()
        except BaseException as error:  # it is raised where the outcome is asked for
            self._error = error

    def outcome(self) -> T:
        """What came of the task, once it is over."""
        if self._error is not None:
            raise self._error
        return self._outcome


def run(tasks: Sequence[Callable[[], T]]) -> list[T]:
    """Do all tasks at a time, and answer with what each returned.

    All of them have ended when it returns. If some failed, the error of the first of these is raised.
    """
    if len(tasks) == 1:
        return [tasks[0]()]
    own, *others = [_Hand(task) for task in tasks]
    begun: list[_Hand[T]] = []
    try:
        for hand in others:
            hand.start()
            begun.append(hand)
        own.run()
    finally:
        _join(begun)
    return [hand.outcome() for hand in (own, *others)]


def _join(hands: Sequence[Thread]) -> None:
    """Wait until all have ended, also where that is interrupted: nobody is to write to what others read by then."""
    interrupt = None
    for hand in hands:
        while hand.is_alive():
            try:
                hand.join()
            except KeyboardInterrupt as error:
                interrupt = error
    if interrupt is not None:
        raise interrupt


def rounds(parts: Sequence[Iterator[Any]]) -> Iterator[int]:
    """Run parts, which are what `stops` and `pauses` return, at a time until all are through.

    Yields each part that stopped, in their order and while none of them runs, for room to be made.
    """
    waiting = list(range(len(parts)))
    while waiting:
        places = run([partial(next, parts[i], None) for i in waiting])
        waiting = [i for i, place in zip(waiting, places, strict=True) if place is not None]
        yield from waiting
