"""The vocabulary: words as codes, for as long as somebody says them or asks for them."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.kernels.array import Int64s
from skyband.kernels.growth import grown
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

    def take(self, words: pa.Array) -> Int64s:
        """The code of each word, which is in use once more."""
        codes = self._ids.find(words)
        new = np.flatnonzero(codes < 0)
        if len(new):
            unknown = words.take(pa.array(new))
            fresh = pc.unique(unknown)
            self._ids.add(fresh, self._fresh_codes(len(fresh)))
            codes[new] = self._ids.find(unknown)
        np.add.at(self._n_uses, codes, 1)
        return codes

    def _fresh_codes(self, n: int) -> Int64s:
        n_again = min(n, len(self._free))
        again, self._free = np.split(self._free, [n_again])
        codes = np.concatenate([again, np.arange(self._end, self._end + n - n_again)])
        self._end += n - n_again
        self._n_uses = grown(self._n_uses, self._end)
        return codes

    def give(self, codes: Int64s) -> None:
        """These words are in use once less, each as often as it is listed."""
        np.subtract.at(self._n_uses, codes, 1)
        unused = codes[self._n_uses[codes] == 0]
        if len(unused):
            unused = np.unique(unused)
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
