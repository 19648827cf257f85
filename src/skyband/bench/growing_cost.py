"""What costs grow with: publications out of order, what comes first of two, and batches as large as the window."""

import time
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from skyband.bench.contest import SizedWorkload, geotext_case, window_case
from skyband.bench.experiment import Progress
from skyband.bench.opening import open_engine
from skyband.bench.row import Row, measured
from skyband.bench.runner import AT_ONCE, no_collection, pieces, require_equal, time_in_turn
from skyband.contract import AnyEngine
from skyband.table import UNBOUNDED, Window
from skyband.workload import Workload
from skyband.workload.seed import Purpose, generator

ENGINE, SEED, N_CHECKED = "blocks", 1, 100
IN_ORDER, LATE = "in order", "every other one late"
# So many at a time where it does not matter how many.
BATCH = 10_000


class CostPlan(NamedTuple):
    """How many subscriptions, how long the window, how large a batch, how many single ones, and how often."""

    sizes: tuple[int, ...]
    n_live: int
    batch: int
    n_single: int
    n_rounds: int
    vocabulary: int


class Setting(NamedTuple):
    """A workload whose subscriptions all have the window of their engine."""

    case: SizedWorkload
    made: Workload
    window: Window

    @classmethod
    def of(cls, case: SizedWorkload, n: int, n_later: int, window: Window) -> "Setting":
        """The workload with so many subscriptions, and so many publications after a full window."""
        made = case.generate(n, n_later)
        own = [name for name in made.subscriptions.column_names if name.startswith("window")]
        return cls(case, made._replace(subscriptions=made.subscriptions.drop_columns(own)), window)

    def open(self, engine: str = ENGINE) -> AnyEngine:
        """An empty engine."""
        return open_engine(self.case.family, engine, window=self.window)

    def subscribe(self, engine: AnyEngine) -> None:
        """All subscriptions."""
        for piece in pieces(self.made.subscriptions, AT_ONCE):
            engine.subscribe(piece)

    def check(self, engine: AnyEngine, published: pa.Table) -> None:
        """Compare some tops with those of brute force that is told of the same publications."""
        asked, scan = self.made.subscriptions.slice(0, N_CHECKED), self.open("scan")
        scan.subscribe(asked)
        for piece in pieces(published, BATCH):
            scan.publish(piece)
        require_equal(engine.top(asked["id"].combine_chunks()), scan.top(), self.case.label)


def _cases(plan: CostPlan) -> tuple[SizedWorkload, SizedWorkload]:
    return window_case("uniform", plan.n_live), geotext_case(plan.n_live, plan.vocabulary)


def straggle(plan: CostPlan, progress: Progress) -> Iterator[Row]:
    """Single publications out of order beside single ones in order, by windows that count and windows of time."""
    case = window_case("uniform", plan.n_live)
    for n in plan.sizes:
        for label in ("of publications", "of time"):
            progress(f"windows {label}, {n:,} subscriptions")
            yield from _straggle(plan, case, n, label)


def _straggle(plan: CostPlan, case: SizedWorkload, n: int, label: str) -> list[Row]:
    setting = Setting.of(case, n, plan.n_single, Window.count(plan.n_live))
    if label == "of time":
        ts = _times(setting.made.publications)
        setting = setting._replace(window=Window.time(int(ts[plan.n_live] - ts[0])))
    in_order = setting.made.publications
    tables = {IN_ORDER: in_order, LATE: _put_back(in_order, plan.n_live)}
    engines = {name: _filled(setting, table, plan.n_live) for name, table in tables.items()}
    before = {name: engine.counters for name, engine in engines.items()}
    calls = {name: partial(_publish_one, engine, tables[name], plan.n_live) for name, engine in engines.items()}
    taken = time_in_turn(calls, plan.n_single, n_warm=0)
    rows = []
    for name, engine in engines.items():
        setting.check(engine, tables[name])
        given = {"n_subscriptions": n, "n_live": plan.n_live, "window": label}
        counted = _counted(engine, before[name], plan.n_single)
        # Of those that come late every other one, which is what is shown.
        rows.append(measured(f"{label}, {n}", name, given, taken[name][1::2], 1, counted))
    return rows


def _times(publications: pa.Table) -> Any:
    return publications["ts"].cast(pa.int64()).to_numpy()


