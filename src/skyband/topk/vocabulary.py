"""The vocabulary: words as codes, for as long as somebody says them or asks for them."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.kernels.array import Int64s
from skyband.kernels.count import count_down, count_up
from skyband.kernels.growth import grown
from skyband.kernels.id_list import AnyIds, IdList
from skyband.kernels.idmap import IdMap


class Vocabulary:
    """Codes of words. A word has its code while it is in use; then the code is given to another word.

    Words come in the order in which a stream brings them, common ones early, so of two words the one with the greater
    code tends to be rarer.
    """

    def __init__(self) -> None:
        self._ids = IdMap()
        self._n_uses = np.zeros(0, np.int64)
        self._free = np.zeros(0, np.int64)
        self._end = 0

    @property
    def size(self) -> int:
        """How many words are in use."""
        return self._ids.size

    @property
    def n_codes(self) -> int:
        """One more than the greatest code."""
        return self._end

    @property
    def n_bytes(self) -> int:
        return self._ids.n_bytes + self._n_uses.nbytes + self._free.nbytes

    def take(self, words: AnyIds) -> Int64s:
        """The code of each word, which is in use once more."""
        codes = self._codes_of(words) if isinstance(words, IdList) else self._codes_of_many(words)
        count_up(self._n_uses, codes)
        return codes

    def find(self, words: AnyIds) -> Int64s:
        """The code of each word, -1 for one that is not in use."""
        return self._ids.find(words)

    def _codes_of_many(self, words: pa.Array) -> Int64s:
        """The codes of words of which most are known, so that there is room for the others alone."""
        codes = self._ids.find(words)
        new = np.flatnonzero(codes < 0)
        if len(new):
            unknown = words.take(pa.array(new))
            self._codes_of(pc.unique(unknown))
            codes[new] = self._ids.find(unknown)
        return codes

    def _codes_of(self, words: AnyIds) -> Int64s:
        """The codes of words, any of which may be new."""
        codes, n_new = self._ids.take(words, self._next_codes(len(words)))
        self._pass(n_new)
        return codes

    def _next_codes(self, n: int) -> Int64s:
        """The codes that the next n new words will have."""
        again = self._free[:n]
        if len(again) == n:
            return again
        fresh = np.arange(self._end, self._end + n - len(again))
        self._n_uses = grown(self._n_uses, self._end + n)
        return np.concatenate([again, fresh]) if len(again) else fresh

    def _pass(self, n: int) -> None:
        """So many of the next codes are given away."""
        n_again = min(n, len(self._free))
        self._free = self._free[n_again:]
        self._end += n - n_again

    def give(self, codes: Int64s) -> None:
        """These words are in use once less, each as often as it is listed."""
        unused = np.empty(len(codes), np.int64)
        n = count_down(self._n_uses, codes, unused)
        if n:
            unused = np.sort(unused[:n])
            self._ids.remove(unused)
            self._free = np.concatenate([self._free, unused])

    def words(self, codes: Int64s) -> pa.Array:
        """The words of these codes."""
        return self._ids.ids(codes)

    def check(self) -> None:
        """Assert the invariants."""
        self._ids.check()
        assert self.size + len(self._free) == self._end
        assert (self._n_uses[self._free] == 0).all()
        assert len(np.unique(self._free)) == len(self._free)
        assert np.count_nonzero(self._n_uses) == self.size
