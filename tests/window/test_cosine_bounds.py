"""What an index could pass over in a search by cosine: the table of the docs, counted."""

import numpy as np
import pytest

from skyband.kernels.array import Floats, Int64s

LIVE, GROUP, K, ASKED = 2000, 32, 9, 50


def _directions(n: int, dims: int, random: np.random.Generator) -> Floats:
    vectors = random.normal(size=(n, dims))
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1)[:, np.newaxis])


def _groups(points: Floats) -> list[Int64s]:
    """The GROUP that are closest to one of them, and again of what is left."""
    left, groups = np.arange(len(points)), []
    while len(left):
        order = np.argsort(-(points[left] @ points[left[0]]))[:GROUP]
        groups.append(left[order])
        left = np.delete(left, order)
    return groups


def _angle(cosines: Floats) -> Floats:
    return np.asarray(np.arccos(np.clip(cosines, -1.0, 1.0)))


def _most(asked: Floats, members: Floats) -> Floats:
    """The largest cosine that one of a group can have, by its ball and by its box."""
    middle = members.mean(axis=0) / np.linalg.norm(members.mean(axis=0))
    radius = _angle(members @ middle).max()
    by_ball = np.cos(np.maximum(_angle(asked @ middle) - radius, 0.0))
    by_box = np.maximum(asked * members.min(axis=0), asked * members.max(axis=0)).sum(axis=1)
    return np.asarray(np.minimum(by_ball, by_box))


def _passed_over(dims: int) -> float:
    """The share of all that a search would not score, if it knew the k-th best beforehand."""
    random = np.random.default_rng(0)
    points, asked = _directions(LIVE, dims, random), _directions(ASKED, dims, random)
    cosines = asked @ points.T
    worst = np.sort(cosines, axis=1)[:, -K]
    n_passed = 0
    for group in _groups(points):
        most = _most(asked, points[group])
        assert (cosines[:, group].max(axis=1) <= most + 1e-9).all()
        n_passed += len(group) * int((most < worst).sum())
    return n_passed / (LIVE * ASKED)


@pytest.mark.parametrize(("dims", "least", "most"), [(4, 0.8, 0.9), (8, 0.4, 0.55), (16, 0.02, 0.05), (24, 0.0, 0.001)])
def test_in_few_dimensions_bounds_pass_over_many(dims: int, least: float, most: float) -> None:
    assert least <= _passed_over(dims) <= most


@pytest.mark.parametrize("dims", [32, 48])
def test_from_four_times_the_logarithm_on_bounds_pass_over_nothing(dims: int) -> None:
    assert dims > 4 * np.log(LIVE)
    assert _passed_over(dims) == 0.0
