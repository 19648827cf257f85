"""Seeded streams of every family: how an engine is opened, and all that it is told, made by `random.Random` alone.

Nothing here may change once digests are stored, but by adding modes: the digests are of these streams.
"""

import math
import random
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import skyband

Row = dict[str, Any]
Action = tuple[str, Any]

SCORES = ("euclidean", "chebyshev", "sum", "cosine")
WORDS = ("jazz", "été", "猫", "rain", "park", "zz", "blues", "tea")
TEXTS = ("Jazz in the park", "rain, rain, tea", "the blues tonight", "Tea for two: jazz!", "park", "été 猫 in Zürich")
# Each of these comes at least once between two batches of a stream, in an order that the seed decides.
INTERLUDES = (
    "subscribe",
    "unsubscribe",
    "resize",
    "advance",
    "top",
    "snapshot",
    "gates",
    "staircase",
    "gate_changes",
    "bad",
    "return",
    "nothing",
)


class Stream(NamedTuple):
    """How an engine of this family is opened, and what it is told, verb by verb."""

    family: str
    opened: dict[str, Any]
    actions: list[Action]


class Mode(NamedTuple):
    """One kind of stream of a family: what the engine is opened with, and what its rows are like."""

    opened: dict[str, Any]
    rows: dict[str, Any]


