"""Made-up words one can pronounce, each spelled by its rank; the commonest are the shortest.

Word r is r written in syllables: all words of one syllable come first, then all of two, and so on, so two
ranks never share a word and no list of words is kept.
"""

import numpy as np
import pyarrow as pa

from skyband.kernels.array import Int64s
from skyband.kernels.ragged import offsets_of

SYLLABLES = np.array([[ord(c), ord(v)] for c in "tsrnlmkdpbvgfz" for v in "aeiou"], dtype=np.uint8)
LONGEST = 5
FIRST = np.cumsum([0] + [len(SYLLABLES) ** length for length in range(1, LONGEST + 1)])
"""The first rank that has more than 0, 1, 2, … syllables."""


def words(ranks: Int64s) -> pa.StringArray:
    """The words of these ranks, in order, built as one buffer of bytes."""
    lengths = np.searchsorted(FIRST, ranks, side="right")
    rest = ranks - FIRST[lengths - 1]
    digits = np.empty((len(ranks), LONGEST), dtype=np.int64)
    for place in range(LONGEST):
        rest, digits[:, place] = np.divmod(rest, len(SYLLABLES))
    letters = SYLLABLES[digits[np.arange(LONGEST) < lengths[:, None]]]
    offsets = offsets_of(2 * lengths).astype(np.int32)
    return pa.StringArray.from_buffers(len(ranks), pa.py_buffer(offsets), pa.py_buffer(letters.tobytes()))
