"""The Hilbert curve: neighbours along it are neighbours in the grid, which those along the Z curve need not be.

From the highest level down each standard cube is reflected or turned, as its place in the cube above asks; a Gray code
across dimensions and levels turns the result into the coordinates of a cell whose Z key is the Hilbert key (Skilling's
transform). Invariants: keys are a bijection; cells with consecutive keys differ by one in one coordinate; the cells of
a standard cube are a single run.
"""

import numpy as np

from skyband.covering.kernels.curve import Cells, Words, key_of, n_words, spread_table
from skyband.kernels.array import Int64s
from skyband.kernels.compile import inlined, kernel


@inlined
def _turn_cubes(cell: Int64s, bits: int) -> None:
    for level in range(bits - 1, 0, -1):
        below = (1 << level) - 1
        for j in range(len(cell)):
            # Either the first coordinate is inverted or the two are exchanged; a branch would be a guess each time.
            inverts = -((cell[j] >> level) & 1)
            exchanged = (cell[0] ^ cell[j]) & below & ~inverts
            cell[j] ^= exchanged
            cell[0] ^= exchanged | (below & inverts)


@inlined
def _encode_gray(cell: Int64s, bits: int) -> None:
    for j in range(1, len(cell)):
        cell[j] ^= cell[j - 1]
    # What each level inverts further down: the bits of the last coordinate above it, added without carry.
    inverted = cell[len(cell) - 1] >> 1
    shift = 1
    while shift < bits:
        inverted ^= inverted >> shift
        shift <<= 1
    for j in range(len(cell)):
        cell[j] ^= inverted


@inlined
def hilbert_key_of(cells: Cells, bits: int, spread: Words, scratch: Int64s, key: Words) -> None:
    """Write the key of a cell; `scratch` has room for its coordinates."""
    for j in range(len(scratch)):
        scratch[j] = cells[j]
    _turn_cubes(scratch, bits)
    _encode_gray(scratch, bits)
    key_of(scratch, bits, spread, key)


@kernel
def _write_keys(cells: Cells, bits: int, spread: Words, scratch: Int64s, keys: Words) -> None:
    for i in range(len(cells)):
        hilbert_key_of(cells[i], bits, spread, scratch, keys[i])


def hilbert_keys(cells: Cells, bits: int) -> Words:
    """The keys of many cells along the Hilbert curve, a row each, as words in the layout of Z keys."""
    n, dims = cells.shape
    keys = np.empty((n, n_words(dims, bits)), np.uint64)
    # The kernel would be compiled anew for arrays that are read-only or have gaps.
    cells = np.require(cells, None, ["C", "W"])
    _write_keys(cells, bits, spread_table(dims), np.empty(dims, np.int64), keys)
    return keys


def check_hilbert(keys: Words, cells: Cells) -> None:
    """Assert the first two invariants of the keys of all cells of a universe that fit into one word."""
    assert np.array_equal(np.sort(keys[:, 0]), np.arange(len(keys), dtype=np.uint64))
    along = np.asarray(cells, np.int64)[np.argsort(keys[:, 0])]
    assert (np.abs(np.diff(along, axis=0)).sum(axis=1) == 1).all()
