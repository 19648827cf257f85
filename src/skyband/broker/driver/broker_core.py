"""The core of a broker as its driver has it: tasks in, outcomes out, off the loop, with frames packed and read there.

Whatever a peer has sent is judged before the core sees it. An error in the core is never passed over: what it knows may
be half changed by then, so that it has to be started again from its journal.
"""

from collections.abc import Iterable

from skyband.broker.chart.network_chart import NetworkChart
from skyband.broker.clock import BrokerClock
from skyband.broker.driver.task import Arrival, CoreLook, CoreOutcome, CoreRing, Effect, PackedSend, Task
from skyband.broker.wire.envelope import Parcel, pack_envelope, unpack_envelope
from skyband.broker.wire.header import BadFrame
from skyband.overlay.broker.broker import Broker
from skyband.overlay.broker.event import Happening, Rang, Received, Send, Timer
from skyband.overlay.broker.frame import CONTROL, Envelope

MOST_AHEAD = 200_000
"""So many frames may come before one that they wait for, in the lane that needs no credit."""


class BrokerCore:
    """A core, and the clock by which it is stepped."""

    def __init__(self, chart: NetworkChart, number: int, clock: BrokerClock) -> None:
        self.broker = Broker(number, chart.options)
        self._family, self._clock = chart.frame_family, clock
        self._credit = chart.options.credit

    def do(self, tasks: Iterable[Task]) -> list[CoreOutcome]:
        """Do tasks in their order, up to the first one that breaks the core, which is the last outcome."""
        outcomes = []
        for task in tasks:
            outcome = self._do(task)
            outcomes.append(outcome)
            if outcome.error is not None and not isinstance(outcome.error, BadFrame):
                break
        return outcomes

    def _do(self, task: Task) -> CoreOutcome:
        try:
            if isinstance(task, CoreLook):
                return CoreOutcome(task, [], task.read(self.broker))
            if isinstance(task, Arrival):
                return CoreOutcome(task, self._receive(task.parcel))
            if isinstance(task, CoreRing):
                return CoreOutcome(task, self._ring(task))
            return CoreOutcome(task, self._step(task.event))
        except Exception as error:  # whatever it is, the driver decides what becomes of it
            return CoreOutcome(task, [], error=error)

    def _receive(self, parcel: Parcel) -> list[Effect]:
        envelope = unpack_envelope(parcel, self._family)
        return self._step(Received(envelope)) if self._is_in_reach(envelope) else []

    def _is_in_reach(self, envelope: Envelope) -> bool:
        """Whether a frame is not farther ahead than a peer that keeps to its credit can be."""
        if envelope.frame is None or envelope.chart != self.broker.sessions.chart:
            return True
        lane = self.broker.sessions.session(envelope.source).lanes[envelope.lane]
        most = MOST_AHEAD if envelope.lane == CONTROL else self._credit
        return envelope.number <= lane.n_taken + most

    def _ring(self, task: CoreRing) -> list[Effect]:
        if self._clock.now() < task.at:
            return [Timer(task.at, task.timer)]
        return self._step(Rang(task.timer))

    def _step(self, event: Happening) -> list[Effect]:
        effects = self.broker.step(self._clock.now(), event)
        return [_packed(effect) if isinstance(effect, Send) else effect for effect in effects]


def _packed(send: Send) -> PackedSend:
    return PackedSend(send.target, pack_envelope(send.target, send.envelope))
