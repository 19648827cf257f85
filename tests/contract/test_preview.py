"""Preview: the tops that subscriptions would have are those that they get, and nothing else changes."""

from typing import Any

import pytest

import skyband
from skyband.contract import engines
from skyband.contract.family import FAMILIES

EXACT = [kind for kind in engines() if kind.exact and FAMILIES[kind.family].answers_stand]
WINDOW_ROWS = [{"id": i, "ts": i, "point": [float(i * 7 % 5)]} for i in range(12)]
ROWS: dict[str, tuple[list[dict[str, Any]], list[dict[str, Any]], list[dict[str, Any]]]] = {
    "window": (
        [{"id": "old", "k": 2, "score": "euclidean", "point": [1.0]}],
        WINDOW_ROWS,
        [{"id": "new", "k": 3, "score": "euclidean", "point": [2.0]}, {"id": "more", "k": 1, "score": "euclidean",
                                                                       "point": [9.0]}],
    ),
    "geotext": (
        [{"id": "old", "k": 2, "x": 0.5, "y": 0.5, "terms": ["a"], "alpha": 0.5}],
        [{"id": i, "ts": i, "x": i / 12, "y": 0.5, "terms": ["ab"[i % 2]], "weights": [1.0]} for i in range(12)],
        [{"id": "new", "k": 3, "x": 0.1, "y": 0.5, "terms": ["b"], "alpha": 0.5}],
    ),
    "ranges": (
        [{"id": "old", "k": 2, "lo": 0, "hi": 5}],
        [{"id": i, "ts": i, "object": i % 5, "x": float(i), "y": float(i * 7 % 11)} for i in range(12)],
        [{"id": "new", "k": 2, "lo": 3, "hi": 9}],
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", EXACT, ids=lambda kind: f"{kind.family}-{kind.name}")
def test_a_preview_is_the_top_that_follows(kind: Any) -> None:
    old, publications, new = ROWS[kind.family]
    with skyband.open(kind.family, kind.name) as engine:
        engine.subscribe(old)
        engine.publish(publications)
        before = engine.counters, engine.top(), engine.n_subscriptions
        told = engine.preview(new)
        assert (engine.counters, engine.top(), engine.n_subscriptions) == before
        assert told.num_rows
        engine.subscribe(new)
        assert told.to_pylist() == engine.top([row["id"] for row in new]).to_pylist()


def test_a_preview_may_have_an_id_that_is_registered() -> None:
    old, publications, _ = ROWS["window"]
    engine = skyband.open("window")
    engine.subscribe(old)
    engine.publish(publications)
    assert engine.preview([old[0] | {"k": 1}]).num_rows == 1
    assert engine.preview(old).to_pylist() == engine.top().to_pylist()


def test_a_preview_without_publications_is_empty() -> None:
    for family, (_, _, new) in ROWS.items():
        assert skyband.open(family).preview(new).num_rows == 0


def test_a_family_without_standing_answers_has_no_preview() -> None:
    with pytest.raises(ValueError, match="keeps no publications"):
        skyband.open("ranked").preview({"id": "ann", "lo": [0], "hi": [1]})
