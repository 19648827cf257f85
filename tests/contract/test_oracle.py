"""The oracle against examples worked out by hand, since nothing else checks it."""

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import skyband
from skyband.contract import AnyEngine
from skyband.covering.oracle import CoverOracle
from skyband.covering.rows import parse_subscriptions
from skyband.table import Settings


def _told(table: pa.Table) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in table.to_pylist()]


def test_the_example_of_the_top_k_w_paper() -> None:
    """Figure 3: k = 2, w = 5; publication 5 enters at 8 although it was not among the best when it came."""
    engine = skyband.open("window", "oracle", window=skyband.Window.time(5), granularity="publication")
    engine.subscribe([{"id": "s", "k": 2, "score": "euclidean", "point": [0.0]}])
    ranks = {1: 7.0, 2: 6.0, 3: 2.0, 4: 1.0, 5: 3.0, 6: 4.0, 7: 5.0, 8: 8.0}
    changes = []
    for ts, distance in ranks.items():
        changes += _told(engine.publish([{"id": ts, "ts": ts, "point": [distance]}]))
    entered = [(publication, at) for _, publication, op, _, _, at, first in changes if op == "enter" and first]
    assert entered == [(1, 1), (2, 2), (3, 3), (4, 4), (5, 8)]


def test_two_that_expire_at_the_same_instant() -> None:
    engine = skyband.open("window", "oracle", window=skyband.Window.time(10))
    engine.subscribe([{"id": "s", "k": 2, "score": "sum", "weights": [1.0]}])
    engine.publish([{"id": i, "ts": ts, "point": [x]} for i, ts, x in [(1, 0, 5.0), (2, 0, 5.0), (3, 1, 1.0)]])
    assert engine.top()["publication"].to_pylist() == [2, 1]
    assert len(engine.advance(9)) == 0
    assert _told(engine.advance(10)) == [
        ("s", 2, "leave", 5.0, None, 10, False),
        ("s", 1, "leave", 5.0, None, 10, False),
        ("s", 3, "enter", 1.0, 1, 10, True),
    ]


def test_place_and_words_by_hand() -> None:
    engine = skyband.open("geotext", "oracle", bounds=skyband.Bounds(0, 0, 3, 4))
    half = math.sqrt(0.5)
    row = {"id": "s", "k": 5, "x": 0.0, "y": 0.0, "terms": ["jazz", "food"], "weights": [half, half]}
    engine.subscribe([row | {"alpha": 0.4}])
    said = [
        {"id": "near", "ts": 1, "x": 0.0, "y": 0.0, "terms": ["jazz"], "weights": [1.0]},
        {"id": "far", "ts": 1, "x": 3.0, "y": 4.0, "terms": ["food"], "weights": [1.0]},
        {"id": "else", "ts": 1, "x": 0.0, "y": 0.0, "terms": ["rain"], "weights": [1.0]},
        {"id": "mute", "ts": 1, "x": 0.0, "y": 0.0, "terms": [], "weights": []},
    ]
    engine.publish(said)
    top = engine.top().to_pylist()
    assert [row["publication"] for row in top] == ["near", "far"]
    assert [row["score"] for row in top] == pytest.approx([0.4 + 0.6 * half, 0.6 * half])


def test_the_example_of_the_range_top_k_paper() -> None:
    """An object that rises is replaced in the lists whose range holds a better one."""
    engine = skyband.open("ranges", "oracle")
    engine.publish([{"id": i, "ts": 0, "object": i, "x": float(i), "y": float(y)} for i, y in enumerate([3, 1, 2, 4])])
    engine.subscribe([{"id": "all", "k": 2, "lo": -math.inf, "hi": math.inf}, {"id": "left", "k": 2, "lo": 0, "hi": 1}])
    changes = engine.publish([{"id": 9, "ts": 1, "object": 1, "x": 1.0, "y": 9.0}])
    assert _told(changes) == [
        ("all", 1, "leave", 1.0, None, 1, False),
        ("all", 0, "enter", 3.0, 2, 1, True),
        ("left", 1, "move", 9.0, 2, 1, False),
    ]


def test_relaxed_and_exact_matching() -> None:
    rows = [
        {"id": 1, "lo": [0.0, 0.0], "hi": [1.0, 1.0], "weights": [1.0, 1.0]},
        {"id": 2, "lo": [0.0, 5.0], "hi": [1.0, 6.0], "weights": [2.0, 9.0]},
        {"id": 3, "lo": [7.0, 7.0], "hi": [8.0, 8.0], "weights": [9.0, 9.0]},
    ]
    for matching, wanted in (("relaxed", [(2, 2.0), (1, 2.0)]), ("exact", [(1, 2.0)])):
        engine = skyband.open("ranked", "oracle", matching=matching)
        engine.subscribe(rows)
        found = engine.publish([{"id": "e", "ts": 0, "point": [1.0, 0.0]}]).to_pylist()
        assert [(row["subscription"], row["score"]) for row in found] == wanted
        assert len(engine.publish([{"id": "f", "ts": 0, "point": [None, None]}])) == 0


def _reached(engine: AnyEngine, **event: Any) -> dict[Any, float]:
    found = engine.publish([{"id": "e", "ts": 0} | event]).to_pylist()
    return {row["subscription"]: row["score"] for row in found}


