"""Brokers of zones and the links between them: seeded delays, each link in order, and all bytes counted.

A link hands over what was put into it in its order, each parcel after a delay of its own; nothing is known of the order
between two links. A link opens when it is first used.
"""

import heapq
import random
import zlib
from collections import Counter
from collections.abc import Callable, Sequence

from skyband.overlay.network.parcel import Bundle, ChangeReport, Parcel, unpack
from skyband.overlay.network.zone_broker import ZoneBroker
from skyband.overlay.network.zone_event import Arrived, Pass, ZoneEffect, ZoneEvent

PUBLISHING, REPORTING, MANAGING = "publishing", "reporting", "managing"
COLUMNS = (PUBLISHING, REPORTING, MANAGING)
"""What parcels are counted under: bundles, changes on their way to the server, and what is about zones and the rest."""
SLOWER = 10


Link = tuple[int, int]


class LinkTally:
    """What went over links, by what it was about and by link: parcels, bytes, and messages in bundles."""

    def __init__(self) -> None:
        self.parcels: dict[str, Counter[Link]] = {column: Counter() for column in COLUMNS}
        self.n_bytes: dict[str, Counter[Link]] = {column: Counter() for column in COLUMNS}
        self.messages: Counter[Link] = Counter()

    def note(self, source: int, target: int, parcel: Parcel, size: int) -> None:
        """A broker has put a parcel into a link."""
        if isinstance(parcel, Bundle):
            column = PUBLISHING
            self.messages[source, target] += len(parcel.rows.y)
        else:
            column = REPORTING if isinstance(parcel, ChangeReport) else MANAGING
        self.parcels[column][source, target] += 1
        self.n_bytes[column][source, target] += size


Watch = Callable[["LinkWorld", ZoneBroker, Sequence[ZoneEffect]], None]


class LinkWorld:
    """Lets things happen to brokers, in an order that depends on nothing but the seed.

    A parcel takes between `delays`, and ten times as long on a link that is slow, which a share of them is. `watch` is
    called after each step. `digest` is the checksum of all that was sent and when.
    """

    def __init__(
        self,
        brokers: dict[int, ZoneBroker],
        seed: int = 0,
        delays: tuple[int, int] = (1, 1_000),
        slow: float = 0.0,
        watch: Watch | None = None,
        make: Callable[..., ZoneBroker] = ZoneBroker,
    ) -> None:
        self.brokers, self.now, self.digest = brokers, 0, 0
        self.tally = LinkTally()
        self._delays, self._slow, self._watch, self._make = delays, slow, watch, make
        self._seed, self._chance = seed, random.Random(seed)
        self._queue: list[tuple[int, int, int, ZoneEvent]] = []
        self._dims = next(iter(brokers.values())).dims
        self._last: dict[tuple[int, int], int] = {}
        self._n_queued = 0

    def ask(self, at: int, broker: int, event: ZoneEvent) -> None:
        """Let something happen at a broker at a time."""
        self._n_queued += 1
        heapq.heappush(self._queue, (at, self._n_queued, broker, event))

    def run(self) -> "LinkWorld":
        """Let everything happen until all is quiet."""
        while self._queue:
            self.now, _, number, event = heapq.heappop(self._queue)
            self._happen(number, event)
        return self

    def happen(self, number: int, event: ZoneEvent) -> None:
        """Let something happen at once, and all that follows from it."""
        self.ask(self.now, number, event)
        self.run()

    def _happen(self, number: int, event: ZoneEvent) -> None:
        broker = self.brokers.get(number)
        if broker is None:
            broker = self.brokers[number] = self._make(number, self._dims)
        effects = broker.step(self.now, event)
        for effect in effects:
            if isinstance(effect, Pass):
                self._carry(number, effect)
        if self._watch is not None:
            self._watch(self, broker, effects)

    def _carry(self, source: int, effect: Pass) -> None:
        link = source, effect.target
        at = max(self.now + self.delay(link), self._last.get(link, 0))
        self._last[link] = at
        self.tally.note(*link, unpack(effect.data), len(effect.data))
        self.digest = zlib.crc32(f"{at} {link}".encode() + effect.data, self.digest)
        self.ask(at, effect.target, Arrived(source, effect.data))

    def delay(self, link: tuple[int, int]) -> int:
        """How long the next parcel takes over a link, if nothing before it takes longer."""
        delay = self._chance.randint(*self._delays)
        return delay * SLOWER if random.Random(f"{self._seed} {link}").random() < self._slow else delay
