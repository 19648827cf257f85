"""Keys: whole numbers to sort by, in the order of numbers, or along a curve that keeps neighbours together."""

from functools import cache

import numpy as np

from skyband.kernels.array import Floats, Int64s
from skyband.kernels.compile import inlined, kernel

LAST = np.iinfo(np.int64).max


def float_keys(values: Floats) -> Int64s:
    """Whole numbers in the order of these numbers."""
    bits = (np.ascontiguousarray(values, np.float64) + 0.0).view(np.int64)
    return np.where(bits < 0, bits ^ LAST, bits)


@inlined
def float_key(value: float) -> int:
    """The same for one number."""
    bits = int(np.float64(value + 0.0).view(np.int64))
    return bits ^ LAST if bits < 0 else bits


@cache
def _spread(dims: int) -> Int64s:
    """Each byte with `dims - 1` zeros between its bits."""
    return np.array([sum((byte >> i & 1) << (i * dims) for i in range(8)) for byte in range(256)], np.int64)


def curve_keys(points: Floats, extent_low: Floats, extent_high: Floats) -> Int64s:
    """Places along a Z-order curve over an extent, in cells of 63 // D bits each; what lies outside is clamped."""
    keys = np.zeros(len(points), np.int64)
    # The kernel would be compiled anew for arrays that are read-only or have gaps.
    points = np.require(points, np.float64, ["C", "W"])
    _add_curve_keys(points, extent_low, extent_high, _spread(points.shape[1]), keys)
    return keys


@kernel
def _add_curve_keys(points: Floats, low: Floats, high: Floats, spread: Int64s, keys: Int64s) -> None:
    n, dims = points.shape
    bits = 63 // dims
    n_cells = 2.0**bits
    last = np.nextafter(n_cells, 0.0)
    for j in range(dims):
        # Halves: the width of an extent may be more than the largest number.
        origin, width = low[j] * 0.5, high[j] * 0.5 - low[j] * 0.5
        if width > 0.0:
            for i in range(n):
                share = min(max(points[i, j] * 0.5 - origin, 0.0), width) / width
                cell = int(min(share * n_cells, last))
                for shift in range(0, bits, 8):
                    keys[i] |= spread[(cell >> shift) & 255] << (shift * dims + j)
