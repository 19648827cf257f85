"""The engine that paints, where the contract suite does not look: more dimensions, the messages, costs, options."""

import math
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import skyband
from skyband.contract import AnyEngine, Granularity
from skyband.kernels.object_ids import Lexicon
from skyband.ranges.engine import Notified, RangesPaint
from skyband.ranges.naive import NaivePainter, Unicast
from skyband.ranges.painter import Painter
from skyband.testing.machine import same, through_snapshot

Row = dict[str, Any]

ALGORITHMS = ("sparse", "dense", "unicast", "naive dense", "naive unicast")
# What there is in which number of dimensions; 1.5 is two, of which the second is open below.
WAYS = [
    *((algorithm, 1.0) for algorithm in ALGORITHMS),
    *((algorithm, 2.0) for algorithm in ALGORITHMS if algorithm != "dense"),
    ("sparse", 1.5),
    ("dense", 1.5),
]
ENDS = [-math.inf, -1e150, 0.0, 1.0, 2.0, 2.5, 3.0, 4.0, 1e150, math.inf]


class NaiveDense(RangesPaint):
    """With the painter in plain Python, where there is one."""

    def _make_painter(self) -> Painter:
        painter = NaivePainter if self._objects.dims == 1 else Unicast
        return painter(self._objects, self._groups)


class NaiveUnicast(RangesPaint):
    """With the painter in plain Python that looks at every subscription."""

    def _make_painter(self) -> Painter:
        return Unicast(self._objects, self._groups)


def _shape(dims: float) -> Row:
    return {"shape": "1.5"} if dims == 1.5 else {}


def _open(algorithm: str = "sparse", **options: Any) -> RangesPaint:
    naive = {"naive dense": NaiveDense, "naive unicast": NaiveUnicast}
    if algorithm in naive:
        return naive[algorithm](**options)
    engine = skyband.open("ranges", "paint", algorithm=algorithm, **options)
    assert isinstance(engine, RangesPaint)
    return engine


class Both:
    """An engine and the oracle, driven alike and compared after every verb."""

    def __init__(self, granularity: Granularity = "batch", **options: Any) -> None:
        self.engine = _open(granularity=granularity, **options)
        self.oracle = skyband.open("ranges", "oracle", granularity=granularity)

    def do(self, verb: str, *arguments: Any) -> list[tuple[Any, Any, str, bool]]:
        """What both answer."""
        got = getattr(self.engine, verb)(*arguments)
        same(got, getattr(self.oracle, verb)(*arguments))
        same(self.engine.top(), self.oracle.top())
        self.engine.check()
        return [(row["subscription"], row["publication"], row["op"], row["first"]) for row in got.to_pylist()]

    def restart(self) -> None:
        """Go on from a snapshot."""
        engine = through_snapshot(self.engine)
        assert isinstance(engine, RangesPaint)
        self.engine = engine

    def notify(self, rows: list[Row]) -> pa.Table:
        """The messages of an engine that answers as the oracle does."""
        told = self.engine.messages(rows)
        assert isinstance(told, Notified)
        same(told.changes, self.oracle.publish(rows))
        same(self.engine.top(), self.oracle.top())
        return told.messages


