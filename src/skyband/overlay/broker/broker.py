"""The core of a broker: events in, effects out, and nothing else.

`step` takes what has happened and answers with what is to be done, in this order of care: what a client publishes or
asks for is written and synced before it is acknowledged or passed on; a step of the engine here is synced before its
changes are told; what comes from another life is dropped. Which way publications and subscriptions go is the
strategy's.
"""

from collections.abc import Callable
from typing import Any

from skyband.contract import FAMILIES
from skyband.contract.tops import Id
from skyband.covering.routed import RoutedFamily, RoutedSubscription
from skyband.overlay.broker.event import (
    Accepted,
    Changed,
    Effect,
    Happening,
    Keep,
    Offered,
    Rang,
    Received,
    Refused,
    Resumed,
    Started,
    Subscribed,
    Sync,
    Synced,
    Taken,
    Tell,
    Timer,
    Told,
    Unsubscribed,
    Write,
)
from skyband.overlay.broker.frame import Frame, Publication, fields_size
from skyband.overlay.broker.home import Home, HomeStep, rows_of
from skyband.overlay.broker.options import BrokerOptions
from skyband.overlay.broker.record import pack_record, whole_records
from skyband.overlay.broker.session import BEAT, Sessions

TICK = "tick"
MOST_CELLS = 100_000
_NEVER = -(1 << 62)