class Maker:
    """Draws the stream of a family from a seed; `given` says what its rows are like."""

    family: str
    n_asked = 14
    n_said = 110
    batches: tuple[int, ...] = (1, 2, 7, 20)

    def __init__(self, seed: str, opened: dict[str, Any], given: dict[str, Any]) -> None:
        self.draw = random.Random(seed)
        self.opened = opened
        self.given = given
        self.text = bool(given.get("text"))
        self.whole = bool(given.get("whole"))
        self.now = 0
        self.n_ids = 0
        self.asked: list[int | str] = []
        self.gone: list[int | str] = []
        self.said: list[int | str] = []

    def number(self, low: int, high: int) -> float:
        """A number that ties with others: whole, in quarters, or now and then any."""
        draw = self.draw
        if self.whole or draw.random() < 0.5:
            return float(draw.randint(low, high))
        return draw.randint(4 * low, 4 * high) / 4 if draw.random() < 0.6 else draw.uniform(low, high)

    def k(self) -> int:
        """Mostly a few."""
        return self.draw.choice((1, 1, 2, 3, 5, 12))

    def name(self, letter: str, number: int) -> int | str:
        """An id; texts do not sort like their numbers."""
        return f"{letter}{number}" if self.text else number

    def questions(self, n: int, ids: list[int | str] | None = None) -> list[Row]:
        """Subscriptions with new ids, or with these."""
        if ids is None:
            ids = [self.name("s", self.n_ids + i) for i in range(n)]
            self.n_ids += n
        self.asked += ids
        return [{"id": id} | self.question() for id in ids]

    def publications(self) -> list[Row]:
        """All publications in the order in which they come; some are late, and some ids recur."""
        rows = []
        for i in range(self.given.get("n", self.n_said)):
            self.now += self.draw.choice((0, 1, 1, 2, 5))
            late = self.draw.choice((0, 0, 0, 0, 0, 1, 4, 40, 100))
            rows.append({"id": self.name("p", i), "ts": self.now - late} | self.content(i))
        return rows

    def stream(self) -> Stream:
        """The whole stream: subscriptions, then batches with something else between each two of them."""
        draw = self.draw
        actions: list[Action] = [("subscribe", self.questions(self.given.get("n_asked", self.n_asked)))]
        rows = self.publications()
        others: list[str] = []
        lo = 0
        while lo < len(rows) or others:
            size = draw.choice(self.given.get("batches", self.batches))
            if lo < len(rows):
                batch = rows[lo : lo + size]
                self.now = max(self.now if lo else batch[0]["ts"], *(row["ts"] for row in batch))
                self.said += [row["id"] for row in batch]
                actions.append(("publish", batch))
                actions += self.retractions(batch) if self.given.get("retracts") else ()
            lo += size
            if not others:
                others = draw.sample(INTERLUDES, len(INTERLUDES))
            actions += self.interlude(others.pop(), rows[min(lo, len(rows) - 1)]["ts"])
        actions.append(("top", None))
        return Stream(self.family, self.opened, actions)

    def interlude(self, what: str, coming: int) -> Iterator[Action]:
        """What happens between two batches; `coming` is about the time of the next one."""
        draw = self.draw
        if what == "subscribe":
            yield "subscribe", self.questions(draw.choice((1, 3)))
        elif what == "unsubscribe" and len(self.asked) > 3:
            leaving = draw.sample(self.asked, 2)
            self.asked = [id for id in self.asked if id not in leaving]
            self.gone += leaving
            yield "unsubscribe", leaving
        elif what == "return" and self.gone:
            yield "subscribe", self.questions(0, [self.gone.pop(0)])
        elif what == "resize":
            yield "resize", (draw.sample(self.asked, 2), draw.choice((1, 2, 4, 9)))
        elif what == "advance":
            self.now = max(self.now, coming) + draw.choice((0, 0, 3))
            yield "advance", self.now
        elif what == "top":
            yield "top", draw.sample(self.asked, 2)
        elif what == "bad":
            yield from self.bad()
        elif what in ("gates", "staircase", "gate_changes"):
            yield from self.gates(what)
        elif what == "snapshot":
            yield "snapshot", None

    def retractions(self, batch: list[Row]) -> Iterator[Action]:
        """Some of the last batch, of all before, or of what never was; and one of them comes again."""
        draw = self.draw
        if draw.random() < 0.4:
            return
        ids = draw.sample([row["id"] for row in batch], draw.choice((1, len(batch))))
        ids += draw.sample(self.said, min(3, len(self.said)))
        yield "retract", [*ids, self.name("nobody", 99_999)]
        if draw.random() < 0.5:
            yield "publish", [{"id": ids[0], "ts": self.now - draw.choice((0, 0, 1, 9))} | self.content(0)]

    def gates(self, what: str) -> Iterator[Action]:
        """Whatever is asked about gates, where there are some."""
        if self.given.get("gates"):
            yield what, self.now + self.draw.choice((0, 2, 9)) if what == "gates" else None

    def bad(self) -> Iterator[Action]:
        """Rows and ids that are refused, among good ones."""
        row = self.content(0)
        yield "publish", [{"id": self.name("x", 10_000), "ts": None} | row, {"id": self.said[-1], "ts": self.now} | row]
        yield "unsubscribe", [self.name("nobody", 99_999)]
        yield "subscribe", [{"id": self.asked[0]} | self.question()]

    def question(self) -> Row:
        """What a subscription asks for, but for its id."""
        raise NotImplementedError

    def content(self, i: int) -> Row:
        """What the i-th publication says, but for its id and time."""
        raise NotImplementedError

    def own_window(self) -> Row:
        """A window of its own, of a kind that the mode allows, or none."""
        kind = self.draw.choice((None, None, *self.given.get("windows", ())))
        return {"window_us": None, "window_n": None} | ({kind: self.draw.randint(3, 60)} if kind else {})


class WindowMaker(Maker):
    """Points, and subscriptions by every score."""

    family = "window"

    def vector(self, low: int, high: int) -> list[float]:
        """A vector, mostly of zeros if there are many dimensions."""
        dims = self.given.get("dims", 2)
        if dims <= 3:
            return [self.number(low, high) for _ in range(dims)]
        places = self.draw.sample(range(dims), 4)
        return [self.number(low, high) if i in places else 0.0 for i in range(dims)]

    def question(self) -> Row:
        draw = self.draw
        score = draw.choice(self.given.get("scores", SCORES))
        row: Row = {"k": self.k(), "score": score, "point": None, "weights": None, "threshold": None}
        row["weights" if score == "sum" else "point"] = self.vector(-3, 3)
        if score == "chebyshev" and draw.random() < 0.5:
            row["weights"] = [float(draw.randint(0, 2)) for _ in row["point"]]
        if draw.random() < 0.15:
            row |= {"threshold": 0.5 if score == "cosine" else float(draw.randint(1, 3)), "k": draw.choice((None, 2))}
        return row | self.own_window()

    def content(self, i: int) -> Row:
        return {"point": self.vector(-4, 4)}


