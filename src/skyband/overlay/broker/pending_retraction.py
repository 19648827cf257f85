"""Retractions that have come for the subscriptions at home here, until a step takes them in.

A step takes in what was taken back up to its time, after time has passed and before what came. Meanwhile gates are
already those without it, so that whoever holds back what it keeps out hands that over before the step is taken. One
that comes later than its step is of a publication that no gate let in since, so that it changes nothing.
"""

from typing import TYPE_CHECKING

from skyband.overlay.broker.frame import Publication
from skyband.overlay.broker.home import in_order

if TYPE_CHECKING:
    from skyband.overlay.broker.broker import Broker


class PendingRetractions:
    """What was taken back, by the publication: `due` says what a step takes in."""

    def __init__(self, broker: "Broker") -> None:
        self._broker, self._home = broker, broker.home
        self._waiting: list[Publication] = []
        self._forgone: list[Publication] = []

    @property
    def is_absorbing(self) -> bool:
        """Whether the engine lacks something that is in no step yet."""
        return bool(self._forgone)

    @property
    def pending(self) -> set[tuple[int, int]]:
        """The keys of what is in no step yet."""
        return {each.key for each in self._waiting}

    def arrive(self, publication: Publication) -> None:
        """A publication that has come here, now or before, was taken back."""
        if not self._home.is_withdrawn_now(publication) or self._home.forgets_refused(publication):
            return
        if self._is_late(publication):
            self._home.forgo(publication.spoken.id)
            self._forgone.append(publication)
        else:
            self._waiting.append(publication)
            self._foresee()
            if not self._broker.by_watermark:
                self._broker.intake.take_step(self._broker.now)
        self._broker.strategy.loosen(publication)

    def due(self, at: int) -> tuple[list[Publication], list[Publication]]:
        """What the step to a time takes in, in the order of time, and what has come too late for its own step."""
        due = [each for each in self._waiting if each.since <= at and not self._home.forgets_refused(each)]
        self._waiting = [each for each in self._waiting if each.since > at]
        forgone, self._forgone = self._forgone, []
        self._foresee()
        return sorted(due, key=lambda each: in_order(each.since, each.spoken.id)), forgone

    def _is_late(self, publication: Publication) -> bool:
        is_past = self._broker.by_watermark and publication.since <= self._home.applied
        return is_past and self._home.has_engine and publication.key not in self._broker.intake.pending

    def _foresee(self) -> None:
        self._home.foresee([each.spoken.id for each in self._waiting])
