"""Scan, the brute-force baseline, over growing numbers of subscriptions, with the oracle beside it on small ones.

How long its rows should be is found by the work that rows of different lengths lead to.
"""

import time
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

import skyband
from skyband.bench.contest import (
    SizedWorkload,
    Tally,
    check_tops,
    duel,
    fill,
    geotext_case,
    ranges_case,
    ranked_case,
    steady_case,
    window_case,
)
from skyband.bench.experiment import Progress
from skyband.bench.opening import open_engine
from skyband.bench.row import Row, measured
from skyband.bench.runner import Call, Taken, WrongAnswer, pieces, race, require_equal, sweep, time_in_turn
from skyband.contract import FAMILIES, AnyEngine
from skyband.window import workload as window


class ScanPlan(NamedTuple):
    """How large a run is: `n_duel` and `n_duel_live` are for the oracle, `budget` is in seconds for each size.

    `n_late` subscriptions at a time come when everything is live.
    """

    sizes: tuple[int, ...]
    more_sizes: tuple[int, ...]
    n_live: int
    n_objects: int
    batch: int
    n_rounds: int
    n_late: int
    n_duel: int
    n_duel_live: int
    vocabulary: int
    budget: float


N_CHECKED = 5
N_STEADY = 1000
# One case is given more time for each size, so that at least one reaches a million subscriptions.
PATIENCE = 4
# What rows hold, in multiples of k and beyond that, and the batches and k that lengths are compared with.
RESERVES = ((1, 0), (1, 8), (2, 0), (2, 8), (3, 8), (4, 8))
BATCH, K = 500, 9


def scan_rows(plan: ScanPlan, progress: Progress) -> Iterator[Row]:
    """Every case: the duel with the oracle, then the sweep."""
    for case, small in zip(
        _cases(plan.n_live, plan.n_objects, plan), _cases(plan.n_duel_live, plan.n_duel_live, plan), strict=True
    ):
        progress(f"{case.label}: the oracle beside scan, {plan.n_duel:,} subscriptions")
        for row in duel(small, ("scan", "oracle"), plan.n_duel, min(plan.batch, 10), plan.n_rounds):
            yield _labelled(row, case, "oracle")
        more = () if FAMILIES[case.family].has_windows else plan.more_sizes
        budget = plan.budget * (PATIENCE if case.label == "window uniform" else 1)
        yield from sweep(case.label, "scan", plan.sizes + more, budget, partial(_measure_size, case, plan), progress)


def _cases(n_live: int, n_objects: int, plan: ScanPlan) -> list[SizedWorkload]:
    return [
        window_case("uniform", n_live),
        window_case("clustered", n_live),
        steady_case(min(n_live, N_STEADY)),
        geotext_case(n_live, plan.vocabulary),
        ranges_case(n_objects),
        ranked_case(),
    ]


def _labelled(row: Row, case: SizedWorkload, against: str) -> Row:
    named = {"label": case.label, "operation": "publish", "granularity": "batch", "against": against}
    return row | {"parameters": row["parameters"] | named}


def _measure_size(case: SizedWorkload, plan: ScanPlan, n: int) -> list[Row]:
    granularities = ("batch", "publication") if FAMILIES[case.family].answers_stand else ("batch",)
    n_publications = plan.batch * (plan.n_rounds + 1) * len(granularities)
    made = case.generate(n + plan.n_late * (plan.n_rounds + 1), n_publications)
    asked, late = made.subscriptions.slice(0, n), made.subscriptions.slice(n)
    live, later = made.publications.slice(0, case.n_before), made.publications.slice(case.n_before)
    engine = case.open("scan")
    start = time.perf_counter_ns()
    fill(engine, asked, live.slice(0, 0), case.fill_batch)
    ns_registered = time.perf_counter_ns() - start
    fill(engine, asked.slice(0, 0), live, case.fill_batch)
    _check(case, engine, asked, live, later)
    rows = _time_publishing(case, plan, engine, list(pieces(later, plan.batch)), granularities, n)
    rows.append(_time_subscribing(case, plan, engine, late, n))
    extra = {"registered_ns": ns_registered / n}
    parameters = made.parameters | {
        "family": case.family,
        "label": case.label,
        "n_live": case.n_live,
        "n_extra": case.n_extra,
    }
    return [
        row
        | {
            "parameters": parameters | row["parameters"] | {"n_subscriptions": n},
            "measures": row["measures"] | extra,
        }
        for row in rows
    ]


def _check(case: SizedWorkload, engine: AnyEngine, asked: pa.Table, live: pa.Table, later: pa.Table) -> None:
    if FAMILIES[case.family].answers_stand:
        check_tops(case, engine, asked.slice(0, N_CHECKED), live)
    else:
        check_matches(case, engine, asked, later.slice(0, 2))


