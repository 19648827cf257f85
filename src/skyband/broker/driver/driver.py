"""The driver: one loop that hands tasks to the core, and carries out what the core wants done, in order.

Frames and requests wait in one queue. A thread of its own does as many tasks as there are; meanwhile the loop reads and
writes. While the queue is long nothing more is read, so that peers and clients are slowed down and nothing is dropped.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from skyband.broker.chart.network_chart import NetworkChart
from skyband.broker.clock import AHEAD, BrokerClock, machine_time
from skyband.broker.driver.beginning import beginning
from skyband.broker.driver.broker_core import BrokerCore
from skyband.broker.driver.change_ring import ChangeRing
from skyband.broker.driver.naming import id_in
from skyband.broker.driver.outstanding import Outstanding, RequestRefused
from skyband.broker.driver.task import (
    Arrival,
    ClientRequest,
    CoreLook,
    CoreOutcome,
    CoreRing,
    Effect,
    PackedSend,
    Step,
    Task,
)
from skyband.broker.driver.traffic import LinkTraffic
from skyband.broker.driver.way import WayFinder
from skyband.broker.journal.committer import Committer
from skyband.broker.journal.journal import BrokerJournal, KeptRecords, TrimmedRecords, WrittenRecord
from skyband.broker.link.links import Links
from skyband.broker.wire.envelope import Parcel
from skyband.broker.wire.header import BadFrame
from skyband.overlay.broker.broker import Broker
from skyband.overlay.broker.event import (
    Changed,
    Heard,
    Keep,
    Lapsed,
    Refused,
    Resumed,
    Started,
    Sync,
    Synced,
    Tell,
    Timer,
    Trim,
    Write,
)

Got = TypeVar("Got")
MakeLinks = Callable[[int, str], Links]
MOST_QUEUED = 2000
AT_ONCE = 256
POISON_PAUSE = 30.0
MOST_FAILURES, FAILURE_SECONDS = 5, 60.0
LIVE_SECONDS = 60.0

logger = logging.getLogger("skyband.broker")


class BrokerFailed(RuntimeError):
    """The core of a broker fails again and again: what is wrong has been logged."""


class Driver:
    """One broker of a chart, by its name; `make_links` is given its incarnation and the name of its journal."""

    def __init__(self, chart: NetworkChart, name: str, journal: BrokerJournal, make_links: MakeLinks) -> None:
        self.chart, self.place, self.journal = chart, chart.place(name), journal
        self.clock = BrokerClock(lambda: journal.until)
        self.ring, self.traffic = ChangeRing(), LinkTraffic()
        self.outstanding = Outstanding(journal.answers())
        self.failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.began = time.time()
        self.incarnation = 0
        self.links: Links | None = None
        self._make_links = make_links
        self._ways = WayFinder(chart, self.place.number)
        self._loop = asyncio.get_running_loop()
        self._committer = Committer(journal, self._time_may_go_to, self._now_durable)
        self._thread = ThreadPoolExecutor(1, "skyband-core")
        self.core: BrokerCore
        self._generation = 0
        self._tasks: deque[Task] = deque()
        self._work, self._room = asyncio.Event(), asyncio.Event()
        self._room.set()
        self._pump: asyncio.Task[None] | None = None
        self._is_stopping = False
        self._failures: deque[float] = deque(maxlen=MOST_FAILURES)

    async def start(self) -> None:
        """Recover from the journal, begin a new life, and connect."""
        ahead = self.journal.until - machine_time()
        if 0 < ahead <= AHEAD:
            # Time goes on only where the life before was sure to have ended.
            await asyncio.sleep(ahead / 1e6)
        self._committer.start()
        await self._in_thread(self._new_core)
        self._pump = asyncio.create_task(self._keep_pumping())
        async with asyncio.timeout(LIVE_SECONDS):
            self.incarnation = await self._begin_life()
        self.links = self._make_links(self.incarnation, self.journal.name)
        await self.links.start(self)

    async def stop(self) -> bool:
        """Let go of peers, and end when all is durable; false where the disk does not take it."""
        if self.links is not None:
            await self.links.stop()
        self._is_stopping = True
        if self._pump is not None:
            self._pump.cancel()
            await asyncio.gather(self._pump, return_exceptions=True)
        self.outstanding.abandon("The broker stops: try again.")
        is_durable = await self._loop.run_in_executor(None, self._committer.stop)
        self._thread.shutdown()
        self.journal.close()
        return is_durable

    async def ask(self, requests: Sequence[ClientRequest]) -> list[dict[str, Any] | BaseException]:
        """Do what a client wants, in this order; each is answered when it is durable, or by a `RequestRefused`."""
        try:
            await self._admit()
        except RequestRefused as refused:
            return [self.outstanding.answers.get(each.key or "", refused) for each in requests]
        waiting = [asyncio.shield(self._submit(request)) for request in requests]
        return await asyncio.gather(*waiting, return_exceptions=True)

    def _submit(self, request: ClientRequest) -> "asyncio.Future[dict[str, Any]]":
        """Hand a request to the core, unless it was before, under the same key."""
        if request.key is not None:
            known = self.outstanding.answers.get(request.key)
            if known is not None:
                request.done.set_result(known)
                return request.done
            same = self.outstanding.by_key.setdefault(request.key, request)
            if same is not request:
                return same.done
        self._put(Step(request.event, request))
        return request.done

    async def look(self, read: Callable[[Broker], Got]) -> Got:
        """Read something off the core between two events."""
        look = CoreLook(read, self._loop.create_future())
        self._put(look)
        found: Got = await look.done
        return found

    async def look_durably(self, read: Callable[[Broker], Got]) -> Got:
        """The same, answered when all that the core has done before is durable."""
        found = await self.look(read)
        durable: asyncio.Future[None] = self._loop.create_future()
        self._committer.sync(lambda: None if durable.done() else durable.set_result(None))
        await durable
        return found

    @property
    def trouble(self) -> str:
        """Why nothing can be written; empty if it can."""
        return self._committer.trouble

    @property
    def n_queued(self) -> int:
        """How many tasks wait for the core."""
        return len(self._tasks)

    def connected(self, peer: int) -> None:
        """A peer can be reached."""
        logger.info("%s: linked with %s.", self.place.name, self.chart.places[peer].name)

    def disconnected(self, peer: int, why: str) -> None:
        """A peer cannot be reached any more."""
        logger.warning("%s: the link with %s has ended: %s", self.place.name, self.chart.places[peer].name, why)

    async def received(self, peer: int, parcels: Sequence[Parcel]) -> None:
        """Take parcels for this broker, and pass others on; more are read when there is room for them."""
        for parcel in parcels:
            header = parcel.header
            if not self._ways.is_right(peer, header.source, header.target):
                self._bad_parcel(peer, f"It has passed on a frame from {header.source} to {header.target}.")
                return
            if header.target == self.place.number:
                self._put(Arrival(peer, parcel))
            else:
                self._send(header.target, parcel)
        await self._room.wait()

    async def _admit(self) -> None:
        """Wait until there is room for a request of a client; refuse it where there may be none for long."""
        if self.trouble:
            raise RequestRefused(
                f"The journal of {self.place.name} cannot be written ({self.trouble}): nothing is taken until there is "
                "room on its disk.",
                again=True,
            )
        await self._room.wait()
        while len(self.outstanding) >= self.chart.limits.pending or self.is_held_up:
            await asyncio.sleep(0.02)

    @property
    def is_held_up(self) -> bool:
        """Whether clients have to wait for peers."""
        n_delayed = self.core.broker.origin.n_delayed
        return n_delayed >= self.chart.limits.pending or (self.links is not None and self.links.is_slow)

    def _new_core(self) -> None:
        self.core = BrokerCore(self.chart, self.place.number, self.clock)

    async def _begin_life(self) -> int:
        """Start the core with what is in the journal; answers with its incarnation when it is live."""
        records = self.journal.records()
        if not records:
            first = await self._in_thread(lambda: beginning(self.core.broker, self.clock.now()))
            self._committer.put(WrittenRecord(first))
            records = (first,)
        self._put(Step(Started(records)))
        first_kept = await self.look(lambda broker: broker.home.first_kept)
        self.ring.begin(first_kept)
        self._put(Step(Resumed(first_kept)))
        while not await self.look_durably(lambda broker: broker.is_live):
            await asyncio.sleep(0.01)
        return await self.look(lambda broker: broker.sessions.incarnation)

    async def _in_thread(self, call: Callable[[], Got]) -> Got:
        return await self._loop.run_in_executor(self._thread, call)

    def _put(self, task: Task) -> None:
        self._tasks.append(task)
        self._work.set()
        if len(self._tasks) >= MOST_QUEUED:
            self._room.clear()

    async def _keep_pumping(self) -> None:
        try:
            while True:
                await self._work.wait()
                self._work.clear()
                while self._tasks:
                    await self._pump_once()
        except Exception as error:
            logger.exception("%s: the driver has failed.", self.place.name)
            if not self.failed.done():
                self.failed.set_exception(error)

    async def _pump_once(self) -> None:
        tasks = [self._tasks.popleft() for _ in range(min(AT_ONCE, len(self._tasks)))]
        outcomes = await self._in_thread(lambda: self.core.do(tasks))
        for outcome in outcomes:
            self._carry_out(outcome)
        self._tasks.extendleft(reversed(tasks[len(outcomes) :]))
        if len(self._tasks) < MOST_QUEUED // 2:
            self._room.set()
        last = outcomes[-1]
        if last.error is not None and not isinstance(last.error, BadFrame):
            await self._recover(last)
        self.ring.keep_from(self.core.broker.home.first_kept)

    def _carry_out(self, outcome: CoreOutcome) -> None:
        task = outcome.task
        if isinstance(task, CoreLook):
            if task.done.done():
                return
            if outcome.error is None:
                task.done.set_result(outcome.value)
            else:
                task.done.set_exception(RequestRefused(str(outcome.error)))
        elif isinstance(outcome.error, BadFrame) and isinstance(task, Arrival):
            self._bad_parcel(task.peer, str(outcome.error))
        elif outcome.error is None:
            request = task.request if isinstance(task, Step) else None
            record = None if request is None else self.outstanding.stepped(request, outcome.effects)
            for effect in outcome.effects:
                keyed = request if effect is record else None
                self._do(effect, keyed)

    def _do(self, effect: Effect, request: ClientRequest | None) -> None:
        if isinstance(effect, PackedSend):
            self._send(effect.target, effect.parcel)
        elif isinstance(effect, Write):
            key, answer = (None, None) if request is None else (request.key, request.answer)
            self._committer.put(WrittenRecord(effect.record, key, answer))
        elif isinstance(effect, Sync):
            generation, number = self._generation, effect.number
            self._committer.sync(lambda: self._synced(generation, number))
        elif isinstance(effect, Timer):
            self._set_timer(effect)
        elif isinstance(effect, Keep):
            self._committer.put(KeptRecords(effect.n_records))
        elif isinstance(effect, Trim):
            self._committer.put(TrimmedRecords(effect.n_records))
        else:
            self._tell(effect)

    def _send(self, target: int, parcel: Parcel) -> None:
        hop = self._ways.next_hop(target)
        if self.links is not None and self.links.send(hop, parcel):
            self.traffic.note(hop, parcel)

    def _set_timer(self, timer: Timer) -> None:
        generation = self._generation
        seconds = max((timer.at - self.clock.last) / 1e6, 0.001)

        def ring() -> None:
            if generation == self._generation and not self._is_stopping:
                self._put(CoreRing(timer.at, timer.timer))

        self._loop.call_later(seconds, ring)

    def _tell(self, tell: Tell) -> None:
        what = tell.what
        if isinstance(what, Changed):
            self.ring.add(what.first, what.rows)
        elif isinstance(what, Lapsed):
            logger.warning(
                "%s: this home was away for too long: answers from %d to %d may miss %d publications.",
                self.place.name,
                *what,
            )
            self.ring.note({"lapsed": what._asdict()})
        elif isinstance(what, Heard):
            self.ring.note({"heard": {"subscription": id_in(what.subscription), "publication": id_in(what.id)}})
        elif isinstance(what, Refused):
            logger.debug("%s: %s", self.place.name, what.reason)

    def _time_may_go_to(self) -> int:
        return self.clock.last if self._is_stopping else self.clock.ahead()

    def _now_durable(self, then: list[Callable[[], None]]) -> None:
        self._loop.call_soon_threadsafe(lambda: [call() for call in then])

    def _synced(self, generation: int, number: int) -> None:
        if generation == self._generation and not self._is_stopping:
            self.outstanding.synced(number)
            self._put(Step(Synced(number)))

    def _bad_parcel(self, peer: int, why: str) -> None:
        logger.warning("%s: %s sends what no broker sends: %s", self.place.name, self.chart.places[peer].name, why)
        if self.links is not None:
            self.links.counts(peer).n_bad += 1
            self.links.drop(peer, "It sends what no broker sends.", POISON_PAUSE)

    async def _recover(self, outcome: CoreOutcome) -> None:
        """The core has failed: it begins a new life, from its journal, without what has made it fail."""
        task, error = outcome.task, outcome.error
        logger.error("%s: the core has failed, and starts again from its journal.", self.place.name, exc_info=error)
        self._failures.append(time.monotonic())
        if len(self._failures) == MOST_FAILURES and self._failures[-1] - self._failures[0] < FAILURE_SECONDS:
            raise BrokerFailed(f"The core of {self.place.name} has failed {MOST_FAILURES} times in a minute.")
        if isinstance(task, Arrival):
            self._bad_parcel(task.peer, "The core could not take it.")
        elif isinstance(task, Step) and task.request is not None:
            self.outstanding.refuse(task.request, f"The broker cannot do that: {error}")
        self._generation += 1
        self.outstanding.abandon("The broker had to start again: try again.")
        durable: asyncio.Future[None] = self._loop.create_future()
        self._committer.sync(lambda: None if durable.done() else durable.set_result(None))
        await durable
        self._tasks = deque(each for each in self._tasks if not isinstance(each, Step | CoreRing) or _is_asked(each))
        await self._in_thread(self._new_core)
        self._tasks.extendleft([Step(Resumed(self.ring.next)), Step(Started(self.journal.records()))])
        self._work.set()


def _is_asked(task: Task) -> bool:
    return isinstance(task, Step) and task.request is not None
