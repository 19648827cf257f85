"""The scheduler: one queue of what happens when, in an order that depends on nothing but the scenario.

Brokers are the very ones that run elsewhere. The world carries their effects out: it delivers envelopes late, twice or
not at all, syncs disks after a while, rings timers, stops brokers in the middle of what they do and starts them again,
and notes what clients are told.
"""

import gc
import heapq
import random
import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

from skyband.contract.tops import Id
from skyband.overlay.broker.broker import TICK, Broker
from skyband.overlay.broker.event import (
    Accepted,
    Changed,
    Effect,
    Happening,
    Heard,
    Keep,
    Offered,
    Rang,
    Received,
    Refused,
    Resumed,
    Send,
    Started,
    Subscribed,
    Sync,
    Synced,
    Taken,
    Tell,
    Timer,
    Told,
    Write,
)
from skyband.overlay.broker.frame import Envelope, Frame
from skyband.overlay.broker.options import BrokerOptions
from skyband.overlay.simulate.disk import Disk
from skyband.overlay.simulate.scenario import Crash, Request, Scenario
from skyband.overlay.simulate.tally import MessageTally

MakeBroker = Callable[[int, BrokerOptions], Broker]
RETRY = 250_000
GARBAGE = 100_000


class Clients(NamedTuple):
    """What the clients of one broker were told; publications that were accepted have their numbers."""

    changes: list[tuple[int, tuple[Any, ...]]]
    accepted: dict[Id, int]
    taken: dict[Id, None]
    refused: list[str]
    heard: list[tuple[Id, Id]]


class Sending(NamedTuple):
    """A frame as a broker has sent it, whether it arrives or not."""

    at: int
    source: int
    target: int
    frame: Frame


class _Done(NamedTuple):
    """A disk is done with a sync."""

    number: int
    n_records: int


class _Again(NamedTuple):
    """A client looks whether its subscription was taken."""

    request: Request


