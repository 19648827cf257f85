"""The grid of a cover set: what domains and bits may be, and the points and cells that boxes become."""

import numpy as np
import pytest

from skyband.covering.grid import WHOLE, CoverGrid, Domain, check_bits, check_domain, match_nothing, to_points

INF = np.inf


@pytest.mark.parametrize(("dims", "bits", "wanted"), [
    (2, None, 16), (16, None, 16), (18, None, 14), (32, None, 8), (2, 32, 32), (8, 32, 32), (32, 8, 8), (2, 2, 2),
])  # fmt: skip
def test_bits(dims: int, bits: int | None, wanted: int) -> None:
    assert check_bits(dims, bits) == wanted


@pytest.mark.parametrize(("dims", "bits", "most"), [(2, 1, 32), (2, 33, 32), (10, 26, 25), (32, 9, 8), (4, 0, 32)])
def test_bits_that_are_too_many_or_too_few(dims: int, bits: int, most: int) -> None:
    with pytest.raises(
        ValueError, match=f"^Keys have at most 256 bits: with {dims // 2} attributes, bits must be 2 to {most}.$"
    ):
        check_bits(dims, bits)


def test_too_many_attributes() -> None:
    with pytest.raises(ValueError, match=r"^Covering takes up to 16 attributes, not 17\.$"):
        check_bits(34, None)


def test_domains_are_made_of_numbers() -> None:
    checked = check_domain(Domain(1, 7, integer=True))
    assert checked == Domain(1.0, 7.0, True)
    assert isinstance(checked.low, float)
    assert check_domain(WHOLE) == WHOLE == Domain(-INF, INF, False)
    assert check_domain(Domain(-(2**53), 2**53, True)).high == 2.0**53


