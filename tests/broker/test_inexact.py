"""Strategies that may lose answers: they run, and what they find comes to the subscriber."""

from pathlib import Path

import pytest

from skyband.broker import DeliveryTold, TopsTold
from tests.broker.processes import at, eventually, near
from tests.broker.test_kill import ZONES
from tests.broker.threads import asking, chart_of, link, running

NAMES = ("berlin", "oslo", "rome")


@pytest.mark.parametrize("strategy", ["basic-gossiping", "informed-gossiping"])
def test_gossip_gets_to_neighbours(strategy: str, tmp_path: Path) -> None:
    chart = chart_of(tmp_path, NAMES, strategy=strategy, options={"fan_out": 2, "rounds": 3})
    with running(chart, *NAMES) as (berlin, oslo, rome), asking(berlin) as here, asking(rome) as there:
        eventually(lambda: link(berlin, "rome")["is_connected"] and link(oslo, "berlin")["is_connected"])
        here.subscribe([near("s", 0, 0, k=1)])
        # What was published before a neighbour was met is lost with gossip.
        published = iter(range(1, 10_000))

        def arrives() -> bool:
            there.publish([at(next(published), 1, 1)])
            return bool(here.top().rows)

        eventually(arrives)
        assert here.top().rows[0].origin == "rome"


def test_rendezvous_tells_of_deliveries(tmp_path: Path) -> None:
    chart = chart_of(tmp_path, NAMES, strategy="rendezvous", zones=ZONES)
    with running(chart, *NAMES) as (berlin, *_), asking(berlin) as here:
        eventually(lambda: all(each["is_connected"] for each in here.status()["links"]))
        here.subscribe([near(f"s{i}", 5 * i, 5 * i, k=1) for i in range(3)])
        events = here.follow()
        assert isinstance(next(events), TopsTold)
        for i in range(3):
            here.publish([at(i, 5 * i, 5 * i)])
        found = set()
        for event in events:
            if isinstance(event, DeliveryTold):
                found.add(event.subscription)
            if isinstance(event, DeliveryTold) or here.top().rows:
                break
        events.close()
        assert found or here.top().rows
