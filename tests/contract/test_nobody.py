"""Verbs about nobody and nothing, at any time: they answer with nothing, and nothing is other than before."""

from collections.abc import Callable
from typing import Any

import pytest

import skyband
from skyband.contract import AnyEngine, engines

Row = dict[str, Any]

ASKED: dict[str, list[Row]] = {
    "window": [{"id": f"s{i}", "k": 2, "score": "euclidean", "point": [float(i), 0.0]} for i in range(3)],
    "geotext": [
        {"id": f"s{i}", "k": 2, "x": 0.2 * i, "y": 0.1, "alpha": 0.5, "terms": ["a"], "weights": [1.0]}
        for i in range(3)
    ],
    "ranges": [{"id": f"s{i}", "k": 2, "lo": float(i) - 1.5, "hi": float(i)} for i in range(3)],
    "ranked": [{"id": f"s{i}", "lo": [float(i), 0.0], "hi": [4.0, 2.0], "weights": [1.0, 2.0]} for i in range(3)],
}
SAID: dict[str, list[Row]] = {
    "window": [{"id": i, "ts": i, "point": [float(i), 1.0]} for i in range(4)],
    "geotext": [{"id": i, "ts": i, "x": 0.2 * i, "y": 0.2, "terms": ["a"], "weights": [1.0]} for i in range(4)],
    "ranges": [{"id": i, "ts": i, "object": i, "x": float(i), "y": float(-i)} for i in range(4)],
    "ranked": [{"id": i, "ts": i, "point": [float(i), 1.0]} for i in range(4)],
}


def nothing(engine: AnyEngine) -> None:
    """Every verb that can be about nobody; unknown ids are collected as rejects."""
    calls: list[Callable[[], Any]] = [
        lambda: engine.subscribe([]),
        lambda: engine.unsubscribe([]),
        lambda: engine.unsubscribe(["nobody"]),
        lambda: engine.publish([]),
    ]
    if "k" in ASKED[engine.family][0]:
        calls += [lambda: engine.resize([], 3), lambda: engine.resize(["nobody"], 3)]
    for call in calls:
        assert call().num_rows == 0


def answers(kind: type[AnyEngine], between: Callable[[AnyEngine], None]) -> list[Any]:
    """What an engine answers to a few rows, with something in between each two verbs."""
    engine = skyband.open(kind.family, kind.name, on_error="collect")
    said, asked = SAID[kind.family], ASKED[kind.family]
    told: list[Any] = []
    between(engine)
    for verb, rows in ((engine.publish, said[:2]), (engine.subscribe, asked[:2]), (engine.publish, said[2:])):
        told += verb(rows).to_pylist()
        between(engine)
    told += engine.unsubscribe([asked[0]["id"]]).to_pylist()
    between(engine)
    told += engine.subscribe(asked[2:]).to_pylist()
    between(engine)
    return told


@pytest.mark.parametrize("kind", engines(), ids=lambda kind: f"{kind.family}-{kind.name}")
def test_verbs_about_nobody_change_nothing(kind: type[AnyEngine]) -> None:
    assert answers(kind, nothing) == answers(kind, lambda engine: None)


def test_where_objects_are_is_known_after_a_resize_of_nobody() -> None:
    """The ranges of nobody have no dimensions, and must not let objects forget theirs."""
    engine = skyband.open("ranges", "scan", on_error="collect")
    engine.publish([{"id": 1, "ts": 1, "object": "o", "x": 1.0, "y": 0.0}])
    engine.resize(["nobody"], 1)
    assert engine.subscribe([{"id": "ann", "k": 1, "lo": -1.0, "hi": 0.0}]).num_rows == 0
    assert engine.subscribe([{"id": "bob", "k": 1, "lo": 0.5, "hi": 1.0}]).num_rows == 1
