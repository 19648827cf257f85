"""A race: engines of the geotext family on the same messages, their answers compared before they are timed.

In a contest every engine but Scan is given a full window, then the subscriptions, which are answered by searches, then
some messages to get away from the state that searches leave, and its answers are compared with Scan's. Then engines
take turns at batches of messages. Only so many are in memory at a time: the first of a contest stays and takes its turn
beside each of the others, and what it takes beside one is what that one's ratio is to. Times are means, as in the Skype
paper, since what expires brings searches now and then.

What arrives and what expires are told apart by time: the messages of a batch are microseconds apart, and batches a
second. A window of n batches is a window of n seconds. Going on to the end of the next batch's second lets one batch
expire, and publishing it then finds nothing more to expire.
"""

import gc
import math
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from skyband.bench.experiment import Progress
from skyband.bench.geotext_corpus import Corpus
from skyband.bench.machine import free_memory
from skyband.bench.opening import open_engine
from skyband.bench.row import Row, measured, skipped
from skyband.bench.runner import AT_ONCE, Call, Spending, pieces, require_equal, time_in_turn, total_bytes
from skyband.contract import AnyEngine, Granularity
from skyband.geotext.engine import Geotext
from skyband.table import Window

N_CHECKED = 100
ALL_AT_ONCE = 4
# Measured with a million: rows, questions, index and ids.
BYTES_EACH = 2500
SECOND = 1_000_000
# Of the first engine of a contest, beside the one that a row is of.
TIMES = ("all_us", "arrival_us", "expiry_us")
# When the length of rows is noted besides the end, in windows since the subscriptions came.
NOTED = {"row_length_tenth": 0.1, "row_length_window": 1.0}


class GeotextSetting(NamedTuple):
    """What the engines of a contest are given; `n_keywords` of 0 stands for one to five.

    `patience` is in seconds for each warm-up.
    """

    corpus: Corpus
    n_subscriptions: int
    n_live: int
    n_warm: int
    batch: int
    n_rounds: int
    k: int = 20
    n_keywords: int = 0
    granularities: tuple[Granularity, ...] = ("publication",)
    patience: float = math.inf

    @property
    def parameters(self) -> dict[str, Any]:
        """What a row says of it."""
        given = self._asdict() | {"data": self.corpus.data, "shrink": self.corpus.shrink}
        return {name: value for name, value in given.items() if name not in ("corpus", "granularities", "patience")}

    @property
    def n_measured(self) -> int:
        """How many messages an engine takes beside others, the first round included, which is not timed."""
        return self.batch * (self.n_rounds + 1) * len(self.granularities)