class BrokerWorld:
    """Runs a scenario. `watch` is called after every event, with the world and the broker that it happened to.

    `digest` is the checksum of a line for each event, the same for the same scenario anywhere; `keep_trace` keeps the
    lines. Without bytes and digests it runs faster.
    """

    def __init__(
        self,
        scenario: Scenario,
        make: MakeBroker = Broker,
        watch: "Callable[[BrokerWorld, Broker], None] | None" = None,
        keep_trace: bool = False,
        with_bytes: bool = True,
        digests: bool = True,
    ) -> None:
        self.scenario, self.now = scenario, 0
        self.trace: list[str] = []
        self.sent: list[Sending] = []
        self.digest = 0
        self.n_events = 0
        # Options that no broker can follow are an error of who gave them.
        make(0, scenario.options)
        n = scenario.options.chart.n_brokers
        self.disks = [Disk() for _ in range(n)]
        self.audiences = [Clients([], {}, {}, [], []) for _ in range(n)]
        self.brokers: list[Broker | None] = [None] * n
        self.tally = MessageTally(with_bytes)
        self._make, self._watch, self._keep_trace, self._digests = make, watch, keep_trace, digests
        self._chance = random.Random(scenario.seed * 7919 + 1)
        self._queue: list[tuple[int, int, int, Any, int]] = []
        self._n_queued = 0
        self._lives = [0] * n
        self._n_syncs = 0
        self._at_sync = {crash.at: crash for crash in scenario.crashes if crash.at_sync}

    def run(self) -> "BrokerWorld":
        """Let everything happen up to the end of the scenario."""
        for broker in range(len(self.brokers)):
            self._put(0, broker, "start")
        for request in self.scenario.requests:
            self._put(request.at, request.broker, request)
        for crash in self.scenario.crashes:
            if not crash.at_sync:
                self._put(crash.at, crash.broker, crash)
        # What a run makes lives long: to look through it for garbage as often as usual takes a fifth of the time.
        usual = gc.get_threshold()
        gc.set_threshold(GARBAGE, *usual[1:])
        try:
            self._go_on()
        finally:
            gc.set_threshold(*usual)
        return self

    def _go_on(self) -> None:
        look = 0
        while self._queue and self._queue[0][0] <= self.scenario.until:
            if self.now >= look:
                if self.is_settled():
                    break
                # Not a whole tick, so that it is looked at while no tick has just begun.
                look = self.now + self.scenario.options.tick * 3 // 7
            self.now, _, number, what, life = heapq.heappop(self._queue)
            if life < 0 or life == self._lives[number]:
                self._happen(number, what)

    def is_settled(self) -> bool:
        """Whether all brokers are up, and have come to the time at which the scenario may end."""
        if self.now < self.scenario.settled:
            return False
        if any(broker is None or not broker.is_synced for broker in self.brokers):
            return False
        homes = [broker.home for broker in self.brokers if broker is not None and broker.by_watermark]
        return all(home.applied >= self.scenario.settled for home in homes if home.subscriptions)

    def broker(self, number: int) -> Broker:
        """A broker that is up."""
        found = self.brokers[number]
        if found is None:
            raise ValueError(f"Broker {number} is down.")
        return found

    def _put(self, at: int, broker: int, what: Any, life: int = -1) -> None:
        self._n_queued += 1
        heapq.heappush(self._queue, (at, self._n_queued, broker, what, life))

    def _happen(self, number: int, what: Any) -> None:
        broker = self.brokers[number]
        if isinstance(what, Envelope):
            if broker is not None:
                self._step(broker, Received(what))
        elif isinstance(what, Request):
            self._request(broker, what)
        elif isinstance(what, Crash):
            if broker is not None:
                self._stop(broker, what)
        elif what == "start":
            self._start(number)
        elif isinstance(what, _Again):
            self._again(broker, what.request)
        elif broker is not None:
            if isinstance(what, _Done):
                self.disks[number].sync(what.n_records)
                what = Synced(what.number)
            self._step(broker, what)

    def _request(self, broker: Broker | None, request: Request) -> None:
        """A client whose broker is down, or has only just started, tries again."""
        if broker is None or not broker.is_live:
            self._put(self.now + RETRY, request.broker, request)
            return
        self._step(broker, request.what)
        if isinstance(request.what, Subscribed):
            self._put(self.now + 8 * RETRY, request.broker, _Again(request))

    def _again(self, broker: Broker | None, request: Request) -> None:
        assert isinstance(request.what, Subscribed)
        if request.what.row["id"] not in self.audiences[request.broker].taken:
            self._request(broker, request)

    def _start(self, number: int) -> None:
        broker = self.brokers[number] = self._make(number, self.scenario.options)
        self._lives[number] += 1
        self._step(broker, Started(tuple(self.disks[number].records)))
        if self.brokers[number] is broker:
            self._step(broker, Resumed(len(self.audiences[number].changes)))

    def _stop(self, broker: Broker, crash: Crash) -> None:
        number = broker.number
        self.disks[number].crash(self._chance)
        self.brokers[number] = None
        self._lives[number] += 1
        self._note(f"{self.now} {number} crash")
        self._put(self.now + crash.downtime, number, "start")

    def _step(self, broker: Broker, event: Happening) -> None:
        self.n_events += 1
        effects = broker.step(self.now, event)
        if self._keep_trace or self._digests:
            self._note(f"{self.now} {broker.number} {_shown(event)}")
        for effect in effects:
            crash = self._carry_out(broker, effect)
            if crash is not None:
                self._stop(broker, crash)
                return
        if self._watch is not None:
            self._watch(self, broker)

    def _carry_out(self, broker: Broker, effect: Effect) -> Crash | None:
        number = broker.number
        if isinstance(effect, Send):
            self._send(number, effect)
        elif isinstance(effect, Timer):
            self._put(effect.at, number, Rang(effect.timer), self._lives[number])
        elif isinstance(effect, Write):
            self.disks[number].write(effect.record)
        elif isinstance(effect, Sync):
            return self._sync(number, effect)
        elif isinstance(effect, Tell):
            self._tell(number, effect.what)
        elif isinstance(effect, Keep):
            self.disks[number].keep(effect.n_records)
        return None

    def _sync(self, number: int, effect: Sync) -> Crash | None:
        disk = self.disks[number]
        self._n_syncs += 1
        crash = self._at_sync.pop(self._n_syncs, None)
        if crash is not None and crash.durable:
            disk.sync(len(disk.records))
        if crash is None:
            done = _Done(effect.number, len(disk.records))
            self._put(self.now + self.scenario.weather.sync_delay, number, done, self._lives[number])
        return crash

    def _send(self, source: int, effect: Send) -> None:
        weather, chance = self.scenario.weather, self._chance
        self.tally.note(effect.target, effect.envelope)
        if self._keep_trace and effect.envelope.frame is not None:
            self.sent.append(Sending(self.now, source, effect.target, effect.envelope.frame))
        if weather.partitions and any(
            cut.since <= self.now < cut.until and (source in cut.side) != (effect.target in cut.side)
            for cut in weather.partitions
        ):
            return
        n_copies = 1 if not weather.lost or chance.random() >= weather.lost else 0
        if weather.repeated and chance.random() < weather.repeated:
            n_copies += 1
        for _ in range(n_copies):
            delay = weather.least_delay
            if delay < weather.most_delay:
                delay = chance.randint(delay, weather.most_delay)
            delay *= weather.slow.get((source, effect.target), 1) if weather.slow else 1
            self._put(self.now + delay, effect.target, effect.envelope)

    def _tell(self, number: int, what: Told) -> None:
        audience = self.audiences[number]
        if isinstance(what, Changed):
            audience.changes.extend(enumerate(what.rows, what.first))
        elif isinstance(what, Accepted):
            audience.accepted[what.id] = what.number
        elif isinstance(what, Taken):
            audience.taken[what.id] = None
        elif isinstance(what, Refused):
            audience.refused.append(what.reason)
        elif isinstance(what, Heard):
            audience.heard.append((what.subscription, what.id))
        if self._keep_trace or self._digests:
            self._note(f"{self.now} {number} tells {what}")

    def _note(self, line: str) -> None:
        self.digest = zlib.crc32(line.encode(), self.digest)
        if self._keep_trace:
            self.trace.append(line)


def _shown(event: Happening) -> str:
    """An event in a line."""
    if isinstance(event, Received):
        envelope = event.envelope
        frame = envelope.frame
        name = "nothing" if frame is None else type(frame).__name__.lower()
        what = getattr(getattr(frame, "publication", None), "key", "") or getattr(frame, "until", "")
        return (
            f"gets {name} {what} from {envelope.source}.{envelope.incarnation} lane {envelope.lane}.{envelope.number}"
        )
    if isinstance(event, Offered | Subscribed):
        return f"is asked to {'publish' if isinstance(event, Offered) else 'subscribe'} {event.row}"
    if isinstance(event, Started):
        return f"starts with {len(event.records)} records"
    return str(event)


def last_tick(world: BrokerWorld) -> int:
    """The last tick of a run."""
    tick = world.scenario.options.tick
    return world.now // tick * tick


__all__ = ["TICK", "BrokerWorld", "Clients", "last_tick"]
