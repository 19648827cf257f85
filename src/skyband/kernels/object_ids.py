"""The lexicon: the slots of objects by their ids, and integers in the order of the ids.

A larger integer id is its own label. Text ids lie in an alphabet and have labels with gaps between them, so that a new
one takes a label from a gap; where a gap is used up, the labels around it are spread again, far enough that gaps are
wide. Labels may change so, but never the order of two.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.kernels.array import Int64s
from skyband.kernels.growth import BY_A_QUARTER, grown
from skyband.kernels.id_list import INTEGERS, AnyIds, IdList, arrow_ids, id_numbers
from skyband.kernels.idmap import IdMap
from skyband.kernels.text_order import NOWHERE, Alphabet

# Labels of text lie between these. New ones beyond an end are WIDE apart; gaps are spread to FAIR at least.
LEAST, MOST = -(2**62), 2**62
WIDE, FAIR = 2**32, 2**12
# From so many new ids on, and a sixteenth of those there are, sorting all is faster than finding places one by one.
MANY = 64


class Lexicon:
    """Ids of objects, never given up. By slot, `label` is larger for a larger id, and `tie`, if asked for, smaller."""

    def __init__(self, ties: bool = True) -> None:
        self.ids = IdMap()
        self.label = np.zeros(0, np.int64)
        self.tie = np.zeros(0, np.int64)
        self._ties = ties
        self._alphabet = Alphabet()

    @property
    def n(self) -> int:
        return self.ids.size

    @property
    def n_bytes(self) -> int:
        return self.ids.n_bytes + self.label.nbytes + self.tie.nbytes + self._alphabet.n_bytes

    def slots(self, ids: AnyIds) -> Int64s:
        """The slot of each id, which is new if it was never seen."""
        slots = self.ids.find(ids)
        unknown = np.flatnonzero(slots < 0)
        if isinstance(ids, IdList) and len(unknown) == len(ids) == 1:
            self._add(ids)
            slots[:] = self.n - 1
        elif len(unknown):
            missing = arrow_ids(ids).take(pa.array(unknown))
            self._add(pc.unique(missing))
            slots[unknown] = self.ids.find(missing)
        return slots

    def reserve(self, n: int) -> None:
        """Let `label`, and `tie`, have this many places at least; what lies beyond the ids may be written by others."""
        self.label = grown(self.label, n, share=BY_A_QUARTER)
        if self._ties:
            self.tie = grown(self.tie, n, share=BY_A_QUARTER)

    def _add(self, ids: AnyIds) -> None:
        slots = np.arange(self.n, self.n + len(ids), dtype=np.int64)
        self.ids.add(ids, slots)
        self.reserve(self.n)
        if ids.type == INTEGERS:
            self._set(slots, id_numbers(ids))
        elif len(ids) > MANY and 16 * len(ids) > self.n:
            self._sort()
        else:
            for text, slot in zip(ids.to_pylist(), slots.tolist(), strict=True):
                self._insert(text, slot)

    def _set(self, slots: Int64s, labels: Int64s) -> None:
        self.label[slots] = labels
        if self._ties:
            # The complement is the negative without the one number that has none.
            self.tie[slots] = ~labels

    def _sort(self) -> None:
        ids = self.ids.ids(np.arange(self.n))
        order = pc.array_sort_indices(ids)
        self._alphabet.fill(ids.take(order).to_pylist(), np.asarray(order).astype(np.int64))
        self._spread(0, self._alphabet.n_pieces, 0)

    def _insert(self, text: str, slot: int) -> None:
        piece, at = self._alphabet.insert(text, slot)
        earlier, later = self._alphabet.neighbours(piece, at)
        before, after = self._label_of(earlier, LEAST), self._label_of(later, MOST)
        label = (before + after) // 2
        if earlier != NOWHERE and later == NOWHERE:
            label = min(before + WIDE, label)
        elif earlier == NOWHERE and later != NOWHERE:
            label = max(after - WIDE, label)
        self._set(np.array([slot]), np.array([label]))
        if label in (before, after):
            self._relieve(piece)

    def _label_of(self, slot: int, beyond: int) -> int:
        return beyond if slot == NOWHERE else int(self.label[slot])

    def _relieve(self, piece: int) -> None:
        """Spread the labels of the nearest pieces around one that have room enough."""
        reach, n_pieces = 0, self._alphabet.n_pieces
        while not self._spread(max(piece - reach, 0), min(piece + reach + 1, n_pieces), FAIR):
            reach = 2 * reach + 1

    def _spread(self, lo: int, hi: int, fair: int) -> bool:
        """Spread the labels of some pieces, if gaps are fair then or it is all of them."""
        slots, alphabet = self._alphabet.slots(lo, hi), self._alphabet
        before, after = self._label_of(alphabet.last_of(lo - 1), LEAST), self._label_of(alphabet.first_of(hi), MOST)
        gap = (after - before) // (len(slots) + 1)
        if gap < fair and hi - lo < alphabet.n_pieces:
            return False
        self._set(slots, before + gap * np.arange(1, len(slots) + 1))
        return True

    def check(self) -> None:
        """Assert the invariants."""
        self.ids.check()
        n = self.n
        assert (self.tie[:n] == ~self.label[: n * self._ties]).all()
        in_order = list(self._alphabet)
        if in_order:
            self._alphabet.check()
            slots = np.array([slot for _, slot in in_order])
            assert len(slots) == n
            assert self.ids.ids(slots).to_pylist() == [text for text, _ in in_order]
            assert (np.diff(self.label[slots]) > 0).all()
