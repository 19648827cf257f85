"""The publications of the clients here: durable before they are acknowledged or passed on, and kept while they matter.

A client's row gets the time of its broker. Once that is on the disk, the client hears of it and the strategy takes the
publication, unless frames wait for credit: then it waits as well, so that clients are slowed down and nothing is lost.
A retraction takes the same way, as the same publication with the time at which it was taken back.
"""

from typing import TYPE_CHECKING, Any

from skyband.contract.tops import Id
from skyband.overlay.broker.event import Accepted, Offered, Refused, Retracted, TakenBack
from skyband.overlay.broker.frame import Publication, fields_size
from skyband.overlay.broker.step import NEVER

if TYPE_CHECKING:
    from skyband.overlay.broker.broker import Broker


class Origin:
    """What was published at one broker: `own` by number, and `until` when all of it has gone its way."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self.own: dict[int, Publication] = {}
        self.until = NEVER
        self._last_tick = NEVER
        self.n_published = 0
        self._unsynced: dict[int, Publication] = {}
        self._delayed: list[Publication] = []

    def start(self, now: int) -> None:
        """Nothing from before this life is missing."""
        tick = self._broker.options.tick
        self._last_tick = self.until = now // tick * tick

    def recover(self, number: int, ts: int, row: dict[str, Any], retracted: int | None = None) -> None:
        """A publication that is on the disk."""
        self.n_published = max(self.n_published, number)
        self.own[number] = self._publication(number, row | {"ts": ts})._replace(retracted=retracted)

    def recover_retraction(self, number: int, ts: int) -> None:
        """A retraction that is on the disk, perhaps of what has expired by now."""
        if number in self.own:
            self.own[number] = self.own[number]._replace(retracted=ts)

    def saved(self) -> dict[str, Any]:
        """What may still matter, as plain values; what is not durable yet is on the disk before the checkpoint."""
        kept = self.own | self._unsynced
        own = [(number, each.ts, each.row, each.retracted) for number, each in sorted(kept.items())]
        return {"n": self.n_published, "own": own}

    def restore(self, state: dict[str, Any]) -> None:
        """Take on what was saved."""
        for each in state["own"]:
            self.recover(*each)
        self.n_published = state["n"]

    def offer(self, event: Offered) -> None:
        """A client publishes a row."""
        try:
            publication = self._publication(self.n_published + 1, event.row | {"ts": self._next_time})
        except ValueError as error:
            self._broker.tell(Refused(str(error)))
            return
        self.n_published += 1
        self._unsynced[publication.number] = publication
        self.publish(publication, event.row)

    def publish(self, publication: Publication, row: dict[str, Any]) -> None:
        """Write a publication, and pass it on when it is durable."""
        number, ts = publication.number, publication.ts
        self._broker.write("published", number, ts, row, then=lambda: self._published(publication))

    def retract(self, event: Retracted) -> None:
        """A client takes a publication back."""
        kept = (self.own | self._unsynced).values()
        found = max((each for each in kept if each.spoken.id == event.id), key=lambda each: each.number, default=None)
        reason = self._broker.strategy.reason_against_retractions or self._reason_against(found, event.id)
        if found is None or reason:
            self._broker.tell(Refused(reason))
            return
        retracted = found._replace(retracted=self._next_time)
        self._unsynced[found.number] = retracted
        self._broker.write("retracted", found.number, retracted.retracted, then=lambda: self._retracted(retracted))

    def _reason_against(self, found: Publication | None, id: Id) -> str:
        if found is None:
            return f"The publication {id!r} is not known here: retract it where it was published, before it expires."
        return f"The publication {id!r} was retracted already." if found.retracted is not None else ""

    def _retracted(self, publication: Publication) -> None:
        """A retraction is durable: its client hears of it, and it goes the way of what it takes back."""
        self._broker.tell(TakenBack(publication.number, publication.spoken.id))
        self._go(publication)

    def _published(self, publication: Publication) -> None:
        """A publication is durable: its client hears of it, and it goes its way."""
        self._broker.tell(Accepted(publication.number, publication.spoken.id))
        self._go(publication)

    def _go(self, publication: Publication) -> None:
        number = publication.number
        if self._unsynced.get(number) is publication:
            del self._unsynced[number]
        self.own[number] = publication
        if self._broker.sessions.n_waiting or self._delayed:
            self._delayed.append(publication)
        else:
            self._broker.strategy.published(publication)
        self.note_until()

    @property
    def n_kept(self) -> int:
        """How many publications are kept, or about to be durable."""
        return len(self.own) + len(self._unsynced)

    @property
    def n_durable(self) -> int:
        """How many of the first publications are durable, whether they are still kept or not."""
        waiting = [number for number in self._unsynced if number not in self.own]
        return min(waiting, default=self.n_published + 1) - 1

    def keeps(self, number: int) -> bool:
        """Whether a publication is kept, or about to be durable."""
        return number in self.own or number in self._unsynced

    def numbers_by_id(self) -> dict[Id, int]:
        """The numbers of those by their ids, the last one where there are several."""
        return {each.spoken.id: number for number, each in (self.own | self._unsynced).items()}

    @property
    def n_delayed(self) -> int:
        """How many publications are durable here and wait for credit."""
        return len(self._delayed)

    def pass_on_delayed(self) -> int:
        """What has waited for credit goes its way, as far as there is some; answers how many publications that is."""
        n_before = len(self._delayed)
        while self._delayed and not self._broker.sessions.n_waiting:
            self._broker.strategy.published(self._delayed.pop(0))
        return n_before - len(self._delayed)

    def tick(self, now: int) -> None:
        """A tick has begun: what is older than anybody may need goes."""
        options = self._broker.options
        self._last_tick = now // options.tick * options.tick
        limit = self._broker.retention.kept_since()
        self._broker.retention.give_up(each for each in self.own.values() if each.ts <= limit)
        self.own = {number: each for number, each in self.own.items() if each.ts > limit}

    def note_until(self) -> None:
        """All that was published here up to the last tick is durable and passed on, unless something still waits."""
        waiting = [each.since for each in (*self._unsynced.values(), *self._delayed)]
        if self._last_tick > self.until and all(ts > self._last_tick for ts in waiting):
            self.until = self._last_tick
            self._broker.strategy.told_until()

    @property
    def _next_time(self) -> int:
        """The time of what a client does now: after all ticks that were told of."""
        return max(self._broker.now, self._last_tick + 1)

    def _publication(self, number: int, row: dict[str, Any]) -> Publication:
        spoken = self._broker.routing.spoken(row, self._broker.options.settings)
        return Publication(self._broker.number, number, spoken, row, fields_size(row))
