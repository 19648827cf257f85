"""Loads: one, and how often a sample of publications reaches a subscription."""

import math
from typing import Any
from unittest import mock

import numpy as np
import pytest

from skyband.table import Settings
from skyband.zoning import load
from tests.zoning import world
from tests.zoning.world import Row


def loads(family: str, asked: list[Row], said: list[Row], settings: Settings) -> list[float]:
    subscriptions = world.subscriptions_of(family, asked, settings)
    found: list[float] = load.loads(family, subscriptions, world.publications_of(family, said, settings)).tolist()
    return found


def test_words_that_are_said_often_cost_more() -> None:
    place = {"x": 0.0, "y": 0.0}
    asked: list[Row] = [{"k": 1, "alpha": 0.5, "terms": terms, **place} for terms in (["a"], ["b"], ["a", "b"], ["c"])]
    said: list[Row] = [
        {"terms": ["a", "b"], "weights": [0.6, 0.8], **place},
        {"terms": ["a"], "weights": [1.0], **place},
    ]
    assert loads("geotext", asked, said, Settings()) == [3.0, 2.0, 4.0, 1.0]
    assert loads("geotext", asked, said[:0], Settings()) == [1.0] * 4
    assert loads("geotext", asked, [{"terms": [], "weights": [], **place}], Settings()) == [1.0] * 4


def test_points_that_match_or_would_enter_cost() -> None:
    said: list[Row] = [{"point": [float(x), 0.0]} for x in range(10)]
    boolean: dict[str, Any] = {"point": [0.0, 0.0]}
    asked: list[Row] = [
        boolean | {"score": "euclidean", "threshold": 3.0},
        boolean | {"score": "chebyshev", "threshold": 3.0, "weights": [0.5, 1.0]},
        {"score": "sum", "weights": [1.0, 5.0], "threshold": 7.5},
        {"score": "cosine", "weights": [1.0, 0.0], "threshold": 0.9},
        {"score": "sum", "weights": [1.0, 0.0], "k": 1},
        {"score": "sum", "weights": [1.0, 0.0], "k": 50},
    ]
    expected = [5.0, 8.0, 3.0, 10.0, 2.0 + math.log(10.0), 11.0]
    assert loads("window", asked, said, Settings()) == pytest.approx(expected)
    with mock.patch.multiple(load, MOST_COMPARED=5):
        assert loads("window", asked[:1], said, Settings()) == [1.0 + 2 * 2]


def test_events_in_a_range_cost() -> None:
    said: list[Row] = [{"object": i, "x": [float(i), 0.0], "y": 0.0} for i in range(10)]
    said.append({"object": 3, "x": None, "y": None})
    asked: list[Row] = [
        {"k": 1, "lo": [2.0, 0.0], "hi": [4.0, 0.0]},
        {"k": 1, "lo": [2.0, 0.5], "hi": [4.0, 0.5]},
        {"k": 1, "lo": [-math.inf, -math.inf], "hi": [math.inf, math.inf]},
    ]
    assert loads("ranges", asked, said, world.settings_of("ranges")) == [4.0, 1.0, 11.0]


def test_parts_that_are_met_cost() -> None:
    said: list[Row] = [
        {"point": [1.0, None, None]},
        {"point": [0.0, 5.0, None], "upper": [2.0, 6.0, None]},
        {"point": [None, 7.0, None]},
    ]
    asked: list[Row] = [
        {"dims": [0], "lo": [1.5], "hi": [3.0]},
        {"dims": [0, 1], "lo": [1.0, 6.0], "hi": [1.0, 7.0]},
        {"dims": [2], "lo": [0.0], "hi": [9.0]},
        {"dims": [2], "lo": [None], "hi": [None], "weights": [1.0]},
    ]
    assert loads("ranked", asked, said, world.settings_of("ranked")) == [2.0, 5.0, 1.0, 4.0]
    narrow = world.publications_of("ranked", [{"point": [1.0]}], Settings(dims=1))
    wide = world.subscriptions_of("ranked", asked, world.settings_of("ranked"))
    assert load.loads("ranked", wide, narrow).tolist() == [1.0, 2.0, 1.0, 2.0]


def test_many_rows_are_compared_in_chunks() -> None:
    random = np.random.default_rng(6)
    said: list[Row] = [{"object": i, "x": x, "y": 0.0} for i, x in enumerate(random.random((50, 2)).tolist())]
    asked: list[Row] = [{"k": 1, "lo": [0.0, 0.0], "hi": hi} for hi in random.random((40, 2)).tolist()]
    whole = loads("ranges", asked, said, world.settings_of("ranges"))
    with mock.patch.multiple(load, _CHUNK=700):
        assert loads("ranges", asked, said, world.settings_of("ranges")) == whole
