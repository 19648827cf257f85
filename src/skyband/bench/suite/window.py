"""The engines of the window family beside Scan, over growing numbers of subscriptions: every policy with every index.

Each engine is given a full window, then the subscriptions, then some publications to get away from the state that a
search of everything leaves. Scan stays in memory for all of a contest and takes its turn beside each of the others, of
which only one is in memory at a time.
"""

import gc
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from skyband.bench.benchmark import Benchmark, Column, Progress, Size
from skyband.bench.clock import time_in_turn
from skyband.bench.contest import AT_ONCE, Case, Tally, WrongAnswer, pieces
from skyband.bench.figure import Plot
from skyband.bench.machine import free_memory
from skyband.bench.row import Row, measured, ns_per_operation, number, skipped
from skyband.bench.suite.scan import NOT_EACH, window_case
from skyband.bench.sweep import Spent, reluctance
from skyband.contract import AnyEngine

POLICIES = ("sma", "tma", "kmax", "cskyband", "sasf", "pa", "skyband")
N_CHECKED = 200


class Step(NamedTuple):
    """A number of subscriptions, how many publications warm an engine up, and how many Scan is given at a time."""

    n: int
    n_warm: int
    scan_batch: int


class Plan(NamedTuple):
    """How large a run is; `patience` is in seconds for each warm-up, `budget` for all of an engine at one size."""

    steps: tuple[Step, ...]
    n_live: int = 40_000
    batch: int = 1000
    n_rounds: int = 9
    patience: float = 1e9
    budget: float = 1e9
    data: tuple[str, ...] = ("uniform", "clustered")
    indexes: tuple[str, ...] = ("grid", "blocks")

    @property
    def entrants(self) -> list["Entrant"]:
        """All but Scan."""
        return [Entrant(policy, index) for policy in POLICIES for index in self.indexes] + [Entrant("blocks")]

    def n_later(self, step: Step) -> int:
        """How many publications are needed after the first window."""
        for_scan = step.scan_batch * (self.n_rounds + 1) * (len(self.entrants) + 1)
        return step.n_warm + max(for_scan, self.batch * (self.n_rounds + 1))


PLANS: dict[Size, Plan] = {
    "toy": Plan(steps=(Step(10, 10, 4), Step(20, 10, 4)), n_live=20, batch=5, n_rounds=2),
    "small": Plan(
        steps=(Step(1000, 20_000, 1000), Step(10_000, 10_000, 200), Step(100_000, 10_000, 100)),
        n_rounds=5,
        patience=2.0,
        budget=20.0,
    ),
    "full": Plan(
        steps=(
            Step(1000, 80_000, 1000),
            Step(10_000, 80_000, 1000),
            Step(100_000, 80_000, 100),
            Step(1_000_000, 40_000, 100),
        ),
        patience=60.0,
        budget=600.0,
    ),
}


@dataclass(frozen=True)
class Entrant:
    """An engine, with its index where it has a choice."""

    engine: str
    index: str = ""

    def __str__(self) -> str:
        return f"{self.engine}, {self.index}" if self.index else self.engine

    def enter(self, case: Case, live: pa.Table, asked: pa.Table) -> AnyEngine:
        """An engine with these publications and then these subscriptions."""
        options = {"granularity": "publication"} | ({"index": self.index} if self.index else {})
        engine = case._replace(engine_options=options).open(self.engine)
        for piece in pieces(live, 10_000):
            engine.publish(piece)
        for piece in pieces(asked, AT_ONCE):
            engine.subscribe(piece)
        return engine


class Course(NamedTuple):
    """What all engines of a contest are given: subscriptions, a first window, and what comes later."""

    case: Case
    plan: Plan
    step: Step
    asked: pa.Table
    live: pa.Table
    later: pa.Table

    def row(self, entrant: Entrant, latencies: list[int], batch: int, measures: dict[str, float]) -> Row:
        """A row of this contest."""
        return measured(self.contest, str(entrant), self.parameters(entrant, batch), latencies, batch, measures)

    @property
    def contest(self) -> str:
        return f"{self.case.label}, {self.step.n}"

    def parameters(self, entrant: Entrant, batch: int) -> dict[str, Any]:
        """What a row says of what was measured."""
        return {
            "data": self.case.label.removeprefix("window "),
            "n_subscriptions": self.step.n,
            "engine": entrant.engine,
            "index": entrant.index,
            "n_live": self.case.n_live,
            "k": self.asked["k"][0].as_py(),
            "dims": len(self.asked["point"][0]),
            "granularity": "publication",
            "batch": batch,
        }


