"""Messages counted as they are first sent, by column, with their bytes; what is repeated is counted apart."""

from collections import Counter
from typing import NamedTuple

from skyband.overlay.broker.frame import COLUMNS, UPKEEP, Envelope, column_of, size_of


class Sent(NamedTuple):
    """Messages and their bytes."""

    messages: int
    n_bytes: int


class MessageTally:
    """What was sent, by column and by link."""

    def __init__(self, with_bytes: bool = True) -> None:
        self.messages: Counter[str] = Counter()
        self.sizes: Counter[str] = Counter()
        self.by_link: Counter[tuple[int, int]] = Counter()
        self.n_repeated = 0
        self._with_bytes = with_bytes
        self._highest: dict[tuple[int, int, int, int, int], int] = {}

    def note(self, target: int, envelope: Envelope) -> None:
        """A broker has sent an envelope."""
        column = column_of(envelope.frame)
        if column != UPKEEP and self._is_repeated(target, envelope):
            self.n_repeated += 1
            column = UPKEEP
        self.messages[column] += 1
        if self._with_bytes:
            self.sizes[column] += size_of(envelope)
        if column != UPKEEP:
            self.by_link[envelope.source, target] += 1

    def columns(self) -> dict[str, Sent]:
        """The messages of each column."""
        return {column: Sent(self.messages[column], self.sizes[column]) for column in COLUMNS}

    @property
    def total(self) -> int:
        """All messages but those of upkeep, which the paper does not count."""
        return sum(n for column, n in self.messages.items() if column != UPKEEP)

    def _is_repeated(self, target: int, envelope: Envelope) -> bool:
        lane = (envelope.source, envelope.incarnation, target, envelope.target_incarnation, envelope.lane)
        before = self._highest.get(lane, 0)
        self._highest[lane] = max(before, envelope.number)
        return envelope.number <= before