def test_open_parts_are_met_even_where_an_event_says_nothing() -> None:
    rows = [
        {"id": "open", "lo": [None, 5.0], "hi": [None, 6.0], "weights": [2.0, 1.0]},
        {"id": "not asked", "lo": [None, 5.0], "hi": [None, 6.0], "weights": [0.0, 1.0]},
        {"id": "one side", "lo": [0.0, 5.0], "hi": [None, 6.0], "weights": [2.0, 1.0]},
        {"id": "nothing", "lo": [None, None], "hi": [None, None]},
    ]
    relaxed, exact = (skyband.open("ranked", "oracle", matching=matching) for matching in ("relaxed", "exact"))
    for engine in (relaxed, exact):
        engine.subscribe(rows)
    assert _reached(relaxed, point=[None, None]) == {"open": 2.0}
    assert _reached(exact, point=[None, None]) == {"nothing": 0.0}
    assert _reached(exact, point=[None, 5.0]) == {"open": 3.0, "not asked": 1.0, "nothing": 0.0}
    assert _reached(relaxed, point=[7.0, 9.0]) == {"open": 2.0, "one side": 2.0}


@pytest.mark.parametrize(
    ("options", "event", "score"),
    [
        ({}, {"point": [5.0]}, 8.0),
        ({}, {"point": [-2.0], "upper": [0.0]}, 8.0),
        ({}, {"point": [-2.0], "upper": [-1.0]}, None),
        ({"interval": "inside"}, {"point": [-2.0], "upper": [0.0]}, None),
        ({"interval": "inside"}, {"point": [0.0], "upper": [10.0]}, 8.0),
        ({"fit": "centre"}, {"point": [5.0]}, 8.0),
        ({"fit": "centre"}, {"point": [7.5]}, 4.0),
        ({"fit": "centre"}, {"point": [10.0]}, 0.0),
        ({"fit": "centre"}, {"point": [2.0], "upper": [3.0]}, 4.0),
        ({"fit": "centre"}, {"point": [-9.0], "upper": [1.0]}, 0.0),
        ({"fit": "share"}, {"point": [7.5]}, 8.0),
        ({"fit": "share"}, {"point": [-1.0], "upper": [1.0]}, 4.0),
        ({"fit": "share"}, {"point": [-10.0], "upper": [30.0]}, 2.0),
        ({"fit": "share"}, {"point": [-10.0], "upper": [0.0]}, 0.0),
    ],
)
def test_how_well_an_event_fits(options: dict[str, Any], event: dict[str, Any], score: float | None) -> None:
    engine = skyband.open("ranked", "oracle", **options)
    engine.subscribe([{"id": "s", "lo": [0.0], "hi": [10.0], "weights": [8.0]}])
    assert _reached(engine, **event) == ({} if score is None else {"s": score})


def test_contributions_are_combined() -> None:
    rows = [{"id": "s", "lo": [0.0, 0.0, 0.0], "hi": [1.0, 1.0, 1.0], "weights": [1.0, 2.0, 4.0]}]
    for combination, all_met, one_not in (("sum", 7.0, 5.0), ("min", 1.0, 0.0), ("max", 4.0, 4.0)):
        engine = skyband.open("ranked", "oracle", combination=combination)
        engine.subscribe(rows)
        assert _reached(engine, point=[0.0, 0.0, 0.0]) == {"s": all_met}
        assert _reached(engine, point=[0.0, 9.0, 0.0]) == {"s": one_not}


def test_covering_keeps_the_uncovered() -> None:
    rows = [
        {"id": "wide", "lo": [0.0, 0.0], "hi": [9.0, 9.0]},
        {"id": "inside", "lo": [1.0, 1.0], "hi": [2.0, 2.0]},
        {"id": "twin", "lo": [0.0, 0.0], "hi": [9.0, 9.0]},
        {"id": "across", "lo": [5.0, 5.0], "hi": [10.0, 6.0]},
        {"id": "huge", "lo": [-math.inf, 0.0], "hi": [math.inf, 9.0]},
    ]
    oracle = CoverOracle()
    covers = oracle.add(parse_subscriptions(pa.Table.from_pylist(rows), Settings()).rows)
    assert [cover.covered_by for cover in covers] == [[], ["wide"], ["wide"], [], []]
    assert covers[4].now_covers == ["wide", "across"]
    assert oracle.uncovered() == ["huge"]
    assert oracle.remove("huge") == ["wide", "across"]
    assert oracle.remove("wide") == ["twin"]
    with pytest.raises(ValueError, match="already registered"):
        oracle.add(parse_subscriptions(pa.Table.from_pylist(rows[1:2]), Settings()).rows)


def test_boxes_cover_each_other_only_when_equal() -> None:
    random = np.random.default_rng(0)
    ends = np.sort(random.integers(0, 4, (40, 2, 2)), axis=2).astype(float)
    rows = [{"id": i, "lo": pair[:, 0].tolist(), "hi": pair[:, 1].tolist()} for i, pair in enumerate(ends)]
    oracle = CoverOracle()
    oracle.add(parse_subscriptions(pa.Table.from_pylist(rows), Settings()).rows)
    uncovered = oracle.uncovered()
    for i, pair in enumerate(ends):
        around = [
            j for j, other in enumerate(ends) if (other[:, 0] <= pair[:, 0]).all() and (other[:, 1] >= pair[:, 1]).all()
        ]
        assert oracle.covering(i) == [j for j in around if j != i]
        assert any(j in uncovered for j in around)
