"""Words spelt beside those that Python puts together."""

import numpy as np
import pytest

from skyband.kernels.byte_copy import WORD
from skyband.kernels.spelling import spell


@pytest.mark.parametrize("spare", [0, WORD])
@pytest.mark.parametrize("words", [("enter", "leave", "move"), ("é", "", "long enough"), ("x",)])
def test_words_of_codes(words: tuple[str, ...], spare: int) -> None:
    raw = [word.encode() for word in words]
    starts = np.cumsum([0, *map(len, raw)], dtype=np.int32)
    for n in (0, 1, 50):
        codes = np.random.default_rng(n).integers(0, len(words), n).astype(np.int8)
        ends, data = np.full(n + 1, -1, np.int32), np.full(11 * n + spare, 7, np.uint8)
        spell(codes, np.frombuffer(b"".join([*raw, bytes(spare)]), np.uint8).copy(), starts, ends, data)
        wanted = [raw[code] for code in codes.tolist()]
        assert [data[ends[i] : ends[i + 1]].tobytes() for i in range(n)] == wanted
