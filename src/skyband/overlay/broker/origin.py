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
        # By id the latest publication that has it.
        self._numbers: dict[Id, int] = {}

    def start(self, now: int) -> None:
        """Nothing from before this life is missing."""
        tick = self._broker.options.tick
        self._last_tick = self.until = now // tick * tick

    def recover(self, number: int, ts: int, row: dict[str, Any], retracted: int | None = None) -> None:
        """A publication that is on the disk."""
        self.n_published = max(self.n_published, number)
        self.own[number] = publication = self._publication(number, row | {"ts": ts})._replace(retracted=retracted)
        self._numbers[publication.spoken.id] = number

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
            self._check_id(publication)
            spoken = publication.spoken
            self._broker.strategy.check_dims(f"The publication {spoken.id!r}", len(spoken.place))
        except ValueError as error:
            self._broker.tell(Refused(str(error)))
            return
        self.n_published += 1
        self._unsynced[publication.number] = publication
        self._numbers[publication.spoken.id] = publication.number
        self.publish(publication, event.row)

    def publish(self, publication: Publication, row: dict[str, Any]) -> None:
        """Write a publication, and pass it on when it is durable."""
        number, ts = publication.number, publication.ts
        self._broker.write("published", number, ts, row, then=lambda: self._published(publication))

    def retract(self, event: Retracted) -> None:
        """A client takes a publication back."""
        found = self._latest(event.id)
        reason = self._broker.strategy.reason_against_retractions or self._reason_against(found, event.id)
        if found is None or reason:
            self._broker.tell(Refused(reason))
            return
        retracted = found._replace(retracted=self._next_time)
        self._unsynced[found.number] = retracted
        self._broker.write("retracted", found.number, retracted.retracted, then=lambda: self._retracted(retracted))

    def _latest(self, id: Id) -> Publication | None:
        """The last publication with an id, if it is kept."""
        number = self._numbers.get(id, 0)
        return self._unsynced.get(number) or self.own.get(number)

    def _check_id(self, publication: Publication) -> None:
        before = self._latest(publication.spoken.id)
        horizon = self._broker.options.horizon
        if before is not None and before.retracted is None and before.ts > publication.ts - horizon:
            raise ValueError(
                f"The publication {publication.spoken.id!r} is live already: retract it first, or take another id."
            )

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
    def n_durable(self) -> int:
        """How many of the first publications are durable, whether they are still kept or not."""
        waiting = [number for number in self._unsynced if number not in self.own]
        return min(waiting, default=self.n_published + 1) - 1

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
        if any(each.ts <= limit for each in self.own.values()):
            self.own = {number: each for number, each in self.own.items() if each.ts > limit}
            kept = (*self.own.values(), *self._unsynced.values())
            self._numbers = {each.spoken.id: each.number for each in sorted(kept, key=lambda each: each.number)}

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