class GeotextMaker(Maker):
    """Messages with places and words, and subscriptions of every alpha."""

    family = "geotext"

    def _place(self) -> Row:
        side = self.given.get("side", 1)
        return {name: self.number(0, 4) * side / 4 for name in ("x", "y")}

    def _words(self, least: int) -> Row:
        draw = self.draw
        if self.given.get("texts") and draw.random() < 0.7:
            return {"terms": None, "weights": None, "text": draw.choice(TEXTS)}
        known = WORDS[: self.given.get("n_words", len(WORDS))]
        terms = draw.sample(known, draw.randint(least, min(3, len(known))))
        counts = [draw.randint(1, 3) for _ in terms]
        length = math.sqrt(sum(n * n for n in counts))
        return {"terms": terms, "weights": [n / length for n in counts], "text": None}

    def question(self) -> Row:
        draw = self.draw
        row: Row = {"k": self.k(), "alpha": draw.choice((0.0, 0.25, 0.5, 0.9, 1.0)), "threshold": None}
        if draw.random() < 0.15:
            row |= {"threshold": draw.choice((0.2, 0.6)), "k": draw.choice((None, 2))}
        return row | self._place() | self._words(1) | self.own_window()

    def content(self, i: int) -> Row:
        return self._place() | self._words(0)


class RangesMaker(Maker):
    """Objects that come, go, move and change, and ranges in one dimension or in two."""

    family = "ranges"
    n_said = 160

    def _ends(self) -> tuple[float, float]:
        draw = self.draw
        ends = [math.inf * draw.choice((-1, 1)) if draw.random() < 0.15 else self.number(0, 9) for _ in range(2)]
        return min(ends), max(ends)

    def question(self) -> Row:
        sides = [self._ends() for _ in range(self.given.get("dims", 1))]
        if self.given.get("open_below"):
            sides[1] = (-math.inf, sides[1][1])
        lo, hi = [side[0] for side in sides], [side[1] for side in sides]
        return {"k": self.k(), "lo": lo[0], "hi": hi[0]} if len(sides) == 1 else {"k": self.k(), "lo": lo, "hi": hi}

    def content(self, i: int) -> Row:
        draw = self.draw
        place = [self.number(0, 9) for _ in range(self.given.get("dims", 1))]
        is_deleted = draw.random() < 0.12
        return {
            "object": self.name("o", draw.randrange(25)),
            "x": place[0] if len(place) == 1 else place,
            "y": None if is_deleted else self.number(0, 20),
        }


class RankedMaker(Maker):
    """Events of points and intervals, and subscriptions of weighted intervals with budgets, dense and sparse."""

    family = "ranked"
    n_asked = 40
    n_said = 90

    def _intervals(self) -> Row:
        draw, n = self.draw, self.given.get("dims", 3)
        dims = list(range(n))
        row: Row = {"dims": None}
        if n > 4 or draw.random() < 0.3:
            dims = row["dims"] = draw.sample(dims, draw.randint(0, min(3, n)))
        pairs = [sorted((self.number(0, 9), self.number(0, 9))) for _ in dims]
        row["lo"] = [None if draw.random() < 0.1 else pair[0] for pair in pairs]
        row["hi"] = [None if draw.random() < 0.1 else pair[1] for pair in pairs]
        weights = (0.0, 1.0, 1.0, 2.0, 0.1, 2.5)
        row["weights"] = None if draw.random() < 0.3 else [draw.choice(weights) for _ in dims]
        return row

    def question(self) -> Row:
        return self._intervals() | {"budget": self.draw.choice((None, None, None, 0, 2, 9))}

    def content(self, i: int) -> Row:
        draw = self.draw
        point = [None if draw.random() < 0.1 else self.number(0, 9) for _ in range(self.given.get("dims", 3))]
        upper = None
        if draw.random() < 0.3:
            upper = [None if x is None or draw.random() < 0.5 else x + draw.choice((0.0, 1.0, 2.5)) for x in point]
        return {"point": point, "upper": upper, "k": draw.choice((None, None, 1, 2, 12))}

    def interlude(self, what: str, coming: int) -> Iterator[Action]:
        draw = self.draw
        if what == "resize":
            rows: list[Row] = [{"id": id} | self._intervals() | {"budget": 3} for id in draw.sample(self.asked, 4)]
            rows[0] |= {"lo": None, "hi": None, "weights": None, "dims": None}
            yield "update", rows
        elif what == "top":
            yield "budgets", draw.sample(self.asked, 3)
        elif what == "gates":
            yield "budgets", None
        elif what == "gate_changes":
            yield "update", [{"id": self.asked[0], "budget": 50}, {"id": self.name("nobody", 99_999), "budget": 1}]
        else:
            yield from super().interlude(what, coming)


