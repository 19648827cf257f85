"""A contest: engines on the same seeded workload, their answers compared before they are timed."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from skyband.bench.opening import open_engine
from skyband.bench.row import Row
from skyband.bench.runner import AT_ONCE, Call, pieces, race, require_equal
from skyband.contract import AnyEngine
from skyband.geotext import workload as geotext
from skyband.ranges import workload as ranges
from skyband.ranked import workload as ranked
from skyband.table import Window
from skyband.window import workload as window
from skyband.workload import Workload

# Parts of an engine's memory that grow with what is published and not with the subscriptions.
NOT_EACH = ("bytes.publications", "bytes.objects", "bytes.vocabulary")


class SizedWorkload(NamedTuple):
    """A workload with its size left open: `options` is given numbers of subscriptions and of publications.

    The first `n_live` publications, a full window or the objects, are published before the clock starts, and `n_extra`
    more: rows that were just filled do not run short for a while, so that a short run sees no refill.
    """

    family: str
    label: str
    generator: Callable[[Any], Workload]
    options: Callable[[int, int], Any]
    n_live: int
    window: bool = False
    n_extra: int = 0
    engine_options: dict[str, Any] = {}  # noqa: RUF012 - never written to

    @property
    def n_before(self) -> int:
        """How many publications are published before the clock starts."""
        return self.n_live + self.n_extra

    @property
    def fill_batch(self) -> int:
        """How many publications at a time: a tenth of a window, since a batch as long as it fills every row anew."""
        return max(1, min(1000, self.n_live // 10))

    def generate(self, n_subscriptions: int, n_publications: int) -> Workload:
        """The workload, with this many publications after those that are published first."""
        return self.generator(self.options(n_subscriptions, self.n_before + n_publications))

    def open(self, engine: str, **more: Any) -> AnyEngine:
        """An empty engine; the window is as long as what is live."""
        window = Window.count(self.n_live) if self.window else None
        return open_engine(self.family, engine, window=window, **self.engine_options, **more)


def window_case(data: Any, n_live: int) -> SizedWorkload:
    """Table 1 of the top-k/w paper with a count window."""

    def options(n_subscriptions: int, n_publications: int) -> window.Options:
        return window.Options(
            n_subscriptions=n_subscriptions, n_publications=n_publications, window_n=n_live, data=data
        )

    return SizedWorkload("window", f"window {data}", window.generate, options, n_live, window=True)


def steady_case(n_live: int) -> SizedWorkload:
    """A short window that has slid on five times its length: by then as many rows run short as ever will.

    Measured at k = 9 and a window of 1,000, refills score about 15 % as many publications as arrivals do by batch.
    """
    return window_case("uniform", n_live)._replace(label="window steady", n_extra=5 * n_live)


def geotext_case(n_live: int, vocabulary: int) -> SizedWorkload:
    """The tweets of the Skype paper; 0 takes their own vocabulary."""

    def options(n_subscriptions: int, n_publications: int) -> geotext.Options:
        return geotext.Options(
            n_subscriptions=n_subscriptions, n_publications=n_publications, window_n=n_live, vocabulary=vocabulary
        )

    return SizedWorkload("geotext", "geotext", geotext.generate, options, n_live, window=True)


def ranges_case(n_objects: int) -> SizedWorkload:
    """Section V of the range top-k paper."""

    def options(n_subscriptions: int, n_publications: int) -> ranges.Options:
        return ranges.Options(n_subscriptions=n_subscriptions, n_objects=n_objects, n_events=n_publications - n_objects)

    return SizedWorkload("ranges", "ranges", ranges.generate, options, n_objects)


def ranked_case() -> SizedWorkload:
    """Table 1 of the ranked publish/subscribe paper, in one dimension."""

    def options(n_subscriptions: int, n_publications: int) -> ranked.Options:
        return ranked.Options(n_subscriptions=n_subscriptions, n_publications=n_publications)

    return SizedWorkload("ranked", "ranked", ranked.generate, options, 0, engine_options={"k": 20})


def fill(engine: AnyEngine, subscriptions: pa.Table, publications: pa.Table, batch: int) -> None:
    """Subscribe first and publish then, which is what Scan does with less work than the other way about."""
    for piece in pieces(subscriptions, AT_ONCE):
        engine.subscribe(piece)
    for piece in pieces(publications, batch):
        engine.publish(piece)


def check_tops(case: SizedWorkload, engine: AnyEngine, subscriptions: pa.Table, published: pa.Table) -> None:
    """Compare the tops of these subscriptions with those of a fresh engine that is asked afterwards."""
    fresh = case.open(engine.name)
    for piece in pieces(published, 10_000):
        fresh.publish(piece)
    fresh.subscribe(subscriptions)
    require_equal(engine.top(subscriptions["id"].combine_chunks()), fresh.top(), case.label)


def duel(case: SizedWorkload, engines: Sequence[str], n_subscriptions: int, batch: int, n_rounds: int) -> list[Row]:
    """Engines side by side: every change compared in a first run, times taken in a second."""
    made = case.generate(n_subscriptions, batch * (n_rounds + 1))
    live, later = made.publications.slice(0, case.n_before), made.publications.slice(case.n_before)
    for second_run in (False, True):
        entered = {name: case.open(name) for name in engines}
        for engine in entered.values():
            fill(engine, made.subscriptions, live, case.fill_batch)
        if not second_run:
            for piece in pieces(later, batch):
                answers = [engine.publish(piece) for engine in entered.values()]
                for answer in answers[1:]:
                    require_equal(answers[0], answer, case.label)
    batches = list(pieces(later, batch))
    calls = {name: _publisher(engine, batches) for name, engine in entered.items()}
    tally = Tally(entered)
    parameters = made.parameters | {
        "family": case.family,
        "n_live": case.n_live,
        "n_extra": case.n_extra,
        "batch": batch,
    }
    contest = f"{case.label}, {', '.join(engines)}, {n_subscriptions}"
    n_pairs = batch * n_subscriptions
    return race(
        *(contest, calls, n_rounds, n_pairs, parameters),
        lambda name, taken: tally.measures(name, n_rounds),
        after=tally.note,
    )


def _publisher(engine: AnyEngine, batches: list[pa.Table]) -> Call:
    return lambda turn: engine.publish(batches[turn])


class Tally:
    """What the counters of engines say of each call, and how many changes it answered with; warm-up left out."""

    def __init__(self, engines: dict[str, AnyEngine], n_warm: int = 1) -> None:
        self._engines = engines
        self._n_warm = n_warm
        self._before = {name: engine.counters for name, engine in engines.items()}
        self._sums: dict[str, Counter[str]] = {name: Counter() for name in engines}

    def note(self, name: str, turn: int, answer: object) -> None:
        """Take the counters after a call; names that stand for one and the same engine share theirs."""
        now, before = self._engines[name].counters, self._before[name]
        if turn >= self._n_warm and isinstance(answer, pa.Table):
            self._sums[name].update({counter: n - before.get(counter, 0) for counter, n in now.items()})
            self._sums[name]["changes"] += len(answer)
        for other, engine in self._engines.items():
            if engine is self._engines[name]:
                self._before[other] = now

    def measures(self, name: str, n_rounds: int) -> dict[str, float]:
        """Counts of a call on average, by the names of the counters, and the bytes in use by part."""
        counts = {counter: count / n_rounds for counter, count in sorted(self._sums[name].items())}
        return counts | {f"bytes.{part}": float(n) for part, n in self._engines[name].memory().items()}


def bytes_of_subscriptions(row: Row) -> float:
    """What is kept for subscriptions: rows, questions and the index."""
    parts = row["measures"].items()
    return float(sum(n for name, n in parts if name.startswith("bytes.") and name not in NOT_EACH))


def bytes_each(row: Row) -> float:
    """What is kept for one subscription."""
    return bytes_of_subscriptions(row) / float(row["parameters"]["n_subscriptions"])
