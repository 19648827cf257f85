"""Streams: longer than scripts, seeded, and shaped to be hard; every engine of a family against one oracle.

Where a script tries every verb on a few rows that collide, a stream is what makes rows of candidates grow, get cut,
run short and outgrow their room: a k up to and beyond the window, points that come ever nearer or ever farther, one
row at a time or all at once, one subscription alone or hundreds in a block; and what is retracted may be one row, the
latest ones, or everything, and may come again.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import pyarrow as pa

from skyband.contract import FAMILIES, AnyEngine, engines, find_engine
from skyband.contract.checked import check
from skyband.table import UNBOUNDED, Settings, Window
from skyband.table.read import read_table
from skyband.testing.limit import time_limit
from skyband.testing.machine import COUNTED, same, through_snapshot
from skyband.testing.script import Action
from skyband.testing.thread import eager
from skyband.workload.course import Course
from skyband.workload.draw import Row, draws_of

BATCHES = (1, 3, 9, 30, 10_000)
# So few rows are given to engines as they are, which take them the short way.
FEW = 9


class Stream(NamedTuple):
    """A seeded stream: how its engines are opened, and what they are told."""

    family: str
    seed: int
    settings: Settings
    granularity: str
    actions: list[Action]

    @property
    def threads(self) -> int:
        """One for half of all streams, and two for the others, whatever else depends on the seed."""
        return 1 + self.seed.bit_count() % 2

    def open(self, kind: type[AnyEngine], options: dict[str, Any]) -> AnyEngine:
        """An engine of this kind for the stream."""
        granularity: Any = self.granularity
        return kind(self.settings, granularity=granularity, threads=self.threads, **options)

    def parsed(self) -> "Stream":
        """The same with rows that were parsed once, for all engines that take them; few rows stay rows of Python."""
        return self._replace(actions=[self._parsed(action) for action in self.actions])

    def _parsed(self, action: Action) -> Action:
        noun = {"publish": "publications", "subscribe": "subscriptions"}.get(action.verb)
        if noun is None or len(action.argument) <= FEW:
            return action
        return Action(action.verb, check(self.family, noun, read_table(action.argument), self.settings))


class Expected(NamedTuple):
    """What the oracle answers to each action, and what it ends with."""

    answers: list[pa.Table]
    tops: pa.Table
    counts: dict[str, int]


class _Maker(Course):
    """Draws a stream from a seed."""

    def __init__(self, family: str, seed: int) -> None:
        super().__init__(family, seed)
        self.family = family
        self.draws = draws_of(family)
        self.now = 0
        self.n_asked = 0
        self.asked: list[str] = []

    def window(self) -> Window:
        """A window that much of the stream passes through, or none."""
        size = self.draw.choice((1, 3, max(2, self.n // 4), max(2, self.n // 2), self.n)[3 * self.grows :])
        return self.draw.choice((Window.count(size), Window.count(size), Window.time(2 * size), UNBOUNDED))

    def k(self) -> int:
        """Mostly a few, often more than there are rooms for in a row, sometimes more than the stream is long."""
        if self.grows:
            return self.draw.randint(20, 60)
        return self.draw.randint(1, self.draw.choice((1, 3, 12, 40, self.n, 3 * self.n)))

    def subscriptions(self, n: int) -> list[Row]:
        ids = [f"s{self.n_asked + i}" for i in range(n)]
        self.n_asked += n
        self.asked += ids
        return [{"id": id, "k": self.k()} | self.draws.question(self) for id in ids]

    def publications(self) -> list[Row]:
        rows = []
        for i in range(self.n):
            self.now += self.draw.choice((0, 1, 1, 2, 5))
            ts = self.now - self.draw.choice((0, 0, 0, 0, 1, 7))
            rows.append({"id": i, "ts": ts} | self.draws.content(self, i))
        return rows

    def interlude(self) -> Iterator[Action]:
        """Now and then something else happens between two batches."""
        what = self.draw.random()
        if what < 0.06:
            yield Action("subscribe", self.subscriptions(self.draw.choice((1, 1, 5))))
        elif what < 0.10 and len(self.asked) > 1:
            gone = self.draw.sample(self.asked, self.draw.choice((1, len(self.asked) // 2)) or 1)
            self.asked = [id for id in self.asked if id not in gone]
            yield Action("unsubscribe", gone)
        elif what < 0.14 and self.asked:
            yield Action("resize", (self.draw.sample(self.asked, min(3, len(self.asked))), self.k()))
        elif what < 0.17:
            yield Action("snapshot", None)
        elif what < 0.20:
            yield Action("advance", self.draw.choice((0, 3, 3 * self.n)))

    def retraction(self, said: list[Row]) -> Iterator[Action]:
        """Now and then some of what was said is withdrawn, and some of that may be said again."""
        if not FAMILIES[self.family].has_retractions or self.draw.random() > 0.15:
            return
        n = min(self.draw.choice((1, 1, 3, 10, len(said))), len(said))
        ids = [row["id"] for row in (said[-n:] if self.draw.random() < 0.5 else self.draw.sample(said, n))]
        yield Action("retract", ids[0] if n == 1 else ids)
        if self.draw.random() < 0.3:
            latest = max(row["ts"] for row in said)
            again = ids[: self.draw.choice((1, 5))]
            ts = [latest - self.draw.choice((0, 0, 1, 7)) for _ in again]
            contents = [self.draws.content(self, i) for i in range(len(again))]
            yield Action(
                "publish", [{"id": id, "ts": at} | said for id, at, said in zip(again, ts, contents, strict=True)]
            )


def make_stream(family: str, seed: int) -> Stream:
    """The stream of this seed."""
    maker = _Maker(family, seed)
    draw = maker.draw
    settings = Settings(window=maker.window()) if FAMILIES[family].has_windows else Settings()
    granularity, batch = draw.choice(("batch", "publication")), 1 if maker.grows else draw.choice(BATCHES)
    n_asked = draw.choice((1, 1, 3) if maker.grows else (1, 3, 12, 40, 80))
    actions = [Action("subscribe", maker.subscriptions(n_asked))]
    rows = maker.publications()
    for lo in range(0, len(rows), batch):
        actions.append(Action("publish", rows[lo : lo + batch]))
        actions += maker.interlude() if not maker.grows else ()
        actions += maker.retraction(rows[: lo + batch])
    return Stream(family, seed, settings, granularity, actions)


def take_action(engine: AnyEngine, action: Action) -> tuple[AnyEngine, pa.Table | None]:
    """Do what an action says; a snapshot goes on with the engine that is restored from it."""
    if action.verb == "snapshot":
        return through_snapshot(engine), None
    if action.verb == "advance":
        return engine, engine.advance((engine.now or 0) + action.argument)
    if action.verb == "resize":
        return engine, engine.resize(*action.argument)
    return engine, getattr(engine, action.verb)(action.argument)


def run_stream(engine: AnyEngine, stream: Stream, expected: Expected | None = None) -> Expected:
    """What the engine answers; with what is expected, every answer is compared as soon as it is there."""
    answers: list[pa.Table] = []
    for at, action in enumerate(stream.actions):
        engine, answer = take_action(engine, action)
        if answer is not None:
            if expected is not None:
                same(answer, expected.answers[len(answers)])
            answers.append(answer)
        if at % 64 == 63:
            engine.check()
    engine.check()
    return Expected(answers, engine.top(), {name: engine.counters.get(name, 0) for name in COUNTED})


def check_stream(family: str, seed: int, rare: bool = False, names: tuple[str, ...] = ()) -> int:
    """Run the stream of this seed through the oracle and then through every exact engine of the family, or these.

    Each runs in its modes in turn, one for a seed, with `rare` in its rare ones too. Returns how many ran. The oracle
    parses the rows by itself; the engines are given rows that were parsed once, or few rows the short way.
    """
    stream = make_stream(family, seed)
    oracle = FAMILIES[family].oracle
    expected = run_stream(stream.open(find_engine(family, oracle), {}), stream)
    stream = stream.parsed()
    n = 0
    for kind in engines():
        if kind.family == family and kind.exact and kind.name != oracle and (not names or kind.name in names):
            modes = kind.modes + (kind.rare_modes if rare else ())
            _compare(kind, modes[seed % len(modes)], stream, expected)
            n += 1
    return n


def _compare(kind: type[AnyEngine], options: dict[str, Any], stream: Stream, expected: Expected) -> None:
    def describe() -> str:
        again = f"skyband.testing.check_stream({stream.family!r}, {stream.seed}, names=({kind.name!r},))"
        return f"{kind.family}/{kind.name} with the options {options}; to see it again: {again}"

    with time_limit(describe), eager():
        try:
            got = run_stream(stream.open(kind, options), stream, expected)
            same(got.tops, expected.tops)
            assert got.counts == expected.counts
        except Exception as wrong:
            wrong.add_note(describe())
            raise
