"""What threads are worth: one engine with one thread and its twin with several, batch by batch in turns.

Every answer of the twins is compared with the clock stopped, and their counters in the end.
"""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import pyarrow as pa

from skyband.bench.contest import SizedWorkload, fill, geotext_case, ranked_case, window_case
from skyband.bench.experiment import Progress
from skyband.bench.row import Row
from skyband.bench.runner import Call, WrongAnswer, pieces, race, require_equal, sweep
from skyband.contract import AUTO, AnyEngine, find_engine
from skyband.contract.auto import Auto

N_WARM = 2


class ThreadPlan(NamedTuple):
    """The numbers of subscriptions and of threads; up to how many subscriptions Scan is measured."""

    sizes: tuple[int, ...]
    threads: tuple[int, ...]
    most_scanned: int
    batch: int
    n_live: int
    vocabulary: int
    n_rounds: int
    budget: float


def thread_rows(plan: ThreadPlan, progress: Progress) -> Iterator[Row]:
    """Every family with growing numbers of subscriptions, by its index and by Scan."""
    for case in (window_case("uniform", plan.n_live), geotext_case(plan.n_live, plan.vocabulary), ranked_case()):
        chooses = find_engine(case.family, AUTO)
        assert issubclass(chooses, Auto)
        for engine in (chooses.many, chooses.few):
            sizes = [n for n in plan.sizes if engine == chooses.many or n <= plan.most_scanned]
            measure = partial(_measure_size, case, engine, plan)
            yield from sweep(f"{case.label}, {engine}", "publish", sizes, plan.budget, measure, progress)


def _measure_size(case: SizedWorkload, engine: str, plan: ThreadPlan, n: int) -> list[Row]:
    made = case.generate(n, plan.batch * (N_WARM + plan.n_rounds))
    live, later = made.publications.slice(0, case.n_before), made.publications.slice(case.n_before)
    twins = {_named(threads): case.open(engine, threads=threads) for threads in plan.threads}
    for twin in twins.values():
        # Subscriptions to what is published already are answered faster than the same publications would be.
        fill(twin, made.subscriptions.slice(0, 0), live, 10_000)
        fill(twin, made.subscriptions, live.slice(0, 0), 1)
    calls = {name: _publisher(twin, list(pieces(later, plan.batch))) for name, twin in twins.items()}
    first, *_ = twins
    answers: dict[int, pa.Table] = {}

    def compare(name: str, turn: int, answer: object) -> None:
        assert isinstance(answer, pa.Table)
        require_equal(answer, answers.setdefault(turn, answer), f"{case.label}, {engine}")
        if name != first:
            answers.pop(turn - 1, None)

    parameters = made.parameters | {
        "family": case.family,
        "label": f"{case.label}, {engine}",
        "n_subscriptions": n,
        "n_live": case.n_live,
        "batch": plan.batch,
    }
    contest = f"{case.label}, {engine}, {n}"
    rows = race(
        *(contest, calls, plan.n_rounds, plan.batch, parameters),
        lambda name, _: {f"bytes.{part}": float(n_bytes) for part, n_bytes in twins[name].memory().items()},
        n_warm=N_WARM,
        after=compare,
    )
    _compare_counters(twins, contest)
    return rows


def _named(threads: int) -> str:
    return "1 thread" if threads == 1 else f"{threads} threads"


def _publisher(engine: AnyEngine, batches: list[pa.Table]) -> Call:
    return lambda turn: engine.publish(batches[turn])


def _compare_counters(twins: dict[str, AnyEngine], what: str) -> None:
    """Raise `WrongAnswer` unless all have counted the same."""
    counted = [twin.counters for twin in twins.values()]
    if any(counters != counted[0] for counters in counted):
        raise WrongAnswer(f"{what}: the counters differ: {counted}")
