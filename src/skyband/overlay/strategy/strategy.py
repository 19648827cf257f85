"""What a strategy decides: which way publications and subscriptions go. The broker asks, the strategy sends."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from skyband.contract.tops import Id
from skyband.covering.routed import RoutedSubscription
from skyband.overlay.broker.frame import FLOW, Frame, Proxy, Publication, PublicationFrame

if TYPE_CHECKING:
    from skyband.overlay.broker.broker import Broker


class Strategy(ABC):
    """One way to route, as one broker follows it.

    One that `filters` keeps publications from brokers that seem not to need them. One that is `exact` answers as one
    engine does, if its gates are staircases; others may lose deliveries, and say why. One that `waits` can say when
    all is known up to a time. One that `recovers` makes good what a restarted broker has forgotten. One that `relays`
    passes publications on along a tree. One that `sends_once` sends a home what a proxy lets in, and never again in the
    same life of that home, which has to take it in even if nobody there wants it any more: others will.
    """

    name: ClassVar[str]
    filters: ClassVar[bool]
    exact: ClassVar[bool]
    waits: ClassVar[bool]
    recovers: ClassVar[bool]
    relays: ClassVar[bool] = False
    sends_once: ClassVar[bool] = False

    def __init__(self, broker: "Broker") -> None:
        self.broker, self.options = broker, broker.options
        self.number, self.chart = broker.number, broker.options.chart
        self.check()

    def check(self) -> None:
        """Raise a ValueError for options that this strategy cannot follow."""
        if self.options.mode == "watermark" and not self.waits:
            raise ValueError(
                f"The strategy {self.name} cannot say when all publications up to a time are there: take eager."
            )
        if self.options.mode == "watermark" and self.filters and self.options.gates != "staircase":
            raise ValueError(
                "Answers can wait for all publications that matter only if gates are staircases: the others lose some."
            )

    def send(self, target: int, lane: int, frame: Frame) -> None:
        """Send a frame to another broker."""
        self.broker.sessions.send(target, lane, frame)

    def carry(
        self,
        target: int,
        publication: Publication,
        column: str,
        lane: int = FLOW,
        rounds: int = 0,
        doubts: Id | None = None,
    ) -> None:
        """Send a publication to another broker."""
        self.broker.sessions.send(target, lane, PublicationFrame(publication, column, rounds, doubts))

    def started(self) -> None:  # noqa: B027 - not for every strategy
        """The broker begins to talk; what was published here before is in `broker.origin.own`."""

    def check_dims(self, what: str, n_dims: int) -> None:  # noqa: B027 - not for every strategy
        """Raise a ValueError for a publication or a subscription of so many dimensions that cannot be routed."""

    @property
    def reason_against_retractions(self) -> str:
        """Why publications cannot be taken back; empty if they can."""
        if self.exact and (self.options.gates == "staircase" or not self.filters):
            return ""
        return (
            f"With the strategy {self.name} and these gates nobody knows to which brokers a publication has come, so "
            "that it cannot be retracted."
        )

    @property
    def tells_all(self) -> bool:
        """Whether every publication gets to every broker, as count windows need it."""
        return self.exact and not self.filters

    @abstractmethod
    def subscribed(self, asked: RoutedSubscription) -> None:
        """A subscription of a client here is durable, or was so before a restart."""

    @abstractmethod
    def unsubscribed(self, asked: RoutedSubscription) -> None:
        """A client here has withdrawn a subscription."""

    @abstractmethod
    def published(self, publication: Publication) -> None:
        """A publication of a client here is durable."""

    @abstractmethod
    def take(self, source: int, frame: Frame) -> None:
        """A frame has come, in its order."""

    def opened(self, peer: int) -> None:  # noqa: B027 - not for every strategy
        """Another broker has started anew, and knows nothing of what it was told."""

    def pass_time(self) -> None:  # noqa: B027 - not for every strategy
        """A tick has passed."""

    def told_until(self) -> None:  # noqa: B027 - not for every strategy
        """All that was published here up to `broker.origin.until` has gone its way."""

    def waits_for(self, proxy: Proxy) -> bool:
        """Whether the home of a proxy waits until it is known where it is sent: what asks for more than before."""
        return proxy.widens

    def loosen(self, publication: Publication) -> None:  # noqa: B027 - not for every strategy
        """A publication that is known here was taken back: gates here, and how they widen, are those without it."""

    def relies_on(self, holder: int, proxy: Proxy) -> bool:
        """Whether what a proxy of a subscription here lets in is all that its holder is to send."""
        return True

    def is_complete(self, at: int) -> bool:
        """Whether all has come that the answers here need as of a time."""
        return True

    def finish(self) -> None:  # noqa: B027 - not for every strategy
        """All that an event asks for has been done."""

    def changed(self, rows: list[tuple[Any, ...]]) -> None:  # noqa: B027 - not for every strategy
        """A step was taken here, with these changes."""

    def settle(self) -> None:  # noqa: B027 - not for every strategy
        """A step was taken here for its time: gates may have widened."""
