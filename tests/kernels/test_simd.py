"""Many comparisons at once against one at a time, and images of numbers."""

import numpy as np
import numpy.typing as npt
import pytest

from skyband.kernels.array import Int32s
from skyband.kernels.compile import kernel
from skyband.kernels.simd import (
    BLOCK_ENDS,
    LANES,
    NEVER_HI,
    NEVER_LO,
    Cells,
    at_least,
    at_most,
    highest_bit,
    hits,
    image_above,
    image_below,
    images,
    lowest_bit,
)
from skyband.ranked.kernels.parts import rounded_down, rounded_up

NUMBERS = [
    0.0,
    -0.0,
    0.1,
    -0.1,
    1.0,
    3.0,
    1e-320,
    -1e-320,
    1e-40,
    1e38,
    -1e38,
    3.4028235e38,
    1e39,
    -1e39,
    1e308,
    -1e308,
]
NUMBERS += [np.inf, -np.inf, 16777217.0, -16777217.0]


@kernel
def compiled_hits(ends: Int32s, start: int, low: int, high: int) -> int:
    return hits(ends, start, low, high)


@kernel
def compiled_lowest_bit(mask: int) -> int:
    return lowest_bit(mask)


@kernel
def compiled_highest_bit(mask: int) -> int:
    return highest_bit(mask)


@kernel
def compiled_at_least(cells: Cells, start: int, value: int) -> int:
    return at_least(cells, start, value)


@kernel
def compiled_at_most(cells: Cells, start: int, value: int) -> int:
    return at_most(cells, start, value)


def test_hits_are_what_a_comparison_at_a_time_finds() -> None:
    random = np.random.default_rng(1)
    ends = random.integers(-5, 6, 3 * BLOCK_ENDS).astype(np.int32)
    ends[:3], ends[LANES : LANES + 3] = NEVER_LO, NEVER_HI
    for _ in range(200):
        start = BLOCK_ENDS * int(random.integers(3))
        low, high = sorted(random.integers(-6, 7, 2).tolist())
        lo, hi = ends[start : start + LANES].tolist(), ends[start + LANES : start + BLOCK_ENDS].tolist()
        wanted = sum(1 << i for i in range(LANES) if lo[i] <= high and hi[i] >= low)
        assert compiled_hits(ends, start, low, high) == wanted == hits(ends, start, low, high)


@pytest.mark.parametrize("bit", [0, 1, 7, 31])
def test_the_lowest_bit(bit: int) -> None:
    for mask in (1 << bit, 1 << bit | 1 << 31):
        assert compiled_lowest_bit(mask) == bit == lowest_bit(mask)


@pytest.mark.parametrize("bit", [0, 1, 30, 31, 32, 62])
def test_the_highest_bit(bit: int) -> None:
    for mask in (1 << bit, 1 << bit | 1, (2 << bit) - 1):
        assert compiled_highest_bit(mask) == bit == highest_bit(mask)


@pytest.mark.parametrize("kind", [np.uint16, np.uint32])
def test_cells_are_compared_as_numbers_without_a_sign(kind: npt.DTypeLike) -> None:
    random, top = np.random.default_rng(2), int(np.iinfo(np.dtype(kind)).max)
    # Few values, on both sides of what would be the sign; nodes, dimensions and lanes as in a tree.
    values = [0, 1, top // 2, top // 2 + 1, top - 1, top]
    cells: Cells = random.choice(values, (3, 2, LANES)).astype(kind)
    for row in range(6):
        lanes = cells[row // 2, row % 2].tolist()
        for value in values:
            no_less = sum(1 << i for i in range(LANES) if lanes[i] >= value)
            no_more = sum(1 << i for i in range(LANES) if lanes[i] <= value)
            start = row * LANES
            assert compiled_at_least(cells, start, value) == no_less == at_least(cells, start, value)
            assert compiled_at_most(cells, start, value) == no_more == at_most(cells, start, value)


def test_lanes_may_begin_anywhere() -> None:
    cells: Cells = np.arange(3 * LANES, dtype=np.uint16)
    for start in range(2 * LANES):
        assert compiled_at_least(cells, start, LANES) == sum(1 << i for i in range(LANES) if start + i >= LANES)


def test_images_are_in_the_order_of_the_numbers() -> None:
    ordered = np.sort(np.array(NUMBERS))
    below, above = [image_below(x) for x in ordered.tolist()], [image_above(x) for x in ordered.tolist()]
    assert below == sorted(below)
    assert above == sorted(above)
    assert image_below(0.0) == image_below(-0.0) == image_above(-0.0) == 0


@pytest.mark.parametrize("number", NUMBERS)
def test_images_of_one_are_those_of_many(number: float) -> None:
    one = np.array([number])
    assert image_below(number) == images(rounded_down(one))[0]
    assert image_above(number) == images(rounded_up(one))[0]
    assert image_below(number) <= image_above(number)


def test_no_interval_is_never_met() -> None:
    ends = np.repeat(np.array([NEVER_LO, NEVER_HI], np.int32), LANES)
    assert compiled_hits(ends, 0, image_below(-np.inf), image_above(np.inf)) == 0
