"""The engines of the window family beside Scan, over growing numbers of subscriptions: every policy with every index.

Each engine is given a full window, then the subscriptions, then some publications to get away from the state that a
search of everything leaves. Scan stays in memory for all of a contest and takes its turn beside each of the others, of
which only one is in memory at a time.
"""

import gc
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from skyband.bench.contest import SizedWorkload, Tally, bytes_of_subscriptions, window_case
from skyband.bench.experiment import Progress
from skyband.bench.row import Row, measured, skipped
from skyband.bench.runner import AT_ONCE, Call, Spending, WrongAnswer, pieces, time_in_turn
from skyband.contract import AnyEngine

POLICIES = ("sma", "tma", "kmax", "cskyband", "sasf", "pa", "skyband")
N_CHECKED = 200


class SweepStep(NamedTuple):
    """A number of subscriptions, how many publications warm an engine up, and how many Scan is given at a time."""

    n: int
    n_warm: int
    scan_batch: int


class WindowPlan(NamedTuple):
    """How large a run is; `patience` is in seconds for each warm-up, `budget` for all of an engine at one size."""

    steps: tuple[SweepStep, ...]
    n_live: int = 40_000
    batch: int = 1000
    n_rounds: int = 9
    patience: float = 1e9
    budget: float = 1e9
    data: tuple[str, ...] = ("uniform", "clustered")
    indexes: tuple[str, ...] = ("grid", "blocks")

    @property
    def entrants(self) -> list["WindowEntrant"]:
        """All but Scan."""
        return [WindowEntrant(policy, index) for policy in POLICIES for index in self.indexes] + [
            WindowEntrant("blocks")
        ]

    def n_later(self, step: SweepStep) -> int:
        """How many publications are needed after the first window."""
        for_scan = step.scan_batch * (self.n_rounds + 1) * (len(self.entrants) + 1)
        return step.n_warm + max(for_scan, self.batch * (self.n_rounds + 1))


@dataclass(frozen=True)
class WindowEntrant:
    """An engine, with its index where it has a choice."""

    engine: str
    index: str = ""

    def __str__(self) -> str:
        return f"{self.engine}, {self.index}" if self.index else self.engine

    def enter(self, case: SizedWorkload, live: pa.Table, asked: pa.Table) -> AnyEngine:
        """An engine with these publications and then these subscriptions."""
        options = {"granularity": "publication"} | ({"index": self.index} if self.index else {})
        engine = case._replace(engine_options=options).open(self.engine)
        for piece in pieces(live, 10_000):
            engine.publish(piece)
        for piece in pieces(asked, AT_ONCE):
            engine.subscribe(piece)
        return engine


class WindowCourse(NamedTuple):
    """What all engines of a contest are given: subscriptions, a first window, and what comes later."""

    case: SizedWorkload
    plan: WindowPlan
    step: SweepStep
    asked: pa.Table
    live: pa.Table
    later: pa.Table

    def row(self, entrant: WindowEntrant, latencies: list[int], batch: int, measures: dict[str, float]) -> Row:
        """A row of this contest."""
        return measured(self.contest, str(entrant), self.parameters(entrant, batch), latencies, batch, measures)

    @property
    def contest(self) -> str:
        return f"{self.case.label}, {self.step.n}"

    def parameters(self, entrant: WindowEntrant, batch: int) -> dict[str, Any]:
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


SCAN = WindowEntrant("scan")


def compare(plan: WindowPlan, progress: Progress) -> Iterator[Row]:
    """A contest for each data set and number of subscriptions."""
    _rehearse(plan)
    for data in plan.data:
        case = window_case(data, plan.n_live)
        spending: defaultdict[WindowEntrant, Spending] = defaultdict(lambda: Spending(plan.budget))
        for step in plan.steps:
            made = case.generate(step.n, plan.n_later(step))
            live, later = made.publications.slice(0, case.n_live), made.publications.slice(case.n_live)
            yield from _contest(WindowCourse(case, plan, step, made.subscriptions, live, later), spending, progress)


def _rehearse(plan: WindowPlan) -> None:
    """Let every engine compile what it needs, which would use up the patience with a warm-up."""
    case = window_case("uniform", 10)
    made = case.generate(2, 5)
    for entrant in (SCAN, *plan.entrants):
        entrant.enter(case, made.publications.slice(0, 10), made.subscriptions).publish(made.publications.slice(10))


def _contest(course: WindowCourse, spending: dict[WindowEntrant, Spending], progress: Progress) -> Iterator[Row]:
    progress(f"{course.contest} subscriptions: scan")
    scan, measures = _entered(course, SCAN)
    batches = pieces(course.later.slice(int(measures["warmed"])), course.step.scan_batch)
    yield _alone(course, scan, batches, measures)
    for entrant in course.plan.entrants:
        reason = spending[entrant].reluctance(course.step.n)
        progress(f"{course.contest} subscriptions: {entrant}{'' if reason is None else f': {reason}'}")
        if reason is not None:
            parameters = course.parameters(entrant, course.plan.batch)
            yield skipped(course.contest, str(entrant), parameters, reason)
            continue
        start = time.perf_counter()
        row = _beside(course, scan, batches, entrant)
        gc.collect()
        spending[entrant].note(course.step.n, time.perf_counter() - start, bytes_of_subscriptions(row))
        yield row


def _entered(course: WindowCourse, entrant: WindowEntrant) -> tuple[AnyEngine, dict[str, float]]:
    """An engine ready to be timed, its answers checked, and what is known of it by then."""
    start = time.perf_counter_ns()
    engine = entrant.enter(course.case, course.live, course.asked)
    taken = time.perf_counter_ns() - start
    n_warm = _warm_up(course, engine)
    differs = _check(course, engine, n_warm)
    return engine, {"entered_ns": float(taken), "warmed": float(n_warm), "differs": differs}


def _alone(course: WindowCourse, scan: AnyEngine, batches: Iterator[pa.Table], measures: dict[str, float]) -> Row:
    """Scan by itself, which is what the first row of a contest shows."""
    tally, n_rounds = Tally({"scan": scan}), course.plan.n_rounds
    waiting = list(islice(batches, n_rounds + 1))
    taken = time_in_turn({"scan": partial(_publish, scan, waiting)}, n_rounds, after=tally.note)["scan"]
    return course.row(SCAN, taken, course.step.scan_batch, measures | tally.measures("scan", n_rounds))


def _beside(course: WindowCourse, scan: AnyEngine, batches: Iterator[pa.Table], entrant: WindowEntrant) -> Row:
    """An engine and Scan turn and turn about; what Scan takes beside it is what its ratio is to."""
    plan, name = course.plan, str(entrant)
    engine, measures = _entered(course, entrant)
    waiting = pieces(course.later.slice(int(measures["warmed"])), plan.batch)
    calls: dict[str, Call] = {
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


def _warm_up(course: WindowCourse, engine: AnyEngine) -> int:
    """Publish as many as the step asks for, or for as long as the plan has patience; returns how many that were."""
    n_warm, start = 0, time.perf_counter()
    for batch in pieces(course.later.slice(0, course.step.n_warm), course.plan.batch):
        if time.perf_counter() - start > course.plan.patience:
            break
        engine.publish(batch)
        n_warm += len(batch)
    return n_warm


def _check(course: WindowCourse, engine: AnyEngine, n_warm: int) -> float:
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
