"""The scheduler: one queue of what happens when, in an order that depends on nothing but the scenario.

Brokers are the very ones that run elsewhere. The world carries their effects out: it delivers envelopes late, twice or
not at all, syncs disks after a while, rings timers, stops brokers in the middle of what they do and starts them again,
and notes what clients are told.
"""

import gc
import heapq
import random
import zlib
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from skyband.overlay.broker.broker import Broker
from skyband.overlay.broker.event import (
    Draining,
    Happening,
    Keep,
    Rang,
    Received,
    Resumed,
    Send,
    Started,
    Subscribed,
    Sync,
    Synced,
    Tell,
    Timer,
    Trim,
    Unsubscribed,
    Write,
)
from skyband.overlay.broker.frame import Frame
from skyband.overlay.broker.options import BrokerOptions
from skyband.overlay.simulate.clients import Clients
from skyband.overlay.simulate.disk import Disk
from skyband.overlay.simulate.scenario import Crash, Request, Scenario, Switch
from skyband.overlay.simulate.tally import MessageTally
from skyband.overlay.simulate.trace import shown

MakeBroker = Callable[[int, BrokerOptions], Broker]
RETRY = 250_000
GARBAGE = 100_000


class Sending(NamedTuple):
    """A frame as a broker has sent it, whether it arrives or not."""

    at: int
    source: int
    target: int
    frame: Frame


