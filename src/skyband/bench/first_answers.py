"""First answers at once and one by one, and the bytes of a subscription by part."""

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from skyband.bench.contest import SizedWorkload, geotext_case, window_case
from skyband.bench.experiment import Progress
from skyband.bench.growing_cost import BATCH, N_CHECKED, CostPlan, Setting
from skyband.bench.row import Row, measured
from skyband.bench.runner import AT_ONCE, pieces, require_equal, time_in_turn
from skyband.contract import AnyEngine
from skyband.table import Window

# How much of a window slides by at a time while bytes are counted.
SLIDES = 20


def _cases(plan: CostPlan) -> tuple[SizedWorkload, SizedWorkload]:
    return window_case("uniform", plan.n_live), geotext_case(plan.n_live, plan.vocabulary)


def answer_first(plan: CostPlan, progress: Progress) -> Iterator[Row]:
    """Beside so many subscriptions, more of them at once and as many again one by one, turn and turn about."""
    for case in _cases(plan):
        for n in plan.sizes:
            progress(f"{case.family}, {n:,} subscriptions")
            yield from _answer_first(plan, case, n)


def _answer_first(plan: CostPlan, case: SizedWorkload, n: int) -> list[Row]:
    n_each, n_turns = plan.n_single, plan.n_rounds + 1
    setting = Setting.of(case, n + 2 * n_each * n_turns, 0, Window.count(plan.n_live))
    engine, asked = _filled(setting, n), setting.made.subscriptions
    more = list(pieces(asked.slice(n), n_each))
    counted = dict.fromkeys(("at once", "one by one"), 0)
    scored = engine.counters["scored"]

    def note(name: str, turn: int, answer: object) -> None:
        nonlocal scored
        before, scored = scored, engine.counters["scored"]
        counted[name] += scored - before

    calls = {
        "at once": lambda turn: engine.subscribe(more[2 * turn]),
        "one by one": lambda turn: [engine.subscribe(one) for one in pieces(more[2 * turn + 1], 1)],
    }
    taken = time_in_turn(calls, plan.n_rounds, after=note)
    _check(setting, engine)
    given = {"family": case.family, "n_subscriptions": n, "n_live": plan.n_live, "batch": n_each}
    return [
        measured(f"{case.family}, {n}", name, given, taken[name], n_each, {"scored": counted[name] / n_each / n_turns})
        for name in calls
    ]


def _filled(setting: Setting, n: int) -> AnyEngine:
    engine = setting.open()
    for piece in pieces(setting.made.publications, BATCH):
        engine.publish(piece)
    for piece in pieces(setting.made.subscriptions.slice(0, n), AT_ONCE):
        engine.subscribe(piece)
    return engine


def _check(setting: Setting, engine: AnyEngine) -> None:
    """Compare the tops of those that came first and last, at once and one by one, with those of brute force."""
    n = len(setting.made.subscriptions)
    rows = np.unique(np.concatenate([np.arange(n)[:N_CHECKED], np.arange(n)[-N_CHECKED:]]))
    asked = setting.made.subscriptions.take(pa.array(rows))
    scan = setting.open("scan")
    scan.publish(setting.made.publications)
    scan.subscribe(asked)
    require_equal(engine.top(asked["id"].combine_chunks()), scan.top(), setting.case.label)


def count_bytes(plan: CostPlan, progress: Progress) -> Iterator[Row]:
    """The bytes of a subscription by part: after all have been answered, and once a window has slid over them."""
    for case in _cases(plan):
        for n in plan.sizes:
            progress(f"{case.family}, {n:,} subscriptions")
            yield from _count_bytes(plan, case, n)


def _count_bytes(plan: CostPlan, case: SizedWorkload, n: int) -> list[Row]:
    setting = Setting.of(case, n, plan.n_live, Window.count(plan.n_live))
    first, later = setting.made.publications.slice(0, plan.n_live), setting.made.publications.slice(plan.n_live)
    engine = setting.open()
    start = time.perf_counter_ns()
    for piece in pieces(first, BATCH):
        engine.publish(piece)
    setting.subscribe(engine)
    answered = time.perf_counter_ns()
    given = {"family": case.family, "n_subscriptions": n, "n_live": plan.n_live}
    rows = [_weighed(engine, "answered", given, answered - start)]
    for piece in pieces(later, max(1, plan.n_live // SLIDES)):
        engine.publish(piece)
    return [*rows, _weighed(engine, "window slid", given, time.perf_counter_ns() - answered)]


def _weighed(engine: AnyEngine, when: str, given: dict[str, Any], spent: int) -> Row:
    """What the parts take for each subscription; those of publications do not grow with subscriptions."""
    n = given["n_subscriptions"]
    measures = {f"bytes.{part}": size / n for part, size in engine.memory().items()}
    return measured(f"{given['family']}, {n}", when, given, [spent], n, measures)
