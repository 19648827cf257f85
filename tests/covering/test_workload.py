"""The workload of the approximate covering paper."""

from typing import Any

import numpy as np
import pytest

from skyband.covering.workload import Options, generate, subscriptions


def made(**given: Any) -> tuple[Any, Any, Any, Any]:
    """Corners of subscriptions and of queries."""
    workload = generate(Options(**{"n_subscriptions": 2000, "n_queries": 500} | given))
    tables = (workload.subscriptions, workload.publications)
    low, high, query_low, query_high = (
        np.array(table[name].to_pylist()).reshape(table.num_rows, -1) for table in tables for name in ("lo", "hi")
    )
    assert (low <= high).all()
    assert (query_low <= query_high).all()
    return low, high, query_low, query_high


@pytest.mark.parametrize("data", ["uniform", "clustered", "zipfian"])
def test_integer_rectangles_lie_in_the_domain(data: str) -> None:
    for corners in made(data=data, bits=10, dims=3):
        assert corners.shape[1] == 3
        assert (corners == np.floor(corners)).all()
        assert corners.min() >= 0
        assert corners.max() <= 1023


def test_real_rectangles_lie_in_the_unit_box() -> None:
    for corners in made(domain="real"):
        assert ((corners >= 0.0) & (corners < 1.0)).all()
        assert len(np.unique(corners * 2**16 % 1)) > 100


@pytest.mark.parametrize("aspect", [0, 1, 2])
def test_sides_keep_their_lengths_and_aspect(aspect: int) -> None:
    low, high, _, _ = made(side_min=0.01, side_max=0.02, aspect=aspect)
    sides = high - low + 1
    shortest = sides.min(axis=1)
    assert shortest.min() >= np.floor(0.01 * 2**16)
    assert shortest.max() <= np.ceil(0.02 * 2**16)
    bits = np.frexp(sides)[1]
    assert set(np.ptp(bits, axis=1)) == set(range(aspect + 1))


@pytest.mark.parametrize("aspect", [0, 1, 2])
def test_query_regions_have_the_papers_shortest_side_and_aspect(aspect: int) -> None:
    _, _, low, high = made(query_aspect=aspect, query_side=1 / 16)
    rooms = np.hstack([low + 1, 2**16 - high])
    assert set(rooms.min(axis=1)) == {2**12}
    assert np.ptp(np.frexp(rooms)[1], axis=1).max() == aspect


def test_queries_may_be_rectangles_like_the_subscriptions() -> None:
    _, _, low, high = made(queries="rectangles", query_side=0.25, query_aspect=0)
    assert set((high - low + 1).min(axis=1)) == {2**14}


def test_covered_queries_lie_in_a_subscription() -> None:
    low, high, query_low, query_high = made(covered_share=0.4, side_min=0.01, side_max=0.05)
    inside = (low <= query_low[:, None]) & (query_high[:, None] <= high)
    assert inside.all(axis=2).any(axis=1).mean() == pytest.approx(0.4, abs=0.05)


def test_no_subscription_covers_when_there_is_none() -> None:
    made = generate(Options(n_subscriptions=0, covered_share=1.0))
    assert made.publications.num_rows == 50


def test_zipfian_middles_crowd_at_the_origin() -> None:
    low, high, _, _ = made(data="zipfian", side_min=0.0, side_max=0.0, aspect=0)
    assert np.median(low + high) / 2 < 0.1 * 2**16
    assert (low == high).all()


def test_clustered_middles_are_few() -> None:
    low, _, _, _ = made(data="clustered", n_clusters=3, spread=0.0, side_min=0.0, side_max=0.0, aspect=0)
    assert len(np.unique(low, axis=0)) == 3


@pytest.mark.parametrize("bits", [1, 2, 52])
def test_the_smallest_and_largest_domains(bits: int) -> None:
    assert max(corners.max() for corners in made(bits=bits, query_aspect=52, aspect=52)) < 2**bits


def test_subscriptions_alone_are_the_same() -> None:
    options = Options(n_subscriptions=10)
    assert subscriptions(options).equals(generate(options).subscriptions)
