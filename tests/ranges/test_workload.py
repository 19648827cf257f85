"""The workload of the range top-k paper."""

from typing import Any

import numpy as np
import pytest

from skyband.ranges.placement import CENTRES, SEGMENT
from skyband.ranges.workload import Options, generate

SMALL = {"n_objects": 1000, "n_events": 20_000, "n_subscriptions": 5000}


def made(**given: Any) -> Any:
    """A small workload."""
    return generate(Options(**SMALL | given))


def ends(**given: Any) -> tuple[Any, Any]:
    """The corners of the subscriptions, one row for each."""
    table = made(**{"n_events": 0} | given).subscriptions
    low, high = (np.array(table[name].to_pylist()).reshape(table.num_rows, -1) for name in ("lo", "hi"))
    assert (low <= high).all()
    return low, high


def test_defaults_are_section_5() -> None:
    options = Options()
    assert (options.n_objects, options.n_events, options.k, options.dims) == (10_000, 10_000, 20, 1)


def test_objects_are_inserted_first_then_changed() -> None:
    table = made().publications
    assert table["id"].to_pylist() == list(range(21_000))
    objects = table["object"].to_numpy()
    assert (objects[:1000] == np.arange(1000)).all()
    assert np.bincount(objects[1000:]).mean() == pytest.approx(20)
    assert table["y"].null_count == 0


def test_y_goes_up_or_down_to_anywhere_on_that_side_and_x_stays() -> None:
    table = made().publications
    y: dict[int, float] = {}
    x: dict[int, float] = {}
    ups, shares = [], []
    for row in table.to_pylist():
        old, new = y.get(row["object"]), row["y"]
        assert x.setdefault(row["object"], row["x"]) == row["x"]
        if old is not None:
            ups.append(new > old)
            shares.append((new - old) / (1 - old) if new > old else new / old)
        y[row["object"]] = new
    assert np.mean(ups) == pytest.approx(0.5, abs=0.02)
    np.testing.assert_allclose(np.histogram(shares, 10, (0, 1))[0] / len(shares), 0.1, atol=0.01)


def test_gaussian_changes_have_an_eighth_of_c_and_stay_inside() -> None:
    table = made(change="gaussian", volatility=0.08).publications
    order = np.argsort(table["object"].to_numpy(), kind="stable")
    same = np.diff(table["object"].to_numpy()[order]) == 0
    steps = np.diff(table["y"].to_numpy()[order])[same]
    assert steps.std() == pytest.approx(0.01, rel=0.05)
    wild = made(change="gaussian", volatility=50.0).publications["y"].to_numpy()
    assert ((wild >= 0.0) & (wild <= 1.0)).all()


def test_shares_of_deletes_and_moves() -> None:
    table = made(delete_share=0.1, move_share=0.2).publications
    x: dict[int, float] = {}
    y: dict[int, float | None] = {}
    deletes = moves = live = 0
    for row in table.to_pylist():
        thing = row["object"]
        if y.get(thing) is not None:
            live += 1
            deletes += row["y"] is None
            moves += row["x"] != x[thing]
            assert row["x"] == x[thing] or row["y"] == y[thing]
        elif thing in y:
            assert row["y"] is not None
            assert row["x"] == x[thing]
        x[thing], y[thing] = row["x"], row["y"]
    assert deletes / live == pytest.approx(0.1, abs=0.01)
    assert moves / live == pytest.approx(0.2, abs=0.01)


def test_clustered_objects_lie_about_ten_centres() -> None:
    x = made(objects="clustered", n_events=0).publications["x"].to_numpy()
    nearest = np.abs(x[:, None] - CENTRES).argmin(axis=1)
    assert np.bincount(nearest).tolist() == [100] * 10
    assert (x - CENTRES[nearest]).std() == pytest.approx(SEGMENT / 8, rel=0.1)


def test_moved_objects_stay_in_the_clusters() -> None:
    table = made(objects="clustered", move_share=1.0, dims=2).publications
    x = np.array(table["x"].to_pylist())
    assert (np.abs(x[..., None] - CENTRES).min(axis=-1) < SEGMENT * 0.7).all()
    assert len(np.unique(x[:, 0])) == len(x)


def test_uniform_subscriptions_fill_the_triangle() -> None:
    low, high = ends()
    assert low.mean() == pytest.approx(1 / 3, abs=0.01)
    assert high.mean() == pytest.approx(2 / 3, abs=0.01)


def test_clustered_subscriptions_are_a_few_clumps_on_a_grid() -> None:
    low, high = ends(data="clustered", cluster_width=0.01)
    assert len(np.unique(np.round(np.hstack([low, high]), 1), axis=0)) <= 40
    np.testing.assert_allclose(low * 9999, np.round(low * 9999), atol=1e-8)
    wide_low, wide_high = ends(data="clustered", cluster_width=2.0, dims=2)
    assert wide_low.min() >= 0.0
    assert wide_high.max() <= 1.0


@pytest.mark.parametrize(("data", "shift", "n"), [("correlated", 0.0, 10), ("anti-correlated", SEGMENT / 2, 9)])
def test_correlated_subscriptions_follow_the_objects_clusters(data: str, shift: float, n: int) -> None:
    low, high = ends(data=data)
    off = np.hstack([low, high])[..., None] - (CENTRES[:n] + shift)
    nearest = np.abs(off).argmin(axis=-1)
    assert set(nearest.ravel()) == set(range(n))
    assert np.take_along_axis(off, nearest[..., None], -1).std() == pytest.approx(SEGMENT / 8, rel=0.05)


@pytest.mark.parametrize(("data", "covered"), [("dataset1", None), ("dataset2", 100), ("dataset3", 10)])
def test_half_open_subscriptions(data: str, covered: int | None) -> None:
    low, high = ends(data=data, dims=2)
    assert (low[:, 1] == -np.inf).all()
    assert high[:, 1].mean() == pytest.approx(0.5, abs=0.02)
    if covered is not None:
        x = np.array(made(data=data, dims=2, n_events=0).publications["x"].to_pylist())[:, 0]
        counts = ((x >= low[:, :1]) & (x <= high[:, :1])).sum(axis=1)
        assert (counts[high[:, 0] < 1.0] == covered).all()
        assert (counts <= covered).all()
