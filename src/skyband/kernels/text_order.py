"""The alphabet: texts in order, each with a slot, in pieces of bounded length.

One more text shifts the rest of its piece and not of all. Invariants: pieces are in order and so is each within, none
is empty or longer than twice PIECE, and `_first` has the first text of each.
"""

from array import array
from bisect import bisect
from collections.abc import Iterator

import numpy as np

from skyband.kernels.array import Int64s

PIECE = 512
# The slot beyond either end.
NOWHERE = -1


class Alphabet:
    """Texts with slots, all different."""

    def __init__(self) -> None:
        self._first: list[str] = []
        self._texts: list[list[str]] = []
        self._slots: list[array[int]] = []

    @property
    def n_pieces(self) -> int:
        return len(self._first)

    @property
    def n_bytes(self) -> int:
        """About what the texts take, and their slots exactly."""
        return sum(sum(map(len, texts)) + 72 * len(texts) for texts in self._texts)

    def fill(self, texts: list[str], slots: Int64s) -> None:
        """Hold these texts, which are in order, and no others."""
        starts = range(0, len(texts), PIECE)
        self._texts = [texts[start : start + PIECE] for start in starts]
        self._slots = [array("q", slots[start : start + PIECE].tobytes()) for start in starts]
        self._first = [piece[0] for piece in self._texts]

    def insert(self, text: str, slot: int) -> tuple[int, int]:
        """Put in a text; its piece, and its place there."""
        if not self._first:
            self.fill([text], np.array([slot]))
            return 0, 0
        piece = max(bisect(self._first, text) - 1, 0)
        at = bisect(self._texts[piece], text)
        self._texts[piece].insert(at, text)
        self._slots[piece].insert(at, slot)
        self._first[piece] = self._texts[piece][0]
        if len(self._texts[piece]) > 2 * PIECE:
            self._split(piece)
            if at >= PIECE:
                return piece + 1, at - PIECE
        return piece, at

    def _split(self, piece: int) -> None:
        texts, slots = self._texts[piece], self._slots[piece]
        self._texts[piece : piece + 1] = [texts[:PIECE], texts[PIECE:]]
        self._slots[piece : piece + 1] = [slots[:PIECE], slots[PIECE:]]
        self._first.insert(piece + 1, texts[PIECE])

    def neighbours(self, piece: int, at: int) -> tuple[int, int]:
        """The slots of the texts before and after one; NOWHERE beyond an end."""
        slots = self._slots[piece]
        before = slots[at - 1] if at > 0 else self.last_of(piece - 1)
        after = slots[at + 1] if at + 1 < len(slots) else self.first_of(piece + 1)
        return before, after

    def first_of(self, piece: int) -> int:
        """The slot of the first text of a piece, NOWHERE if there is no such piece."""
        return self._slots[piece][0] if piece < self.n_pieces else NOWHERE

    def last_of(self, piece: int) -> int:
        """The slot of the last text of a piece, NOWHERE if there is no such piece."""
        return self._slots[piece][-1] if piece >= 0 else NOWHERE

    def slots(self, lo: int, hi: int) -> Int64s:
        """The slots of the texts in the pieces from `lo` to `hi`, in order."""
        return np.concatenate([np.array(slots, np.int64) for slots in self._slots[lo:hi]])

    def __iter__(self) -> Iterator[tuple[str, int]]:
        for texts, slots in zip(self._texts, self._slots, strict=True):
            yield from zip(texts, slots, strict=True)

    def check(self) -> None:
        """Assert the invariants."""
        texts = [text for text, _ in self]
        assert texts == sorted(set(texts))
        assert [piece[0] for piece in self._texts] == self._first
        assert all(1 <= len(piece) <= 2 * PIECE for piece in self._texts)
