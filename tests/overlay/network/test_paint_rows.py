"""Messages on the way: they come out of their bytes as they went in, to the last bit, and take as many as is said."""

import numpy as np
import pyarrow as pa
import pytest

from skyband.overlay.network.paint_rows import PaintRows, pack_rows, unpack_rows
from skyband.ranges.kernels.message import FARTHEST, GONE

HEAD = 13
"""Three numbers of 4 bytes, and the kind of the ids."""


def drawn_rows(n: int, dims: int, seed: int = 0, texts: bool = False, points: bool = False) -> PaintRows:
    """Messages with sides that lie close together, and some far away."""
    random = np.random.default_rng(seed)
    low = random.choice([-FARTHEST, 0.0, np.nextafter(2.0, 0.0), 2.0, 1 / 3], (n, 2 * dims))
    high = low if points else np.nextafter(low, np.inf)
    y = random.choice([GONE, 1e-300, 2.5], n)
    objects = pa.array([f"ö{i}" for i in range(n)] if texts else np.arange(n) - 5)
    return PaintRows(low, high, random.random((n, dims)), y, random.integers(1, 9, n), objects)


@pytest.mark.parametrize("points", [False, True])
@pytest.mark.parametrize("texts", [False, True])
@pytest.mark.parametrize("dims", [1, 3])
@pytest.mark.parametrize("n", [0, 1, 9])
def test_messages_keep_every_bit(n: int, dims: int, texts: bool, points: bool) -> None:
    rows = drawn_rows(n, dims, texts=texts, points=points)
    found = unpack_rows(pack_rows(rows))
    for one, other in zip(rows[:-1], found[:-1], strict=True):
        assert np.array_equal(one, other)
        assert one.shape == other.shape
    assert found.objects.to_pylist() == rows.objects.to_pylist()


def test_a_message_takes_60_bytes_and_one_to_a_point_44() -> None:
    assert len(pack_rows(drawn_rows(10, 1))) == HEAD + 10 * 60
    assert len(pack_rows(drawn_rows(10, 1, points=True))) == HEAD + 10 * 44
    assert len(pack_rows(drawn_rows(1, 1, texts=True))) == HEAD + 52 + 4 + len("ö0".encode())


def test_some_of_the_messages() -> None:
    rows = drawn_rows(4, 1, texts=True)
    which = np.array([False, True, False, True])
    assert rows.chosen(which).objects.to_pylist() == ["ö1", "ö3"]
    assert rows.chosen(which).y.tolist() == rows.y[which].tolist()
    assert rows.chosen(np.ones(4, np.bool_)) is rows
