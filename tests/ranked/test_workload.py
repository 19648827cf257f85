"""The workload of the ranked publish/subscribe paper."""

from typing import Any

import numpy as np
import pytest

from skyband.ranked.region import regions
from skyband.ranked.rows import parse_publications, parse_subscriptions
from skyband.ranked.workload import Options, generate
from skyband.table import Settings
from skyband.workload.seed import Purpose, generator


def made(**given: Any) -> Any:
    """A small workload."""
    return generate(Options(**{"n_publications": 20_000, "n_subscriptions": 20_000} | given))


def matrix(table: Any, name: str) -> Any:
    """A column of lists as a matrix, nulls as NaN."""
    return np.array(table[name].to_pylist(), dtype=np.float64)


def test_defaults_are_table_1() -> None:
    options = Options()
    assert (options.n_subscriptions, options.n_publications, options.dims, options.k) == (10**6, 1000, 1, 20)
    assert (options.n_regions, options.n_cells, options.region_min, options.region_max) == (
        10,
        100,
        0.05,
        0.05,
    )
    assert (options.skew_across, options.skew_within, options.skew_length) == (0.0, 1.0, 0.75)


def test_intervals_are_their_middle_and_length_and_weigh_one_less_the_length() -> None:
    table = made(dims=2).subscriptions
    low, high, weights = (matrix(table, name) for name in ("lo", "hi", "weights"))
    assert (low <= high).all()
    middle = (low + high) / 2
    assert ((middle >= -1e-12) & (middle < 1.0)).all()
    np.testing.assert_allclose(weights, 1 - (high - low) / 2, atol=1e-12)
    assert (weights >= 0.0).all()


def test_a_lower_skew_gives_longer_intervals() -> None:
    means = [1 - matrix(made(skew_length=skew).subscriptions, "weights").mean() for skew in (0.0, 0.75, 2.0)]
    assert means[0] == pytest.approx(0.5, abs=0.01)
    assert means[0] > means[1] > means[2]


def test_ties_keep_lengths_to_whole_cells() -> None:
    assert len(np.unique(matrix(made(ties=True).subscriptions, "weights"))) <= 100
    assert len(np.unique(matrix(made().subscriptions, "weights"))) > 19_000


def test_points_lie_in_the_regions_densest_in_the_middle() -> None:
    places = regions(generator(1, Purpose.CENTRES), np.array([0.05]), 100, 1, 0.0, 1.0)
    assert places.sides.tolist() == [[5]]
    cells = np.floor(places.draw(generator(2, Purpose.CENTRES), 50_000)[:, 0] * 100).astype(int) - places.first[0, 0]
    # Ranks 1 to 5 share a weight of 137/60: the middle has 1, its neighbours 1/2 + 1/3, the ends 1/4 + 1/5.
    expected = np.array([9 / 40, 5 / 12, 1, 5 / 12, 9 / 40]) / (137 / 60)
    np.testing.assert_allclose(np.bincount(cells) / len(cells), expected, atol=0.01)


@pytest.mark.parametrize("dims", [2, 3, 8, 100])
def test_regions_have_their_share_of_the_cells(dims: int) -> None:
    places = regions(generator(1, Purpose.CENTRES), np.full(10, 0.05), 100, dims, 0.0, 1.0)
    shares = np.prod(places.sides / 100, axis=1)
    assert np.median(shares) == pytest.approx(0.05, rel=0.3)
    assert ((places.first >= 0) & (places.first + places.sides <= 100)).all()
    points = places.draw(generator(2, Purpose.CENTRES), 1000) * 100
    inside = (points[:, None] >= places.first) & (points[:, None] < places.first + places.sides)
    assert np.all(np.any(np.all(inside, axis=2), axis=1))


def test_within_a_plane_the_density_falls_with_the_distance() -> None:
    places = regions(generator(1, Purpose.CENTRES), np.array([1.0]), 101, 2, 0.0, 1.0)
    offsets = np.abs(np.floor(places.draw(generator(2, Purpose.CENTRES), 50_000) * 101) - 50).max(axis=1)
    # Rank r is at a distance of sqrt(r) / 2, so as many points lie within sqrt(n) cells as beyond.
    assert np.mean(offsets <= 5) == pytest.approx(np.log(121) / np.log(101**2), abs=0.05)


def test_skew_across_fills_the_first_region_most() -> None:
    places = regions(generator(1, Purpose.CENTRES), np.full(2, 0.01), 100, 1, 1.0, 0.0)
    cells = np.floor(places.draw(generator(2, Purpose.CENTRES), 20_000)[:, 0] * 100)
    assert np.mean(cells == places.first[0, 0]) == pytest.approx(2 / 3, abs=0.02)


def test_missing_dimensions_are_null() -> None:
    assert not np.isnan(matrix(made(dims=4).publications, "point")).any()
    points = matrix(made(dims=4, missing_share=0.3).publications, "point")
    assert np.isnan(points).mean() == pytest.approx(0.3, abs=0.01)
    assert np.nanmin(points) >= 0.0
    assert np.nanmax(points) < 1.0


def test_subscriptions_may_speak_of_a_few_dimensions() -> None:
    plain, sparse = (made(dims=5, n_subscriptions=3000, constrained=n).subscriptions for n in (0, 2))
    dims = np.array(sparse["dims"].to_pylist())
    assert dims.shape == (3000, 2)
    assert (dims[:, 0] < dims[:, 1]).all()
    np.testing.assert_allclose(np.bincount(dims.ravel()) / 6000, 0.2, atol=0.03)
    for name in ("lo", "hi", "weights"):
        np.testing.assert_array_equal(matrix(sparse, name), np.take_along_axis(matrix(plain, name), dims, axis=1))
    assert made(dims=5, constrained=5).subscriptions.equals(made(dims=5).subscriptions)
    with pytest.raises(ValueError, match="constrained must not be greater than dims"):
        Options(dims=2, constrained=3)


def test_budgets_have_their_mean() -> None:
    budgets = made(budget=8).subscriptions["budget"].to_numpy()
    assert budgets.min() == 1
    assert budgets.mean() == pytest.approx(8, rel=0.05)
    assert made(budget=8).subscriptions.drop_columns("budget").equals(made().subscriptions)


def test_events_may_be_intervals_about_their_points() -> None:
    plain = made(dims=3, missing_share=0.2).publications
    table = made(dims=3, missing_share=0.2, interval_share=0.4, interval_width=0.5).publications
    points, low, upper = matrix(plain, "point"), matrix(table, "point"), matrix(table, "upper")
    wide = ~np.isnan(upper)
    assert wide.mean() == pytest.approx(0.4 * 0.8, abs=0.01)
    np.testing.assert_array_equal(np.isnan(low), np.isnan(points))
    np.testing.assert_allclose(low[wide] + 0.25, points[wide])
    np.testing.assert_allclose(upper[wide] - low[wide], 0.5)
    np.testing.assert_array_equal(low[~wide], points[~wide])


def test_every_row_is_one_that_the_model_takes() -> None:
    sizes = {"dims": 300, "n_cells": 10, "n_subscriptions": 200, "n_publications": 200}
    work = made(**sizes, constrained=4, budget=3, interval_share=0.5, missing_share=0.1)
    settings = Settings(dims=300)
    with pytest.raises(ValueError, match="must not make more than 1e300 cells"):
        Options(dims=151)
    assert parse_subscriptions(work.subscriptions, settings).rejects == []
    assert parse_publications(work.publications, settings).rejects == []
