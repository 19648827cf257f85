"""Which engine to take when none is named: brute force beside the index, by subscriptions, dimensions and score."""

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

from skyband.bench.contest import SizedWorkload, duel, geotext_case, ranges_case, ranked_case
from skyband.bench.experiment import Progress
from skyband.bench.row import Row
from skyband.contract import AUTO, find_engine
from skyband.contract.auto import Auto
from skyband.window import workload as window


class ChoicePlan(NamedTuple):
    """The numbers of subscriptions, and how much else there is."""

    sizes: tuple[int, ...]
    dims: tuple[int, ...]
    n_live: int
    batch: int
    n_rounds: int
    vocabulary: int


def compare_choices(plan: ChoicePlan, progress: Progress) -> Iterator[Row]:
    """Both engines of every case and size in turn, with every change compared, and what `auto` takes there."""
    for case in _cases(plan):
        chooses = find_engine(case.family, AUTO)
        assert issubclass(chooses, Auto)
        for n in plan.sizes:
            progress(f"{case.label}, {n:,} subscriptions")
            taken = _taken(case, n)
            for row in duel(case, (chooses.few, chooses.many), n, plan.batch, plan.n_rounds):
                told = {"label": case.label, "n_subscriptions": n, "takes": taken, "batch": plan.batch}
                yield row | {"parameters": row["parameters"] | told}


def _cases(plan: ChoicePlan) -> list[SizedWorkload]:
    windows = [_points(score, dims, plan.n_live) for score in ("euclidean", "sum", "cosine") for dims in plan.dims]
    return [*windows, geotext_case(plan.n_live, plan.vocabulary), ranges_case(plan.n_live), ranked_case()]


def _points(score: Any, dims: int, n_live: int) -> SizedWorkload:
    def options(n_subscriptions: int, n_publications: int) -> window.Options:
        made = partial(window.Options, n_subscriptions=n_subscriptions, n_publications=n_publications)
        return made(window_n=n_live, dims=dims, score=score)

    return SizedWorkload("window", f"{score} in {dims}", window.generate, options, n_live, window=True)


def _taken(case: SizedWorkload, n: int) -> str:
    engine = case.open(AUTO)
    engine.subscribe(case.generate(n, 1).subscriptions)
    return engine.taken