class World:
    """Random subscriptions and changes of a few objects: ties everywhere, deletions, births, moves."""

    def __init__(self, seed: int, dims: float = 1, names: list[Any] | None = None, moves: bool = True) -> None:
        self.random = np.random.default_rng(seed)
        self.dims, self.moves, self.is_sloped = math.ceil(dims), moves, dims == 1.5
        self.names = list(range(12)) if names is None else names
        self.places: dict[Any, Any] = {}
        self.n_events = self.n_subscriptions = 0

    def place(self, values: list[float]) -> Any:
        drawn = self.random.choice(values, self.dims).tolist()
        return drawn[0] if self.dims == 1 else drawn

    def subscriptions(self, n: int) -> list[Row]:
        rows = []
        for _ in range(n):
            ends = np.sort(self.random.choice(ENDS, (2, self.dims)), axis=0).tolist()
            if self.is_sloped:
                ends[0][1] = -math.inf
            lo, hi = ends if self.dims > 1 else (ends[0][0], ends[1][0])
            rows.append({"id": f"s{self.n_subscriptions}", "k": int(self.random.choice([1, 1, 2, 3, 30]))})
            rows[-1] |= {"lo": lo, "hi": hi}
            self.n_subscriptions += 1
        return rows

    def events(self, n: int) -> list[Row]:
        rows = []
        for _ in range(n):
            name = self.names[self.random.integers(len(self.names))]
            x = self.places.get(name)
            if x is None or (self.moves and self.random.random() < 0.3):
                x = self.places[name] = self.place([0.0, 1.0, 2.0, 3.0, -1e150, 1e150])
            y: float | None = float(self.random.choice([0, 1, 2, 3, 1e150, -1e150]))
            if self.random.random() < 0.25:
                y = self.places[name] = None
            ts = self.n_events - 30 * int(self.moves and self.random.random() < 0.15)
            rows.append({"id": self.n_events, "ts": ts, "object": name, "x": x, "y": y})
            self.n_events += 1
        return rows


@pytest.mark.few(8)
@pytest.mark.parametrize("granularity", ["batch", "publication"])
@pytest.mark.parametrize(("algorithm", "dims"), WAYS)
def test_a_long_stream_equals_the_oracle(algorithm: str, dims: float, granularity: Granularity) -> None:
    both, world = Both(granularity, algorithm=algorithm, **_shape(dims)), World(int(6 * dims), dims)
    for turn in range(12):
        both.do("subscribe", world.subscriptions(3))
        both.do("publish", world.events(int(world.random.integers(1, 9))))
        ids = both.engine.top()["subscription"].unique().to_pylist() or ["s0"]
        if turn % 3 == 1:
            both.do("resize", ids[:2], int(world.random.choice([1, 2, 5, 40])))
        if turn % 4 == 3:
            both.do("unsubscribe", ids[:1])
        if turn == 6:
            both.restart()
    assert both.engine.counters["messages"] > 0
    assert both.engine.counters["late"] == both.oracle.counters["late"] > 0


@pytest.mark.parametrize(
    "options", [{"epsilon": 0.3}, {"epsilon": 1.0, "algorithm": "dense"}, {"batch": False}], ids=str
)
def test_other_ways_to_paint_equal_the_oracle(options: Row) -> None:
    both, world = Both(**options), World(3)
    both.do("subscribe", world.subscriptions(20))
    for _ in range(20):
        both.do("publish", world.events(4))


@pytest.mark.parametrize(
    "names", [["", "a", "b", "ab", "é", "e\u0301", "猫", "😀", "\uffff", "z" * 40], [1 - 2**63, -1, 0, 2**63 - 1]]
)
def test_equal_y_are_ordered_by_name(names: list[Any]) -> None:
    both, world = Both("publication"), World(5, names=names)
    both.do("subscribe", [{"id": f"all{k}", "k": k, "lo": -math.inf, "hi": math.inf} for k in (1, 2, 3)])
    both.do("publish", [row | {"y": 1.0, "x": row["x"] or 0.0} for row in world.events(2 * len(names))])
    for _ in range(8):
        both.do("publish", world.events(5))


def _receivers(message: Row, subscriptions: list[Row]) -> list[Any]:
    def reached(row: Row) -> bool:
        lo, hi, l_in, r_in, l_out, r_out = (
            np.atleast_1d(source[name])
            for source, names in ((row, ("lo", "hi")), (message, ("l_in", "r_in", "l_out", "r_out")))
            for name in names
        )
        # An infinite end stands for the farthest number, as objects lie at finite places.
        lo, hi = (np.nan_to_num(end) for end in (lo, hi))
        return bool(((l_out < lo) & (lo <= l_in) & (r_in <= hi) & (hi < r_out)).all())

    return [row["id"] for row in subscriptions if row["k"] == message["k"] and reached(row)]


def _tops(engine: AnyEngine) -> dict[str, dict[Any, float]]:
    tops: dict[str, dict[Any, float]] = {}
    for row in engine.top().to_pylist():
        tops.setdefault(row["subscription"], {})[row["publication"]] = row["score"]
    return tops


