"""How long few rows take: one, ten or a hundred at a time, as rows of Python and as tables, beside the kernels alone.

What a call takes beyond its kernels is what Python, numpy and Arrow add. The time within kernels is that of a call of
the same size, in the same turn, whose kernels are called through a clock.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from statistics import quantiles
from typing import Any, NamedTuple

import pyarrow as pa

from skyband.bench.contest import SizedWorkload, check_tops, fill, geotext_case, ranked_case, window_case
from skyband.bench.experiment import Progress
from skyband.bench.row import Row, measured
from skyband.bench.runner import Call, pieces, require_equal, sweep, time_in_turn
from skyband.contract import AUTO, AnyEngine, find_engine
from skyband.contract.auto import Auto
from skyband.contract.family import FAMILIES
from skyband.kernels.dispatch import Kernel
from skyband.workload import Workload

# Calls that are not timed, so that nothing is compiled and everything has its room in those that are.
N_WARM = 3
N_CHECKED = 5


class LatencyPlan(NamedTuple):
    """The numbers of subscriptions and of rows in a call, and how many calls of each kind are timed."""

    sizes: tuple[int, ...]
    n_rows: tuple[int, ...]
    n_live: int
    vocabulary: int
    n_rounds: int
    budget: float


class KernelClock:
    """The time within kernels that Python calls, while it is `running`."""

    def __init__(self) -> None:
        self.spent = 0
        modules = [module for name, module in list(sys.modules.items()) if name.startswith("skyband.")]
        self._calls = [
            (module, name, kernel, self._timed(kernel))
            for module in modules
            for name, kernel in list(vars(module).items())
            if isinstance(kernel, Kernel)
        ]

    def _timed(self, kernel: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            start = time.perf_counter_ns()
            answer = kernel(*arguments)
            self.spent += time.perf_counter_ns() - start
            return answer

        return call

    @contextmanager
    def running(self) -> Iterator[None]:
        """Let all calls of kernels pass through the clock; nothing may be compiled meanwhile."""
        for module, name, _, timed in self._calls:
            setattr(module, name, timed)
        try:
            yield
        finally:
            for module, name, kernel, _ in self._calls:
                setattr(module, name, kernel)


def latency_rows(plan: LatencyPlan, progress: Progress) -> Iterator[Row]:
    """Every family with growing numbers of subscriptions."""
    for case in cases(plan):
        _compare_answers(case, plan)
        yield from sweep(case.label, "rows", plan.sizes, plan.budget, partial(_measure_size, case, plan), progress)


def cases(plan: LatencyPlan) -> list[SizedWorkload]:
    """The workloads, with the engine that has an index."""
    return [window_case("uniform", plan.n_live), geotext_case(plan.n_live, plan.vocabulary), ranked_case()]


def engine_with_index(case: SizedWorkload) -> str:
    """The engine that a family takes for many subscriptions."""
    chooses = find_engine(case.family, AUTO)
    assert issubclass(chooses, Auto)
    return chooses.many


def _compare_answers(case: SizedWorkload, plan: LatencyPlan) -> None:
    """Have two engines answer rows and tables alike, before anything is timed."""
    made = case.generate(20, N_CHECKED * max(plan.n_rows))
    by_rows, by_tables = case.open(engine_with_index(case)), case.open(engine_with_index(case))
    for engine in (by_rows, by_tables):
        fill(engine, made.subscriptions.slice(10), made.publications.slice(0, case.n_before), case.fill_batch)
    for verb, table in (("subscribe", made.subscriptions.slice(0, 10)), ("publish", made.publications)):
        later = table.slice(case.n_before if verb == "publish" else 0)
        for piece in pieces(later, max(plan.n_rows) if verb == "publish" else 1):
            got, wanted = getattr(by_rows, verb)(_plain(piece)), getattr(by_tables, verb)(piece)
            require_equal(pa.table(got), wanted, case.label)


def _plain(table: pa.Table) -> Any:
    """A mapping of one row, or a list of several."""
    rows = table.to_pylist()
    return rows[0] if len(rows) == 1 else rows


def _measure_size(case: SizedWorkload, plan: LatencyPlan, n: int) -> list[Row]:
    """All calls on one engine, which goes on from one kind of calls to the next."""
    n_calls = 3 * (N_WARM + plan.n_rounds)
    made = case.generate(n + n_calls, n_calls * (sum(plan.n_rows) + 1))
    engine = case.open(engine_with_index(case))
    asked, later = made.subscriptions.slice(0, n), made.publications.slice(case.n_before)
    published = made.publications.slice(0, case.n_before)
    # Subscriptions to what is published already are answered faster than the same publications would be.
    fill(engine, asked.slice(0, 0), published, 10_000)
    fill(engine, asked, published.slice(0, 0), 1)
    if FAMILIES[case.family].answers_stand:
        check_tops(case, engine, asked.slice(0, N_CHECKED), published)
    trial = RowTrial(case, plan, n, engine, made)
    rows = []
    for n_rows in plan.n_rows:
        part = later.slice(0, n_calls * n_rows)
        later = later.slice(len(part))
        rows += trial.of("publish", engine.publish, list(pieces(part, n_rows)), n_rows)
    more = made.subscriptions.slice(n)
    rows += trial.of("subscribe", engine.subscribe, list(pieces(more, 1)), 1)
    return rows + trial.of("unsubscribe", engine.unsubscribe, list(pieces(more.select(["id"]), 1)), 1)


class RowTrial:
    """Calls of one verb of one engine, timed in turns."""

    def __init__(self, case: SizedWorkload, plan: LatencyPlan, n: int, engine: AnyEngine, made: Workload) -> None:
        self._case, self._plan, self._n, self._engine, self._made = case, plan, n, engine, made

    def of(self, operation: str, verb: Callable[[Any], Any], batches: list[pa.Table], n_rows: int) -> list[Row]:
        """The kernels alone, rows of Python, and tables; each call is given a batch of its own."""
        plain = [_plain(batch) for batch in batches]
        arrow = batches
        if operation == "unsubscribe":
            plain, arrow = [row["id"] for row in plain], [batch["id"].combine_chunks() for batch in batches]
        clock, within, n_answers = KernelClock(), list[int](), dict[str, int]()

        def clocked(turn: int) -> Any:
            clock.spent = 0
            with clock.running():
                return verb(plain[3 * turn])

        def note(name: str, turn: int, answer: Any) -> None:
            if turn >= N_WARM:
                n_answers[name] = n_answers.get(name, 0) + len(answer)
                within.extend([max(clock.spent, 1)] if name == "kernels" else [])

        calls: dict[str, Call] = {
            "kernels": lambda turn: verb(plain[3 * turn]) if turn < N_WARM else clocked(turn),
            "rows": lambda turn: verb(plain[3 * turn + 1]),
            "tables": lambda turn: verb(arrow[3 * turn + 2]),
        }
        taken = time_in_turn(calls, self._plan.n_rounds, N_WARM, note) | {"kernels": within}
        return [self._row(operation, n_rows, name, taken, n_answers[name]) for name in calls]

    def _row(self, operation: str, n_rows: int, name: str, taken: dict[str, list[int]], n_answers: int) -> Row:
        parameters = self._made.parameters | {
            "family": self._case.family,
            "label": self._case.label,
            "n_subscriptions": self._n,
            "n_live": self._case.n_live,
            "operation": operation,
            "n_rows": n_rows,
        }
        p50, p99 = percentiles(taken[name])
        measures = {
            "p50_us": p50,
            "p99_us": p99,
            "over_us": p50 - percentiles(taken["kernels"])[0],
            "answers": n_answers / self._plan.n_rounds,
        }
        measures |= {f"bytes.{part}": float(n_bytes) for part, n_bytes in self._engine.memory().items()}
        contest = f"{self._case.label}, {self._n}, {operation} {n_rows}"
        return measured(contest, name, parameters, taken[name], n_rows, measures)


def percentiles(taken: list[int]) -> tuple[float, float]:
    """The median and the 99th percentile of nanoseconds, in microseconds."""
    cuts = quantiles(taken, n=100, method="inclusive")
    return cuts[49] / 1e3, cuts[98] / 1e3
