"""A new version of the chart, broker by broker: with a broker more, and with one less."""

from pathlib import Path
from typing import Any

import pytest

from skyband.broker import BrokerClient, NetworkChart, RunningBroker, make_chart
from tests.broker.processes import at, eventually, near
from tests.broker.test_kill import EXACT, ZONES
from tests.broker.threads import document_of, link


class Site:
    """A broker that is stopped and started with one chart or another, and somebody who asks it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.broker: RunningBroker
        self.client: BrokerClient

    def start(self, chart: NetworkChart) -> None:
        """Start it."""
        self.broker = RunningBroker(chart, self.name).__enter__()
        self.client = BrokerClient(self.broker.address, seconds=60)

    def stop(self) -> None:
        """Stop it."""
        self.client.close()
        self.broker.__exit__(None, None, None)

    def tops(self) -> list[Any]:
        """What is in the tops of its subscriptions."""
        return [(entry.subscription, entry.publication) for entry in self.client.top().rows]


@pytest.mark.parametrize("strategy", EXACT)
def test_a_broker_joins_and_leaves(strategy: str, tmp_path: Path) -> None:
    more = {"strategy": strategy, "zones": ZONES, "horizon": "4s"}
    three = document_of(("berlin", "oslo", "rome"), **more)
    two = three | {"brokers": {name: three["brokers"][name] for name in ("berlin", "oslo")}}
    first, second, third = (
        make_chart(document | {"version": version}, tmp_path)
        for version, document in enumerate((two, three, two), start=1)
    )
    berlin, oslo, rome = sites = [Site(name) for name in ("berlin", "oslo", "rome")]
    try:
        berlin.start(first)
        oslo.start(first)
        berlin.client.subscribe([near("s", 0, 0, k=1, window=4_000_000)])
        oslo.client.publish([at(1, 1, 1)])
        eventually(lambda: ("s", 1) in berlin.tops())

        berlin.stop()
        berlin.start(second)
        said = eventually(lambda: link(oslo.broker, "berlin")["trouble"] if oslo.name == "oslo" else "")
        assert "version" in said or "hung up" in said
        eventually(lambda: "oslo version 1: give it the new one" in " ".join(_said(berlin)))
        # It is told to all when the last one has the new chart.
        berlin.client.publish([at(2, 0, 0)])
        oslo.stop()
        oslo.start(second)
        rome.start(second)
        rome.client.publish([at(3, 0, 0)])
        eventually(lambda: ("s", 3) in berlin.tops())

        rome.client.subscribe([near("t", 5, 5, window=4_000_000)])
        rome.client.unsubscribe(rome.client.subscriptions())
        eventually(lambda: rome.client.drain().is_free)
        for site in sites:
            site.stop()
        berlin.start(third)
        oslo.start(third)
        oslo.client.publish([at(4, 0, 0)])
        eventually(lambda: ("s", 4) in berlin.tops())
        sites = [berlin, oslo]
    finally:
        for site in sites:
            if hasattr(site, "client"):
                site.stop()


def _said(site: Site) -> list[str]:
    links: Any = site.broker.driver.links
    return list(links.said.values())
