"""The jump against all keys of small universes, and against whole numbers in large ones."""

import numpy as np
import numpy.typing as npt
import pytest

from skyband.covering.kernels.curve import Cells, cells_of, keys_of
from skyband.covering.kernels.jump import next_relevant
from skyband.kernels.compile import kernel


@kernel
def jump_all(cells: Cells, low: Cells, bits: int, out: Cells, found: np.ndarray) -> None:
    """A jump from each cell."""
    for i in range(len(cells)):
        found[i] = next_relevant(cells[i], low, bits, out[i])


def number_of(cells: list[int], bits: int) -> int:
    """The key as a whole number."""
    key = 0
    for level in range(bits - 1, -1, -1):
        for cell in cells:
            key = key << 1 | (cell >> level & 1)
    return key


def next_by_search(z: list[int], low: list[int], bits: int) -> int | None:
    """The twin: cut the universe in halves along the curve, and look into those that can have an answer."""
    dims, after = len(z), number_of(z, bits)

    def search(start: list[int], depth: int) -> int | None:
        level, dim = bits - 1 - depth // dims, depth % dims
        end = [at | ((1 << (level + (j >= dim))) - 1) for j, at in enumerate(start)]
        if number_of(end, bits) <= after or any(e < least for e, least in zip(end, low, strict=True)):
            return None
        if depth == dims * bits:
            return number_of(start, bits)
        upper = [at | (1 << level) * (j == dim) for j, at in enumerate(start)]
        found = search(start, depth + 1)
        return search(upper, depth + 1) if found is None else found

    return search([0] * dims, 0)


@pytest.mark.parametrize(("dims", "bits"), [(1, 5), (2, 1), (2, 3), (3, 2), (4, 2), (5, 1), (2, 5), (3, 3)])
def test_every_cell_of_a_small_universe(dims: int, bits: int) -> None:
    n = 1 << dims * bits
    cells = cells_of(np.arange(n, dtype=np.uint64)[:, None], dims, bits)
    random = np.random.default_rng(n)
    corners = [0, n - 1, *random.integers(0, n, 8).tolist()]
    for corner in corners:
        low, out, found = cells[corner], np.zeros_like(cells), np.zeros(n, np.bool_)
        jump_all(cells, low, bits, out, found)
        inside = np.flatnonzero((cells >= low).all(axis=1))
        following = np.searchsorted(inside, np.arange(n), side="right")
        assert np.array_equal(found, following < len(inside))
        assert found.sum() == n - 1
        assert np.array_equal(out[:-1], cells[inside[following[:-1]]])


@pytest.mark.parametrize(("dims", "bits"), [(2, 32), (8, 16), (8, 32), (16, 16), (32, 8)])
def test_large_universes(dims: int, bits: int) -> None:
    random = np.random.default_rng(dims)
    dtype: npt.DTypeLike = np.uint16 if bits <= 16 else np.uint32
    for trial in range(12):
        low = random.integers(0, 1 << bits, dims)
        spread = 1 << bits if trial < 6 else 3
        z = np.clip(low + random.integers(-spread, spread, dims), 0, (1 << bits) - 1)
        if trial == 11:
            z[:] = low
        out: Cells = np.zeros(dims, dtype)
        assert next_relevant(z.astype(dtype), low.astype(dtype), bits, out)
        assert (out >= low).all()
        assert number_of(out.tolist(), bits) == next_by_search(z.tolist(), low.tolist(), bits)


def test_jumps_in_place_reach_every_run() -> None:
    low, z, keys = np.array([3, 5, 2], np.uint16), np.zeros(3, np.uint16), []
    while next_relevant(z, low, 3, z):
        keys.append(int(keys_of(z[None], 3)[0, 0]))
    cells = cells_of(np.arange(512, dtype=np.uint64)[:, None], 3, 3)
    assert keys == np.flatnonzero((cells >= low).all(axis=1)).tolist()


def test_nothing_is_written_after_the_last_cell() -> None:
    out = np.zeros(4, np.uint32)
    last = np.full(4, 2**32 - 1, np.uint32)
    assert not next_relevant(last, np.zeros(4, np.uint32), 32, out)
    assert not out.any()