@pytest.mark.parametrize(("domain", "why"), [
    (Domain(1.0, 1.0), "A domain goes from a lower to a higher number, not from 1 to 1."),
    (Domain(2.5, -1.0), "A domain goes from a lower to a higher number, not from 2.5 to -1."),
    (Domain(np.nan, 1.0), "A domain goes from a lower to a higher number, not from nan to 1."),
    (Domain(0.0, np.nan), "A domain goes from a lower to a higher number, not from 0 to nan."),
    (Domain(0.0, 1.5, True), "A domain of integers goes from one integer to another."),
    (Domain(-0.5, 1.0, True), "A domain of integers goes from one integer to another."),
    (Domain(0.0, INF, True), "A domain of integers goes from one integer to another."),
    (Domain(-INF, INF, True), "A domain of integers goes from one integer to another."),
    (Domain(0.0, 2.0**54, True), r"A domain of integers reaches up to 2**53 on both sides."),
    (Domain(-(2.0**60), 0.0, True), r"A domain of integers reaches up to 2**53 on both sides."),
])  # fmt: skip
def test_what_no_domain_can_be(domain: Domain, why: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the whole sentence is compared
        check_domain(domain)
    assert str(caught.value) == why


def test_a_box_is_a_point_of_its_opposite_lower_ends_and_its_upper_ends() -> None:
    lo, hi = np.array([[1.0, -2.0], [-INF, 0.0]]), np.array([[3.0, 5.0], [0.0, INF]])
    assert to_points([WHOLE, WHOLE], lo, hi).tolist() == [[-1.0, 3.0, 2.0, 5.0], [INF, 0.0, 0.0, INF]]


def test_no_zero_is_negative() -> None:
    points = to_points([WHOLE], np.array([[0.0], [-0.0]]), np.array([[-0.0], [0.0]]))
    assert not np.signbit(points).any()


def test_ranges_are_open_where_they_reach_the_end_of_the_domain() -> None:
    lo, hi = np.array([[0.0], [-9.0], [0.5], [1.0]]), np.array([[1.0], [9.0], [0.9], [1.0]])
    wanted = [[INF, INF], [INF, INF], [-0.5, 0.9], [-1.0, INF]]
    assert to_points([Domain(0.0, 1.0)], lo, hi).tolist() == wanted
    assert to_points([Domain(0.0, INF)], lo, hi).tolist() == [[INF, 1.0], [INF, 9.0], [-0.5, 0.9], [-1.0, 1.0]]


def test_ranges_of_integers_end_at_integers() -> None:
    lo, hi = np.array([[2.1, -0.5], [2.0, 0.0]]), np.array([[4.9, 3.5], [4.0, 4.7]])
    wanted = [[-3.0, 4.0, INF, 3.0], [-2.0, 4.0, INF, INF]]
    assert to_points([Domain(0, 9, True), Domain(0, 4, True)], lo, hi).tolist() == wanted


@pytest.mark.parametrize(("domain", "lo", "hi", "is_empty"), [
    (WHOLE, 1.0, 1.0, False), (WHOLE, 1.0, 0.5, True), (WHOLE, -INF, INF, False),
    (Domain(0.0, 1.0), 1.0, 2.0, False), (Domain(0.0, 1.0), 1.1, 2.0, True), (Domain(0.0, 1.0), -3.0, -0.1, True),
    (Domain(0.0, 1.0), -3.0, 0.0, False), (Domain(0, 9, True), 2.1, 2.9, True), (Domain(0, 9, True), 2.1, 3.0, False),
    (Domain(0, 9, True), 9.5, INF, True), (Domain(0, 9, True), -INF, -0.5, True),
    (Domain(0, 9, True), -0.5, 0.0, False),
])  # fmt: skip
def test_boxes_that_match_nothing(domain: Domain, lo: float, hi: float, is_empty: bool) -> None:
    others = np.zeros((2, 1)), np.array([[1.0], [INF]])
    low, high = (np.column_stack([other, [end, end]]) for other, end in zip(others, (lo, hi), strict=True))
    assert match_nothing([WHOLE, domain], low, high).tolist() == [is_empty, is_empty]


def test_no_box_matches_nothing() -> None:
    assert match_nothing([WHOLE], np.zeros((0, 1)), np.zeros((0, 1))).tolist() == []


@pytest.mark.parametrize(("bits", "kind"), [(2, np.uint16), (16, np.uint16), (17, np.uint32), (32, np.uint32)])
def test_cells_are_as_wide_as_they_must_be(bits: int, kind: type[np.generic]) -> None:
    grid = CoverGrid([Domain(0.0, 1.0)], bits, np.zeros((0, 2)))
    cells = grid.cells(np.array([[INF, INF], [-0.5, 0.5], [-INF, -INF]]))
    assert cells.dtype == kind
    assert cells[0].tolist() == [2**bits - 1] * 2
    assert cells[2].tolist() == [0, 0]
    # A range of no width in the middle: the cells of its ends are opposite.
    assert cells[1].sum() == 2**bits - 1


def test_attributes_have_grids_of_their_own() -> None:
    random = np.random.default_rng(1)
    sample = np.column_stack([random.random((50, 2)) * scale for scale in (1.0, 1e150, 1.0)])
    domains = [WHOLE, WHOLE, Domain(0, 3, True)]
    grid = CoverGrid(domains, 8, sample)
    for j, domain in enumerate(domains):
        alone = CoverGrid([domain], 8, sample[:, 2 * j : 2 * j + 2])
        assert np.array_equal(grid.cells(sample)[:, 2 * j : 2 * j + 2], alone.cells(sample[:, 2 * j : 2 * j + 2]))
    assert grid.axes.tells_apart.tolist() == [False, False, True]
    assert grid.n_bytes == sum(array.nbytes for array in grid.axes)


def test_read_only_points_have_cells_too() -> None:
    points = np.array([[-0.25, 0.75]])
    points.setflags(write=False)
    assert CoverGrid([Domain(0.0, 1.0)], 4, np.zeros((0, 2))).cells(points).shape == (1, 2)