def _put_back(publications: pa.Table, first: int) -> pa.Table:
    """Every other publication after the first so many is as old as another of the latest half of a window."""
    ts = _times(publications).copy()
    late = np.arange(first + 1, len(ts), 2)
    ts[late] = ts[late - generator(SEED, Purpose.CLOCK).integers(1, max(2, first // 2), len(late))]
    at = publications.column_names.index("ts")
    return publications.set_column(at, "ts", pa.array(ts).cast(publications["ts"].type))


def _filled(setting: Setting, publications: pa.Table, n_live: int) -> AnyEngine:
    engine = setting.open()
    for piece in pieces(publications.slice(0, n_live), BATCH):
        engine.publish(piece)
    setting.subscribe(engine)
    return engine


def _publish_one(engine: AnyEngine, publications: pa.Table, first: int, turn: int) -> pa.Table:
    return engine.publish(publications.slice(first + turn, 1))


def _counted(engine: AnyEngine, before: dict[str, int], n: int) -> dict[str, float]:
    """What a publication cost since then, whatever the machine."""
    now = engine.counters
    return {name: (now.get(name, 0) - before.get(name, 0)) / n for name in ("candidates", "scored", "reevaluated")}


def begin(plan: CostPlan, progress: Progress) -> Iterator[Row]:
    """From an empty engine to a full window, with subscriptions first and with publications first."""
    for case in _cases(plan):
        for window, label in ((Window.count(plan.n_live), "a window"), (UNBOUNDED, "no window")):
            for n in plan.sizes:
                progress(f"{case.family}, {label}, {n:,} subscriptions")
                yield from _begin(plan, Setting.of(case, n, 0, window), label)


def _begin(plan: CostPlan, setting: Setting, label: str) -> list[Row]:
    """A row for each order; the engines of the first round compile what they need."""
    n, family = len(setting.made.subscriptions), setting.case.family
    orders = {"publications first": _publications_first, "subscriptions first": _subscriptions_first}
    taken: dict[str, list[int]] = {name: [] for name in orders}
    measures: dict[str, dict[str, float]] = {}
    for turn in range(plan.n_rounds + 1):
        tops = []
        for name, order in orders.items():
            engine = setting.open()
            with no_collection():
                start = time.perf_counter_ns()
                measures[name] = order(setting, engine, plan.batch)
                taken[name] += [time.perf_counter_ns() - start][: turn > 0]
            tops.append(engine.top())
        require_equal(tops[1], tops[0], f"{family}, {label}")
    given = {"family": family, "window": label, "n_subscriptions": n, "n_live": plan.n_live, "batch": plan.batch}
    return [measured(f"{family}, {label}, {n}", name, given, taken[name], n, measures[name]) for name in orders]


def _publications_first(setting: Setting, engine: AnyEngine, batch: int) -> dict[str, float]:
    for piece in pieces(setting.made.publications, batch):
        engine.publish(piece)
    start = time.perf_counter_ns()
    setting.subscribe(engine)
    n = len(setting.made.subscriptions)
    return {"answer_us": (time.perf_counter_ns() - start) / n / 1e3} | _counted(engine, {}, n)


def _subscriptions_first(setting: Setting, engine: AnyEngine, batch: int) -> dict[str, float]:
    setting.subscribe(engine)
    told: dict[str, float] = {}
    for i, piece in enumerate(pieces(setting.made.publications, batch)):
        start = time.perf_counter_ns()
        engine.publish(piece)
        if i == 0:
            told = {"first_batch_ms": (time.perf_counter_ns() - start) / 1e6}
    return told | _counted(engine, {}, len(setting.made.subscriptions))


def flood(plan: CostPlan, progress: Progress) -> Iterator[Row]:
    """Batches that are a hundredth of the window, a tenth and all of it, once the window is full."""
    for case in _cases(plan):
        for n in plan.sizes:
            progress(f"{case.family}, {n:,} subscriptions")
            yield from _flood(plan, Setting.of(case, n, 2 * plan.n_live, Window.count(plan.n_live)))


def _flood(plan: CostPlan, setting: Setting) -> list[Row]:
    """A window is published to each engine before the clock starts, and one more is timed."""
    n, family, tops = len(setting.made.subscriptions), setting.case.family, []
    shares = {"a hundredth of the window": 100, "a tenth of the window": 10, "all of the window": 1}
    rows = []
    for name, share in shares.items():
        batch = max(1, plan.n_live // share)
        n_batches = plan.n_live // batch
        engine = _filled(setting, setting.made.publications, plan.n_live)
        later = list(pieces(setting.made.publications.slice(plan.n_live, 2 * batch * n_batches), batch))
        for piece in later[:n_batches]:
            engine.publish(piece)
        before, calls = engine.counters, {name: partial(_publish, engine, later[n_batches:])}
        taken = time_in_turn(calls, n_batches, n_warm=0)[name]
        tops.append(engine.top())
        require_equal(tops[-1], tops[0], f"{family}, batches of {batch}")
        given = {"family": family, "n_subscriptions": n, "n_live": plan.n_live, "batch": batch}
        rows.append(measured(f"{family}, {n}", name, given, taken, batch, _counted(engine, before, batch * n_batches)))
    return rows


def _publish(engine: AnyEngine, batches: list[pa.Table], turn: int) -> pa.Table:
    return engine.publish(batches[turn])