class CoveringMaker(Maker):
    """Boxes that come, go and are asked for, many of them equal or one within another."""

    family = "covering"

    def question(self) -> Row:
        draw = self.draw
        lo, hi = [], []
        for _ in range(self.given.get("dims", 2)):
            ends = sorted((self.number(0, 15), self.number(0, 15)))
            lo.append(None if draw.random() < 0.02 else ends[0])
            hi.append(None if draw.random() < 0.02 else ends[1])
        return {"lo": lo, "hi": hi}

    def stream(self) -> Stream:
        draw = self.draw
        actions: list[Action] = [("add", self.questions(60)), ("uncovered", None)]
        for turn in range(24):
            what = ("add", "remove", "snapshot", "covered_by", "bad", "find")[turn % 6]
            if what == "add":
                actions.append(("add", self.questions(draw.choice((1, 3, 12)))))
            elif what == "remove":
                leaving = draw.sample(self.asked, draw.choice((1, 4, 9)))
                self.asked = [id for id in self.asked if id not in leaving]
                actions.append(("remove", leaving))
            elif what == "find":
                actions.append(("find", [{"id": self.name("q", i)} | self.question() for i in range(6)]))
            elif what == "snapshot":
                actions.append(("snapshot", None))
            elif what == "covered_by":
                actions.append(("covered_by", draw.sample(self.asked, 3)))
            else:
                many = self.given.get("dims", 2)
                bad = [{"id": self.name("x", 9_999), "lo": [5.0] * many, "hi": [1.0] * many}]
                actions += [("add", bad), ("remove", [self.name("nobody", 99_999)])]
        return Stream(self.family, self.opened, [*actions, ("uncovered", None), ("covered_by", None)])


MAKERS: dict[str, Callable[[str, dict[str, Any], dict[str, Any]], Maker]] = {
    "window": WindowMaker,
    "geotext": GeotextMaker,
    "ranges": RangesMaker,
    "ranked": RankedMaker,
    "covering": CoveringMaker,
}


def _sliding(more: dict[str, Any]) -> dict[str, Mode]:
    """The windows and granularities of a family whose publications expire."""
    count, time = skyband.Window.count(30), skyband.Window.time(45)
    told = {"granularity": "publication", "on_error": "collect"}
    both, timed = {"windows": ("window_us", "window_n")}, {"windows": ("window_us",), "gates": True}
    return {
        "count batch": Mode({"window": count}, more | both | {"text": True}),
        "count publication": Mode({"window": count} | told, more | both),
        "time batch": Mode({"window": time}, more | timed),
        "time publication": Mode({"window": time} | told, more | timed | {"text": True}),
        "unbounded batch": Mode({"on_error": "collect"}, more | timed | {"whole": True}),
        "unbounded publication": Mode({"granularity": "publication"}, more | timed | {"text": True}),
        "retract count publication": Mode({"window": count} | told, more | both | {"text": True, "retracts": True}),
        "retract time batch": Mode({"window": time}, more | timed | {"retracts": True}),
        "retract unbounded batch": Mode({"on_error": "collect"}, more | timed | {"whole": True, "retracts": True}),
        # Grids are fitted, and words have trees of their own, once there is a good deal to search.
        "long batch": Mode({"window": skyband.Window.count(600)}, more | {"n": 1500, "batches": (60, 150)}),
    }


def _told_apart(n: int) -> dict[str, Mode]:
    """Ranges in so many dimensions, in both granularities, and where everything ties."""
    told = {"granularity": "publication", "on_error": "collect"}
    return {
        f"{n}d batch": Mode({}, {"dims": n}),
        f"{n}d publication": Mode(told, {"dims": n, "text": True}),
        f"{n}d whole": Mode({}, {"dims": n, "whole": True}),
    }


