"""Bits of cells against a few lines of Python."""

import numpy as np

from skyband.ranked.kernels.cells import N_WORDS, OPEN, ROWS, WORD, set_bits


def test_bits_are_set_from_the_first_cell_to_the_last() -> None:
    random = np.random.default_rng(1)
    start, n, dims = 37, 90, 3
    first = random.integers(0, OPEN, (n, dims))
    last = np.minimum(first + random.integers(0, 9, (n, dims)), OPEN - 1)
    opened = random.random((n, dims)) < 0.2
    bits = np.zeros((dims, ROWS, N_WORDS), np.uint32)
    bits[1, 4, 0] = 5
    set_bits(bits, start, first, last, opened)
    wanted = np.zeros((dims, ROWS, N_WORDS * WORD), np.bool_)
    wanted[1, 4, [0, 2]] = True
    for i in range(n):
        for j in range(dims):
            wanted[j, first[i, j] : last[i, j] + 1, start + i] = True
            wanted[j, OPEN, start + i] = opened[i, j]
    assert np.array_equal(np.unpackbits(bits.view(np.uint8), axis=2, bitorder="little").astype(np.bool_), wanted)