SCAN = Entrant("scan")


def measure(size: Size, progress: Progress) -> Iterator[Row]:
    """A contest for each data set and number of subscriptions."""
    plan = PLANS[size]
    _rehearse(plan)
    for data in plan.data:
        case = window_case(data, plan.n_live)
        spent: defaultdict[Entrant, list[Spent]] = defaultdict(list)
        for step in plan.steps:
            made = case.generate(step.n, plan.n_later(step))
            live, later = made.publications.slice(0, case.n_live), made.publications.slice(case.n_live)
            yield from _contest(Course(case, plan, step, made.subscriptions, live, later), spent, progress)


def _rehearse(plan: Plan) -> None:
    """Let every engine compile what it needs, which would use up the patience with a warm-up."""
    case = window_case("uniform", 10)
    made = case.generate(2, 5)
    for entrant in (SCAN, *plan.entrants):
        entrant.enter(case, made.publications.slice(0, 10), made.subscriptions).publish(made.publications.slice(10))


def _contest(course: Course, spent: dict[Entrant, list[Spent]], progress: Progress) -> Iterator[Row]:
    progress(f"{course.contest} subscriptions: scan")
    scan, measures = _entered(course, SCAN)
    batches = pieces(course.later.slice(int(measures["warmed"])), course.step.scan_batch)
    yield _alone(course, scan, batches, measures)
    for entrant in course.plan.entrants:
        reason = reluctance(course.step.n, spent[entrant], course.plan.budget, free_memory())
        progress(f"{course.contest} subscriptions: {entrant}{'' if reason is None else f': {reason}'}")
        if reason is not None:
            parameters = course.parameters(entrant, course.plan.batch)
            yield skipped(course.contest, str(entrant), parameters, reason)
            continue
        start = time.perf_counter()
        row = _beside(course, scan, batches, entrant)
        gc.collect()
        spent[entrant].append(Spent(course.step.n, time.perf_counter() - start, _bytes(row)))
        yield row


def _entered(course: Course, entrant: Entrant) -> tuple[AnyEngine, dict[str, float]]:
    """An engine ready to be timed, its answers checked, and what is known of it by then."""
    start = time.perf_counter_ns()
    engine = entrant.enter(course.case, course.live, course.asked)
    taken = time.perf_counter_ns() - start
    n_warm = _warm_up(course, engine)
    differs = _check(course, engine, n_warm)
    return engine, {"entered_ns": float(taken), "warmed": float(n_warm), "differs": differs}


def _alone(course: Course, scan: AnyEngine, batches: Iterator[pa.Table], measures: dict[str, float]) -> Row:
    """Scan by itself, which is what the first row of a contest shows."""
    tally, n_rounds = Tally({"scan": scan}), course.plan.n_rounds
    waiting = list(islice(batches, n_rounds + 1))
    taken = time_in_turn({"scan": partial(_publish, scan, waiting)}, n_rounds, after=tally.note)["scan"]
    return course.row(SCAN, taken, course.step.scan_batch, measures | tally.measures("scan", n_rounds))


def _beside(course: Course, scan: AnyEngine, batches: Iterator[pa.Table], entrant: Entrant) -> Row:
    """An engine and Scan turn and turn about; what Scan takes beside it is what its ratio is to."""
    plan, name = course.plan, str(entrant)
    engine, measures = _entered(course, entrant)
    waiting = pieces(course.later.slice(int(measures["warmed"])), plan.batch)
    calls: dict[str, Callable[[int], object]] = {
        "scan": partial(_publish, scan, list(islice(batches, plan.n_rounds + 1))),
        name: partial(_publish, engine, list(islice(waiting, plan.n_rounds + 1))),
    }
    tally = Tally({"scan": scan, name: engine})
    taken = time_in_turn(calls, plan.n_rounds, after=tally.note)
    measures |= tally.measures(name, plan.n_rounds)
    measures["scan_ns"] = float(np.median(taken["scan"])) / course.step.scan_batch
    return course.row(entrant, taken[name], plan.batch, measures)