def _words() -> "skyband.Words":
    return skyband.Words.fit_texts(TEXTS)


# What every engine of a family goes through, by name.
MODES: dict[str, dict[str, Mode]] = {
    "window": _sliding({}) | {
        "20d time batch": Mode({"window": skyband.Window.time(60)}, {"dims": 20, "gates": True}),
        "1d count publication": Mode(
            {"window": skyband.Window.count(9), "granularity": "publication"}, {"dims": 1, "whole": True}
        ),
    },
    "geotext": _sliding({}) | {
        "few words": Mode({"window": skyband.Window.count(40)}, {"n_words": 2, "whole": True}),
        "texts": Mode(
            {"window": skyband.Window.time(60), "words": _words(), "bounds": skyband.Bounds(0, 0, 8, 8)},
            {"texts": True, "side": 8, "gates": True},
        ),
        "texts publication": Mode(
            {"words": _words(), "granularity": "publication", "on_error": "collect"}, {"texts": True, "text": True}
        ),
    },
    "ranges": _told_apart(1) | _told_apart(2) | {
        "1.5d batch": Mode({}, {"dims": 2, "open_below": True}),
        "long batch": Mode({}, {"n": 900, "batches": (40, 90)}),
    },
    "ranked": {
        "relaxed": Mode({"k": 5, "dims": 3}, {}),
        "relaxed text": Mode({"k": 5, "dims": 3, "on_error": "collect"}, {"text": True, "whole": True}),
        "relaxed min": Mode({"k": 4, "dims": 3, "combination": "min"}, {}),
        "relaxed max centre": Mode({"k": 4, "dims": 3, "combination": "max", "fit": "centre"}, {}),
        "relaxed share inside": Mode({"k": 4, "dims": 3, "fit": "share", "interval": "inside"}, {}),
        "relaxed centre": Mode({"k": 4, "dims": 3, "fit": "centre"}, {"text": True}),
        "relaxed emphasis": Mode({"k": 4, "emphasis": [0.5, 0.0, 3.0]}, {}),
        "relaxed 1d": Mode({"k": 3, "dims": 1}, {"dims": 1, "whole": True}),
        "relaxed 40d": Mode({"k": 6, "dims": 40}, {"dims": 40}),
        "exact": Mode({"k": 5, "dims": 3, "matching": "exact"}, {}),
        "exact publication": Mode(
            {"k": 5, "dims": 3, "matching": "exact", "granularity": "publication", "on_error": "collect"},
            {"text": True},
        ),
        "exact min share": Mode({"k": 4, "dims": 3, "matching": "exact", "combination": "min", "fit": "share"}, {}),
        "exact centre inside": Mode(
            {"k": 4, "dims": 3, "matching": "exact", "fit": "centre", "interval": "inside"}, {"whole": True}
        ),
        "exact 40d": Mode({"k": 6, "dims": 40, "matching": "exact"}, {"dims": 40}),
    },
    "covering": {
        "1d": Mode({}, {"dims": 1}),
        "2d": Mode({}, {"dims": 2, "text": True}),
        "2d whole": Mode({"on_error": "collect"}, {"dims": 2, "whole": True}),
        "2d domain": Mode({"domains": skyband.Domain(0, 15, integer=True), "on_error": "collect"}, {"dims": 2}),
        "4d": Mode({"bits": 8}, {"dims": 4, "whole": True}),
    },
}  # fmt: skip

