"""Groups: they keep what holds for all of their members, and are made of those that are alike."""

import numpy as np
import pytest

from skyband.kernels.array import Floats
from skyband.zoning.group import FOR_EVER, Groups, concatenated, grouped, merged, no_groups, scaled, united


def members(points: Floats, worst: Floats | None = None, until: list[int] | None = None) -> Groups:
    """Groups of one, with a need for ever of 0."""
    n = len(points)
    worsts = np.zeros(n) if worst is None else worst
    untils = np.full(n, FOR_EVER) if until is None else np.array(until)
    return Groups(np.zeros(n, np.int64), points, points.copy(), np.minimum(worsts, 0.0), worsts, untils)


def test_a_group_has_the_box_and_the_least_needs_of_its_members() -> None:
    found = members(np.array([[1.0, 5.0], [2.0, 4.0], [9.0, 9.0]]), np.array([3.0, 2.0, -1.0]), [7, 8, 9])
    one = merged(found, np.array([1, 1, 0]))
    assert one.low.tolist() == [[9.0, 9.0], [1.0, 4.0]]
    assert one.high.tolist() == [[9.0, 9.0], [2.0, 5.0]]
    assert one.need.tolist() == [-1.0, 0.0]
    assert one.worst.tolist() == [-1.0, 2.0]
    assert one.until.tolist() == [9, 7]
    assert one.needs(7).tolist() == [-1.0, 2.0]
    assert one.needs(8).tolist() == [-1.0, 0.0]


def test_few_members_stay_as_they_are() -> None:
    points = np.array([[3.0], [1.0], [3.0]])
    groups, of = grouped(members(points), points, 3)
    assert of.tolist() == [0, 1, 2]
    assert groups.low.tolist() == points.tolist()


def test_those_without_needs_are_one_group() -> None:
    points = np.arange(6.0)[:, None]
    found = members(points, np.array([-np.inf, 1.0, -np.inf, 2.0, -np.inf, 3.0]))
    for most in (4, 2):
        groups, of = grouped(found, points, most)
        assert len(set(of[[0, 2, 4]].tolist())) == 1
        assert len(groups.kind) == most
        assert groups.worst.min() == -np.inf
    # There is no room to keep them apart.
    assert grouped(found, points, 1).groups.worst.tolist() == [-np.inf]
    kinds = found._replace(kind=np.array([0, 0, 1, 1, 0, 1]))
    assert sorted(grouped(kinds, points, 1).groups.kind.tolist()) == [0, 1]


def test_those_that_lapse_are_kept_apart() -> None:
    points = np.zeros((8, 1))
    found = members(points, np.full(8, 1.0), [5, FOR_EVER] * 4)
    assert sorted(grouped(found, points, 2).groups.until.tolist()) == [5, FOR_EVER]
    mixed = members(points, np.full(8, 1.0), [1, 2, 3, 4, 101, 102, 103, 104])
    assert sorted(grouped(mixed, points, 2).groups.until.tolist()) == [1, 101]


def test_alike_ones_come_together() -> None:
    random = np.random.default_rng(8)
    points = np.concatenate([random.random((50, 2)) + shift for shift in (0.0, 10.0, 20.0, 30.0)])
    groups, of = grouped(members(points), points, 4)
    assert [len(set(of[i : i + 50].tolist())) for i in range(0, 200, 50)] == [1, 1, 1, 1]
    assert (groups.high - groups.low).max() < 1.0
    # Numbers that are next to each other have no middle.
    close = np.array([[1.0], [np.nextafter(1.0, 2.0)], [1.0]])
    assert grouped(members(close), close, 2).of.tolist() == [0, 1, 0]
    assert len(grouped(members(np.ones((9, 1))), np.ones((9, 1)), 4).groups.kind) == 1


def test_intervals_that_meet_are_one() -> None:
    low, high = np.array([[0.0], [5.0], [1.0], [2.0], [-np.inf]]), np.array([[1.0], [6.0], [2.0], [2.0], [-3.0]])
    found = members(low)._replace(high=high)
    one = united(found)
    assert list(zip(one.low[:, 0].tolist(), one.high[:, 0].tolist(), strict=True)) == [
        (-np.inf, -3.0),
        (0.0, 2.0),
        (5.0, 6.0),
    ]
    apart = united(found._replace(kind=np.array([0, 0, 1, 0, 1])))
    assert apart.kind.tolist() == [0, 0, 0, 1, 1]
    assert apart.low[:, 0].tolist() == [0.0, 2.0, 5.0, -np.inf, 1.0]
    assert len(united(no_groups()._replace(low=np.zeros((0, 1)), high=np.zeros((0, 1)))).kind) == 0


def test_nobody_can_be_grouped_and_added() -> None:
    found = members(np.ones((2, 3)))
    assert concatenated(found, no_groups()) is found
    assert concatenated(no_groups(), found) is found
    assert len(concatenated(found, found).kind) == 4
    assert len(grouped(no_groups(), np.zeros((0, 0)), 3).groups.kind) == 0
    with pytest.raises(ValueError, match="different dimensions"):
        concatenated(found, members(np.ones((2, 1))))


def test_infinite_and_huge_sides_are_scaled() -> None:
    columns = np.array([[-np.inf, 1e308, 5.0], [0.0, -1e308, 5.0], [2.0, 0.0, 5.0], [np.inf, np.inf, 5.0]])
    assert scaled(columns).tolist() == [[0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [1.0, 0.5, 0.0], [1.0, 1.0, 0.0]]
    assert scaled(np.array([[np.inf], [-np.inf]])).tolist() == [[0.0], [0.0]]