class Broker:
    """One member of the network, by its number in the chart."""

    def __init__(self, number: int, options: BrokerOptions) -> None:
        from skyband.overlay.strategy import strategy_named

        self.number, self.options, self.now = number, options, 0
        self.routing: RoutedFamily = FAMILIES[options.family].routing
        if self.routing is None:
            raise ValueError(f"Subscriptions of the family {options.family} cannot be routed; take window or geotext.")
        self.sessions = Sessions(
            number, options.chart.version, self._take_frame, self._opened, options.credit, options.beat
        )
        self.home = Home(
            options.family, options.engine, options.settings, options.horizon, dict(options.engine_options)
        )
        self.clients: dict[Id, RoutedSubscription] = {}
        self.own: dict[int, Publication] = {}
        self.own_until = _NEVER
        self._last_tick = _NEVER
        self._n_published = 0
        self._n_syncs = 0
        self._at_sync: dict[int, Callable[[], None]] = {}
        self._unsynced: dict[int, int] = {}
        self._arrived: list[Publication] = []
        self._handed: list[dict[str, Any]] = []
        self._keys: list[tuple[int, int]] = []
        self._begins: list[tuple[RoutedSubscription, int | None]] = []
        self._ends: list[Id] = []
        self.is_live = False
        self._delayed: list[Publication] = []
        self.strategy = strategy_named(options.strategy)(self)
        self.sessions.relays = self.strategy.relays
        self._handlers: dict[type[Any], Callable[[Any], None]] = {
            Started: self._start,
            Offered: self._offer,
            Subscribed: self._want,
            Unsubscribed: self._unwant,
            Resumed: self._resume,
            Received: self._receive,
            Rang: self._ring,
            Synced: self._synced,
        }

    def step(self, now: int, event: Happening) -> list[Effect]:
        """Take one event at a time that never goes back; answers with what is to be done, in order."""
        self.now = self.sessions.now = now
        self.sessions.effects = []
        if self.is_live or isinstance(event, Started | Synced | Resumed):
            self._handlers[type(event)](event)
            self.strategy.finish()
            self._close()
        elif isinstance(event, Offered | Subscribed | Unsubscribed):
            self.tell(Refused("The broker has only just started: try again."))
        return self.sessions.effects

    @property
    def by_watermark(self) -> bool:
        """Whether answers wait until all is known that they may need."""
        return self.options.mode == "watermark"

    @property
    def is_synced(self) -> bool:
        """Whether all that was written is durable."""
        return not self._at_sync

    def do(self, effect: Effect) -> None:
        """Add an effect of the present step."""
        self.sessions.effects.append(effect)

    def tell(self, what: Told) -> None:
        """Say something to the clients here."""
        self.do(Tell(what))

    def write(self, kind: str, *fields: Any, then: Callable[[], None]) -> None:
        """Write a record, and do something when it is durable."""
        self._n_syncs += 1
        self._at_sync[self._n_syncs] = then
        self.do(Write(pack_record(kind, *fields)))
        self.do(Sync(self._n_syncs))

    # What happens.

    def _start(self, event: Started) -> None:
        records = self.whole(event.records)
        if len(records) < len(event.records):
            self.do(Keep(len(records)))
        lives = 1 + sum(record[0] == "life" for record in records)
        for record in records:
            self._recover(record)
        self.write("life", lives, then=lambda: self._live(lives))

    def whole(self, records: tuple[bytes, ...]) -> list[list[Any]]:
        """The records that can be relied on."""
        return whole_records(records)

    def _live(self, lives: int) -> None:
        """Begin to talk, as nobody will mistake this life for an earlier one."""
        self.is_live = True
        self._last_tick = self.own_until = self.now // self.options.tick * self.options.tick
        self.home.applied = max(self.home.applied, self.own_until if not self.home.begun else _NEVER)
        self.sessions.start(lives, range(self.options.chart.n_brokers))
        self._set_tick()
        self.strategy.started()
        self._ends = sorted(self.home.begun - self.clients.keys(), key=str)
        for asked in self.clients.values():
            self.strategy.subscribed(asked)

    def _recover(self, record: list[Any]) -> None:
        kind, *fields = record
        if kind == "published":
            number, ts, row = fields
            self._n_published = max(self._n_published, number)
            publication = self._publication(number, row | {"ts": ts})
            self.own[number] = publication
        elif kind == "wanted":
            asked = self.routing.subscription(fields[0], self.options.settings)
            self.clients[asked.id] = asked
        elif kind == "unwanted":
            self.clients.pop(fields[0], None)
        elif kind == "step":
            self._recover_step(HomeStep(*fields[:6]), fields[6])

    def _recover_step(self, step: HomeStep, keys: list[list[int]]) -> None:
        self.home.seen.update({(key[0], key[1]): step.at for key in keys})
        self.home.take(step)

    def _offer(self, event: Offered) -> None:
        ts = max(self.now, self._last_tick + 1)
        try:
            publication = self._publication(self._n_published + 1, event.row | {"ts": ts})
        except ValueError as error:
            self.tell(Refused(str(error)))
            return
        self._n_published += 1
        self._unsynced[publication.number] = ts
        self.publish(publication, event.row)

    def publish(self, publication: Publication, row: dict[str, Any]) -> None:
        """Write a publication, and pass it on when it is durable."""
        self.write("published", publication.number, publication.ts, row, then=lambda: self.published(publication))

    def published(self, publication: Publication) -> None:
        """A publication is durable: its client hears of it, and it goes its way."""
        self._unsynced.pop(publication.number, None)
        self.own[publication.number] = publication
        self.tell(Accepted(publication.number, publication.spoken.id))
        if self.sessions.n_waiting or self._delayed:
            self._delayed.append(publication)
        else:
            self.strategy.published(publication)
        self._note_until()

    def _publication(self, number: int, row: dict[str, Any]) -> Publication:
        spoken = self.routing.spoken(row, self.options.settings)
        return Publication(self.number, number, spoken, row, fields_size(row))

    def _want(self, event: Subscribed) -> None:
        try:
            asked = self.routing.subscription(event.row, self.options.settings)
            self._check(asked)
        except ValueError as error:
            self.tell(Refused(str(error)))
            return
        self.clients[asked.id] = asked
        self.write("wanted", asked.row, then=lambda: self._wanted(asked))

    def _check(self, asked: RoutedSubscription) -> None:
        if asked.id in self.clients:
            raise ValueError(f"The subscription {asked.id!r} is already registered.")
        if asked.counts and self.strategy.filters:
            raise ValueError(
                f"The subscription {asked.id!r} has a count window, in which every publication counts, so that brokers "
                "may hold nothing back from it: give it a time window, or flood all publications."
            )
        if self.options.updates == "cells" and self.options.cells**asked.n_dims > MOST_CELLS:
            raise ValueError(
                f"A grid of {self.options.cells} cells in each of {asked.n_dims} dimensions has too many cells: let "
                "gates be sent on every change."
            )
        if not asked.counts and (asked.window is None or asked.window > self.options.horizon):
            raise ValueError(
                f"The window of the subscription {asked.id!r} is wider than the horizon of the brokers, "
                f"{self.options.horizon} microseconds: give it a narrower one."
            )

    def _wanted(self, asked: RoutedSubscription) -> None:
        if asked.id not in self.clients:
            return
        self.tell(Taken(asked.id))
        self.strategy.subscribed(asked)

    def begin(self, asked: RoutedSubscription) -> None:
        """A subscription is answered here: at once, or from the first step on that has all that it needs."""
        self.home.subscriptions[asked.id] = asked
        if asked.id not in self.home.begun and all(each[0].id != asked.id for each in self._begins):
            self._begins.append((asked, None))
            if not self.by_watermark:
                self.take_step(self.now)

    def _unwant(self, event: Unsubscribed) -> None:
        asked = self.clients.pop(event.id, None)
        if asked is None:
            self.tell(Refused(f"The subscription {event.id!r} is not registered here."))
            return
        self.write("unwanted", event.id, then=lambda: None)
        self.strategy.unsubscribed(asked)

    def end(self, id: Id) -> None:
        """A subscription is answered no more from the next step on."""
        self.home.subscriptions.pop(id, None)
        self._begins = [each for each in self._begins if each[0].id != id]
        if id in self.home.begun:
            self._ends.append(id)
            if not self.by_watermark:
                self.take_step(self.now)

    def _resume(self, event: Resumed) -> None:
        for number, row in self.home.changes_from(event.heard):
            self.tell(Changed(number, (row,)))

    def _receive(self, event: Received) -> None:
        self.sessions.receive(event.envelope)
        while self._delayed and not self.sessions.n_waiting:
            self.strategy.published(self._delayed.pop(0))

    def _take_frame(self, source: int, lane: int, frame: Frame) -> None:
        self.strategy.take(source, frame)

    def _opened(self, peer: int) -> None:
        self.strategy.opened(peer)

    def _ring(self, event: Rang) -> None:
        if event.timer == BEAT:
            self.sessions.ring()
        else:
            self._tick()

    def _synced(self, event: Synced) -> None:
        then = self._at_sync.pop(event.number, None)
        if then is not None:
            then()

    # Time and steps.

    def _set_tick(self) -> None:
        tick = self.options.tick
        self.do(Timer((self.now // tick + 1) * tick, TICK))

    def _tick(self) -> None:
        self._set_tick()
        self._last_tick = self.now // self.options.tick * self.options.tick
        limit = self.now - self.options.retention
        self.own = {number: each for number, each in self.own.items() if each.ts > limit}
        self.strategy.pass_time()
        self._note_until()
        if not self.by_watermark and self.home.subscriptions:
            self.take_step(self.now)
            self.strategy.settle()

    def _note_until(self) -> None:
        """All that was published here up to the last tick is durable and passed on, unless something still waits."""
        waiting = [*self._unsynced.values(), *(each.ts for each in self._delayed)]
        if self._last_tick > self.own_until and all(ts > self._last_tick for ts in waiting):
            self.own_until = self._last_tick
            self.strategy.told_until()

    def _close(self) -> None:
        """Take all steps for which everything has come."""
        if not self.by_watermark:
            return
        while self.home.applied + self.options.tick <= self.own_until:
            at = self.home.applied + self.options.tick
            if self.home.subscriptions or self._ends:
                if not self.strategy.is_complete(at):
                    break
                self.take_step(at)
                self.strategy.settle()
            else:
                self.home.applied = at

    def arrive(self, publication: Publication) -> bool:
        """A publication has come for the subscriptions here; tells whether it is new."""
        if not self.home.subscriptions or not self.home.is_new(publication):
            return False
        if self.by_watermark and publication.ts <= self.home.applied and self.home.has_engine:
            # It changes nothing by now, but gates that are looked at before the next step know of it.
            self.home.absorb(publication.row)
            self._handed.append(publication.row)
            self._keys.append(publication.key)
        else:
            self._arrived.append(publication)
            if not self.by_watermark:
                self.take_step(self.now)
        return True

    def take_step(self, at: int) -> None:
        """Take what has come up to a time into the engine, and tell what changes when that is durable."""
        # The clock of a machine may have gone back since an earlier life.
        at = max(at, self.home.applied)
        before = at - self.options.tick
        late = [each for each in self._arrived if self.by_watermark and each.ts <= before]
        came = [each for each in self._arrived if each.ts <= at and each not in late]
        self._arrived = [each for each in self._arrived if each.ts > at]
        begins = self._beginning(at)
        keys = [*self._keys, *(each.key for each in (*late, *came))]
        rows_begin = [asked.row for asked in begins]
        step = HomeStep(at, rows_of(late), rows_of(came), rows_begin, self._ends, self.home.applied)
        record = step._replace(handed=[*self._handed, *step.handed])
        self._handed, self._keys, self._ends = [], [], []
        if record.is_empty and not self.home.has_engine:
            self.home.applied = at
            return
        first = self.home.n_changes
        rows = self.home.take(step)
        self.strategy.changed(rows)
        if rows or not record.is_empty:
            self.write("step", *record, keys, then=lambda: self.told(first, rows))

    def _beginning(self, at: int) -> list[RoutedSubscription]:
        """Those that begin with a step: by now all brokers have heard of them, and hold what is live from now on."""
        known = [(asked, self.now if since is None else since) for asked, since in self._begins]
        self._begins = [(asked, since) for asked, since in known if self.by_watermark and since > at]
        return [asked for asked, since in known if not self.by_watermark or since <= at]

    def told(self, first: int, rows: list[tuple[Any, ...]]) -> None:
        """A step is durable: its changes may be told."""
        if rows:
            self.tell(Changed(first, tuple(rows)))
