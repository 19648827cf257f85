"""Indexes of the ranked family by themselves, how much memory they take, and the engine behind the contract."""

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from skyband.bench.experiment import Progress
from skyband.bench.opening import open_engine
from skyband.bench.ranked_contest import too_large, tree_of
from skyband.bench.ranked_data import RankedData, zipfian
from skyband.bench.ranked_entrant import INDEXES, RELAXED, BuiltEntrant, build, warm
from skyband.bench.row import Row, measured, skipped
from skyband.bench.runner import AT_ONCE, Call, Taken, WrongAnswer, pieces, race, require_equal
from skyband.contract import AnyEngine
from skyband.ranked import workload as ranked
from skyband.ranked.kernels.getnext import first_parts
from skyband.ranked.matcher import Matcher

K = 20


class Calls(NamedTuple):
    """How many intervals, the most getnext calls, how many of them a round may make in all, and rounds."""

    n: int
    most: int
    n_calls: int
    n_rounds: int
    n_events: int = 5_000


class Asking:
    """The search for the first parts of values in one index; `found` is what it found last."""

    def __init__(self, built: BuiltEntrant, n_events: int, n_calls: int) -> None:
        assert isinstance(built.matcher, Matcher)
        self._tree, width = tree_of(built.matcher)
        self._parts = built.matcher.parts
        self._cursor = np.zeros(width, np.int64)
        self.found = np.zeros((n_events, n_calls), np.int32)

    def ask(self, values: np.ndarray, turn: int) -> int:
        """How many parts were found in all."""
        return int(first_parts(self._tree, self._parts, 0, values, self._cursor, self.found))


def time_calls(plan: Calls, progress: Progress) -> Iterator[Row]:
    """All indexes turn and turn about, for each number of calls."""
    data = zipfian(plan.n, 1, plan.n_events)
    built: dict[str, BuiltEntrant] = {}
    left_out: dict[str, str] = {}
    for entrant in INDEXES:
        progress(f"{plan.n:,} intervals, {entrant.label}")
        reason = too_large(built[INDEXES[0].label].matcher, entrant) if built else None
        if reason is None:
            built[entrant.label] = build(entrant, RELAXED, data)
        else:
            left_out[entrant.label] = reason
    for power in range(plan.most.bit_length()):
        progress(f"{1 << power:,} calls")
        yield from _calls_rows(plan, data, built, 1 << power)
    for label, reason in left_out.items():
        yield skipped("1", label, {"n_subscriptions": plan.n, "calls": ""}, reason)


def _calls_rows(plan: Calls, data: RankedData, built: dict[str, BuiltEntrant], n_calls: int) -> list[Row]:
    n_events = int(np.clip(plan.n_calls // n_calls, 1, len(data.points)))
    values = np.ascontiguousarray(data.points[:n_events, 0])
    asked = {label: Asking(each, n_events, n_calls) for label, each in built.items()}
    n_found = {label: each.ask(values, 0) for label, each in asked.items()}
    first = INDEXES[0].label
    for label, each in asked.items():
        if not np.array_equal(each.found, asked[first].found):
            raise WrongAnswer(f"{n_calls} calls: the answers of {label} differ.")

    def measures(label: str, taken: Taken) -> dict[str, float]:
        spent = float(np.median(taken[label]))
        return {
            "us": spent / n_events / 1e3,
            "ns": spent / max(n_found[label], 1),
            "found": n_found[label] / n_events,
            "ratio": spent / float(np.median(taken[first])),
        }

    calls: dict[str, Call] = {label: partial(each.ask, values) for label, each in asked.items()}
    parameters = {"n_subscriptions": plan.n, "calls": n_calls}
    return race(f"{n_calls}", calls, plan.n_rounds, n_events, parameters, measures)


def weigh(n: int, progress: Progress) -> Iterator[Row]:
    """All indexes of one dimension with Table 1's defaults."""
    data = zipfian(n, 1, 1)
    parameters = {"n_subscriptions": n}
    first = build(INDEXES[0], RELAXED, data)
    for entrant in INDEXES:
        progress(f"{n:,} intervals, {entrant.label}")
        reason = too_large(first.matcher, entrant)
        if reason is not None:
            yield skipped(f"{n}", entrant.label, parameters, reason)
            continue
        warm(entrant, RELAXED, data)
        built = build(entrant, RELAXED, data)
        measures = {"mb": built.n_bytes * n / 1e6, "bytes": built.n_bytes, "build_s": built.seconds}
        yield measured(f"{n}", entrant.label, parameters, [int(built.seconds * 1e9)], n, measures)


class RankedPlan(NamedTuple):
    """Subscriptions, whether Scan is asked too, rounds, and events in a batch and one by one."""

    n: int
    scanned: bool
    n_rounds: int
    batch: int
    n_alone: int


def compare_engines(plan: RankedPlan, progress: Progress) -> Iterator[Row]:
    """Arrow tables in and out, with Scan first where it takes part."""
    progress(f"{plan.n:,} subscriptions")
    made = ranked.generate(ranked.Options(n_subscriptions=plan.n, n_publications=(plan.n_rounds + 1) * plan.batch))
    engines = _engines(made.subscriptions, plan.scanned)
    for granularity, size_each in (("batch", plan.batch), ("event", 1)):
        yield from _engine_rows(plan, engines, made.publications, granularity, size_each)


def _engines(subscriptions: pa.Table, scanned: bool) -> dict[str, AnyEngine]:
    engines: dict[str, AnyEngine] = {
        name: open_engine("ranked", name, k=K) for name in (("scan",) if scanned else ()) + ("scored",)
    }
    for engine in engines.values():
        for piece in pieces(subscriptions.drop_columns(["k"]), AT_ONCE):
            engine.subscribe(piece)
    return engines


def _engine_rows(
    plan: RankedPlan, engines: dict[str, AnyEngine], events: pa.Table, granularity: str, size: int
) -> list[Row]:
    n_events = plan.batch if size > 1 else plan.n_alone
    # Time does not go back, but the same events may be published again.
    events = events.set_column(events.column_names.index("ts"), "ts", pa.array([0] * len(events)))
    batches = [list(pieces(events.slice(i * plan.batch, n_events), size)) for i in range(plan.n_rounds + 1)]
    answers = [engine.publish(batches[0][0]) for engine in engines.values()]
    for answer in answers[1:]:
        require_equal(answer, answers[0], f"{granularity}, {engines['scored'].n_subscriptions} subscriptions")

    def measures(name: str, taken: Taken) -> dict[str, float]:
        n_bytes = sum(engines[name].memory().values())
        return {"bytes": n_bytes / plan.n, "us": float(np.median(taken[name])) / n_events / 1e3}

    calls: dict[str, Call] = {name: partial(_publish, engine, batches) for name, engine in engines.items()}
    parameters: dict[str, Any] = {"n_subscriptions": plan.n, "k": K, "granularity": granularity}
    return race(f"{plan.n}, {granularity}", calls, plan.n_rounds, n_events, parameters, measures)


def _publish(engine: AnyEngine, batches: list[list[pa.Table]], turn: int) -> None:
    for piece in batches[turn]:
        engine.publish(piece)
