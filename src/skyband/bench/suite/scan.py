"""Scan, the brute-force baseline, over growing numbers of subscriptions, with the oracle beside it on small ones."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from skyband.bench.benchmark import Benchmark, Column, Progress, Size
from skyband.bench.clock import time_in_turn
from skyband.bench.contest import Case, Tally, check_tops, duel, fill, pieces, require_equal
from skyband.bench.figure import Plot
from skyband.bench.row import Row, measured, ns_per_operation, number, ratio
from skyband.bench.sweep import sweep
from skyband.contract import AnyEngine
from skyband.geotext import workload as geotext
from skyband.ranges import workload as ranges
from skyband.ranked import workload as ranked
from skyband.window import workload as window


class Plan(NamedTuple):
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


PLANS: dict[Size, Plan] = {
    "toy": Plan((20, 40), (), 30, 10, 4, 2, 3, 12, 12, 200, 1e9),
    "small": Plan((100, 1000, 10_000, 100_000), (), 40_000, 10_000, 100, 9, 20, 300, 200, 0, 30.0),
    "full": Plan(
        (100, 1000, 10_000, 100_000, 1_000_000), (5_000_000,), 40_000, 10_000, 100, 11, 50, 1000, 200, 0, 110.0
    ),
}
# Parts of an engine's memory that grow with what is published and not with the subscriptions.
NOT_EACH = ("bytes.publications", "bytes.objects", "bytes.vocabulary")
N_CHECKED = 5
N_STEADY = 1000
# One case is given more time for each size, so that at least one reaches a million subscriptions.
PATIENCE = 4


def window_case(data: Any, n_live: int) -> Case:
    """Table 1 of the top-k/w paper with a count window."""

    def options(n_subscriptions: int, n_publications: int) -> window.Options:
        return window.Options(
            n_subscriptions=n_subscriptions, n_publications=n_publications, window_n=n_live, data=data
        )

    return Case("window", f"window {data}", options, n_live, window=True)


def steady_case(n_live: int) -> Case:
    """A short window that has slid on five times its length: by then as many rows run short as ever will.

    Measured at k = 9 and a window of 1,000, refills score about 15 % as many publications as arrivals do by batch.
    """
    return window_case("uniform", n_live)._replace(label="window steady", n_extra=5 * n_live)


def geotext_case(n_live: int, vocabulary: int) -> Case:
    """The tweets of the Skype paper; 0 takes their own vocabulary."""

    def options(n_subscriptions: int, n_publications: int) -> geotext.Options:
        return geotext.Options(
            n_subscriptions=n_subscriptions, n_publications=n_publications, window_n=n_live, vocabulary=vocabulary
        )

    return Case("geotext", "geotext", options, n_live, window=True)


def ranges_case(n_objects: int) -> Case:
    """Section V of the range top-k paper."""

    def options(n_subscriptions: int, n_publications: int) -> ranges.Options:
        return ranges.Options(n_subscriptions=n_subscriptions, n_objects=n_objects, n_events=n_publications - n_objects)

    return Case("ranges", "ranges", options, n_objects)


def ranked_case() -> Case:
    """Table 1 of the ranked publish/subscribe paper, in one dimension."""

    def options(n_subscriptions: int, n_publications: int) -> ranked.Options:
        return ranked.Options(n_subscriptions=n_subscriptions, n_publications=n_publications)

    return Case("ranked", "ranked", options, 0, engine_options={"k": 20})


def measure(size: Size, progress: Progress) -> Iterator[Row]:
    """Every case: the duel with the oracle, then the sweep."""
    plan = PLANS[size]
    for case, small in zip(
        _cases(plan.n_live, plan.n_objects, plan), _cases(plan.n_duel_live, plan.n_duel_live, plan), strict=True
    ):
        progress(f"{case.label}: the oracle beside scan, {plan.n_duel:,} subscriptions")
        for row in duel(small, ("scan", "oracle"), plan.n_duel, min(plan.batch, 10), plan.n_rounds):
            yield _labelled(row, case, "oracle")
        more = plan.more_sizes if case.family in ("ranges", "ranked") else ()
        budget = plan.budget * (PATIENCE if case.label == "window uniform" else 1)
        yield from sweep(case.label, "scan", plan.sizes + more, budget, partial(_measure_size, case, plan), progress)


def _cases(n_live: int, n_objects: int, plan: Plan) -> list[Case]:
    return [
        window_case("uniform", n_live),
        window_case("clustered", n_live),
        steady_case(min(n_live, N_STEADY)),
        geotext_case(n_live, plan.vocabulary),
        ranges_case(n_objects),
        ranked_case(),
    ]


def _labelled(row: Row, case: Case, against: str) -> Row:
    named = {"label": case.label, "operation": "publish", "granularity": "batch", "against": against}
    return row | {"parameters": row["parameters"] | named}


def _measure_size(case: Case, plan: Plan, n: int) -> list[Row]:
    granularities = ("batch",) if case.family == "ranked" else ("batch", "publication")
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


def _check(case: Case, engine: AnyEngine, asked: pa.Table, live: pa.Table, later: pa.Table) -> None:
    if case.family == "ranked":
        check_matches(case, engine, asked, later.slice(0, 2))
    else:
        check_tops(case, engine, asked.slice(0, N_CHECKED), live)


def check_matches(case: Case, engine: AnyEngine, asked: pa.Table, events: pa.Table) -> None:
    """Compare the matches of events with the oracle's, which is given only the intervals that hold the event."""
    low, high = (asked[name].combine_chunks().flatten().to_numpy() for name in ("lo", "hi"))
    for event in pieces(events, 1):
        x = event["point"][0].as_py()[0]
        oracle = case.open("oracle")
        oracle.subscribe(asked.take(pa.array(np.flatnonzero((low <= x) & (x <= high)))))
        require_equal(engine.publish(event), oracle.publish(event), case.label)


