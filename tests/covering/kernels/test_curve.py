"""Keys of the Z curve against Python's whole numbers."""

import numpy as np
import numpy.typing as npt
import pytest

from skyband.covering.kernels.curve import (
    Cells,
    Words,
    cells_of,
    check_keys,
    keys_of,
    less,
    n_words,
    order_of,
    spread_table,
)

SHAPES = [(1, 1), (1, 32), (2, 9), (3, 21), (8, 16), (8, 32), (9, 7), (5, 13), (16, 16), (17, 15), (32, 8), (32, 1)]


def number_of_cell(cells: list[int], bits: int) -> int:
    """The twin: bit by bit."""
    key = 0
    for level in range(bits - 1, -1, -1):
        for cell in cells:
            key = key << 1 | (cell >> level & 1)
    return key


def number_of_words(words: Words) -> int:
    """A key as a whole number."""
    key = 0
    for word in words:
        key = key << 64 | int(word)
    return key


def random_cells(dims: int, bits: int, n: int, dtype: npt.DTypeLike = np.int64) -> Cells:
    """Cells anywhere, with both ends of the universe among them."""
    random = np.random.default_rng(dims * bits)
    cells = random.integers(0, 1 << bits, (n, dims))
    cells[: n // 2] = np.where(random.random((n // 2, dims)) < 0.3, (1 << bits) - 1, cells[: n // 2])
    cells[:1], cells[1:2] = 0, (1 << bits) - 1
    return cells.astype(dtype)


@pytest.mark.parametrize(("dims", "bits"), SHAPES)
def test_keys_are_interleaved_bits(dims: int, bits: int) -> None:
    for dtype in [np.int64, np.uint16 if bits <= 16 else np.uint32]:
        cells = random_cells(dims, bits, 40, dtype)
        keys = keys_of(cells, bits)
        assert keys.shape == (40, n_words(dims, bits))
        twins = [number_of_cell(row, bits) for row in cells.tolist()]
        assert [number_of_words(row) for row in keys] == twins
        assert np.array_equal(cells_of(keys, dims, bits), cells)
        check_keys(keys, cells, bits)
        assert order_of(keys).tolist() == sorted(range(40), key=lambda i: twins[i])
        for i in range(1, 40):
            assert less(keys[i - 1], keys[i]) == (twins[i - 1] < twins[i])
        assert not less(keys[0], keys[0])


def test_keys_of_rows_with_gaps_and_read_only() -> None:
    cells = random_cells(6, 10, 20)
    gaps = cells[::2, ::2]
    cells.flags.writeable = False
    assert np.array_equal(keys_of(gaps, 10), keys_of(gaps.copy(), 10))
    check_keys(keys_of(cells, 10), cells, 10)


def test_no_cells() -> None:
    keys = keys_of(np.zeros((0, 8), np.uint16), 16)
    assert keys.shape == (0, 2)
    assert order_of(keys).tolist() == []
    assert cells_of(keys, 8, 16).shape == (0, 8)


@pytest.mark.parametrize("n_words", [1, 2, 4])
@pytest.mark.parametrize("kind", ["equal", "low word only", "few", "top bit", "uniform"])
def test_order_is_stable(kind: str, n_words: int) -> None:
    random = np.random.default_rng(n_words)
    keys = random.integers(0, 1 << 64, (300, n_words), np.uint64, endpoint=False)
    if kind == "equal":
        keys[:] = 7
    elif kind == "low word only":
        keys[:, :-1] = 0
        keys[:, -1] %= np.uint64(50)
    elif kind == "few":
        keys %= np.uint64(3)
    elif kind == "top bit":
        keys &= np.uint64(1 << 63 | 1)
    assert np.array_equal(order_of(keys), np.lexsort(tuple(keys.T[::-1])))


def test_tables_are_shared() -> None:
    assert spread_table(8) is spread_table(8)
    assert spread_table(3)[255] == int("001" * 8, 2)
    assert spread_table(32)[3] == 1 << 32 | 1
