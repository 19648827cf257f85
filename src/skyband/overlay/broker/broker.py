"""The core of a broker: events in, effects out, and nothing else.

`step` takes what has happened and answers with what is to be done, in this order of care: what a client publishes or
asks for is written and synced before it is acknowledged or passed on; a step of the engine here is synced before its
changes are told; what comes from another life is dropped. Which way publications and subscriptions go is the
strategy's.
"""

from collections.abc import Callable
from typing import Any

from skyband.contract import FAMILIES
from skyband.covering.routed import RoutedFamily
from skyband.overlay.broker.checkpoint import DiskCheckpoints
from skyband.overlay.broker.event import (
    Changed,
    Drained,
    Draining,
    Effect,
    Happening,
    Keep,
    Offered,
    Rang,
    Received,
    Refused,
    Resumed,
    Retracted,
    Started,
    Subscribed,
    Sync,
    Synced,
    Tell,
    Timer,
    Told,
    Unsubscribed,
    Write,
)
from skyband.overlay.broker.frame import Frame
from skyband.overlay.broker.home import Home, HomeStep
from skyband.overlay.broker.intake import HomeIntake
from skyband.overlay.broker.options import BrokerOptions
from skyband.overlay.broker.origin import Origin
from skyband.overlay.broker.record import pack_record, whole_records
from skyband.overlay.broker.registration import Registrations
from skyband.overlay.broker.retention import Retention
from skyband.overlay.broker.session import BEAT, Sessions

TICK = "tick"


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
        self.origin, self.registrations, self.intake = Origin(self), Registrations(self), HomeIntake(self)
        self.checkpoints, self.retention = DiskCheckpoints(self), Retention(self)
        self._n_syncs = 0
        self._at_sync: dict[int, Callable[[], None]] = {}
        self.is_live = self.is_draining = False
        self.strategy = strategy_named(options.strategy)(self)
        self.sessions.relays = self.strategy.relays
        self._handlers: dict[type[Any], Callable[[Any], None]] = {
            Started: self._start,
            Offered: self.origin.offer,
            Retracted: self.origin.retract,
            Subscribed: self.registrations.want,
            Unsubscribed: self.registrations.unwant,
            Resumed: self._resume,
            Draining: self._drain,
            Received: self._receive,
            Rang: self._ring,
            Synced: self._synced,
        }

    def step(self, now: int, event: Happening) -> list[Effect]:
        """Take one event at a time that never goes back; answers with what is to be done, in order."""
        self.now = self.sessions.now = now
        self.sessions.effects = []
        if self.is_draining and isinstance(event, Offered | Subscribed):
            self.tell(Refused("The broker is about to leave: go to another one."))
        elif self.is_live or isinstance(event, Started | Synced | Resumed):
            n_news = self.sessions.n_news
            self._handlers[type(event)](event)
            if self.sessions.n_news > n_news or not isinstance(event, Received):
                self.strategy.finish()
                self.intake.close()
                self.checkpoints.close()
        elif isinstance(event, Offered | Retracted | Subscribed | Unsubscribed):
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

    @property
    def is_quiet(self) -> bool:
        """Whether nothing is on its way to others, as far as this broker knows."""
        return self.is_live and self.sessions.is_idle

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
        self.checkpoints.note()
        self.do(Write(pack_record(kind, *fields)))
        self.do(Sync(self._n_syncs))

    def whole(self, records: tuple[bytes, ...]) -> list[list[Any]]:
        """The records that can be relied on."""
        return whole_records(records)

    def _start(self, event: Started) -> None:
        records = self.whole(event.records)
        if len(records) < len(event.records):
            self.do(Keep(len(records)))
        self.sessions.incarnation = 0
        for record in self.checkpoints.recover(records):
            self._recover(record)
        lives = self.sessions.incarnation + 1
        self.write("life", lives, then=lambda: self._live(lives))

    def _recover(self, record: list[Any]) -> None:
        kind, *fields = record
        if kind == "published":
            self.origin.recover(*fields)
        elif kind == "retracted":
            self.origin.recover_retraction(*fields)
        elif kind == "wanted":
            self.registrations.recover(*fields)
        elif kind == "unwanted":
            self.registrations.forget(*fields)
            self.home.end(*fields)
        elif kind == "step":
            self.intake.recover(HomeStep(*fields[:8]), fields[8], fields[9])
        elif kind == "life":
            (self.sessions.incarnation,) = fields

    def _live(self, lives: int) -> None:
        """Begin to talk, as nobody will mistake this life for an earlier one."""
        self.is_live = True
        self.origin.start(self.now)
        self.intake.start(self.origin.until)
        self.sessions.start(lives, range(self.options.chart.n_brokers))
        self._set_tick()
        self.strategy.started()
        for asked in self.registrations.known.values():
            self.strategy.subscribed(asked)

    def _resume(self, event: Resumed) -> None:
        if event.heard < self.home.first_kept:
            reason = f"Changes from {event.heard} to {self.home.first_kept - 1} are not kept any more: ask for the top."
            self.tell(Refused(reason))
        for number, row in self.home.changes_from(event.heard):
            self.tell(Changed(number, (row,)))

    def _drain(self, event: Draining) -> None:
        self.is_draining = True
        n_subscriptions = len(self.registrations.known.keys() | self.home.begun | set(self.home.ending))
        is_free = not n_subscriptions and not self.origin.own and self.is_synced and self.is_quiet
        self.tell(Drained(n_subscriptions, len(self.origin.own), is_free))

    def _receive(self, event: Received) -> None:
        self.sessions.receive(event.envelope)
        if self.origin.n_delayed and self.origin.pass_on_delayed():
            self.sessions.n_news += 1

    def _take_frame(self, source: int, lane: int, frame: Frame) -> None:
        if not self.retention.take(source, frame):
            self.strategy.take(source, frame)

    def _opened(self, peer: int) -> None:
        self.retention.renew(peer)
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

    def _set_tick(self) -> None:
        tick = self.options.tick
        self.do(Timer((self.now // tick + 1) * tick, TICK))

    def _tick(self) -> None:
        self._set_tick()
        self.origin.tick(self.now)
        self.strategy.pass_time()
        self.origin.note_until()
        self.intake.tick()
        self.retention.tick()
