"""The outbox: messages on their way from a painter to those who read them, and what making them has cost."""

from collections import Counter
from collections.abc import Iterator, Sequence

from skyband.kernels.array import Int64s
from skyband.kernels.room import ample, initial
from skyband.ranges.kernels.message import Messages, make_messages

ROOM = 1024


class Outbox:
    """Messages that kernels write, handed over in portions; there is more room when one needs more."""

    def __init__(self, dims: int) -> None:
        self.messages = make_messages(initial(ROOM), dims)
        self._dims = dims
        self._counts: Counter[str] = Counter()

    @property
    def n(self) -> int:
        """How many messages wait."""
        return int(self.messages.length[0])

    @property
    def room(self) -> int:
        """How many messages can wait."""
        return len(self.messages.y)

    @property
    def n_bytes(self) -> int:
        return sum(part.nbytes for part in self.messages)

    def hand_over(self, needed: int = 0) -> Iterator[Messages]:
        """Give what waits, if anything; there is room for this many afterwards."""
        if self.n > 0:
            self._counts["messages"] += self.n
            yield self.messages
            self.messages.length[0] = 0
        if needed > self.room:
            self.messages = make_messages(ample(needed, 2 * needed), self._dims)

    def costs(self, names: Sequence[str], calls: Int64s) -> dict[str, int]:
        """How many messages were handed over and how many calls were counted since this was last asked for."""
        self._counts.update(dict(zip(names, calls.tolist(), strict=True)))
        calls[:] = 0
        told = {name: count for name, count in self._counts.items() if count}
        self._counts.clear()
        return told
