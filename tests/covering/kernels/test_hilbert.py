"""The Hilbert curve by what defines it."""

import numpy as np
import numpy.typing as npt
import pytest

from skyband.covering.kernels.curve import cells_of, keys_of, n_words
from skyband.covering.kernels.hilbert import check_hilbert, hilbert_keys
from skyband.kernels.array import Int64s

SHAPES = [(1, 6), (2, 1), (2, 2), (2, 5), (3, 3), (4, 2), (5, 2), (9, 1), (1, 1)]


def universe(dims: int, bits: int) -> Int64s:
    return cells_of(np.arange(1 << dims * bits, dtype=np.uint64)[:, None], dims, bits)


@pytest.mark.parametrize(("dims", "bits"), SHAPES)
def test_consecutive_keys_are_neighbours(dims: int, bits: int) -> None:
    cells = universe(dims, bits)
    check_hilbert(hilbert_keys(cells, bits), cells)


@pytest.mark.parametrize(("dims", "bits"), SHAPES)
def test_standard_cubes_are_runs(dims: int, bits: int) -> None:
    cells = universe(dims, bits)
    keys = hilbert_keys(cells, bits)[:, 0]
    for level in range(bits + 1):
        # Cells in the order of Z keys: a standard cube is a stretch of them.
        cubes = keys.reshape(-1, 1 << dims * level)
        assert (cubes.max(axis=1) - cubes.min(axis=1) == (1 << dims * level) - 1).all()


def test_order_of_a_square() -> None:
    keys = hilbert_keys(np.array([[0, 0], [0, 1], [1, 1], [1, 0]]), 1)[:, 0]
    assert keys.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(("dims", "bits"), [(8, 16), (8, 32), (16, 16), (32, 8), (5, 13)])
@pytest.mark.parametrize("dtype", [np.int64, np.uint32])
def test_large_universes(dims: int, bits: int, dtype: npt.DTypeLike) -> None:
    cells = np.random.default_rng(dims).integers(0, 1 << bits, (30, dims))
    keys = hilbert_keys(cells.astype(dtype), bits)
    assert keys.shape == (30, n_words(dims, bits))
    assert len(np.unique(keys, axis=0)) == 30
    # The highest levels of a key are the key of the highest levels, since cubes are runs; in a cube of one level less
    # the curve may be turned, so only those that lie in the same cube are compared.
    near = cells[:1] ^ np.arange(2)[:, None]
    halves = keys_of(near >> 1, bits)
    assert np.array_equal(halves[0], halves[1])
    a, b = (sum(int(word) << 64 * i for i, word in enumerate(row[::-1])) for row in hilbert_keys(near, bits))
    assert a >> dims == b >> dims
    assert a != b


def test_no_cells() -> None:
    assert hilbert_keys(np.zeros((0, 3), np.uint16), 4).shape == (0, 1)