# What engines can be told besides, and the modes that they go through so; the answers are those without it.
OPTIONS: dict[tuple[str, str], list[tuple[dict[str, Any], tuple[str, ...]]]] = {
    ("window", "blocks"): [({"index": "grid"}, ("time batch", "long batch"))],
    ("window", "cskyband"): [({"index": "blocks"}, ("time batch",)), ({"cells": 3}, ("long batch",))],
    ("window", "kmax"): [({"kmax": 1.5}, ("count batch",)), ({"index": "grid", "kmax": 5.0}, ("long batch",))],
    ("window", "pa"): [({"sigma": 0.05, "index": "blocks"}, ("count batch", "time publication"))],
    ("window", "sasf"): [
        ({"b": 3}, ("count publication", "time batch")),
        ({"b": 1, "index": "blocks"}, ("time batch",)),
    ],
    ("window", "skyband"): [({"index": "grid"}, ("time batch", "long batch"))],
    ("window", "sma"): [({"ratio": 0.8}, ("time batch",)), ({"index": "blocks"}, ("count batch",))],
    ("window", "tma"): [({"index": "blocks"}, ("time batch",)), ({"cells": 2}, ("long batch",))],
    ("geotext", "blocks"): [
        ({"policy": "cskyband"}, ("count batch",)),
        ({"policy": "skyband", "ratio": 0.8}, ("time batch",)),
        ({"policy": "kmax", "kmax": 1.5}, ("long batch",)),
    ],
    ("geotext", "skype"): [
        ({"capacity": 2, "groups": 3}, ("count batch", "texts", "long batch")),
        ({"policy": "margin", "capacity": 4}, ("time publication",)),
        ({"prunings": []}, ("time batch",)),
        ({"prunings": ["cells", "prefix", "unseen"], "capacity": 3}, ("few words",)),
    ],
    ("geotext", "ciq"): [
        ({"kmax": 1.5}, ("count batch", "few words")),
        ({"policy": "cskyband", "depth": 1}, ("time batch",)),
        ({"policy": "margin", "depth": 3}, ("long batch",)),
    ],
    ("ranges", "paint"): [
        ({"algorithm": "dense"}, ("1d batch", "1d publication", "long batch")),
        ({"algorithm": "dense", "epsilon": 1.0, "servers": 2}, ("1d batch",)),
        ({"algorithm": "dense", "ks": [2, 40]}, ("1d whole",)),
        ({"algorithm": "unicast"}, ("1d batch", "2d batch")),
        ({"epsilon": 0.5}, ("1d batch", "long batch")),
        ({"batch": False}, ("1d batch",)),
        ({"servers": 3}, ("1d whole",)),
        ({"sketch": 2}, ("1d publication", "long batch")),
        ({"shape": "1.5"}, ("1.5d batch",)),
        ({"shape": "1.5", "algorithm": "dense", "epsilon": 0.5}, ("1.5d batch",)),
    ],
    ("ranked", "scored"): [
        ({"delta": 4}, ("relaxed", "exact", "relaxed emphasis", "exact centre inside", "relaxed max centre")),
        ({"access": "anchor", "delta": 4}, ("exact", "exact centre inside")),
        *(
            ({"index": index, "access": "threshold", "delta": 4}, ("relaxed", "relaxed 1d"))
            for index in ("sopt", "ir", "r", "segment", "interval")
        ),
        ({"access": "total", "delta": 4}, ("relaxed 40d", "relaxed")),
        ({"access": "descent"}, ("relaxed",)),
        ({"access": "intersect", "delta": 4}, ("exact", "exact 40d")),
        ({"access": "anchor", "index": "ir"}, ("exact", "exact 40d")),
    ],
    ("covering", "coverset"): [
        ({"curve": "z"}, ("2d", "4d")),
        ({"search": "jumps"}, ("1d", "2d", "2d domain", "4d")),
        ({"search": "greedy", "bits": 4}, ("1d", "2d whole")),
        ({"search": "greedy", "epsilon": 0.1, "bits": 5}, ("1d", "2d domain")),
    ],
}


class Entry(NamedTuple):
    """A stream through an engine: what a digest is kept of."""

    family: str
    engine: str
    mode: str
    options: dict[str, Any]

    @property
    def key(self) -> str:
        """The name of the entry in the files of this folder."""
        told = " ".join(f"{name}={value}" for name, value in self.options.items())
        return "/".join([self.family, self.engine, self.mode, *([told] if told else [])])

    def stream(self) -> Stream:
        """What the engine goes through."""
        mode = MODES[self.family][self.mode]
        return MAKERS[self.family](f"{self.family} {self.mode}", mode.opened, mode.rows).stream()


def entries(family: str, engine: str) -> list[Entry]:
    """All that an engine of a family goes through, also one that nobody has thought of here."""
    found = [Entry(family, engine, mode, {}) for mode in MODES[family]]
    for options, modes in OPTIONS.get((family, engine), []):
        found += [Entry(family, engine, mode, options) for mode in modes]
    return found
