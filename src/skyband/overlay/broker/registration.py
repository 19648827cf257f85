"""The subscriptions of the clients here: checked, and durable before they are acknowledged or spoken of."""

from typing import TYPE_CHECKING, Any

from skyband.contract.tops import Id
from skyband.covering.routed import RoutedSubscription
from skyband.overlay.broker.event import Refused, Subscribed, Taken, Unsubscribed

if TYPE_CHECKING:
    from skyband.overlay.broker.broker import Broker

MOST_CELLS = 100_000


class Registrations:
    """What the clients of one broker have subscribed to, whoever answers it."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self.known: dict[Id, RoutedSubscription] = {}

    def recover(self, row: dict[str, Any]) -> None:
        """A subscription that is on the disk."""
        asked = self._read(row)
        self.known[asked.id] = asked

    def forget(self, id: Id) -> None:
        """A subscription whose end is on the disk."""
        self.known.pop(id, None)

    def want(self, event: Subscribed) -> None:
        """A client subscribes."""
        try:
            asked = self._read(event.row)
            self._check(asked)
        except ValueError as error:
            self._broker.tell(Refused(str(error)))
            return
        self.known[asked.id] = asked
        self._broker.write("wanted", asked.row, then=lambda: self._wanted(asked))

    def unwant(self, event: Unsubscribed) -> None:
        """A client withdraws a subscription."""
        asked = self.known.pop(event.id, None)
        if asked is None:
            self._broker.tell(Refused(f"The subscription {event.id!r} is not registered here."))
            return
        self._broker.write("unwanted", event.id, then=lambda: None)
        self._broker.strategy.unsubscribed(asked)

    def _wanted(self, asked: RoutedSubscription) -> None:
        if self.known.get(asked.id) is not asked:
            return
        self._broker.tell(Taken(asked.id))
        self._broker.strategy.subscribed(asked)

    def _read(self, row: dict[str, Any]) -> RoutedSubscription:
        return self._broker.routing.subscription(row, self._broker.options.settings)

    def _check(self, asked: RoutedSubscription) -> None:
        options = self._broker.options
        self._broker.strategy.check_dims(f"The subscription {asked.id!r}", asked.n_dims)
        if asked.id in self.known:
            raise ValueError(f"The subscription {asked.id!r} is already registered.")
        check_alike(asked, next(iter(self.known.values()), asked))
        if asked.counts and not self._broker.strategy.tells_all:
            raise ValueError(
                f"The subscription {asked.id!r} has a count window, in which every publication counts, so that brokers "
                "may leave nothing out for it: give it a time window, or flood all publications."
            )
        if options.updates == "cells" and options.cells**asked.n_dims > MOST_CELLS:
            raise ValueError(
                f"A grid of {options.cells} cells in each of {asked.n_dims} dimensions has too many cells: let "
                "gates be sent on every change."
            )
        if not asked.counts and (asked.window is None or asked.window > options.horizon):
            raise ValueError(
                f"The window of the subscription {asked.id!r} is wider than the horizon of the brokers, "
                f"{options.horizon} microseconds: give it a narrower one."
            )


def check_alike(asked: RoutedSubscription, other: RoutedSubscription) -> None:
    """Raise a ValueError where one engine cannot answer both of two subscriptions."""
    if isinstance(other.id, str) != isinstance(asked.id, str):
        raise ValueError(
            f"The subscription {asked.id!r} has an id of another kind than {other.id!r}: give all of one broker "
            "numbers, or texts."
        )
    if other.n_dims != asked.n_dims:
        raise ValueError(
            f"The subscription {asked.id!r} is about {asked.n_dims} dimensions, and {other.id!r} about {other.n_dims}: "
            "all of one broker have as many."
        )