@pytest.mark.parametrize(("algorithm", "dims"), WAYS)
def test_everyone_concerned_is_told_once_and_nobody_else(algorithm: str, dims: float) -> None:
    both, world = Both(algorithm=algorithm, **_shape(dims)), World(11, dims, moves=False)
    # Several with the same range would get the messages that Unicast sends to each of them.
    subscriptions = list({str((row["k"], row["lo"], row["hi"])): row for row in world.subscriptions(30)}.values())
    both.do("subscribe", subscriptions)
    for event in world.events(70):
        before = _tops(both.oracle)
        messages = both.notify([event]).to_pylist()
        after = _tops(both.oracle)
        wanted: Counter[tuple[str, Any]] = Counter()
        for row in subscriptions:
            was, now = before.get(row["id"], {}), after.get(row["id"], {})
            if was != now:
                told = {event["object"]} & (set(was) | set(now)) | (set(now) - set(was))
                wanted.update((row["id"], object) for object in told)
        reached = [(id, message["object"]) for message in messages for id in _receivers(message, subscriptions)]
        assert Counter(reached) == wanted
        assert all(message["publication"] == event["id"] for message in messages)
    assert both.engine.counters.get("discarded", 0) == 0
    assert both.engine.counters["received"] > 0


def test_what_a_message_says() -> None:
    both = Both("publication", algorithm="dense")
    both.do("subscribe", [{"id": 1, "k": 1, "lo": 0.0, "hi": 5.0}])
    messages = both.notify([{"id": "a", "ts": 1, "object": "tea", "x": 3.0, "y": 2.0}])
    assert messages.to_pylist() == [
        {
            "publication": "a",
            "k": 1,
            "l_in": 3.0,
            "r_in": 3.0,
            "l_out": -math.inf,
            "r_out": math.inf,
            "object": "tea",
            "x": 3.0,
            "y": 2.0,
        }
    ]
    both.notify([{"id": "b", "ts": 2, "object": "rum", "x": 1.0, "y": 1.0}])
    rows = both.notify([{"id": "c", "ts": 3, "object": "tea", "x": None, "y": None}]).to_pylist()
    assert [(row["object"], row["x"], row["y"], row["l_out"]) for row in rows] == [("tea", 3.0, None, 1.0)]
    assert both.notify([{"id": "d", "ts": 1, "object": "rum", "x": 9.0, "y": 0.0}]).num_rows == 0, "it is late"


def test_messages_in_two_dimensions_have_lists() -> None:
    both = Both()
    both.do("subscribe", [{"id": 1, "k": 1, "lo": [0.0, 0.0], "hi": [5.0, 5.0]}])
    messages = both.notify([{"id": "a", "ts": 1, "object": 7, "x": [3.0, 1.0], "y": 2.0}])
    assert messages["x"].to_pylist() == [[3.0, 1.0]]
    assert messages.schema.field("l_out").type == pa.list_(pa.float64())
    (row,) = messages.to_pylist()
    assert _receivers(row, [{"id": 1, "k": 1, "lo": [0.0, 0.0], "hi": [5.0, 5.0]}]) == [1]


