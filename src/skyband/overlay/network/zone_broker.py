"""The broker of a zone: it splits bundles by where they lead, and is the gateway of the subscriptions in its zone.

Brokers hang in a tree, with the server at its root. A bundle has all messages of an event; each broker passes on to
each one after it what leads there, as one bundle again. So whatever a gateway gets comes over one way, on which nothing
overtakes anything, and messages come in the order of events and in their order within one. Links have to be in order
too; how long they take does not matter.

*A broker comes.* It is given a part of the region of a gateway with the lists in it, and hangs behind that gateway:
those before it need not know. *A broker leaves.* The one before it lets it know that nothing more comes, and keeps all
later bundles until it has got its region and its lists. What hung behind it hangs behind the other one then. Each is
told by the one that leaves, over the way its bundles came, and keeps what comes over the new way until then.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from skyband.contract.tops import Id
from skyband.overlay.broker.event import Offered, Refused, Subscribed, Unsubscribed
from skyband.overlay.network.gateway import Gateway, point_of
from skyband.overlay.network.paint_server import PaintServer, Sighting
from skyband.overlay.network.parcel import (
    Ask,
    Bequest,
    Bundle,
    ChangeReport,
    Close,
    Enter,
    Estate,
    FirstTop,
    Found,
    GiveUp,
    Leave,
    Parcel,
    Quit,
    Rehang,
    Row,
    pack,
    unpack,
)
from skyband.overlay.network.region import Region, no_region
from skyband.overlay.network.zone_event import (
    Arrived,
    Divide,
    Ordered,
    Pass,
    Retire,
    Stands,
    TopsMoved,
    ZoneEffect,
    ZoneEvent,
)
from skyband.ranges.rows import parse_publications, parse_subscriptions
from skyband.table import Rejected, Settings, read_table

# Keys count on from the number of the broker that a client speaks to times this.
KEYS = 1 << 32


class Seat(NamedTuple):
    """Where a broker hangs: the one before it, its own region, and where its links to those behind it lead."""

    parent: int | None
    region: Region
    links: dict[int, Region]


class ZoneBroker:
    """A broker with a seat in the tree, or one without a seat that waits to be given a region."""

    def __init__(self, number: int, dims: int = 1, seat: Seat | None = None, server: PaintServer | None = None) -> None:
        self.number, self.server, self.dims = number, server, dims
        self.parent, self.region, self.links = seat or Seat(None, no_region(2 * dims), {})
        self.gateway = self.make_gateway()
        self._is_seated, self._before_seat = seat is not None, list[ZoneEvent]()
        self._is_retired = False
        self.leaving: set[int] = set()
        self._held: list[tuple[int, Parcel]] = []
        self._early: dict[int, list[Parcel]] = {}
        self._early_leaves: set[int] = set()
        self._asked: dict[Id, tuple[int, Row]] = {}
        self._n_keys = self._n_divisions = 0
        self._now = 0
        self._effects: list[ZoneEffect] = []

    def make_gateway(self) -> Gateway:
        """What keeps the lists here."""
        return Gateway(self.dims)

    @property
    def is_idle(self) -> bool:
        """Whether nothing is kept here until something else has come."""
        return not (self.leaving or self._held or self._early or self._early_leaves or self._before_seat)

    @property
    def n_asked(self) -> int:
        """How many subscriptions of its clients it knows of."""
        return len(self._asked)

    def step(self, now: int, event: ZoneEvent) -> list[ZoneEffect]:
        """What follows from an event, in order."""
        self._now, self._effects = now, []
        if self._is_seated or isinstance(event, Arrived):
            _ON[type(event)](self, event)
        else:
            self._before_seat.append(event)
        return self._effects

    def _arrived(self, event: Arrived) -> None:
        parcel = unpack(event.data)
        if isinstance(parcel, Bundle | Close | Rehang):
            self._from_above(event.source, parcel)
        elif self._is_seated or isinstance(parcel, Found):
            self._take(parcel)
        else:
            # The broker that gave it a seat has left since, and the one that took over was faster.
            self._before_seat.append(event)

    def _from_above(self, source: int, parcel: Parcel) -> None:
        """What has an order: it waits for the broker that it comes from to be the one before, and while one leaves."""
        if source not in (self.parent, self.number):
            self._early.setdefault(source, []).append(parcel)
        elif self.leaving:
            self._held.append((source, parcel))
        else:
            self._take(parcel)

    def _take(self, parcel: Parcel) -> None:
        _TAKE[type(parcel)](self, parcel)

    def pass_on(self, target: int | None, parcel: Parcel) -> None:
        """Send a parcel, or take it here if it is for this broker."""
        if target == self.number:
            self._take(parcel)
        elif target is not None:
            self.tell(Pass(target, pack(parcel)))

    def tell(self, effect: ZoneEffect) -> None:
        """Let something follow from the event."""
        self._effects.append(effect)

    # What clients want.

    def _offered(self, event: Offered) -> None:
        try:
            sighting = self._sighting(event.row)
        except Rejected as error:
            self.tell(Refused(str(error)))
            return
        self.publish(sighting)

    def publish(self, sighting: Sighting) -> None:
        """Have a change told to whom it concerns."""
        self._report(ChangeReport(sighting))

    def _sighting(self, row: Row) -> Sighting:
        reading = read_table([row | {"id": 0, "ts": self._now}])
        parsed = parse_publications(reading.table, Settings(dims=self.dims))
        if reading.rejects or parsed.rejects:
            raise Rejected([*reading.rejects, *parsed.rejects], "publications")
        rows = parsed.rows
        is_gone, x = bool(rows.deleted[0]), tuple(rows.x[0].tolist())
        is_known = not np.isnan(rows.x[0]).any()
        return Sighting(self._now, row["object"], x if is_known else (), None if is_gone else float(rows.y[0]))

    def _subscribed(self, event: Subscribed) -> None:
        row = event.row
        try:
            reading = read_table([row])
            parsed = parse_subscriptions(reading.table, Settings(dims=self.dims))
            if reading.rejects or parsed.rejects:
                raise Rejected([*reading.rejects, *parsed.rejects], "subscriptions")
        except Rejected as error:
            self.tell(Refused(str(error)))
            return
        if row["id"] in self._asked:
            self.tell(Refused(f"The subscription {row['id']!r} is there already."))
            return
        self._n_keys += 1
        key = self.number * KEYS + self._n_keys
        self._asked[row["id"]] = key, row
        self._ask(Ask(key, row))

    def _unsubscribed(self, event: Unsubscribed) -> None:
        if event.id not in self._asked:
            self.tell(Refused(f"The subscription {event.id!r} was not made here."))
            return
        self._give_up(GiveUp(*self._asked.pop(event.id)))

    # What goes to where a subscription lies.

    def _toward(self, row: Row) -> int | None:
        """The next broker on the way to the gateway of a subscription; this one if it is here."""
        point = point_of(row)[np.newaxis]
        if self.region.holds(point)[0]:
            return self.number
        behind = (link for link, region in self.links.items() if link != self.parent and region.holds(point)[0])
        return next(behind, self.parent)

    def _ask(self, parcel: Ask) -> None:
        target = self._toward(parcel.row)
        if target != self.number:
            self.pass_on(target, parcel)
        else:
            self.admit(parcel)

    def admit(self, parcel: Ask) -> None:
        """Take a subscription that has come to its gateway."""
        if self.gateway.wait(parcel.key, parcel.row):
            self._enter(Enter(parcel.key, parcel.row, self.number))

    def _give_up(self, parcel: GiveUp) -> None:
        target = self._toward(parcel.row)
        if target != self.number:
            self.pass_on(target, parcel)
        else:
            self.release(parcel.key)

    def release(self, key: int) -> None:
        """Let a subscription go that has come to its gateway."""
        if self.gateway.give_up(key):
            self._quit(Quit(key))

    def _first_top(self, parcel: FirstTop) -> None:
        target = self._toward(parcel.row)
        if target != self.number:
            self.pass_on(target, parcel)
        elif self.gateway.begin(parcel.key, parcel.event, parcel.top):
            self.tell(Stands(parcel.key, parcel.row["id"], parcel.event))

    # What goes to the server.

    def _report(self, parcel: ChangeReport) -> None:
        if self.server is None:
            self.pass_on(self.parent, parcel)
            return
        rows = self.server.change(parcel.sighting)
        if rows is not None:
            self.tell(Ordered(self.server.event, parcel.sighting))
            if len(rows.y):
                self.send_event(Bundle(self.server.event, rows))

    def send_event(self, bundle: Bundle) -> None:
        """Send the messages of an event on their way."""
        self._from_above(self.number, bundle)

    def _enter(self, parcel: Enter) -> None:
        if self.server is None:
            self.pass_on(self.parent, parcel)
            return
        k, point = parcel.row["k"], point_of(parcel.row)
        if self.server.enter(parcel.key, k, point):
            top = self.server.top(k, point)
            self.pass_on(parcel.gateway, FirstTop(parcel.key, parcel.row, self.server.event, top))

    def _quit(self, parcel: Quit) -> None:
        if self.server is None:
            self.pass_on(self.parent, parcel)
        else:
            self.server.quit(parcel.key)

    # What comes from the server.

    def _bundle(self, bundle: Bundle) -> None:
        self.spread(self.parent, bundle)

    def spread(self, source: int | None, bundle: Bundle) -> None:
        """Pass a bundle on wherever it leads but to where it came from."""
        event, rows = bundle
        for link, region in self.links.items():
            leads_there = region.meets(rows.low, rows.high)
            if link != source and leads_there.any():
                self.pass_on(link, Bundle(event, rows.chosen(leads_there)))
        leads_here = self.region.meets(rows.low, rows.high)
        if leads_here.any():
            changes = self.gateway.hear(event, rows.chosen(leads_here))
            if len(changes):
                self.tell(TopsMoved(event, changes))

    # Zones that split and merge.

    def _divide(self, event: Divide) -> None:
        divided = self.region.divided(self.gateway.points(), self._n_divisions) if self.region.n_boxes else None
        if divided is None:
            self.tell(Refused(f"Broker {self.number} has no region that could be divided."))
            return
        self._n_divisions += 1
        self.region, given = divided
        self.links[event.newcomer] = given
        self.pass_on(event.newcomer, Found(self.number, self.gateway.hand_over(given, {})))

    def _found(self, parcel: Found) -> None:
        self.parent = parcel.parent
        self._inherit(parcel.estate)
        self._is_seated = True
        while self._before_seat:
            event = self._before_seat.pop(0)
            _ON[type(event)](self, event)

    def _retire(self, event: Retire) -> None:
        if self.server is not None:
            self.tell(Refused(f"Broker {self.number} has the server, and cannot leave."))
        elif self._is_retired:
            self.tell(Refused(f"Broker {self.number} has left, or is about to."))
        else:
            self._is_retired = True
            self.pass_on(self.parent, Leave(self.number))

    def _leave(self, parcel: Leave) -> None:
        if parcel.broker in self.links:
            self.leaving.add(parcel.broker)
            self.pass_on(parcel.broker, Close())
        elif not self.region.n_boxes:
            self.pass_on(self.parent, parcel)
        else:
            # It was told of its new place sooner than this broker of what it takes over.
            self._early_leaves.add(parcel.broker)

    def _close(self, parcel: Close) -> None:
        assert self.parent is not None, "Only a broker that hangs behind another one is told to close."
        estate = self.gateway.hand_over(self.region, self.links)
        self.pass_on(self.parent, Bequest(self.number, estate))
        for link in self.links:
            self.pass_on(link, Rehang(self.parent))
        self.region, self.links = no_region(2 * self.dims), {}
        for broker in sorted(self._early_leaves):
            self.pass_on(self.parent, Leave(broker))
        self._early_leaves.clear()

    def _bequest(self, parcel: Bequest) -> None:
        del self.links[parcel.broker]
        self.leaving.discard(parcel.broker)
        self._inherit(parcel.estate)
        for broker in sorted(self._early_leaves & set(self.links)):
            self._early_leaves.discard(broker)
            self._leave(Leave(broker))
        while self._held and not self.leaving:
            self._take(self._held.pop(0)[1])

    def _inherit(self, estate: Estate) -> None:
        self.region = self.region.and_also(estate.region)
        self.links |= estate.links
        self.gateway.take_over(estate)

    def _rehang(self, parcel: Rehang) -> None:
        self.parent = parcel.parent
        for early in self._early.pop(parcel.parent, []):
            self._from_above(parcel.parent, early)


_ON: dict[type[Any], Callable[[ZoneBroker, Any], None]] = {
    Offered: ZoneBroker._offered,
    Subscribed: ZoneBroker._subscribed,
    Unsubscribed: ZoneBroker._unsubscribed,
    Arrived: ZoneBroker._arrived,
    Divide: ZoneBroker._divide,
    Retire: ZoneBroker._retire,
}
_TAKE: dict[type[Any], Callable[[ZoneBroker, Any], None]] = {
    Bundle: ZoneBroker._bundle,
    ChangeReport: ZoneBroker._report,
    Ask: ZoneBroker._ask,
    GiveUp: ZoneBroker._give_up,
    Enter: ZoneBroker._enter,
    Quit: ZoneBroker._quit,
    FirstTop: ZoneBroker._first_top,
    Found: ZoneBroker._found,
    Leave: ZoneBroker._leave,
    Close: ZoneBroker._close,
    Bequest: ZoneBroker._bequest,
    Rehang: ZoneBroker._rehang,
}
