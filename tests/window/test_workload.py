"""The workload of the top-k/w paper."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from skyband.window.workload import Options, generate, stream, subscriptions


def points(table: pa.Table) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The points as a matrix."""
    return np.array(table["point"].to_pylist())


def test_defaults_are_table_1() -> None:
    options = Options()
    assert (options.n_publications, options.n_subscriptions, options.rate) == (1_000_000, 400, 1000.0)
    assert (options.window_us, options.k, options.dims) == (40 * 60 * 1_000_000, 9, 4)
    first = next(stream(options, 1000))
    assert set(np.diff(first["point"].combine_chunks().offsets.to_numpy())) == {4}
    table = subscriptions(options)
    assert table.num_rows == 400
    assert table.column_names == ["id", "k", "score", "point", "window_us"]
    assert set(table["k"].to_pylist()) == {9}


def test_poisson_arrivals_have_the_rate_and_the_spread_of_a_poisson_process() -> None:
    made = generate(Options(n_publications=30_000, rate=600.0, dims=1))
    gaps = np.diff(made.publications["ts"].to_numpy()) / 1e6
    assert gaps.mean() == pytest.approx(0.1, rel=0.03)
    assert gaps.std() == pytest.approx(0.1, rel=0.05)


def test_regular_arrivals_are_evenly_spaced_from_the_start() -> None:
    start = 1_700_000_000_000_000
    made = generate(Options(n_publications=20_000, rate=60.0, spacing="regular", start=start, dims=1))
    times = made.publications["ts"].to_numpy()
    assert times[0] == start + 1_000_000
    assert set(np.diff(times)) == {1_000_000}


def test_uniform_points_fill_the_box() -> None:
    made = points(generate(Options(n_publications=20_000, dims=3)).publications)
    assert made.shape == (20_000, 3)
    np.testing.assert_allclose(made.mean(axis=0), 0.5, atol=0.01)
    np.testing.assert_allclose(made.var(axis=0), 1 / 12, atol=0.003)


def test_clustered_points_stay_inside_about_their_centres() -> None:
    options = Options(n_publications=20_000, n_subscriptions=5000, data="clustered", variance=0.0001, dims=2)
    made = generate(options)
    published, asked = points(made.publications), points(made.subscriptions)
    assert ((published >= 0.0) & (published <= 1.0)).all()
    near = published[np.linalg.norm(published - published[0], axis=1) < 0.1]
    assert len(near) == pytest.approx(10_000, rel=0.05)
    np.testing.assert_allclose(near.var(axis=0), 0.0001, rtol=0.1)
    np.testing.assert_allclose(asked.mean(axis=0), published.mean(axis=0), atol=0.03)


def test_the_papers_variance_is_redrawn_into_the_box() -> None:
    made = points(generate(Options(n_publications=20_000, data="clustered")).publications)
    assert ((made >= 0.0) & (made <= 1.0)).all()
    assert not ((made == 0.0) | (made == 1.0)).any()


@pytest.mark.parametrize(
    ("score", "columns"),
    [
        ("euclidean", {"point"}),
        ("chebyshev", {"point", "weights"}),
        ("sum", {"weights"}),
        ("cosine", {"weights"}),
    ],
)
def test_each_score_has_what_it_needs(score: Any, columns: set[str]) -> None:
    table = subscriptions(Options(score=score))
    assert set(table.column_names) & {"point", "weights"} == columns
    assert set(table["score"].to_pylist()) == {score}
    assert all(table[name].null_count == 0 for name in columns)


def test_mixed_scores_take_turns() -> None:
    rows = subscriptions(Options(score="mixed")).to_pylist()
    assert [row["score"] for row in rows[:5]] == ["euclidean", "chebyshev", "sum", "cosine", "euclidean"]
    for row in rows:
        assert (row["point"] is not None) == (row["score"] in ("euclidean", "chebyshev"))
        assert (row["weights"] is not None) == (row["score"] != "euclidean")


def test_a_count_window_takes_the_place_of_a_time_window() -> None:
    table = subscriptions(Options(window_n=500))
    assert "window_us" not in table.column_names
    assert set(table["window_n"].to_pylist()) == {500}


def test_boolean_subscriptions_have_a_threshold_and_no_k() -> None:
    rows = subscriptions(Options(n_subscriptions=4000, boolean_share=0.25, threshold=0.2)).to_pylist()
    boolean = [row for row in rows if row["threshold"] is not None]
    assert len(boolean) == pytest.approx(1000, rel=0.1)
    assert all(row["k"] is None and row["threshold"] == 0.2 for row in boolean)
    assert all(row["k"] == 9 for row in rows if row["threshold"] is None)