def test_born_again_in_one_batch() -> None:
    both = Both()
    both.do("subscribe", [{"id": 1, "k": 1, "lo": 0.0, "hi": 5.0}, {"id": 2, "k": 2, "lo": 0.0, "hi": 5.0}])

    def event(object: str, y: float | None, x: float = 1.0) -> Row:
        return {"id": 0, "ts": 0, "object": object, "x": x, "y": y}

    def publish(*rows: Row) -> list[tuple[Any, Any, str, bool]]:
        return both.do("publish", [row | {"id": i} for i, row in enumerate(rows)])

    publish(event("a", 1.0))
    assert publish(event("a", None), event("a", 1.0)) == []
    # As it is another one, letting go of it leaves nothing to come back to.
    told = publish(event("a", None), event("a", 9.0), event("b", 0.0))
    assert told == [(1, "a", "leave", False), (1, "b", "enter", True), (2, "b", "enter", True), (2, "a", "move", False)]
    assert publish(event("a", -1.0))[:2] == [(1, "b", "leave", False), (1, "a", "enter", True)]
    assert publish(event("b", -2.0))[:2] == [(1, "a", "leave", False), (1, "b", "enter", False)]
    assert publish(event("a", -3.0))[:2] == [(1, "b", "leave", False), (1, "a", "enter", False)]
    both.restart()
    assert publish(event("b", -4.0))[:2] == [(1, "a", "leave", False), (1, "b", "enter", False)]
    # What leaves by a smaller k stays delivered, until k changes again.
    both.do("resize", [2], 1)
    assert publish(event("a", -5.0))[2:] == [(2, "b", "leave", False), (2, "a", "enter", False)]
    both.do("resize", [2], 1)
    assert publish(event("b", -6.0))[2:] == [(2, "a", "leave", False), (2, "b", "enter", True)]


def test_subscriptions_far_from_everything() -> None:
    both = Both()
    ends = [(-math.inf, -math.inf), (math.inf, math.inf), (-math.inf, math.inf), (1e150, math.inf), (2.0, 2.0)]
    both.do("subscribe", [{"id": i, "k": 2, "lo": lo, "hi": hi} for i, (lo, hi) in enumerate(ends)])
    xs = [2.0, 1e150, -1e150, np.nextafter(2.0, 3.0)]
    both.do("publish", [{"id": i, "ts": i, "object": i, "x": x, "y": float(-i)} for i, x in enumerate(xs)])
    for i in range(4):
        both.do("publish", [{"id": i, "ts": 9, "object": i, "x": None, "y": None}])


