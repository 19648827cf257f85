"""The lexicon: the slots of objects by their ids, and integers in the order of the ids.

A larger integer id is its own label. Text ids lie in a sorted list and have labels with gaps between them, so that a
new one takes a label from a gap; where a gap is used up, the labels around it are spread again, far enough that gaps
are wide. Labels may change so, but never the order of two.
"""

from bisect import bisect

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from skyband.kernels.idmap import IdMap
from skyband.kernels.slots import grown

Int64s = npt.NDArray[np.int64]

# Labels of text lie between these. New ones beyond an end are WIDE apart; gaps are spread to FAIR at least.
LEAST, MOST = -(2**62), 2**62
WIDE, FAIR = 2**32, 2**12
# From so many new ids on, and a sixteenth of those there are, sorting all is faster than finding places one by one.
MANY = 64


class Lexicon:
    """Ids of objects, never given up. By slot, `label` is larger for a larger id, and `tie` smaller."""

    def __init__(self) -> None:
        self.ids = IdMap()
        self.label = np.zeros(0, np.int64)
        self.tie = np.zeros(0, np.int64)
        self._texts: list[str] = []
        self._sorted = np.zeros(0, np.int64)

    @property
    def n(self) -> int:
        return self.ids.size

    @property
    def n_bytes(self) -> int:
        texts = sum(map(len, self._texts)) + 64 * len(self._texts)
        return self.ids.n_bytes + self.label.nbytes + self.tie.nbytes + self._sorted.nbytes + texts

    def slots(self, ids: pa.Array) -> Int64s:
        """The slot of each id, which is new if it was never seen."""
        slots = self.ids.find(ids)
        unknown = np.flatnonzero(slots < 0)
        if len(unknown):
            new = pc.unique(ids.take(pa.array(unknown)))
            self._add(new)
            slots[unknown] = self.ids.find(ids.take(pa.array(unknown)))
        return slots

    def _add(self, ids: pa.Array) -> None:
        slots = np.arange(self.n, self.n + len(ids), dtype=np.int64)
        self.ids.add(ids, slots)
        self.label, self.tie = grown(self.label, self.n), grown(self.tie, self.n)
        if pa.types.is_integer(ids.type):
            self._set(slots, np.asarray(ids, np.int64))
        elif len(ids) > MANY and 16 * len(ids) > self.n:
            self._sort()
        else:
            self._sorted = grown(self._sorted, self.n)
            for text, slot in zip(ids.to_pylist(), slots.tolist(), strict=True):
                self._insert(text, slot)

    def _set(self, slots: Int64s, labels: Int64s) -> None:
        # The complement is the negative without the one number that has none.
        self.label[slots], self.tie[slots] = labels, ~labels

    def _sort(self) -> None:
        ids = self.ids.ids(np.arange(self.n))
        order = pc.array_sort_indices(ids)
        self._texts, self._sorted = ids.take(order).to_pylist(), np.asarray(order).astype(np.int64)
        self._spread(0, self.n)

    def _insert(self, text: str, slot: int) -> None:
        place, n = bisect(self._texts, text), len(self._texts)
        self._texts.insert(place, text)
        self._sorted[place + 1 : n + 1] = self._sorted[place:n].copy()
        self._sorted[place] = slot
        before, after = self._label_at(place - 1), self._label_at(place + 1)
        if n == 0:
            label = 0
        elif place == n:
            label = min(before + WIDE, (before + after) // 2)
        elif place == 0:
            label = max(after - WIDE, (before + after) // 2)
        else:
            label = (before + after) // 2
        self._set(np.array([slot]), np.array([label]))
        if label in (before, after):
            self._relieve(place)

    def _label_at(self, place: int) -> int:
        if place < 0:
            return LEAST
        return int(self.label[self._sorted[place]]) if place < len(self._texts) else MOST

    def _relieve(self, place: int) -> None:
        """Spread the labels of the nearest stretch around a place that has room enough."""
        reach = 4
        while True:
            lo, hi = max(place - reach, 0), min(place + reach, len(self._texts))
            gap = (self._label_at(hi) - self._label_at(lo - 1)) // (hi - lo + 1)
            if gap >= FAIR or (lo == 0 and hi == len(self._texts)):
                self._spread(lo, hi)
                return
            reach *= 2

    def _spread(self, lo: int, hi: int) -> None:
        before, after = self._label_at(lo - 1), self._label_at(hi)
        gap = (after - before) // (hi - lo + 1)
        self._set(self._sorted[lo:hi], before + gap * np.arange(1, hi - lo + 1))

    def check(self) -> None:
        """Assert the invariants."""
        self.ids.check()
        n = self.n
        assert (self.tie[:n] == ~self.label[:n]).all()
        if self._texts:
            assert self._texts == sorted(self.ids.ids(np.arange(n)).to_pylist())
            assert self.ids.ids(self._sorted[:n]).to_pylist() == self._texts
            assert (np.diff(self.label[self._sorted[:n]]) > 0).all()