def check_matches(case: SizedWorkload, engine: AnyEngine, asked: pa.Table, events: pa.Table) -> None:
    """Compare the matches of events with the oracle's, which is given only the intervals that hold the event."""
    low, high = (asked[name].combine_chunks().flatten().to_numpy() for name in ("lo", "hi"))
    for event in pieces(events, 1):
        x = event["point"][0].as_py()[0]
        oracle = case.open("oracle")
        oracle.subscribe(asked.take(pa.array(np.flatnonzero((low <= x) & (x <= high)))))
        require_equal(engine.publish(event), oracle.publish(event), case.label)


def _time_publishing(
    case: SizedWorkload,
    plan: ScanPlan,
    engine: AnyEngine,
    batches: list[pa.Table],
    granularities: tuple[Any, ...],
    n: int,
) -> list[Row]:
    waiting = iter(batches)
    # One engine for both: its state does not depend on the granularity, only what it tells does.
    calls: dict[str, Call] = {name: partial(_publish, engine, name, waiting) for name in granularities}
    tally = Tally(dict.fromkeys(granularities, engine))
    contest, given = f"{case.label}, publish, {n}", {"operation": "publish", "batch": plan.batch}
    taken = time_in_turn(calls, plan.n_rounds, after=tally.note)
    return [
        measured(
            *(contest, "scan", given | {"granularity": name}, taken[name], plan.batch * n),
            tally.measures(name, plan.n_rounds),
        )
        for name in granularities
    ]


def _publish(engine: AnyEngine, granularity: Any, waiting: Iterator[pa.Table], turn: int) -> pa.Table:
    engine.granularity = granularity
    return engine.publish(next(waiting))


def _time_subscribing(case: SizedWorkload, plan: ScanPlan, engine: AnyEngine, late: pa.Table, n: int) -> Row:
    """Subscriptions that come while everything is live, `n_late` at a time."""
    waiting, before = list(pieces(late, plan.n_late)), engine.counters
    taken = time_in_turn({"subscribe": lambda turn: engine.subscribe(waiting[turn])}, plan.n_rounds)
    n_scored = engine.counters.get("scored", 0) - before.get("scored", 0)
    parameters = {"operation": "subscribe", "granularity": "batch", "batch": plan.n_late}
    measures = {"scored": n_scored / len(waiting)}
    return measured(f"{case.label}, subscribe, {n}", "scan", parameters, taken["subscribe"], plan.n_late, measures)


class Lengths(NamedTuple):
    """Subscriptions, length of the window, publications and rounds."""

    n: int
    n_live: int
    n_publications: int
    n_rounds: int


def compare_lengths(lengths: Lengths, progress: Progress) -> Iterator[Row]:
    """The same stream through rows of every length."""
    n, n_live, n_publications, n_rounds = lengths
    options = window.Options(n_subscriptions=n, n_publications=n_publications, window_n=n_live, k=K, seed=1)
    made = window.generate(options)
    runs = {_name(reserve): partial(_run, reserve, made.subscriptions, made.publications) for reserve in RESERVES}
    progress(f"{n:,} subscriptions, rows of {len(RESERVES)} lengths")
    engines = {name: run(0) for name, run in runs.items()}
    first = next(iter(engines.values())).top()
    if not all(engine.top().equals(first) for engine in engines.values()):
        raise WrongAnswer("Rows of different lengths lead to different tops.")

    def measures(name: str, taken: Taken) -> dict[str, float]:
        engine = engines[name]
        return {
            "refilled": float(engine.counters["refilled"] - n),
            "scored": engine.counters["scored"] / (n * n_publications),
            "bytes": engine.memory()["rows"] / n,
        }

    given: dict[str, Any] = {"n": n, "n_live": n_live, "k": K}
    for row in race(f"{n} subscriptions", runs, n_rounds, n_publications, given, measures):
        yield row | {"parameters": given | {"length": _length(row["algorithm"])}}


def _name(reserve: tuple[int, int]) -> str:
    times, more = reserve
    return ("k" if times == 1 else f"{times}k") + (f" + {more}" if more else "")


def _length(name: str) -> int:
    times, more = RESERVES[[_name(reserve) for reserve in RESERVES].index(name)]
    return times * K + more


def _run(reserve: tuple[int, int], subscriptions: pa.Table, publications: pa.Table, turn: int) -> AnyEngine:
    engine = open_engine("window", "scan", window=skyband.Window.count(1), reserve=reserve)
    engine.subscribe(subscriptions)
    for start in range(0, len(publications), BATCH):
        engine.publish(publications.slice(start, BATCH))
    return engine
