"""What was delivered, left a row and came back: `first` for one object that comes and goes, held against the oracle."""

from collections.abc import Iterator
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest

import skyband
from skyband.contract import Granularity
from skyband.testing.machine import same, through_snapshot

Row = dict[str, Any]

# Told, out of range, deleted, born again and told, out of range, back.
TWO_LIVES = [5.0, 99.0, None, 5.0, 99.0, 5.0]


def _events(places: list[float | None]) -> list[Row]:
    return [
        {"id": i, "ts": i, "object": 7, "x": x, "y": None if x is None else 1.0 + (i % 2)} for i, x in enumerate(places)
    ]


def _cuts(n: int) -> Iterator[list[int]]:
    """Every way to cut n events into batches, by where they end."""
    for n_cuts in range(n):
        for cuts in combinations(range(1, n), n_cuts):
            yield [0, *cuts, n]


def _told(engine: str, granularity: Granularity, places: list[float | None], ends: list[int]) -> list[bool]:
    """The marks of the enters that an engine tells, which is the oracle's twin in everything else."""
    fast, oracle = (skyband.open("ranges", name, granularity=granularity) for name in (engine, "oracle"))
    events, firsts = _events(places), []
    for each in (fast, oracle):
        each.subscribe([{"id": "ann", "k": 1, "lo": 0.0, "hi": 10.0}])
    for lo, hi in pairwise(ends):
        changes = fast.publish(events[lo:hi])
        same(changes, oracle.publish(events[lo:hi]))
        firsts += [row["first"] for row in changes.to_pylist() if row["op"] == "enter"]
    return firsts


@pytest.mark.parametrize("engine", ["scan", "paint"])
@pytest.mark.parametrize("ends", list(_cuts(len(TWO_LIVES))), ids=str)
def test_an_object_is_first_once_a_life_however_the_stream_is_cut(engine: str, ends: list[int]) -> None:
    assert _told(engine, "publication", TWO_LIVES, ends) == [True, True, False]
    _told(engine, "batch", TWO_LIVES, ends)


def test_each_of_three_lives_in_one_batch_is_told_once() -> None:
    lives = [5.0, 99.0, 5.0, None, 99.0, 5.0, 99.0, 5.0, None, 5.0, 5.0, 99.0, 5.0]
    wanted = [True, False, True, False, True, False]
    assert _told("scan", "publication", lives, [0, len(lives)]) == wanted


@pytest.mark.parametrize("granularity", ["batch", "publication"])
@pytest.mark.parametrize("seed", range(20))
def test_one_object_that_comes_and_goes_equals_the_oracle(seed: int, granularity: Granularity) -> None:
    random = np.random.default_rng(seed)
    scan, oracle = (skyband.open("ranges", name, granularity=granularity) for name in ("scan", "oracle"))
    for each in (scan, oracle):
        each.subscribe([{"id": k, "k": k, "lo": 3.0 * k - 3.0, "hi": 10.0} for k in (1, 2, 3)])
    n_events = 0
    for _ in range(25):
        places = random.choice(np.array([2.0, 5.0, 8.0, 99.0, None]), random.integers(1, 9)).tolist()
        events = [event | {"id": n_events + i, "ts": n_events + i} for i, event in enumerate(_events(places))]
        n_events += len(events)
        same(scan.publish(events), oracle.publish(events))
        if random.random() < 0.2:
            scan = through_snapshot(scan)