class GeotextEntrant(NamedTuple):
    """An engine with its options; `shown` is what its rows say beside them."""

    label: str
    engine: str
    options: dict[str, Any] = {}  # noqa: RUF012 - never written to
    shown: dict[str, Any] = {}  # noqa: RUF012 - never written to

    @property
    def parameters(self) -> dict[str, Any]:
        """What a row says of it."""
        return {"engine": self.engine} | self.options | self.shown

    def open(self, setting: GeotextSetting) -> AnyEngine:
        """An empty engine."""
        window = Window.time(SECOND * -(-setting.n_live // setting.batch))
        return open_engine("geotext", self.engine, window=window, **self.options)


SCAN, SKYPE = GeotextEntrant("scan", "scan"), GeotextEntrant("skype", "skype")


class GeotextCourse:
    """The subscriptions and messages of a contest."""

    def __init__(self, setting: GeotextSetting, n_heats: int) -> None:
        """The first engine goes through all heats, so that it needs messages for each."""
        self.setting = setting
        n_later = setting.n_warm + n_heats * setting.n_measured
        said = setting.corpus.publications(setting.n_live + n_later)
        number = np.arange(len(said))
        self.ts = SECOND * (number // setting.batch) + number % setting.batch
        self.publications = said.set_column(said.column_names.index("ts"), "ts", pa.array(self.ts))
        self.asked = setting.corpus.subscriptions(setting.n_subscriptions, setting.k, setting.n_keywords)


class GeotextRunner:
    """An engine on its way through the messages of a course, ready to be timed."""

    def __init__(self, course: GeotextCourse, entrant: GeotextEntrant) -> None:
        setting, start = course.setting, time.perf_counter()
        self.entrant = entrant
        self.engine = entrant.open(setting)
        self.position = 0
        self.taken = {"arrival": 0.0, "expiry": 0.0}
        self._course = course
        # Scan scores every pair either way, and a search by it costs more for a pair than an arrival does.
        steps = [self._fill, self._subscribe]
        for step in reversed(steps) if entrant.engine == "scan" else steps:
            step()
        self.measures = {"entered_s": time.perf_counter() - start}
        self._warm_up()
        self._check()
        self.measures["ready_s"] = time.perf_counter() - start

    def _fill(self) -> None:
        setting = self._course.setting
        n = max(1, min(10_000, setting.n_live // 10))
        while self.position < setting.n_live:
            self._go_on(min(n, setting.n_live - self.position))

    def _subscribe(self) -> None:
        for piece in pieces(self._course.asked, AT_ONCE):
            self.engine.subscribe(piece)

    def _go_on(self, n: int) -> pa.Table:
        """Let expire what does, then take the next n messages."""
        piece = self._course.publications.slice(self.position, n)
        self.position += n
        start = time.perf_counter()
        left = self.engine.advance(int(self._course.ts[self.position - 1])) if self.engine.now is not None else None
        middle = time.perf_counter()
        came = self.engine.publish(piece)
        self.taken["expiry"] += middle - start
        self.taken["arrival"] += time.perf_counter() - middle
        return came if left is None else pa.concat_tables([left.table(), came])

    def publish(self, granularity: Granularity, turn: int) -> pa.Table:
        """Take the next batch; the state of an engine does not depend on the granularity, only what it tells does."""
        self.engine.granularity = granularity
        return self._go_on(self._course.setting.batch)

    def _warm_up(self) -> None:
        setting, start = self._course.setting, time.perf_counter()
        while self.position < setting.n_live + setting.n_warm and time.perf_counter() - start < setting.patience:
            self._go_on(min(setting.batch, setting.n_live + setting.n_warm - self.position))
            self._note_rows()
        self.measures["warmed"] = float(self.position - setting.n_live)

    def _note_rows(self) -> None:
        """Note how long rows are once so many windows have passed: they are longest right after a search."""
        windows = (self.position - self._course.setting.n_live) / self._course.setting.n_live
        for name, when in NOTED.items():
            if windows >= when and name not in self.measures and isinstance(self.engine, Geotext):
                self.measures[name] = float(self.engine.row_length)

    def _check(self) -> None:
        """Compare some tops with those of a fresh Scan, and note how many of them are full."""
        setting, asked = self._course.setting, self._course.asked.slice(0, N_CHECKED)
        fresh, first = SCAN.open(setting), max(0, self.position - setting.n_live - setting.batch)
        fresh.publish(self._course.publications.slice(first, self.position - first))
        fresh.subscribe(asked)
        tops = self.engine.top(asked["id"].combine_chunks())
        require_equal(tops, fresh.top(), f"{setting.corpus.data}, {self.entrant.label}")
        self.measures["full"] = sum(rank == setting.k for rank in tops["rank"].to_pylist()) / len(asked)


def reading(runner: GeotextRunner) -> dict[str, float]:
    """All that was counted so far, by name: the engine's counters, those of its index, and microseconds."""
    counted: dict[str, float] = dict(runner.engine.counters)
    if isinstance(runner.engine, Geotext):
        counted |= {f"index.{name}": n for name, n in runner.engine.index_counters.items()}
    return counted | {f"{name}_us": seconds * 1e6 for name, seconds in runner.taken.items()}


class Meter:
    """What calls have cost by what engines count, for each name that calls go by; the first round is left out."""

    def __init__(self, runners: dict[str, GeotextRunner]) -> None:
        self._runners = runners
        self._last = {id(runner): reading(runner) for runner in runners.values()}
        self._sums: dict[str, Counter[str]] = {name: Counter() for name in runners}

    def note(self, name: str, turn: int, answer: object) -> None:
        """Take what was counted after a call; names may stand for one and the same engine."""
        runner = self._runners[name]
        now, last = reading(runner), self._last[id(runner)]
        if turn and isinstance(answer, pa.Table):
            grown: dict[str, Any] = {counter: n - last.get(counter, 0) for counter, n in now.items()}
            self._sums[name].update(grown | {"changes": len(answer)})
        self._last[id(runner)] = now

    def measures(self, name: str, n_messages: int) -> dict[str, float]:
        """Counts and microseconds for a message, the bytes in use by part, and how long rows are."""
        engine = self._runners[name].engine
        each = {counter: n / n_messages for counter, n in sorted(self._sums[name].items())}
        length = {"row_length": float(engine.row_length)} if isinstance(engine, Geotext) else {}
        return each | length | {f"bytes.{part}": float(n) for part, n in engine.memory().items()}


def left_out(setting: GeotextSetting, entrants: Sequence[GeotextEntrant], label: str, reason: str) -> list[Row]:
    """Rows that say why nothing was measured."""
    return [skipped(label, each.label, setting.parameters | each.parameters, reason) for each in entrants]


def contest(
    setting: GeotextSetting, entrants: Sequence[GeotextEntrant], at_once: int, label: str, progress: Progress
) -> Iterator[Row]:
    """The rows of all entrants, or rows that say why there are none; the first is what ratios are to."""
    if setting.corpus.missing is not None:
        yield from left_out(setting, entrants, label, setting.corpus.missing)
        return
    others = [entrants[i : i + at_once - 1] for i in range(1, len(entrants), at_once - 1)] or [()]
    course = GeotextCourse(setting, len(others))
    progress(f"{label}: {entrants[0].label}")
    first = GeotextRunner(course, entrants[0])
    for i, some in enumerate(others):
        runners = [first]
        for entrant in some:
            progress(f"{label}: {entrant.label}")
            runners.append(GeotextRunner(course, entrant))
        # Of the first engine only what it took in the first heat is shown.
        yield from islice(_heat(setting, runners, label), len(setting.granularities) if i else 0, None)
        del runners
        gc.collect()


def _heat(setting: GeotextSetting, runners: Sequence[GeotextRunner], label: str) -> Iterator[Row]:
    """A row for each engine and granularity, taken turn and turn about."""
    names = {f"{runner.entrant.label} {by}": (runner, by) for runner in runners for by in setting.granularities}
    calls: dict[str, Call] = {name: partial(runner.publish, by) for name, (runner, by) in names.items()}
    meter = Meter({name: runner for name, (runner, _) in names.items()})
    taken = time_in_turn(calls, setting.n_rounds, after=meter.note)
    n_messages = setting.batch * setting.n_rounds
    first: dict[str, dict[str, float]] = {}
    for name, (runner, by) in names.items():
        found = runner.measures | meter.measures(name, n_messages) | {"all_us": sum(taken[name]) / n_messages / 1e3}
        first.setdefault(by, found)
        beside = {f"first.{each}": first[by][each] for each in TIMES if each in first[by]}
        parameters = setting.parameters | runner.entrant.parameters | {"granularity": by}
        yield measured(label, runner.entrant.label, parameters, taken[name], setting.batch, found | beside)


class GeotextMatch(NamedTuple):
    """Engines on a setting, of which so many are in memory at a time; `spending` is that of a sweep over `x`.

    Where the line through the two points before it puts a setting over the free memory, rows say so.
    """

    setting: GeotextSetting
    entrants: Sequence[GeotextEntrant]
    at_once: int
    label: str
    x: str = ""
    spending: Spending | None = None


def run_match(match: GeotextMatch, progress: Progress) -> Iterator[Row]:
    """The rows of a contest, or those that say why there are none."""
    if match.spending is None:
        yield from contest(*match[:4], progress)
        return
    n = int(match.setting.parameters[match.x])
    reason = match.spending.reluctance(n)
    if reason is not None:
        yield from left_out(match.setting, match.entrants, match.label, reason)
        return
    rows = list(contest(*match[:4], progress))
    match.spending.note(n, 0.0, max(map(total_bytes, rows)))
    yield from rows


class GeotextPlan(NamedTuple):
    """How large a run of the family is, and who takes part with how many subscriptions.

    `patience` is in seconds for each warm-up, `budget` for all of an engine at one size.
    """

    sizes: tuple[tuple[int, tuple[GeotextEntrant, ...]], ...]
    n_live: int
    n_warm: int
    n_rounds: int
    batch: int = 1000
    shrink: int = 1
    k: int = 20
    patience: float = 1e9
    budget: float = 1e9

    def setting(self, n: int, **more: Any) -> GeotextSetting:
        """What engines are given at a size."""
        corpus = Corpus("tweets", self.shrink)
        return GeotextSetting(corpus, n, self.n_live, self.n_warm, self.batch, self.n_rounds, self.k, **more)

    def family_setting(self, n: int) -> GeotextSetting:
        """What engines are given that are timed by batch and by publication."""
        return self.setting(n, granularities=("batch", "publication"), patience=self.patience)


COMPILING = GeotextPlan((), n_live=30, n_warm=10, n_rounds=2, batch=10, shrink=10_000, k=3)


def compare_family(plan: GeotextPlan, progress: Progress) -> Iterator[Row]:
    """All engines in memory for each number of subscriptions; those that would take too long are left out."""
    everybody = {each.label: each for _, entrants in plan.sizes for each in entrants}
    spending = {label: Spending(plan.budget) for label in everybody}
    # Lets every engine compile what it needs, which would use up the patience with a warm-up.
    list(contest(COMPILING.family_setting(4), list(everybody.values()), ALL_AT_ONCE, "compiling", progress))
    for n, entrants in plan.sizes:
        setting, label, able = plan.family_setting(n), f"{n:,} subscriptions", []
        for each in entrants:
            reason = spending[each.label].reluctance(n)
            if reason is None:
                able.append(each)
            else:
                progress(f"{label}: {each.label}: {reason}")
                yield from left_out(setting, [each], label, reason)
        rows = list(contest(setting, able, ALL_AT_ONCE, label, progress)) if able else []
        yield from _beside_skype(rows)
        for each in able:
            own = [row for row in rows if row["algorithm"] == each.label]
            timed = sum(sum(row["latencies"]) for row in own) / 1e9
            spending[each.label].note(n, own[0]["measures"]["ready_s"] + timed, total_bytes(own[0]))


def _beside_skype(rows: list[Row]) -> list[Row]:
    """The rows, each with what Skype took beside it."""
    took = {
        row["parameters"]["granularity"]: row["measures"]["all_us"] for row in rows if row["algorithm"] == SKYPE.label
    }
    for row in rows:
        row["measures"] |= {"skype.all_us": took[row["parameters"]["granularity"]]} if took else {}
    return rows


def compare_millions(point: tuple[GeotextSetting, Sequence[GeotextEntrant]], progress: Progress) -> Iterator[Row]:
    """A contest with so many engines at a time as the memory holds."""
    setting, entrants = point
    n, label = setting.n_subscriptions, f"{setting.n_subscriptions:,} subscriptions"
    at_once = heat(len(entrants), n * BYTES_EACH, free_memory())
    if at_once is None:
        needed = min(len(entrants), 2) * n * BYTES_EACH
        reason = f"Skipped: {needed / 1e9:.0f} GB would be needed, and {free_memory() / 1e9:.0f} GB are free."
        yield from left_out(setting, entrants, label, reason)
    else:
        yield from contest(setting, entrants, at_once, label, progress)


def heat(n_entrants: int, bytes_each: int, free: float) -> int | None:
    """How many engines take part in a heat: all, or the first and one other, or None where not even these fit."""
    for n in (n_entrants, min(n_entrants, 2)):
        if n * bytes_each <= free:
            # A contest of one engine alone is a heat of it and nobody.
            return max(n, 2)
    return None