def _publish(engine: AnyEngine, batches: list[pa.Table], turn: int) -> pa.Table:
    return engine.publish(batches[turn])


def _warm_up(course: Course, engine: AnyEngine) -> int:
    """Publish as many as the step asks for, or for as long as the plan has patience; returns how many that were."""
    n_warm, start = 0, time.perf_counter()
    for batch in pieces(course.later.slice(0, course.step.n_warm), course.plan.batch):
        if time.perf_counter() - start > course.plan.patience:
            break
        engine.publish(batch)
        n_warm += len(batch)
    return n_warm


def _check(course: Course, engine: AnyEngine, n_warm: int) -> float:
    """The share of some subscriptions whose tops differ from those of a fresh Scan; an exact engine has none."""
    asked = course.asked.slice(0, N_CHECKED)
    published = pa.concat_tables([course.live, course.later.slice(0, n_warm)])
    fresh = SCAN.enter(course.case, published.slice(len(published) - course.case.n_live), asked)
    differs = share_of_different(engine.top(asked["id"].combine_chunks()), fresh.top(), len(asked))
    if engine.exact and differs:
        raise WrongAnswer(f"{course.contest}, {engine.name}: {differs:.1%} of the answers differ.")
    return differs


def share_of_different(tops: pa.Table, expected: pa.Table, n: int) -> float:
    """The share of n subscriptions that two tables of tops disagree on."""
    rows = [{tuple(row.values()) for row in table.to_pylist()} for table in (tops, expected)]
    return len({row[0] for row in rows[0] ^ rows[1]}) / n


def _subscriptions(row: Row) -> str:
    return f"{row['parameters']['n_subscriptions']:,} {row['parameters']['data']}"


def _bytes(row: Row) -> float:
    """What is kept for subscriptions: rows, questions and the index."""
    parts = row["measures"].items()
    return float(sum(n for name, n in parts if name.startswith("bytes.") and name not in NOT_EACH))


def _bytes_each(row: Row) -> float:
    return _bytes(row) / float(row["parameters"]["n_subscriptions"])


def _per_second(row: Row) -> float:
    return 1e9 / ns_per_operation(row)


def _ratio(row: Row, first: Row) -> str:
    """How many times as long as Scan beside it."""
    return f"{ns_per_operation(row) / row['measures'].get('scan_ns', ns_per_operation(row)):.3g}"


def _each(*counters: str) -> Callable[[Row, Row], str]:
    """The sum of counters for a publication, where an engine has them."""

    def cell(row: Row, first: Row) -> str:
        counted = [row["measures"][counter] for counter in counters if counter in row["measures"]]
        return number(sum(counted) / row["parameters"]["batch"]) if counted else ""

    return cell


def _differs(row: Row, first: Row) -> str:
    return f"{row['measures']['differs']:.1%}" if row["measures"].get("differs") else ""


def _plot(name: str, data: str, what: str, y: Callable[[Row], float]) -> Plot:
    return Plot(
        f"{name}-{data}",
        f"{what[0].upper()}{what[1:]}, {data} data",
        "n_subscriptions",
        "subscriptions",
        y,
        what,
        lambda row: str(row["algorithm"]),
        lambda row: bool(row["parameters"]["data"] == data),
    )


BENCHMARK = Benchmark(
    name="window",
    summary="Every policy and index for the window family beside Scan, over growing numbers of subscriptions.",
    measure=measure,
    columns=(
        Column("subscriptions", lambda row, first: _subscriptions(row)),
        Column("engine", lambda row, first: row["algorithm"]),
        Column("publications a second", lambda row, first: number(_per_second(row))),
        Column("ratio", _ratio),
        Column("candidates each", _each("candidates")),
        Column("scored each", _each("scored")),
        Column("searches each", _each("reevaluated", "refilled")),
        Column("changes each", _each("changes")),
        Column("warmed up by", lambda row, first: f"{row['measures']['warmed']:,.0f}"),
        Column("bytes for a subscription", lambda row, first: number(_bytes_each(row))),
        Column("answers that differ", _differs),
    ),
    plots=tuple(
        _plot(name, data, what, y)
        for data in ("uniform", "clustered")
        for name, what, y in (
            ("rate", "publications a second", _per_second),
            ("memory", "bytes for a subscription", _bytes_each),
        )
    ),
)
