"""Brokers in threads of the test, which start in no time."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from skyband.broker import BrokerClient, NetworkChart, RunningBroker, make_chart
from tests.broker.processes import FAST, free_ports


def chart_of(folder: Path, names: tuple[str, ...] = ("berlin", "oslo"), **more: Any) -> NetworkChart:
    """A chart of brokers on this machine."""
    return make_chart(document_of(names, **more), folder)


def document_of(names: tuple[str, ...] = ("berlin", "oslo"), **more: Any) -> dict[str, Any]:
    """The same as a document."""
    ports = free_ports(len(names))
    places = {
        name: {"address": f"127.0.0.1:{port}", "clients": "127.0.0.1:0", "operations": "127.0.0.1:0"}
        for name, port in zip(names, ports, strict=True)
    }
    return {"version": 1, "brokers": places, "strategy": "covering", "dims": 2} | FAST | more


@contextlib.contextmanager
def running(chart: NetworkChart, *names: str) -> Iterator[list[RunningBroker]]:
    """Some brokers of a chart."""
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(RunningBroker(chart, name)) for name in names]


@contextlib.contextmanager
def asking(broker: RunningBroker, seconds: float = 60.0, **more: Any) -> Iterator[BrokerClient]:
    """A client of a broker."""
    with BrokerClient(broker.address, seconds=seconds, **more) as client:
        yield client


def link(broker: RunningBroker, peer: str) -> dict[str, Any]:
    """How a broker sees its link with a peer."""
    with asking(broker) as client:
        return next(each for each in client.status()["links"] if each["peer"] == peer)