class _Done(NamedTuple):
    """A disk is done with a sync."""

    number: int
    n_written: int


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
        self._options = [scenario.options] * scenario.options.chart.n_brokers
        n = max([len(self._options), *(switch.options.chart.n_brokers for switch in scenario.switches)])
        self._options += [scenario.options] * (n - len(self._options))
        self.members = range(scenario.options.chart.n_brokers)
        self._n_switched = 0
        self.disks = [Disk() for _ in range(n)]
        self.audiences = [Clients() for _ in range(n)]
        self.brokers: list[Broker | None] = [None] * n
        self.tally = MessageTally(with_bytes)
        self._make, self._watch, self._keep_trace, self._digests = make, watch, keep_trace, digests
        self._chance = random.Random(scenario.seed * 7919 + 1)
        # What clients do comes in the order of time, and before what else is due at the same time.
        self._requests = iter(scenario.requests)
        self._next: Request | None = None
        self._queue: list[tuple[int, int, int, Any, int]] = []
        self._n_queued = 0
        self._lives = [0] * n
        self.n_syncs = 0
        # From this time on nobody is cut off any more.
        self._whole = max((cut.until for cut in scenario.weather.partitions), default=0)
        self._at_sync = {crash.at: crash for crash in scenario.crashes if crash.at_sync}
        self._carriers: dict[type[Any], Callable[[int, Any], Crash | None]] = {
            Send: self._send,
            Timer: self._set,
            Write: self._write,
            Sync: self._sync,
            Tell: self._tell,
            Keep: self._keep,
            Trim: self._trim,
        }

    def run(self, requests: Iterable[Request] | None = None) -> "BrokerWorld":
        """Let everything happen up to the end of the scenario.

        `requests`, in the order of time, stand for those of the scenario: more of them than there is room for can be
        drawn as they are needed.
        """
        if requests is not None:
            self._requests = iter(requests)
        for broker in self.members:
            self._put(0, broker, "start")
        for switch in self.scenario.switches:
            self._put(switch.at, 0, switch)
        n_starts = self._n_queued
        self._next = next(self._requests, None)
        for crash in self.scenario.crashes:
            if not crash.at_sync:
                self._put(crash.at, crash.broker, crash)
        # What a run makes lives long: to look through it for garbage as often as usual takes a fifth of the time.
        usual = gc.get_threshold()
        gc.set_threshold(GARBAGE, *usual[1:])
        try:
            self._go_on(n_starts)
        finally:
            gc.set_threshold(*usual)
        return self

    def _go_on(self, n_starts: int) -> None:
        look, queue, until = 0, self._queue, self.scenario.until
        while queue and queue[0][0] <= until:
            if self.now >= look:
                if self.is_settled():
                    break
                # Not a whole tick, so that it is looked at while no tick has just begun.
                look = self.now + self.scenario.options.tick * 3 // 7
            request = self._next
            if request is not None and request.at <= queue[0][0] and queue[0][1] > n_starts:
                self._next, self.now = next(self._requests, None), request.at
                self._request(self.brokers[request.broker], request)
                continue
            self.now, _, number, what, life = heapq.heappop(queue)
            if life < 0 or life == self._lives[number]:
                self._happen(number, what)

    def is_settled(self) -> bool:
        """Whether all brokers are up, and have come to the time at which the scenario may end."""
        if self.now < self.scenario.settled:
            return False
        if any(broker is None or not broker.is_synced for broker in map(self.brokers.__getitem__, self.members)):
            return False
        if self._n_switched < len(self.scenario.switches):
            return False
        brokers = [broker for broker in self.brokers if broker is not None]
        times = [broker.home.applied for broker in brokers if broker.home.subscriptions]
        if self.scenario.options.mode == "eager":
            # What comes between two ticks is answered between them, where gates are not looked at.
            return all(broker.is_quiet for broker in brokers) and all(
                at % self.scenario.options.tick == 0 for at in times
            )
        return all(at >= self.scenario.settled for at in times)

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
        if isinstance(what, Received):
            if broker is not None:
                self._step(broker, what)
        elif isinstance(what, Request):
            self._request(broker, what)
        elif isinstance(what, Crash):
            if broker is not None:
                self._stop(broker, what)
        elif what == "start":
            if number in self.members:
                self._start(number)
        elif what == "switched":
            self._n_switched += 1
        elif isinstance(what, Switch):
            self._switch(what)
        elif isinstance(what, _Again):
            self._again(broker, what.request)
        elif broker is not None:
            if isinstance(what, _Done):
                self.disks[number].sync(what.n_written)
                what = Synced(what.number)
            self._step(broker, what)

    def _request(self, broker: Broker | None, request: Request) -> None:
        """A client whose broker is down, or has only just started, tries again."""
        if request.broker not in self.members and self.audiences[request.broker].may_leave:
            return
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

    def _switch(self, switch: Switch) -> None:
        """Give all brokers other options, once those that leave are drained."""
        leaving = [number for number in self.members if number >= switch.options.chart.n_brokers]
        for number in leaving:
            self._drain(number)
        if all(self.audiences[number].may_leave for number in leaving):
            known, self.members = self.members, range(switch.options.chart.n_brokers)
            self._put(self.now + len(self.brokers) * switch.lag, 0, "switched")
            for number in (*self.members, *leaving):
                self._options[number] = switch.options
                self._put(self.now + number * switch.lag, number, Crash(self.now, number, switch.lag // 4))
                if number not in known:
                    self._put(self.now + number * switch.lag, number, "start")
        else:
            self._put(self.now + 4 * RETRY, 0, switch)

    def _drain(self, number: int) -> None:
        """Clients of a broker that leaves withdraw their subscriptions, and it is asked whether it may go."""
        broker = self.brokers[number]
        if broker is not None and broker.is_live:
            for id in list(broker.registrations.known):
                self._step(broker, Unsubscribed(id))
            self._step(broker, Draining())

    def _start(self, number: int) -> None:
        broker = self.brokers[number] = self._make(number, self._options[number])
        self._lives[number] += 1
        self._step(broker, Started(tuple(self.disks[number].records)))
        if self.brokers[number] is broker:
            self._step(broker, Resumed(len(self.audiences[number].changes)))

    def _stop(self, broker: Broker, crash: Crash) -> None:
        number = broker.number
        self.disks[number].crash(self._chance, crash.unsynced)
        self.brokers[number] = None
        self._lives[number] += 1
        self._note(f"{self.now} {number} crash")
        self._put(self.now + crash.downtime, number, "start")

    def _step(self, broker: Broker, event: Happening) -> None:
        self.n_events += 1
        effects = broker.step(self.now, event)
        if self._keep_trace or self._digests:
            self._note(f"{self.now} {broker.number} {shown(event)}")
        number, carriers = broker.number, self._carriers
        for effect in effects:
            crash = carriers[type(effect)](number, effect)
            if crash is not None:
                self._stop(broker, crash)
                return
        if self._watch is not None:
            self._watch(self, broker)

    def _set(self, number: int, effect: Timer) -> None:
        self._put(effect.at, number, Rang(effect.timer), self._lives[number])

    def _write(self, number: int, effect: Write) -> None:
        self.disks[number].write(effect.record)

    def _keep(self, number: int, effect: Keep) -> None:
        self.disks[number].keep(effect.n_records)

    def _trim(self, number: int, effect: Trim) -> None:
        self.disks[number].trim(effect.n_records)

    def _sync(self, number: int, effect: Sync) -> Crash | None:
        disk = self.disks[number]
        self.n_syncs += 1
        crash = self._at_sync.pop(self.n_syncs, None)
        if crash is not None and crash.durable:
            disk.sync(disk.n_written)
        if crash is None:
            done = _Done(effect.number, disk.n_written)
            self._put(self.now + self.scenario.weather.sync_delay, number, done, self._lives[number])
        return crash

    def _send(self, source: int, effect: Send) -> None:
        weather, chance = self.scenario.weather, self._chance
        self.tally.note(effect.target, effect.envelope)
        if self._keep_trace and effect.envelope.frame is not None:
            self.sent.append(Sending(self.now, source, effect.target, effect.envelope.frame))
        if self.now < self._whole and any(
            cut.since <= self.now < cut.until and (source in cut.side) != (effect.target in cut.side)
            for cut in weather.partitions
        ):
            return
        n_copies = 1 if not weather.lost or chance.random() >= weather.lost else 0
        if weather.repeated and chance.random() < weather.repeated:
            n_copies += 1
        for _ in range(n_copies):
            delay = weather.least_delay + below(chance, weather.most_delay - weather.least_delay + 1)
            delay *= weather.slow.get((source, effect.target), 1) if weather.slow else 1
            self._put(self.now + delay, effect.target, Received(effect.envelope))

    def _tell(self, number: int, effect: Tell) -> None:
        self.audiences[number].hear(effect.what)
        if self._keep_trace or self._digests:
            self._note(f"{self.now} {number} tells {effect.what}")

    def _note(self, line: str) -> None:
        self.digest = zlib.crc32(line.encode(), self.digest)
        if self._keep_trace:
            self.trace.append(line)


def below(chance: random.Random, n: int) -> int:
    """A number from 0 to n - 1, the very one that `randrange` draws, which takes five times as long to ask for it."""
    n_bits = n.bit_length()
    drawn = chance.getrandbits(n_bits) if n > 1 else 0
    while drawn >= n:
        drawn = chance.getrandbits(n_bits)
    return drawn


def last_tick(world: BrokerWorld) -> int:
    """The last tick of a run."""
    tick = world.scenario.options.tick
    return world.now // tick * tick