def _time_publishing(
    case: Case, plan: Plan, engine: AnyEngine, batches: list[pa.Table], granularities: tuple[Any, ...], n: int
) -> list[Row]:
    waiting = iter(batches)
    # One engine for both: its state does not depend on the granularity, only what it tells does.
    calls: dict[str, Callable[[int], object]] = {
        name: partial(_publish, engine, name, waiting) for name in granularities
    }
    tally = Tally(dict.fromkeys(granularities, engine))
    taken = time_in_turn(calls, plan.n_rounds, after=tally.note)
    return [
        measured(
            f"{case.label}, publish, {n}",
            "scan",
            {"operation": "publish", "granularity": name, "batch": plan.batch},
            taken[name],
            plan.batch * n,
            tally.measures(name, plan.n_rounds),
        )
        for name in granularities
    ]


def _publish(engine: AnyEngine, granularity: Any, waiting: Iterator[pa.Table], turn: int) -> pa.Table:
    engine.granularity = granularity
    return engine.publish(next(waiting))


def _time_subscribing(case: Case, plan: Plan, engine: AnyEngine, late: pa.Table, n: int) -> Row:
    """Subscriptions that come while everything is live, `n_late` at a time."""
    waiting, before = list(pieces(late, plan.n_late)), engine.counters
    taken = time_in_turn({"subscribe": lambda turn: engine.subscribe(waiting[turn])}, plan.n_rounds)
    n_scored = engine.counters.get("scored", 0) - before.get("scored", 0)
    parameters = {"operation": "subscribe", "granularity": "batch", "batch": plan.n_late}
    measures = {"scored": n_scored / len(waiting)}
    return measured(f"{case.label}, subscribe, {n}", "scan", parameters, taken["subscribe"], plan.n_late, measures)


def _bytes_each(row: Row) -> float:
    parts = {name: n for name, n in row["measures"].items() if name.startswith("bytes.") and name not in NOT_EACH}
    total = sum(parts.values())
    return float(total / row["parameters"]["n_subscriptions"])


def _per_second(row: Row) -> float:
    n = row["parameters"]["n_subscriptions"] if row["parameters"]["operation"] == "publish" else 1
    return 1e9 / (ns_per_operation(row) * n)


def _each(counter: str) -> Callable[[Row, Row], str]:
    def cell(row: Row, first: Row) -> str:
        counted = row["measures"].get(counter)
        return "" if counted is None else number(counted / row["parameters"]["batch"])

    return cell


def _is_swept(row: Row) -> bool:
    return row["parameters"]["operation"] == "publish" and "against" not in row["parameters"]


def _line(row: Row) -> str:
    return f"{row['parameters']['label']}, by {row['parameters']['granularity']}"


COLUMNS = (
    Column("case", lambda row, first: row["parameters"]["label"]),
    Column("subscriptions", lambda row, first: f"{row['parameters']['n_subscriptions']:,}"),
    Column("engine", lambda row, first: row["algorithm"]),
    Column("operation", lambda row, first: row["parameters"]["operation"]),
    Column("granularity", lambda row, first: row["parameters"]["granularity"]),
    Column("a second", lambda row, first: number(_per_second(row))),
    Column(
        "ns a pair",
        lambda row, first: number(ns_per_operation(row)) if row["parameters"]["operation"] == "publish" else "",
    ),
    Column("ratio", ratio),
    Column("changes each", _each("changes")),
    Column("refills each", _each("refilled")),
    Column("bytes each", lambda row, first: number(_bytes_each(row)) if _bytes_each(row) else ""),
)

BENCHMARK = Benchmark(
    name="scan",
    summary="Brute force in kernels over growing numbers of subscriptions, for every family, beside the oracle.",
    measure=measure,
    columns=COLUMNS,
    plots=(
        Plot(
            "rate",
            "Scan: publications a second",
            "n_subscriptions",
            "subscriptions",
            _per_second,
            "publications a second",
            _line,
            _is_swept,
        ),
        Plot(
            "pair",
            "Scan: cost of a publication for one subscription",
            "n_subscriptions",
            "subscriptions",
            ns_per_operation,
            "ns for a pair",
            _line,
            _is_swept,
        ),
        Plot(
            "memory",
            "Scan: memory",
            "n_subscriptions",
            "subscriptions",
            _bytes_each,
            "bytes for a subscription",
            _line,
            _is_swept,
        ),
    ),
)
