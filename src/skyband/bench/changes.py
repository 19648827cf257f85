"""What a change costs: publishing as a whole, and of that the change log and the Arrow table that it becomes.

With many subscriptions a publication changes hundreds of tops, so that telling of them counts as much as finding them.
The parts are timed within the very calls that are timed as a whole, by clocks around them.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Literal, NamedTuple, get_args

import pyarrow as pa
import pyarrow.compute as pc

from skyband.bench.contest import SizedWorkload, check_tops, fill, geotext_case, window_case
from skyband.bench.experiment import Progress
from skyband.bench.latency import engine_with_index
from skyband.bench.row import Row, measured
from skyband.bench.runner import pieces, require_equal, sweep, time_in_turn
from skyband.contract import AnyEngine
from skyband.table.answer_rows import AnswerRows
from skyband.topk.change_log import ChangeLog
from skyband.workload import Workload

N_WARM = 2
N_CHECKED = 5
# In the order of the rows; the first is what the others are part of.
PARTS = ("publish", "change log", "table")

IdKind = Literal["integers", "texts"]


class ChangesPlan(NamedTuple):
    """The numbers of subscriptions, and of publications in a call; how many calls of each kind are timed."""

    sizes: tuple[int, ...]
    batches: tuple[int, ...]
    n_live: int
    vocabulary: int
    n_rounds: int
    budget: float


class PartClocks:
    """The time within the change log, and that for making tables, while they are `running`."""

    def __init__(self) -> None:
        self.spent = dict.fromkeys(PARTS[1:], 0)
        self._timed: list[tuple[Any, str, str]] = [(ChangeLog, "answer", PARTS[1]), (AnswerRows, "table", PARTS[2])]

    @contextmanager
    def running(self) -> Iterator[None]:
        """Let all calls of both pass through the clocks."""
        before = [getattr(owner, name) for owner, name, _ in self._timed]
        for (owner, name, part), call in zip(self._timed, before, strict=True):
            setattr(owner, name, self._through(part, call))
        try:
            yield
        finally:
            for (owner, name, _), call in zip(self._timed, before, strict=True):
                setattr(owner, name, call)

    def _through(self, part: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arguments: Any) -> Any:
            start = time.perf_counter_ns()
            answer = call(*arguments)
            self.spent[part] += time.perf_counter_ns() - start
            return answer

        return timed


def change_rows(plan: ChangesPlan, progress: Progress) -> Iterator[Row]:
    """Both families, with ids of both kinds, with growing numbers of subscriptions."""
    for case in (window_case("uniform", plan.n_live), geotext_case(plan.n_live, plan.vocabulary)):
        for kind in get_args(IdKind):
            label = f"{case.label}, {kind}"
            _compare_changes(case, kind, plan)
            measure = partial(_measure_size, case, kind, plan)
            yield from sweep(label, PARTS[0], plan.sizes, plan.budget, measure, progress)


def named(made: Workload, kind: IdKind) -> Workload:
    """The workload with its ids as they are, which are integers, or as texts."""
    if kind == "integers":
        return made
    return made._replace(subscriptions=_texted(made.subscriptions), publications=_texted(made.publications))


def _texted(table: pa.Table) -> pa.Table:
    place = table.column_names.index("id")
    texts = pc.binary_join_element_wise("number", pc.cast(table["id"], pa.string()), "-")
    return table.set_column(place, "id", texts)


def _compare_changes(case: SizedWorkload, kind: IdKind, plan: ChangesPlan) -> None:
    """Have brute force tell the same changes, before anything is timed."""
    made = named(case.generate(20, N_CHECKED * max(plan.batches)), kind)
    engines = [case.open(engine_with_index(case)), case.open("scan")]
    for engine in engines:
        fill(engine, made.subscriptions, made.publications.slice(0, case.n_before), case.fill_batch)
    for piece in pieces(made.publications.slice(case.n_before), max(plan.batches)):
        one, other = (engine.publish(piece) for engine in engines)
        require_equal(one, other, case.label)


def _measure_size(case: SizedWorkload, kind: IdKind, plan: ChangesPlan, n: int) -> list[Row]:
    n_calls = N_WARM + plan.n_rounds
    made = named(case.generate(n, n_calls * sum(plan.batches)), kind)
    engine, published = case.open(engine_with_index(case)), made.publications.slice(0, case.n_before)
    fill(engine, made.subscriptions.slice(0, 0), published, 10_000)
    fill(engine, made.subscriptions, published.slice(0, 0), 1)
    check_tops(case, engine, made.subscriptions.slice(0, N_CHECKED), published)
    later, rows = made.publications.slice(case.n_before), list[Row]()
    for batch in plan.batches:
        taken, n_changes = _time_parts(engine, list(pieces(later.slice(0, n_calls * batch), batch)), plan.n_rounds)
        later = later.slice(n_calls * batch)
        parameters = made.parameters | {"label": case.label, "ids": kind, "n_subscriptions": n, "batch": batch}
        measures = {"changes": n_changes / plan.n_rounds}
        measures |= {f"bytes.{part}": float(n_bytes) for part, n_bytes in engine.memory().items()}
        contest, n_each = f"{case.label}, {kind}, {n}, {batch}", max(1, n_changes // plan.n_rounds)
        rows += [measured(contest, part, parameters, taken[part], n_each, measures) for part in PARTS]
    return rows


def _time_parts(engine: AnyEngine, batches: list[pa.Table], n_rounds: int) -> tuple[dict[str, list[int]], int]:
    """The nanoseconds of each call, as a whole and by part, and how many changes all of them told together."""
    clocks, n_changes = PartClocks(), 0
    within: dict[str, list[int]] = {part: [] for part in PARTS[1:]}

    def publish(turn: int) -> Any:
        clocks.spent = dict.fromkeys(clocks.spent, 0)
        return engine.publish(batches[turn])

    def note(name: str, turn: int, answer: Any) -> None:
        nonlocal n_changes
        if turn >= N_WARM:
            n_changes += len(answer)
            for part, spent in clocks.spent.items():
                within[part].append(spent)

    with clocks.running():
        taken = time_in_turn({PARTS[0]: publish}, n_rounds, N_WARM, note)
    return taken | within, n_changes
