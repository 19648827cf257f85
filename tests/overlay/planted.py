"""Brokers that are wrong on purpose, each in one way that the simulator has to find."""

from collections.abc import Callable
from typing import Any

from skyband.overlay.broker.broker import Broker
from skyband.overlay.broker.event import Accepted
from skyband.overlay.broker.frame import Publication
from skyband.overlay.broker.options import BrokerOptions
from skyband.overlay.broker.record import unpack_record


class AcceptsBeforeSync(Broker):
    """Tells a client that a publication is durable before it is."""

    def __init__(self, number: int, options: BrokerOptions) -> None:
        super().__init__(number, options)
        self._publish, self.origin.publish = self.origin.publish, self._hastily  # type: ignore[method-assign]

    def _hastily(self, publication: Publication, row: dict[str, Any]) -> None:
        self.tell(Accepted(publication.number, publication.spoken.id))
        self._publish(publication, row)


class SendsBeforeSync(Broker):
    """Passes a publication on before it is durable."""

    def __init__(self, number: int, options: BrokerOptions) -> None:
        super().__init__(number, options)
        self._publish, self.origin.publish = self.origin.publish, self._hastily  # type: ignore[method-assign]

    def _hastily(self, publication: Publication, row: dict[str, Any]) -> None:
        self.strategy.published(publication)
        self._publish(publication, row)


class TellsBeforeSync(Broker):
    """Tells changes before the step is durable."""

    def write(self, kind: str, *fields: Any, then: Callable[[], None]) -> None:
        if kind == "step":
            then()
        super().write(kind, *fields, then=then if kind != "step" else lambda: None)


class WritesAfterTorn(Broker):
    """Takes a torn record for the end, and leaves it where it is."""

    def whole(self, records: tuple[bytes, ...]) -> list[list[Any]]:
        found = [unpack_record(record) for record in records]
        return [fields if fields is not None else ["nothing"] for fields in found]


class TakesStaleFrames(Broker):
    """Does not look at the incarnation of a frame."""

    def __init__(self, number: int, options: BrokerOptions) -> None:
        super().__init__(number, options)
        self.sessions.is_stale = lambda session, envelope: False  # type: ignore[method-assign]


class KthScoreAsGate(Broker):
    """Sends the k-th score of now for a gate that never widens."""

    def __init__(self, number: int, options: BrokerOptions) -> None:
        super().__init__(number, options)
        staircase = self.home.staircase
        self.home.staircase = lambda id: staircase(id)[:1]  # type: ignore[method-assign]


class ForgetsDeliveries(Broker):
    """Numbers its changes anew after a restart."""

    def __init__(self, number: int, options: BrokerOptions) -> None:
        super().__init__(number, options)
        self._tell_changes = self.intake.tell_changes
        self.intake.tell_changes = self._anew  # type: ignore[method-assign]

    def _anew(self, first: int, rows: list[tuple[Any, ...]]) -> None:
        self._tell_changes(first if self.sessions.incarnation == 1 else 0, rows)


PLANTED: list[type[Broker]] = [
    AcceptsBeforeSync,
    SendsBeforeSync,
    TellsBeforeSync,
    WritesAfterTorn,
    TakesStaleFrames,
    KthScoreAsGate,
    ForgetsDeliveries,
]
