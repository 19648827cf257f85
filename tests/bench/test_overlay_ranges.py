"""Figures of the ranges paper in a network that runs: bytes are those of what was sent, and lists are looked at."""

import numpy as np
import pytest

from skyband.bench import BENCHMARKS, Row
from skyband.bench.overlay_ranges import RangesNetwork, asked_of, place_of, run_network
from skyband.bench.ranges_data import DENSE, RELAX, UNICAST, Approach, make_world
from skyband.bench.runner import WrongAnswer
from skyband.bench.suite.overlay import JOURNEYS
from skyband.overlay.network.link_world import PUBLISHING
from skyband.overlay.network.paint_server import RankedObject

HEAD, MESSAGE, POINT = 29, 60, 44
"""The bytes of a bundle without messages, of a message to a box, and of one to a point."""
TOY = JOURNEYS["toy"]


@pytest.fixture(scope="module")
def rows() -> dict[tuple[str, int], Row]:
    """The rows of a toy run."""
    return {(row["algorithm"], row["parameters"]["k"]): row for row in run_network(TOY, lambda said: None)}


def test_every_approach_travels_for_every_k(rows: dict[tuple[str, int], Row]) -> None:
    assert sorted(rows) == sorted((approach.label, k) for k in TOY.ks for approach in TOY.approaches)
    for (label, _), row in rows.items():
        measures = row["measures"]
        unit = 16 if label == "Unicast" else 24
        assert measures["overlay_bytes"] == pytest.approx(unit * measures["messages"])
        assert measures["ip_sent"] >= measures["overlay_sent"] > measures["overlay_bytes"] > 0.0
        assert (measures["way_overlay"] == 0.0) == (label == "CN-Relax")
    assert rows["CN-Relax", 1]["measures"] == rows["CN-Relax", 3]["measures"]
    assert rows["Paint-Sparse", 3]["measures"]["messages"] <= rows["Paint-Dense", 3]["measures"]["messages"]


@pytest.mark.parametrize(
    ("approach", "size"), [(DENSE, MESSAGE), (RELAX, MESSAGE), (UNICAST, POINT)], ids=["dense", "relax", "unicast"]
)
def test_bytes_are_those_of_bundles_and_messages(approach: Approach, size: int) -> None:
    world = make_world(TOY.setting)
    network = RangesNetwork(world, place_of(world, TOY), asked_of(world, 3), approach)
    for number in range(TOY.setting.n_events):
        tally = network.change(number)
        bundles, messages = tally.parcels[PUBLISHING].total(), tally.messages.total()
        assert tally.n_bytes[PUBLISHING].total() == HEAD * bundles + size * messages


def test_a_wrong_list_is_not_let_through() -> None:
    world = make_world(TOY.setting)
    asked = asked_of(world, 3)
    RangesNetwork(world, place_of(world, TOY), asked, DENSE).require_right_lists(0)
    crowded = int(np.argmax([len(top) for top in asked.tops.values()]))
    wrong = asked._replace(tops=asked.tops | {crowded: [RankedObject(0, -1.0)]})
    with pytest.raises(WrongAnswer, match=f"subscription {crowded} is wrong"):
        RangesNetwork(world, place_of(world, TOY), wrong, DENSE).require_right_lists(0)


def test_the_file_of_stocks_is_for_larger_sizes() -> None:
    figure = BENCHMARKS["overlay-figure17"]
    assert [journey.real for journey in figure.sweep(JOURNEYS["toy"])] == [False]
    assert [journey.real for journey in figure.sweep(JOURNEYS["full"])] == [True]
    assert all(not journey.setting.n_events % journey.setting.batch for journey in JOURNEYS.values())
