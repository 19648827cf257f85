"""The simulated network with every frame made into bytes and read again: the very same happens."""

from dataclasses import replace
from typing import Any

import pytest

from skyband.broker.chart.working import ENGINES
from skyband.broker.wire.body import FrameFamily
from skyband.broker.wire.envelope import pack_envelope, unpack_envelope, unpack_parcel
from skyband.contract import FAMILIES
from skyband.overlay.broker.event import Offered, Retracted, Send
from skyband.overlay.simulate.run import drawn
from skyband.overlay.simulate.scenario import Request, Scenario, ScenarioShape
from skyband.overlay.simulate.world import BrokerWorld
from skyband.overlay.strategy import STRATEGIES

SHAPE = ScenarioShape(n_brokers=4, n_subscriptions=4, n_publications=30, seconds=10)


class WiredWorld(BrokerWorld):
    """A world whose envelopes travel as bytes."""

    def __init__(self, scenario: Scenario) -> None:
        options, n = scenario.options, scenario.options.chart.n_brokers
        self.family = FrameFamily(FAMILIES[options.family].routing, options.settings, tuple(map(str, range(n))))
        self.kinds: set[str] = set()
        super().__init__(scenario)

    def _send(self, source: int, effect: Send) -> None:
        packed = pack_envelope(effect.target, effect.envelope).packed
        read = unpack_envelope(unpack_parcel(packed), self.family)
        self.kinds.add(type(read.frame).__name__)
        super()._send(source, Send(effect.target, read))


def named(request: Request) -> Request:
    """A request for a publication that is named by its broker."""
    what: Any = request.what
    if isinstance(what, Offered):
        return request._replace(what=Offered(what.row | {"id": f"{request.broker}/{what.row['id']}"}))
    if isinstance(what, Retracted):
        return request._replace(what=Retracted(f"{request.broker}/{what.id}"))
    return request


@pytest.mark.parametrize("family", ["window", "geotext"])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_frames_survive_the_wire(strategy: str, family: str) -> None:
    scenario = drawn(strategy, 3, SHAPE, family=family, engine=ENGINES.get(family, "scan"))
    scenario = replace(scenario, requests=tuple(map(named, scenario.requests)))
    plain, wired = BrokerWorld(scenario).run(), WiredWorld(scenario)
    wired.run()
    assert wired.digest == plain.digest
    assert "PublicationFrame" in wired.kinds or "Forwarded" in wired.kinds