def test_many_subscriptions_at_once_and_one_by_one_have_the_same_tops() -> None:
    random = np.random.default_rng(2)
    events = [
        {"id": i, "ts": i, "object": i, "x": float(x), "y": float(i % 7)} for i, x in enumerate(random.random(90))
    ]
    ends = np.sort(random.random((60, 2)), axis=1).tolist()
    rows = [{"id": i, "k": 1 + i % 9, "lo": lo, "hi": hi} for i, (lo, hi) in enumerate(ends)]
    whole, single = _open(), _open()
    for engine in (whole, single):
        engine.publish(events)
    changes = whole.subscribe(rows)
    same(changes, pa.concat_tables([single.subscribe([row]).table() for row in rows]))
    same(whole.top(), single.top())


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"algorithm": "thick"}, "algorithm is sparse, dense or unicast, not 'thick'"),
        ({"epsilon": -0.1}, "from 0 to 1, not -0.1"),
        ({"epsilon": math.nan}, "from 0 to 1, not nan"),
        ({"servers": 0}, "servers is an integer from 1 to 1000000, not 0"),
        ({"sketch": 0}, "sketch is an integer from 1 to 1000000, not 0"),
        ({"sketch": 3, "algorithm": "dense"}, "Only the algorithm sparse uses a sketch"),
        ({"epsilon": "small"}, "from 0 to 1, not 'small'"),
        ({"servers": "two"}, "servers is an integer from 1 to 1000000, not 'two'"),
        ({"sketch": 1.5}, "sketch is an integer from 1 to 1000000, not 1.5"),
        ({"colour": 1}, "The engine paint of the family ranges has no option 'colour'"),
        ({"shape": "round"}, "shape is box or 1.5, not 'round'"),
        ({"shape": "1.5", "algorithm": "unicast"}, "by the algorithm sparse or dense"),
        ({"ks": [5]}, "Only the algorithm dense is told the ks to paint for, not sparse"),
        ({"ks": [5], "algorithm": "unicast"}, "Only the algorithm dense is told the ks to paint for, not unicast"),
        ({"ks": 5, "algorithm": "dense"}, "ks is a list of integers from 1 to 1000000, not 5"),
        ({"ks": "5", "algorithm": "dense"}, "ks is a list of integers from 1 to 1000000, not '5'"),
        ({"ks": [0], "algorithm": "dense"}, "Each of ks is an integer from 1 to 1000000, not 0"),
        ({"ks": [1, 1_000_001], "algorithm": "dense"}, "not 1000001"),
        ({"ks": [True], "algorithm": "dense"}, "not True"),
        ({"ks": [2.0], "algorithm": "dense"}, "not 2.0"),
    ],
)
def test_options_that_make_no_sense(options: Row, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        _open(**options)


@pytest.mark.parametrize(
    ("dims", "options", "why"),
    [
        (1, {"shape": "1.5"}, "have two dimensions, not 1"),
        (3, {"shape": "1.5"}, "have two dimensions, not 3"),
        (2, {"servers": 2}, "Servers and sketches are for one dimension"),
        (2, {"sketch": 9}, "Servers and sketches are for one dimension"),
        (2, {"algorithm": "dense"}, "by the algorithm sparse without an epsilon"),
        (2, {"epsilon": 0.5}, "by the algorithm sparse without an epsilon"),
    ],
)
def test_options_that_do_not_fit_the_dimensions(dims: int, options: Row, why: str) -> None:
    engine = _open(**options)
    for _ in range(2):
        with pytest.raises(ValueError, match=why):
            engine.subscribe([{"id": 1, "k": 1, "lo": [-math.inf] * dims, "hi": [1.0] * dims}])
    assert engine.n_subscriptions == 0


def test_options_are_kept_in_a_snapshot() -> None:
    options: Row = {"algorithm": "dense", "epsilon": 0.25, "servers": 2, "sketch": None, "batch": False, "shape": "box"}
    options["ks"] = [5, 20]
    assert through_snapshot(_open(**options))._options() == options


@pytest.mark.parametrize("ks", [(20, 5, 5), {5, 20}, np.array([20, 5]), iter([5, 20])])
def test_ks_are_any_whole_numbers_once_each(ks: Any) -> None:
    assert _open("dense", ks=ks)._options()["ks"] == [5, 20]


def test_ks_to_paint_for_outlast_a_snapshot_and_come_besides_those_that_are_asked_for() -> None:
    both = Both(algorithm="dense", ks=[4, 1])

    def painted(y: int) -> list[int]:
        return sorted(set(both.notify([{"id": y, "ts": y, "object": 1, "x": 1.0, "y": float(y)}])["k"].to_pylist()))

    assert painted(1) == [1, 4]
    both.do("subscribe", [{"id": "ann", "k": 2, "lo": 0.0, "hi": 5.0}, {"id": "bob", "k": 4, "lo": 0.0, "hi": 5.0}])
    assert painted(2) == [1, 2, 4]
    both.do("resize", ["ann"], 3)
    assert painted(3) == [1, 3, 4]
    both.restart()
    assert painted(4) == [1, 3, 4]
    both.do("unsubscribe", ["ann", "bob"])
    assert painted(5) == [1, 4]
    both.do("subscribe", [{"id": "cyd", "k": 9, "lo": 0.0, "hi": 5.0}])
    assert painted(6) == [1, 4, 9]
    assert len(both.engine._groups) == 3


def test_a_range_that_is_bounded_below_does_not_fit_the_shape() -> None:
    rows = [{"id": i, "k": 1, "lo": [0.0, low], "hi": [1.0, 1.0]} for i, low in enumerate([-math.inf, 0.5])]
    with pytest.raises(skyband.Rejected, match="minus infinity in the second dimension"):
        _open(shape="1.5").subscribe(rows)
    lenient = _open(shape="1.5", on_error="collect")
    lenient.subscribe(rows)
    assert lenient.n_subscriptions == 1
    assert [(reject.row, reject.column) for reject in lenient.rejects] == [(2, "lo")]


def test_what_is_given_up_takes_no_memory() -> None:
    engine = _open()
    sizes = []
    for turn in range(8):
        engine.subscribe([{"id": i, "k": 1 + i % 3, "lo": 0.0, "hi": float(i)} for i in range(300)])
        engine.publish([{"id": i, "ts": turn, "object": i, "x": float(i), "y": float(i * turn % 5)} for i in range(6)])
        engine.unsubscribe(list(range(300)))
        engine.check()
        sizes.append(sum(engine.memory().values()))
    assert set(engine.memory()) == {"rows", "deliveries", "objects", "painter"}
    assert max(sizes[2:]) <= 1.1 * sizes[1]


def test_a_k_takes_the_place_of_one_that_nobody_asks_for() -> None:
    both = Both("publication")
    for k in range(1, 7):
        both.do("subscribe", [{"id": k, "k": k, "lo": 0.0, "hi": 5.0}, {"id": -k, "k": 1, "lo": 1.0, "hi": 2.0}])
        rows = [{"id": i, "ts": k, "object": i, "x": float(i), "y": float((i * k) % 5)} for i in range(5)]
        both.do("publish", rows)
        both.do("resize", [k], 10 * k)
        both.do("publish", [row | {"y": None} for row in rows[:2]])
        both.do("unsubscribe", [k])
    assert len(both.engine._groups) <= 3


NAMES = st.lists(st.lists(st.text("abé😀", max_size=4), max_size=12), max_size=8)


@given(batches=NAMES)
def test_labels_are_in_the_order_of_names(batches: list[list[str]]) -> None:
    lexicon, twin = Lexicon(), dict[str, int]()
    for names in batches:
        slots = lexicon.slots(pa.array(names, pa.string())).tolist()
        for name, slot in zip(names, slots, strict=True):
            assert twin.setdefault(name, slot) == slot
        lexicon.check()
        order = sorted(twin, key=lambda name: lexicon.label[twin[name]])
        assert order == sorted(twin)
        assert sorted(twin.values()) == list(range(lexicon.n))


@pytest.mark.parametrize("fair", [2**12, 2**54])
@pytest.mark.parametrize("names", ["up", "down", "inwards"])
def test_labels_where_gaps_are_used_up(names: str, fair: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skyband.kernels.object_ids.FAIR", fair)
    lexicon = Lexicon()
    lexicon.slots(pa.array([f"{i:03}" for i in range(200)]))
    for i in range(300):
        name = {"up": f"100.{i:03}", "down": f"100.{999 - i}", "inwards": "100." + "ab"[i % 2] * (i // 2 + 1)}[names]
        lexicon.slots(pa.array([name]))
    lexicon.check()
    ordinals = lexicon.slots(pa.array(["zz", "zzz", "", "zzzz"]))
    assert np.argsort(lexicon.label[ordinals]).tolist() == [2, 0, 1, 3]


def test_labels_of_integers_are_the_integers() -> None:
    lexicon = Lexicon()
    slots = lexicon.slots(pa.array([5, -(2**63), 2**63 - 1, 5]))
    assert lexicon.label[slots].tolist() == [5, -(2**63), 2**63 - 1, 5]
    assert np.argsort(lexicon.tie[slots[:3]]).tolist() == [2, 0, 1]


@pytest.mark.parametrize("dims", [1, 2])
@pytest.mark.parametrize(("name", "options"), [("scan", {}), ("paint", {}), ("paint", {"algorithm": "unicast"})])
def test_deletions_alone_say_nothing_of_dimensions(name: str, options: Row, dims: int) -> None:
    """An object that was never there is deleted first: what comes then may have any number of dimensions."""
    place = (lambda at: at) if dims == 1 else (lambda at: [at] * dims)
    engines = [skyband.open("ranges", "oracle"), skyband.open("ranges", name, **options)]
    for verb, rows in (
        ("publish", [{"id": 1, "ts": 3, "object": "o", "x": None, "y": None}]),
        ("subscribe", [{"id": "s", "k": 1, "lo": place(0.0), "hi": place(5.0)}]),
        ("publish", [{"id": 2, "ts": 2, "object": "o", "x": place(1.0), "y": 1.0}]),
        ("publish", [{"id": 3, "ts": 5, "object": "o", "x": place(1.0), "y": 2.0}]),
    ):
        wanted, got = (getattr(engine, verb)(rows) for engine in engines)
        assert got.equals(wanted)
        engines[1].check()
    assert engines[1].top()["score"].to_pylist() == [2.0]
    assert engines[1].counters["late"] == 1
