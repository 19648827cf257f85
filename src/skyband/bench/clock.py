"""The clock: calls timed turn and turn about, so that what disturbs one disturbs the others alike."""

import gc
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager


@contextmanager
def no_collection() -> Iterator[None]:
    """Garbage collected before, and not meanwhile."""
    was_on = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def time_in_turn(
    calls: Mapping[str, Callable[[int], object]],
    n_rounds: int,
    n_warm: int = 1,
    after: Callable[[str, int, object], None] = lambda name, turn, answer: None,
) -> dict[str, list[int]]:
    """The nanoseconds of each call in each round, without the first `n_warm` rounds.

    A call is given the number of its round, warm-up included. `after` sees its answer with the clock stopped.
    """
    taken: dict[str, list[int]] = {name: [] for name in calls}
    with no_collection():
        for turn in range(n_warm + n_rounds):
            for name, call in calls.items():
                start = time.perf_counter_ns()
                answer = call(turn)
                spent = time.perf_counter_ns() - start
                if turn >= n_warm:
                    taken[name].append(spent)
                after(name, turn, answer)
    return taken
