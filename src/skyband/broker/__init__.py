"""Brokers as processes: the core of `skyband.overlay` on sockets, with a journal, a port for clients, and a client.

>>> from skyband.broker import make_chart
>>> chart = make_chart({
...     "version": 1, "strategy": "covering", "dims": 2,
...     "brokers": {"berlin": {"address": "127.0.0.1:7400"}, "oslo": {"address": "127.0.0.1:7401"}},
... })
>>> chart.names
('berlin', 'oslo')
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skyband.broker.chart.field import BadChart
    from skyband.broker.chart.load import load_chart, make_chart
    from skyband.broker.chart.network_chart import NetworkChart
    from skyband.broker.client.answer import (
        BrokerPublications,
        BrokerTops,
        ChangesTold,
        DeliveryTold,
        DrainState,
        HomeChange,
        HomeTopEntry,
        LapseTold,
        PublicationRow,
        PublishedRow,
        TopsTold,
    )
    from skyband.broker.client.async_broker_client import AsyncBrokerClient
    from skyband.broker.client.broker_client import BrokerClient
    from skyband.broker.client.problem import BrokerProblem, BrokerRefused, BrokerUnreachable
    from skyband.broker.run import run_broker
    from skyband.broker.running import RunningBroker

_MODULES = {
    "chart.field": ("BadChart",),
    "chart.load": ("load_chart", "make_chart"),
    "chart.network_chart": ("NetworkChart",),
    "client.answer": (
        "BrokerPublications",
        "BrokerTops",
        "ChangesTold",
        "DeliveryTold",
        "DrainState",
        "HomeChange",
        "LapseTold",
        "PublicationRow",
        "PublishedRow",
        "HomeTopEntry",
        "TopsTold",
    ),
    "client.async_broker_client": ("AsyncBrokerClient",),
    "client.broker_client": ("BrokerClient",),
    "client.problem": ("BrokerProblem", "BrokerRefused", "BrokerUnreachable"),
    "run": ("run_broker",),
    "running": ("RunningBroker",),
}
# Imported when first asked for: a client needs no engine.
_HOMES = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "AsyncBrokerClient",
    "BadChart",
    "BrokerClient",
    "BrokerProblem",
    "BrokerPublications",
    "BrokerRefused",
    "BrokerTops",
    "BrokerUnreachable",
    "ChangesTold",
    "DeliveryTold",
    "DrainState",
    "HomeChange",
    "HomeTopEntry",
    "LapseTold",
    "NetworkChart",
    "PublicationRow",
    "PublishedRow",
    "RunningBroker",
    "TopsTold",
    "load_chart",
    "make_chart",
    "run_broker",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"skyband.broker.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'skyband.broker' has no attribute {name!r}")
