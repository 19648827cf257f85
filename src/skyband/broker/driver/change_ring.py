"""The changes that a home has told, as far back as they are kept: whoever follows them goes along at its own pace.

Nothing waits for those who follow, and nothing is queued for them: each has a place in the ring, and one that is left
behind is told so.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

ChangeRow = tuple[Any, ...]


class Happened(NamedTuple):
    """Something besides changes that those who follow are told once, such as a lapse."""

    turn: int
    what: dict[str, Any]


MOST_HAPPENED = 1000
AT_ONCE = 1000


class ChangeRing:
    """Changes by number, from `first` to before `next`."""

    def __init__(self) -> None:
        self.first = self.next = 0
        self._rows: list[ChangeRow] = []
        self._happened: deque[Happened] = deque(maxlen=MOST_HAPPENED)
        self.n_happened = 0
        self._news = asyncio.Event()

    def begin(self, first: int) -> None:
        """Nothing before this number is kept, and nothing is told yet."""
        if not self._rows and self.next <= first:
            self.first = self.next = first

    def add(self, first: int, rows: Sequence[ChangeRow]) -> None:
        """Changes were told; those that are known already are passed over."""
        if first > self.next:
            self._rows.clear()
            self.first = self.next = first
        for row in rows[self.next - first :]:
            self._rows.append(row)
            self.next += 1
        self._tell()

    def note(self, what: dict[str, Any]) -> None:
        """Something else has happened."""
        self.n_happened += 1
        self._happened.append(Happened(self.n_happened, what))
        self._tell()

    def keep_from(self, first: int) -> None:
        """Forget changes before a number, many at a time."""
        n = min(first - self.first, len(self._rows))
        if n >= AT_ONCE:
            del self._rows[:n]
            self.first += n

    def since(self, number: int, most: int) -> list[ChangeRow]:
        """Changes from a number on, which is kept, and not more than so many."""
        start = number - self.first
        return self._rows[start : start + most]

    def happened_since(self, turn: int) -> list[Happened]:
        """What else has happened after a turn."""
        return [each for each in self._happened if each.turn > turn]

    async def wait(self, number: int, turn: int) -> None:
        """Wait until there are changes from a number on, or something else has happened after a turn."""
        while self.next <= number and self.first <= number and self.n_happened <= turn:
            await self._news.wait()

    def _tell(self) -> None:
        self._news.set()
        self._news = asyncio.Event()
