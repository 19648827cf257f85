"""Brokers and gateways that are wrong on purpose, each in one way that brute force has to find."""

import numpy as np

from skyband.overlay.network.gateway import Gateway
from skyband.overlay.network.parcel import Bundle, Parcel
from skyband.overlay.network.zone_broker import ZoneBroker


class SendsOneByOne(ZoneBroker):
    """Sends each message of an event for itself."""

    def send_event(self, bundle: Bundle) -> None:
        for i in range(len(bundle.rows.y)):
            which = [i == j for j in range(len(bundle.rows.y))]
            super().send_event(Bundle(bundle.event, bundle.rows.chosen(np.array(which))))


class HearsTooEarly(Gateway):
    """Takes whatever has come while a subscription waited, though its first top is later than some of that."""

    def _is_for(self, event: int, since: int) -> bool:
        return True


class SettlesAtOnce(Gateway):
    """Lets a subscription stand as soon as it is answered, though something earlier may still come."""

    def _settle(self, event: int) -> None:
        super()._settle(1 << 62)


class WithGateway(ZoneBroker):
    """Has a gateway of another kind."""

    kind: type[Gateway]

    def make_gateway(self) -> Gateway:
        return self.kind(self.dims)


class HearsTooEarlyHere(WithGateway):
    """Has a gateway that hears too early."""

    kind = HearsTooEarly


class SettlesAtOnceHere(WithGateway):
    """Has a gateway that settles at once."""

    kind = SettlesAtOnce


class KeepsNothingBack(ZoneBroker):
    """Passes bundles on while one behind it is about to leave."""

    def _from_above(self, source: int, parcel: Parcel) -> None:
        leaving, self.leaving = self.leaving, set()
        super()._from_above(source, parcel)
        self.leaving |= leaving


class TakesFromAnyone(ZoneBroker):
    """Takes what comes over a new way before the old one has ended."""

    def _from_above(self, source: int, parcel: Parcel) -> None:
        super()._from_above(source if self.parent is None else self.parent, parcel)


PLANTED: list[type[ZoneBroker]] = [SendsOneByOne, HearsTooEarlyHere, SettlesAtOnceHere]
