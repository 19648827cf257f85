"""Which links the brokers of a chart have."""

from collections.abc import Callable

from skyband.broker.chart.network_chart import NetworkChart
from skyband.broker.link.links import Links
from skyband.broker.link.tcp_links import TcpLinks


def links_of(chart: NetworkChart, name: str) -> Callable[[int, str], Links]:
    """What makes the links of a broker, given its incarnation and the name of its journal."""
    if chart.nats is None:
        return lambda incarnation, journal: TcpLinks(chart, name, incarnation, journal)
    # Whoever has no NATS needs no client for it.
    from skyband.broker.link.nats.nats_links import NatsLinks

    return lambda incarnation, journal: NatsLinks(chart, name, incarnation, journal)
