"""Brokers whose updates of gates are dropped, sent twice, or sent late: which may cost traffic, and never an answer.

Only updates that ask for less are meddled with. What asks for more is a request, for which its sender waits.
"""

import random
from typing import NamedTuple

from skyband.overlay.broker.broker import Broker
from skyband.overlay.broker.event import Effect, Happening
from skyband.overlay.broker.frame import UPDATING, Frame, Proxy, Withdraw
from skyband.overlay.broker.options import BrokerOptions
from skyband.overlay.simulate.world import MakeBroker

MOST_COPIES = 2
LATEST = 3
"""So many ticks an update may be late."""


class LateUpdate(NamedTuple):
    """An update that is kept for a while."""

    at: int
    peer: int
    lane: int
    frame: Proxy


class Meddler:
    """Stands between a broker and its sessions."""

    def __init__(self, broker: Broker) -> None:
        self._broker, self._late = broker, list[LateUpdate]()
        self._chance = random.Random(broker.options.seed * 31 + broker.number)
        self._send, self._step = broker.sessions.send, broker.step
        broker.sessions.send = self.send  # type: ignore[method-assign]  # of this broker alone
        broker.step = self.step  # type: ignore[method-assign]  # of this broker alone

    def step(self, now: int, event: Happening) -> list[Effect]:
        """Take an event; what is late goes its way with the first one that comes late enough."""
        due = [late for late in self._late if late.at <= now]
        self._late = [late for late in self._late if late.at > now]
        effects = self._step(now, event)
        for late in due:
            self._send(late.peer, late.lane, late.frame)
        return effects

    def send(self, peer: int, lane: int, frame: Frame) -> None:
        """Send a frame, or do with it what else may happen."""
        if isinstance(frame, Withdraw):
            self._late = [late for late in self._late if (late.peer, late.frame.asked.id) != (peer, frame.id)]
        if not isinstance(frame, Proxy) or frame.column != UPDATING or self._broker.strategy.waits_for(frame):
            self._send(peer, lane, frame)
            return
        n_copies = self._chance.randrange(MOST_COPIES + 2)
        if n_copies > MOST_COPIES:
            at = self._broker.now + self._chance.randrange(1, LATEST * self._broker.options.tick)
            self._late.append(LateUpdate(at, peer, lane, frame))
        for _ in range(n_copies if n_copies <= MOST_COPIES else 0):
            self._send(peer, lane, frame)


def meddled(make: MakeBroker = Broker) -> MakeBroker:
    """Brokers that are right in everything but their updates of gates."""

    def made(number: int, options: BrokerOptions) -> Broker:
        broker = make(number, options)
        Meddler(broker)
        return broker

    return made
