"""A new version of the chart, broker by broker: with a broker more, and with one less."""

from pathlib import Path

import pytest

from skyband.broker import BrokerClient, NetworkChart, RunningBroker, make_chart
from tests.broker.processes import at, eventually, near
from tests.broker.test_kill import EXACT, ZONES
from tests.broker.threads import document_of, link


class Site:
    """A broker that is stopped and started with one chart or another, and somebody who asks it."""

    def __init__(self, name: str) -> None:
        self.name, self.n_published = name, 0
        self.broker: RunningBroker
        self.client: BrokerClient

    def start(self, chart: NetworkChart) -> None:
        """Start it."""
        self.broker = RunningBroker(chart, self.name).__enter__()
        self.client = BrokerClient(self.broker.address, seconds=60)

    def stop(self) -> None:
        """Stop it."""
        if hasattr(self, "client"):
            self.client.close()
            self.broker.__exit__(None, None, None)
            del self.client

    def is_heard_at(self, other: "Site") -> bool:
        """Publish something; answers whether the top there is of this broker by now."""
        self.n_published += 1
        self.client.publish([at(self.n_published, 1, 1)])
        return any(entry.origin == self.name for entry in other.client.top(["s"]).rows)


@pytest.mark.parametrize("strategy", EXACT)
@pytest.mark.few(2)
def test_a_broker_joins_and_leaves(strategy: str, tmp_path: Path) -> None:
    more = {"strategy": strategy, "zones": ZONES, "horizon": "10s"}
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
        berlin.client.subscribe([near("s", 0, 0, k=1, window=10_000_000)])
        eventually(lambda: oslo.is_heard_at(berlin))
        swap(berlin, second)
        eventually(lambda: "version 1: give it the new one" in link(oslo.broker, "berlin")["trouble"])
        # What is published meanwhile is told when the other one has the new chart.
        berlin.client.publish([at("meanwhile", 0, 0)])
        swap(oslo, second)
        rome.start(second)
        eventually(lambda: rome.is_heard_at(berlin))
        rome.client.subscribe([near("t", 5, 5, window=10_000_000)])
        rome.client.unsubscribe(rome.client.subscriptions())
        eventually(lambda: rome.client.drain().is_free)
        sites.pop().stop()
        swap(berlin, third)
        swap(oslo, third)
        eventually(lambda: oslo.is_heard_at(berlin))
    finally:
        for site in sites:
            site.stop()


def swap(site: Site, chart: NetworkChart) -> None:
    """Stop a broker, and start it with another chart."""
    site.stop()
    site.start(chart)
