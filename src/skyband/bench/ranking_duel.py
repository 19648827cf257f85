"""An index beside the first one of a contest: events by number, one after the other and as a batch that is sorted.

How many events are timed is found by trying. The first and the other take the same ones, as many as the slower of
the two has the patience for; an index that could take more does so by itself, and only its ratio is of the few.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from skyband.bench.clock import time_in_turn
from skyband.bench.ranking_data import Data
from skyband.bench.ranking_entrant import Built, Scan
from skyband.kernels.array import Int64s
from skyband.ranked.kernels.getnext import CURSORS, first_parts
from skyband.ranked.kernels.interval_scan import Events, Found
from skyband.ranked.kernels.packed import LEAVES, Packed
from skyband.ranked.kernels.streams import RANDOM, SORTED
from skyband.ranked.matcher import Matcher

# So many events are timed even if they take longer than a round may: once, since each is tens of milliseconds.
LEAST = 5

Call = Callable[[int], object]


class Effort(NamedTuple):
    """How much is measured: rounds, the most events of a round, and seconds that a round and updates may take.

    An entrant that has used up its allowance, in seconds, is not asked for any more ks.
    """

    n_rounds: int
    n_events: int
    patience: float
    updating: float = 0.0
    allowance: float = np.inf


def duel(first: Built, other: Built, data: Data, k: int, effort: Effort) -> tuple[list[int], int, dict[str, float]]:
    """Latencies of an entrant, of how many events, and what was measured, by itself and beside the first."""
    n = n_events(other.matcher, data, k, effort)
    n_shared = n if first is other else min(n, n_events(first.matcher, data, k, effort))
    times = _beside(first, other, data.events(n_shared, k), n > LEAST, effort.n_rounds)
    ratio, ratio_batch = (_median(times, f"own {sort}") / _median(times, f"first {sort}") for sort in (False, True))
    if n > n_shared:
        times = time_in_turn(_calls("own", other, data.events(n, k)), effort.n_rounds)
    measures = {
        "single_us": _median(times, "own False") / n / 1e3,
        "batch_us": _median(times, "own True") / n / 1e3,
        "ratio": 1.0 if first is other else ratio,
        "ratio_batch": 1.0 if first is other else ratio_batch,
        "build_s": other.seconds,
        "bytes": other.n_bytes,
    }
    if other.entrant.form == "dynamic":
        measures["merges"] = float(other.n_merges)
    return times["own False"], n, measures | work(other, data.events(n_shared, k))


def _beside(first: Built, other: Built, events: Events, quick: bool, n_rounds: int) -> dict[str, list[int]]:
    """Turn and turn about; one turn where an event takes long, but for an index that is `quick` beside such a one."""
    firsts, own = _calls("first", first, events), _calls("own", other, events)
    usual, once, few = (n_rounds, 1), (1, 0), len(events.k) <= LEAST
    if first is other:
        times = time_in_turn(own, *(usual if quick else once))
        return times | {name.replace("own", "first"): taken for name, taken in times.items()}
    if few and quick:
        return time_in_turn(firsts, *once) | time_in_turn(own, *usual)
    return time_in_turn(firsts | own, *(once if few else usual))


def _calls(name: str, built: Built, events: Events) -> dict[str, Call]:
    return {f"{name} {sort}": partial(_match, built.matcher, events, sort) for sort in (False, True)}


def _match(matcher: Matcher | Scan, events: Events, sort: bool, turn: int) -> Found:
    return matcher.match(events, sort=sort)


def _median(times: dict[str, list[int]], name: str) -> float:
    return float(np.median(times[name]))


def n_events(matcher: Matcher | Scan, data: Data, k: int, effort: Effort) -> int:
    """How many events a round may have: as many as patience allows, judged by ever more of them, and a handful."""
    n, most = 1, min(effort.n_events, len(data.points))
    while True:
        start = time.perf_counter()
        matcher.match(data.events(n, k), sort=False)
        spent = time.perf_counter() - start
        if n == most or spent >= effort.patience / 8:
            return max(min(int(n * effort.patience / max(spent, 1e-9)), most), min(LEAST, most))
        n = min(4 * n, most)


def work(built: Built, events: Events) -> dict[str, float]:
    """Accesses for an event, and in one dimension the leaves that a packed tree opens."""
    matcher, n = built.matcher, len(events.k)
    before = matcher.work.copy()
    matcher.match(events)
    done = (matcher.work - before) / n
    found = {"sorted": float(done[SORTED]), "random": float(done[RANDOM])} if isinstance(matcher, Matcher) else {}
    if isinstance(matcher, Matcher) and built.entrant.form == "static" and events.low.shape[1] == 1:
        tree, width = tree_of(matcher)
        if isinstance(tree, Packed):
            found["leaves"] = float(leaves(tree, matcher, width, events[0][:1000, 0], int(events.k[0])).mean())
    return found


def tree_of(matcher: Matcher) -> tuple[Any, int]:
    """The index by itself, and how long a cursor has to be."""
    layers, length = matcher.layers.view(matcher.parts, False, 0)
    return (layers.young if matcher.layers.kind == "ir" else layers.large), length - CURSORS


def leaves(tree: Packed, matcher: Matcher, width: int, values: Any, k: int) -> Int64s:
    """How many leaves are opened for the first k of each value."""
    cursor, found = np.zeros(width, np.int64), np.zeros((1, k), np.int32)
    opened = np.zeros(len(values), np.int64)
    for i in range(len(values)):
        first_parts(tree, matcher.parts, 0, values[i : i + 1], cursor, found)
        opened[i] = cursor[LEAVES]
    return opened
