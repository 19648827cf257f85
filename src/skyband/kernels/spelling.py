"""Words written out for their codes, end to end."""

from skyband.kernels.array import Bytes, Int8s, Int32s
from skyband.kernels.byte_copy import copy_bytes
from skyband.kernels.compile import kernel


@kernel
def spell(codes: Int8s, letters: Bytes, starts: Int32s, ends: Int32s, data: Bytes) -> None:
    """Write the word of each code to `data`, which has room; word i goes from `ends[i]` to `ends[i + 1]`.

    The letters of the word with code c are those from `starts[c]` to `starts[c + 1]`. Where both have WORD bytes to
    spare, words are copied at once.
    """
    ends[0] = at = 0
    for i in range(len(codes)):
        start, n = starts[codes[i]], starts[codes[i] + 1] - starts[codes[i]]
        # What is overwritten behind a word is written again by the next.
        copy_bytes(letters, start, n, data, at)
        at += n
        ends[i + 1] = at
