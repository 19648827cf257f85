"""The engines of the Skype paper and ours, every index with every policy: first cases, long streams, memory, costs."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pytest

import skyband
from skyband.contract import AnyEngine, Granularity
from skyband.contract.snapshot import MANIFEST
from skyband.geotext import workload as geotext
from skyband.geotext.draw import unit
from skyband.geotext.engine import Geotext, policy_named
from skyband.testing.machine import same, through_snapshot
from skyband.topk.policy import MOST

Row = dict[str, Any]

# Small enough that leaves split and groups differ.
INDEXES: dict[str, Row] = {
    "postings": {"index": "postings"},
    "igpt": {"index": "igpt", "capacity": 20, "groups": 3},
    "ciq": {"index": "ciq", "depth": 2},
}
POLICIES: dict[str, Row] = {
    "margin": {"policy": "margin"},
    "cskyband": {"policy": "cskyband"},
    "skyband": {"policy": "skyband", "ratio": 0.8},
    "kmax": {"policy": "kmax", "kmax": 1.5},
}
COMBINATIONS = {f"{index}-{policy}": INDEXES[index] | POLICIES[policy] for index in INDEXES for policy in POLICIES}
each = pytest.mark.parametrize("options", COMBINATIONS.values(), ids=COMBINATIONS)
each_index = pytest.mark.parametrize("options", INDEXES.values(), ids=INDEXES)


def _said(id: int, ts: int, words: str = "jazz", x: float = 0.5, y: float = 0.5) -> Row:
    """A message; a word that is repeated weighs more."""
    terms = sorted(set(words.split()))
    return {"id": id, "ts": ts, "x": x, "y": y} | _weighed(words, terms)


def _asks(id: str, k: int | None, words: str = "jazz", x: float = 0.5, alpha: float = 0.5, **more: object) -> Row:
    return {"id": id, "k": k, "x": x, "y": 0.5, "alpha": alpha} | _weighed(words, sorted(set(words.split()))) | more


def _weighed(words: str, terms: list[str]) -> Row:
    return {"terms": terms, "weights": unit([words.split().count(term) for term in terms]) if terms else []}


def _open(options: Row, **settings: Any) -> Geotext:
    engine = skyband.open("geotext", "blocks", **settings, **options)
    assert isinstance(engine, Geotext)
    return engine


class Both:
    """An engine and the oracle, driven alike and compared after every verb."""

    def __init__(self, options: Row, **settings: Any) -> None:
        self.engine: AnyEngine = _open(options, **settings)
        self.oracle = skyband.open("geotext", "oracle", **settings)

    def do(self, verb: str, *arguments: Any) -> list[tuple[str, int, str, bool]]:
        """What both answer."""
        got = getattr(self.engine, verb)(*arguments)
        same(got, getattr(self.oracle, verb)(*arguments))
        same(self.engine.top(), self.oracle.top())
        self.engine.check()
        for counter in ("publications", "late", "enter", "leave", "delivery"):
            assert self.engine.counters.get(counter, 0) == self.oracle.counters.get(counter, 0), counter
        return [(row["subscription"], row["publication"], row["op"], row["first"]) for row in got.to_pylist()]

    def tops(self) -> dict[str, list[int]]:
        tops: dict[str, list[int]] = {}
        for row in self.engine.top().to_pylist():
            tops.setdefault(row["subscription"], []).append(row["publication"])
        return tops


@each
def test_a_late_publication_takes_its_place_or_is_counted(options: Row) -> None:
    both = Both(options, window=skyband.Window.time(10), granularity="publication")
    both.do("subscribe", [_asks("ann", 2)])
    both.do("publish", [_said(1, 100, x=1.0), _said(2, 101, x=0.9)])
    told = both.do("publish", [_said(3, 95, x=0.6)])
    assert told == [("ann", 1, "leave", False), ("ann", 3, "enter", True)]
    assert both.do("publish", [_said(4, 91, x=0.5)]) == []
    assert both.engine.counters["late"] == 1
    assert both.do("advance", 105) == [("ann", 3, "leave", False), ("ann", 1, "enter", False)]


@each
def test_two_that_expire_at_the_same_instant(options: Row) -> None:
    both = Both(options, window=skyband.Window.time(10))
    both.do("subscribe", [_asks("ann", 2)])
    both.do("publish", [_said(i, 100 + max(0, i - 2), x=0.5 + i / 10) for i in range(1, 6)])
    told = both.do("advance", 110)
    assert [(row[1], row[2]) for row in told] == [(1, "leave"), (2, "leave"), (3, "enter"), (4, "enter")]
    both.do("advance", 200)
    assert both.tops() == {}


@each
def test_k_larger_than_the_window(options: Row) -> None:
    both = Both(options, window=skyband.Window.count(3))
    both.do("subscribe", [_asks("ann", 50), _asks("bob", 3, "rain")])
    both.do("publish", [_said(i, i, "jazz rain"[: 4 + i], x=i / 10) for i in range(7)])
    assert sorted(both.tops()["ann"]) == [4, 5, 6]


@each
def test_a_subscription_that_arrives_in_mid_stream(options: Row) -> None:
    both = Both(options, window=skyband.Window.count(4))
    both.do("publish", [_said(i, i, x=0.5 + i / 20) for i in range(6)])
    assert both.do("subscribe", [_asks("ann", 2)]) == [("ann", 2, "enter", True), ("ann", 3, "enter", True)]
    assert both.do("publish", [_said(6, 6, x=1.0)]) == [("ann", 2, "leave", False), ("ann", 4, "enter", True)]
    # With a window of its own that is longer, from the time on that it came.
    both.do("subscribe", [_asks("bob", 3, window_n=6), _asks("cyd", 3, window_us=3)])
    for i in range(7, 12):
        both.do("publish", [_said(i, i, x=(i % 5) / 5)])


@each
def test_another_k_while_running(options: Row) -> None:
    both = Both(options, window=skyband.Window.count(9))
    both.do("subscribe", [_asks("ann", 1), _asks("bob", 2)])
    both.do("publish", [_said(i, i, x=1.0 - i / 12) for i in range(6)])
    assert both.do("resize", ["ann"], 3) == [("ann", 4, "enter", True), ("ann", 3, "enter", True)]
    both.do("resize", ["ann", "bob"], 1)
    # What has left the top is new when it comes back with another k.
    assert both.do("resize", ["bob"], 2) == [("bob", 4, "enter", True)]
    assert both.tops() == {"ann": [5], "bob": [5, 4]}
    for k in (40, 1, 7):
        both.do("resize", ["ann"], k)
        both.do("publish", [_said(10 * k + i, 10, x=i / 3) for i in range(3)])


@each
def test_subscriptions_that_leave(options: Row) -> None:
    both = Both(options, window=skyband.Window.count(5))
    both.do("subscribe", [_asks(name, 2, words) for name, words in (("ann", "jazz"), ("bob", "rain"), ("cyd", "jazz"))])
    both.do("publish", [_said(i, i, "jazz rain", x=i / 5) for i in range(4)])
    assert [row[1:3] for row in sorted(both.do("unsubscribe", ["ann"]))] == [(2, "leave"), (3, "leave")]
    both.do("publish", [_said(4, 4, "jazz")])
    # Another takes the place, and the words are others.
    both.do("subscribe", [_asks("ann", 1, "snow")])
    both.do("publish", [_said(5, 5, "snow"), _said(6, 6, "jazz snow")])
    both.do("unsubscribe", ["cyd", "bob", "ann"])
    both.do("publish", [_said(7, 7, "jazz")])
    assert both.tops() == {}


@each
def test_boolean_subscriptions_are_told_every_match(options: Row) -> None:
    both = Both(options, granularity="publication", window=skyband.Window.count(6))
    both.do("subscribe", [_asks("ann", None, threshold=0.9), _asks("bob", 1, threshold=0.75)])
    told = both.do("publish", [_said(i, i, x=0.5 + (i % 3) / 5) for i in range(9)])
    assert [row[1] for row in told if row[0] == "ann" and row[2] == "enter"] == [0, 1, 3, 4, 6, 7]
    both.do("publish", [_said(9, 9, "rain jazz"), _said(10, 10, "rain"), _said(11, 11, "jazz jazz rain")])
    both.do("resize", ["ann"], 2)
    both.do("advance", 50)


@each
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_only_words_or_only_places_count(options: Row, alpha: float) -> None:
    both = Both(options, window=skyband.Window.count(6))
    words = ["jazz", "jazz rain", "rain rain jazz", "rain", "snow"]
    both.do("subscribe", [_asks(f"s{i}", 2, word, x=i / 4, alpha=alpha) for i, word in enumerate(words)])
    for i in range(14):
        both.do("publish", [_said(i, i, words[i % 5], x=(i % 3) / 2, y=(i % 4) / 3)])


@each
def test_messages_without_words_and_words_that_nobody_knows(options: Row) -> None:
    both = Both(options, window=skyband.Window.count(4))
    both.do("publish", [_said(0, 0, ""), _said(1, 1, "unheard of")])
    both.do("subscribe", [_asks("ann", 2), _asks("bob", 2, "never said")])
    assert both.do("publish", [_said(2, 2, ""), _said(3, 3, "unheard of", y=0.4)]) == []
    assert both.do("publish", [_said(4, 4, "jazz")]) == [("ann", 4, "enter", True)]
    assert both.do("publish", [_said(i, i, "") for i in range(5, 9)]) == [("ann", 4, "leave", False)]
    # The words have left with the messages, and others have come.
    both.do("subscribe", [_asks("cyd", 1, "unheard")])
    assert both.do("publish", [_said(9, 9, "unheard never")]) == [("bob", 9, "enter", True), ("cyd", 9, "enter", True)]


@each
@pytest.mark.parametrize("window", [skyband.Window.count(7), skyband.Window.time(4)], ids=["count", "time"])
@pytest.mark.parametrize("granularity", ["batch", "publication"])
def test_everybody_at_one_place(options: Row, window: skyband.Window, granularity: Granularity) -> None:
    """Ties all over: only the words, of which there are few, tell messages apart."""
    random = np.random.default_rng(3)
    words = ["a", "b", "a b", "a a b", "c a", "é e\u0301", ""]
    both = Both(options, window=window, granularity=granularity)
    both.do("subscribe", [_asks(f"s{i}", 1 + i % 3, words[i % 6], alpha=i % 3 / 2) for i in range(9)])
    id = now = 0
    for _ in range(8):
        rows = []
        for word in random.choice(words, 5).tolist():
            now += int(random.integers(-1, 3))
            rows.append(_said(id, now, word))
            id += 1
        both.do("publish", rows)
    both.do("advance", now + 20)


@each
def test_any_order_of_verbs(options: Row) -> None:
    random = np.random.default_rng(4)
    both = Both(options, window=skyband.Window.count(12), granularity="publication")
    words = [f"w{i}" for i in range(9)]
    names: list[str] = []
    id = now = 0
    for turn in range(30):
        verb = random.choice(["subscribe", "unsubscribe", "resize", "publish", "publish", "advance", "snapshot"])
        if verb == "subscribe" or not names:
            asked = " ".join(random.choice(words, random.integers(1, 5)))
            extras: list[Row] = [{}, {"window_us": 9}, {"window_n": 30}, {"threshold": 0.6}]
            names.append(f"s{turn}")
            row = _asks(names[-1], int(random.integers(1, 4)), asked, float(random.random()), float(random.random()))
            both.do("subscribe", [row | extras[int(random.integers(4))]])
        elif verb == "unsubscribe" and len(names) > 4:
            both.do("unsubscribe", [names.pop(int(random.integers(len(names))))])
        elif verb == "resize":
            both.do("resize", [str(random.choice(names))], int(random.integers(1, 6)))
        elif verb == "advance":
            now = (both.oracle.now or 0) + 3
            both.do("advance", now)
        elif verb == "snapshot":
            both.engine = through_snapshot(both.engine)
        else:
            rows = []
            for _ in range(8):
                now += int(random.integers(-2, 4))
                said = " ".join(random.choice(words, random.integers(0, 7)))
                rows.append(_said(id, now, said, *random.random(2).tolist()))
                id += 1
            both.do("publish", rows)


@each
def test_nothing_is_there(options: Row) -> None:
    both = Both(options, window=skyband.Window.count(4))
    both.do("advance", 5)
    both.do("subscribe", [_asks("ann", 2)])
    both.do("unsubscribe", ["ann"])
    both.do("publish", [_said(1, 9)])
    both.do("subscribe", [])
    both.do("publish", [])


@each_index
@pytest.mark.parametrize(
    "bounds", [(-1e150, -1e150, 1e150, 1e150), (0.0, 0.0, 1e-150, 1e-150), (5.0, 5.0, np.nextafter(5.0, 6.0), 9.0)]
)
def test_bounds_of_any_size(options: Row, bounds: tuple[float, ...]) -> None:
    random = np.random.default_rng(5)
    box = skyband.Bounds(*bounds)
    both = Both(options, window=skyband.Window.count(5), bounds=box)

    def place() -> Row:
        x, y = (
            low + (high - low) * random.choice([0.0, 1.0, random.random()])
            for low, high in zip(box[:2], box[2:], strict=True)
        )
        return {"x": min(max(x, box.x_min), box.x_max), "y": min(max(y, box.y_min), box.y_max)}

    both.do("subscribe", [_asks(f"s{i}", 2, ["a", "a b", "b c"][i % 3], alpha=i % 4 / 3) | place() for i in range(8)])
    for i in range(16):
        both.do("publish", [_said(i, i, ["a", "b", "a b c"][i % 3]) | place()])


@cache
def _stream() -> tuple[pa.Table, pa.Table]:
    """Subscriptions with windows of every kind, some Boolean, and messages some of which are late or say nothing."""
    made = geotext.generate(
        geotext.Options(n_subscriptions=300, n_publications=2000, window_n=400, vocabulary=900, k=5, n_cities=9, seed=6)
    )
    asked, said = made.subscriptions.to_pylist(), made.publications.to_pylist()
    second = said[100]["ts"] - said[99]["ts"]
    for i, row in enumerate(asked):
        row |= {"k": 1 + i % 12, "threshold": 0.6 if i % 11 == 0 else None, "window_us": None}
        row |= {"window_n": None, "window_us": 300 * second} if i % 3 == 0 else {"window_n": 150 + i}
        row["alpha"] = [row["alpha"], 0.0, 1.0, row["alpha"]][i % 4]
    for i, row in enumerate(said):
        if i % 37 == 0:
            row["ts"] -= 400 * second
        if i % 53 == 0:
            row |= {"terms": [], "weights": []}
    return pa.Table.from_pylist(asked), pa.Table.from_pylist(said)


def _run(engine: AnyEngine) -> tuple[list[pa.Table], pa.Table]:
    """What an engine tells of the stream; subscriptions come and go in the meantime."""
    subscriptions, publications = _stream()
    told = []
    for start in range(0, len(publications), 125):
        if start < 750:
            told.append(engine.subscribe(subscriptions.slice(start * 2 // 5, 50)))
        if start == 1000:
            told.append(engine.unsubscribe(subscriptions["id"].combine_chunks().slice(30, 60)))
            told.append(engine.resize(subscriptions["id"].combine_chunks().slice(100, 40), 9))
        told.append(engine.publish(publications.slice(start, 125)))
    return told, engine.top()


@cache
def _scanned(granularity: Granularity) -> tuple[list[pa.Table], pa.Table]:
    return _run(skyband.open("geotext", "scan", granularity=granularity))


@pytest.mark.jit_only
@each
@pytest.mark.parametrize("granularity", ["batch", "publication"])
def test_a_long_stream_equals_scan(options: Row, granularity: Granularity) -> None:
    engine = _open(options, granularity=granularity)
    (told, top), (wanted, wanted_top) = _run(engine), _scanned(granularity)
    for got, expected in zip(told, wanted, strict=True):
        same(got, expected)
    same(top, wanted_top)
    engine.check()
    assert engine.counters["delivery"] > 10_000
    # An index looks at a part of all pairs.
    assert engine.index_counters["verified"] < 300 * 2000 / 3


@each
def test_a_snapshot_in_mid_stream(options: Row) -> None:
    subscriptions, publications = (table.slice(0, n) for table, n in zip(_stream(), (40, 240), strict=True))
    engine, oracle = (
        skyband.open("geotext", name, window=skyband.Window.count(50), **more)
        for name, more in (("skype", options), ("oracle", {}))
    )
    drop = ["window_n", "window_us"]
    for both in (engine, oracle):
        both.subscribe(subscriptions.drop_columns(drop))
        both.publish(publications.slice(0, 160))
    restored = through_snapshot(engine)
    assert isinstance(engine, Geotext)
    assert isinstance(restored, Geotext)
    assert restored.name == "skype"
    assert restored._options() == engine._options()
    assert restored.policy == engine.policy
    assert options.items() <= restored._options().items()
    assert restored.counters == engine.counters
    same(restored.top(), oracle.top())
    restored.check()
    for start in (160, 200):
        wanted = oracle.publish(publications.slice(start, 40))
        same(restored.publish(publications.slice(start, 40)), wanted)
        same(engine.publish(publications.slice(start, 40)), wanted)


@pytest.mark.parametrize("has_rows", [True, False])
@each
def test_rows_come_back_without_a_search(options: Row, has_rows: bool, tmp_path: Path) -> None:
    """A snapshot without rows, as older ones are, is restored by searching for them."""
    subscriptions, publications = (table.slice(0, n) for table, n in zip(_stream(), (40, 240), strict=True))
    engine = _open(options)
    engine.subscribe(subscriptions)
    engine.publish(publications.slice(0, 160))
    engine.snapshot(tmp_path / "snapshot")
    if not has_rows:
        for name in ("rows", "entries", "searches"):
            (tmp_path / "snapshot" / f"{name}.arrow").unlink()
        manifest = tmp_path / "snapshot" / MANIFEST
        feather.write_feather(feather.read_table(manifest).drop_columns(["files", "checksum"]), manifest)
    restored = type(engine).restore(tmp_path / "snapshot")
    restored.check()
    same(restored.top(), engine.top())
    if has_rows:
        assert restored._n_searches == engine._n_searches
        slots, same_slots = engine._roster.in_turn(), restored._roster.in_turn()
        assert np.array_equal(engine._row_settings.depth[slots], restored._row_settings.depth[same_slots])
        (ends, entries), (their_ends, their_entries) = engine._rows.save(slots), restored._rows.save(same_slots)
        # Publications are numbered anew.
        assert np.array_equal(ends.size, their_ends.size)
        assert np.array_equal(ends.bound, their_ends.bound)
        assert np.array_equal(entries.score, their_entries.score)
        assert np.array_equal(entries.state, their_entries.state)
    else:
        assert restored._n_searches > len(subscriptions)
    for start in (160, 200):
        same(restored.publish(publications.slice(start, 40)), engine.publish(publications.slice(start, 40)))
        restored.check()


@pytest.mark.parametrize(
    "options",
    [
        {"policy": "lru"},
        {"index": "tree"},
        {"policy": "skyband", "ratio": 0.0},
        {"policy": "skyband", "ratio": 1.01},
        {"policy": "skyband", "ratio": float("nan")},
        {"policy": "kmax", "kmax": 0.5},
        {"policy": "kmax", "kmax": float("inf")},
        {"index": "ciq", "depth": 0},
        {"index": "ciq", "depth": 9},
        {"index": "igpt", "capacity": 0},
        {"index": "igpt", "groups": 0},
        {"index": "igpt", "prunings": ["hope"]},
    ],
    ids=str,
)
def test_an_option_that_makes_no_sense_is_refused(options: Row) -> None:
    for name in ("blocks", "skype", "ciq"):
        with pytest.raises(ValueError, match=r"^\w.* .*\.$"):
            skyband.open("geotext", name, **options)


def test_a_ratio_lets_searches_take_more() -> None:
    ks = np.array([1, 5, 20])
    plain, tuned = policy_named("skyband", ratio=1.0), policy_named("skyband", ratio=0.8)
    assert plain.slack == 0.0
    assert tuned.slack == pytest.approx(0.2)
    assert plain.depths(ks, 500.0).tolist() == ks.tolist()
    assert tuned.depths(ks, 500.0).tolist() == (MOST * ks).tolist()
    assert policy_named("kmax", kmax=1.5).depths(ks, 500.0).tolist() == [2, 8, 30]


def test_what_the_names_stand_for() -> None:
    named = {name: skyband.open("geotext", name) for name in ("blocks", "skype", "ciq")}
    chosen = {name: engine._options() for name, engine in named.items()}
    assert {name: (options["index"], options["policy"]) for name, options in chosen.items()} == {
        "blocks": ("postings", "margin"),
        "skype": ("igpt", "cskyband"),
        "ciq": ("ciq", "kmax"),
    }
    assert chosen["ciq"]["kmax"] == 3.0


@each_index
def test_what_is_counted(options: Row) -> None:
    engine = _open(options, window=skyband.Window.count(20))
    assert engine.index_counters == dict.fromkeys(engine.index_counters, 0)
    engine.subscribe([_asks(f"s{i}", 2, ["jazz", "jazz rain", "rain snow"][i % 3], x=i / 30) for i in range(30)])
    assert engine.counters["reevaluated"] == 30
    before = engine.index_counters
    engine.publish([_said(i, i, ["jazz", "rain", "snow hail"][i % 3], x=i / 40) for i in range(40)])
    counters, index_counters = engine.counters, engine.index_counters
    assert counters["publications"] == 40
    assert counters["delivery"] <= counters["candidates"] <= index_counters["accepted"] <= index_counters["verified"]
    assert counters["scored"] >= index_counters["verified"]
    assert before != index_counters
    index_counters["accepted"] = -1
    assert engine.index_counters["accepted"] >= 0
    assert engine.row_length >= 2.0


@pytest.mark.jit_only
@each_index
def test_memory_stays_the_same_over_windows_of_new_words(options: Row) -> None:
    """A small version of the soak: words that are never said again, and subscriptions to them that come and go."""
    random = np.random.default_rng(8)
    engine, sizes = _open(options, window=skyband.Window.count(24)), list[dict[str, int]]()
    id = 0
    for turn in range(50):
        words = [f"{turn:03}.{i:02}" for i in range(30)]
        rows = []
        for _ in range(12):
            said = " ".join(["jazz", *random.choice(words, 5, replace=False)])
            rows.append(_said(id, id, said, *random.random(2).tolist()))
            id += 1
        # So many keywords that those of who has left are dropped every now and then.
        names = [f"{turn}.{i}" for i in range(24)]
        engine.subscribe(
            [_asks(name, 3, " ".join(random.choice([*words, "jazz"], 12, replace=False))) for name in names]
        )
        engine.publish(rows)
        if turn >= 2:
            engine.unsubscribe([f"{turn - 2}.{i}" for i in range(24)])
        sizes.append(engine.memory())
    engine.check()
    parts = {"rows", "questions", "publications", "deliveries", "index", "catalogue", "vocabulary", "threads"}
    assert sizes[0].keys() == parts
    for part in sizes[0]:
        assert max(size[part] for size in sizes[25:]) <= 1.1 * max(size[part] for size in sizes[:25]), part


@pytest.mark.jit_only
def test_rows_are_as_short_as_the_paper_says() -> None:
    """Rows bounded by cost are shorter than those of a fixed multiple of k, or of a share of the k-th score."""
    made = geotext.generate(
        geotext.Options(n_subscriptions=200, n_publications=6000, window_n=2000, vocabulary=1500, k=20, seed=9)
    )
    lengths = {}
    tuned: dict[str, Row] = {"cskyband": {}, "kmax": {"kmax": 3.0}, "skyband": {"ratio": 0.95}}
    for policy, options in tuned.items():
        engine = _open({"policy": policy, **options})
        engine.publish(made.publications.slice(0, 2000))
        engine.subscribe(made.subscriptions)
        means = []
        for start in range(2000, 6000, 500):
            engine.publish(made.publications.slice(start, 500))
            means.append(engine.row_length)
        lengths[policy] = float(np.mean(means))
    assert 20.0 < lengths["cskyband"] < min(lengths["kmax"], lengths["skyband"])


@pytest.mark.jit_only
def test_a_smaller_ratio_keeps_more_and_searches_less() -> None:
    made = geotext.generate(
        geotext.Options(n_subscriptions=150, n_publications=4000, window_n=1000, vocabulary=500, k=5, seed=10)
    )
    kept, searches, delivered = [], [], set()
    for ratio in (1.0, 0.95, 0.8, 0.6):
        engine = _open({"policy": "skyband", "ratio": ratio})
        engine.publish(made.publications.slice(0, 1000))
        engine.subscribe(made.subscriptions)
        for start in range(1000, 4000, 500):
            engine.publish(made.publications.slice(start, 500))
        engine.check()
        kept.append(engine.row_length)
        searches.append(engine.counters["reevaluated"])
        delivered.add(engine.counters["delivery"])
    assert kept == sorted(kept)
    assert searches == sorted(searches, reverse=True)
    assert len(delivered) == 1
