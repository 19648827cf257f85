"""How brokers read rows: scores to the last bit as the oracles have them, and bounds that nothing in a box beats."""

import random
from typing import Any

import numpy as np
import pytest

from skyband.contract import FAMILIES, find_engine
from skyband.covering.region import contains
from skyband.covering.routed import RoutedFamily
from skyband.overlay.broker.zone_map import ZoneMap
from skyband.overlay.simulate.scenario import FamilyDraw, MessageDraw
from skyband.table import Rejected, Settings, Window
from skyband.topk.oracle import ContinuousOracle

DRAWS = {"window": FamilyDraw(), "geotext": MessageDraw()}
SETTINGS = Settings()


def routing(family: str) -> RoutedFamily:
    found = FAMILIES[family].routing
    assert isinstance(found, RoutedFamily)
    return found


@pytest.mark.parametrize("family", DRAWS)
def test_scores_are_those_of_the_oracle(family: str) -> None:
    chance, draw, its = random.Random(1), DRAWS[family], routing(family)
    oracle = find_engine(family, "oracle")(Settings(window=Window.time(1000)))
    assert isinstance(oracle, ContinuousOracle)
    asked = [draw.subscription(chance, id, 100) for id in range(30)]
    rows = [{"id": id, "ts": 1} | draw.content(chance) for id in range(30)]
    oracle.subscribe(asked)
    oracle.publish(rows)
    for row in asked:
        routed = its.subscription(row, SETTINGS)
        question = oracle._questions[row["id"]]
        assert (routed.k, routed.window, routed.threshold) == (question.k, question.size, question.threshold)
        assert routed.ascending == question.ascending
        for said in rows:
            spoken = its.spoken(said, SETTINGS)
            assert routed.score(spoken.content) == oracle._score(question, oracle._live[said["id"]].content)


@pytest.mark.parametrize("family", DRAWS)
def test_no_publication_of_a_zone_is_better_than_its_bound(family: str) -> None:
    chance, draw, its = random.Random(2), DRAWS[family], routing(family)
    zones = ZoneMap(np.array([draw.place(chance) for _ in range(50)]), 9)
    said = [its.spoken({"id": id, "ts": 1} | draw.content(chance), SETTINGS) for id in range(60)]
    for id in range(40):
        routed = its.subscription(draw.subscription(chance, id, 100), SETTINGS)
        bests = zones.bests(routed)
        assert bests.tolist() == [routed.best(*box) for box in zip(zones.low, zones.high, strict=True)]
        for spoken in said:
            score, best = routed.score(spoken.content), bests[zones.zone_of(spoken.place)]
            assert score is None or not routed.narrower(score, best)
            assert score is None or zones.zone_of(spoken.place) in zones.reached(routed, score)
        assert zones.reached(routed, routed.open_gate) == list(range(9))


def test_what_passes_a_gate_is_in_the_region_of_it() -> None:
    """So that covering, which compares regions, stands for what gates let in."""
    chance, draw, its = random.Random(3), DRAWS["window"], routing("window")
    for id in range(30):
        routed = its.subscription(draw.subscription(chance, id, 100) | {"k": 2}, SETTINGS)
        narrow, wide = sorted((chance.random() * 9, chance.random() * 9), reverse=not routed.ascending)
        inner, outer = routed.region(narrow), routed.region(wide)
        assert inner is not None
        assert outer is not None
        assert contains(outer, np.array([0]), inner, np.array([0])).all()


def test_zones_take_places_with_any_number_of_coordinates() -> None:
    chance = np.random.default_rng(4)
    for dims in (1, 2, 3, 4):
        sample = chance.random((100, dims))
        zones = ZoneMap(sample, 8)
        for place in sample[:20].tolist():
            zone = zones.zone_of(tuple(place))
            assert (zones.low[zone] <= place).all()
            assert (place < zones.high[zone]).all()


@pytest.mark.parametrize("wrong", [{"k": 0}, {"score": "euclid"}])
def test_a_bad_subscription_is_refused_with_its_reason(wrong: dict[str, Any]) -> None:
    row = {"id": 1, "k": 1, "score": "euclidean", "point": [1.0]} | wrong
    with pytest.raises(Rejected, match="must be"):
        routing("window").subscription(row, SETTINGS)


def test_a_count_window_is_told() -> None:
    row = {"id": 1, "k": 1, "score": "euclidean", "point": [1.0], "window_n": 5}
    assert routing("window").subscription(row, SETTINGS).counts


def test_points_of_other_dimensions_have_no_score() -> None:
    routed = routing("window").subscription({"id": 1, "k": 1, "score": "euclidean", "point": [1.0, 2.0]}, SETTINGS)
    assert routed.score((1.0,)) is None
    assert not routed.passes(None, routed.open_gate)
