"""The jump along the Z curve over all that lies outside an orthant: the next key whose cell is at least `low`.

Of the coordinates that are too small, one falls short at the most significant place of the key: there it has a 0 where
`low` has a 1, with equal bits above. Any larger key inside the orthant has a 1 there or differs further up; so the next
one has the bits of z before that place, a 1 at it, and behind it the least that `low` allows. As a key grows with each
coordinate, the least is taken coordinate by coordinate: d steps, with no bit interleaved.
"""

import numpy as np

from skyband.covering.kernels.cubes import bit_length
from skyband.covering.kernels.curve import Cells
from skyband.kernels.compile import inlined


@inlined
def next_relevant(z: Cells, low: Cells, bits: int, out: Cells) -> bool:
    """Write the cell with the smallest key greater than that of z, among those that are at least `low` everywhere.

    False if there is none, which is only if z is the universe's last cell; then nothing is written. z may itself be in
    the orthant; `out` may be z.
    """
    at = -1
    most = np.int64(0)
    for j in range(len(z)):
        cell, least = np.int64(z[j]), np.int64(low[j])
        differing = cell ^ least
        # The highest bit of `differing` is above that of `most`; of equal ones the first dimension's counts.
        if cell < least and most < (most ^ differing) and most < differing:
            most, at = differing, j
    level = bit_length(int(most)) - 1
    if at < 0:
        level = _lowest_open_level(z, bits)
        if level == bits:
            return False
        for j in range(len(z)):
            at = j if (np.int64(z[j]) >> level) & 1 == 0 else at
    for j in range(len(z)):
        kept = level if j <= at else level + 1
        cell = np.int64(z[j]) >> kept << kept
        if j == at:
            cell |= np.int64(1) << level
        out[j] = max(cell, np.int64(low[j]))
    return True


@inlined
def _lowest_open_level(z: Cells, bits: int) -> int:
    """The lowest level at which any coordinate has a 0, or `bits`."""
    full = np.int64(-1)
    for j in range(len(z)):
        full &= np.int64(z[j])
    open_bits = ~full & ((np.int64(1) << bits) - 1)
    return bit_length(int(open_bits & -open_bits)) - 1 if open_bits else bits
