"""The server: it paints in the order in which changes come, and answers first tops from the objects alone."""

import numpy as np
import pytest

import skyband
from skyband.overlay.network.gateway import point_of
from skyband.overlay.network.paint_server import PaintServer, RankedObject, Sighting
from skyband.ranges.server import PaintPlan
from tests.overlay.network.world import PLANS, draw_change, draw_row


@pytest.mark.parametrize("plan", PLANS)
def test_first_tops_are_those_of_the_oracle(plan: str) -> None:
    random, server = np.random.default_rng(3), PaintServer(PLANS[plan])
    oracle = skyband.open("ranges", "oracle")
    for i in range(80):
        change = draw_change(random)
        oracle.publish([change | {"id": i, "ts": i}])
        server.change(Sighting(i, change["object"], (change["x"],), change["y"]))
        row = draw_row(random, i)
        oracle.subscribe([row])
        wanted = [RankedObject(top["publication"], top["score"]) for top in oracle.top([i]).to_pylist()]
        assert server.enter(i, row["k"], point_of(row))
        assert server.top(row["k"], point_of(row)) == wanted
        if i % 3 == 0:
            server.quit(i)
        server.check()
    assert server.event == 80


def test_what_is_older_than_what_is_known_has_no_place_in_the_order() -> None:
    server = PaintServer()
    server.enter(1, 1, np.array([0.0, 9.0]))
    assert server.change(Sighting(5, "tea", (1.0,), 1.0)) is not None
    assert server.change(Sighting(4, "tea", (1.0,), 2.0)) is None
    assert server.event == 1
    assert server.top(1, np.array([0.0, 9.0])) == [RankedObject("tea", 1.0)]


def test_one_that_was_given_up_before_it_came_is_not_taken() -> None:
    server = PaintServer()
    server.quit(7)
    assert not server.enter(7, 1, np.array([0.0, 9.0]))
    assert server.n_subscriptions == 0
    assert server.enter(7, 1, np.array([0.0, 9.0]))
    assert server.n_subscriptions == 1


@pytest.mark.parametrize("algorithm", ["sparse", "unicast"])
def test_boxes_of_two_dimensions(algorithm: str) -> None:
    plan = PaintPlan("unicast") if algorithm == "unicast" else PaintPlan()
    server = PaintServer(plan, dims=2)
    server.enter(1, 1, point_of({"lo": [0.0, 0.0], "hi": [2.0, 2.0]}))
    rows = server.change(Sighting(1, "tea", (1.0, 1.0), 3.0))
    assert rows is not None
    assert rows.low.shape == (1, 4)
    assert rows.y.tolist() == [3.0]
    server.check()


def test_dense_is_for_one_dimension() -> None:
    with pytest.raises(ValueError, match="sparse or unicast"):
        PaintServer(PaintPlan("dense"), dims=2)
