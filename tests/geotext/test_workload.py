"""The workload of the Skype paper."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

from skyband.geotext.workload import CORPORA, Options, generate, stream, subscriptions
from skyband.workload.word import words


def made(**given: Any) -> Any:
    """A small workload: publications and subscriptions as rows."""
    return generate(Options(**{"n_publications": 5000, "n_subscriptions": 2000} | given))


def test_defaults_are_section_7_1() -> None:
    options = Options()
    assert (options.n_subscriptions, options.window_n, options.k) == (1_000_000, 1_000_000, 20)
    assert options.n_publications - options.window_n == 100_000
    assert CORPORA == {"tweets": (1_700_000, 9), "places": (208_000, 7), "reviews": (85_000, 37)}


@pytest.mark.parametrize("corpus", CORPORA)
def test_messages_have_as_many_keywords_as_the_corpus(corpus: Any) -> None:
    terms = made(corpus=corpus).publications["terms"].to_pylist()
    counts = [len(row) for row in terms]
    assert np.mean(counts) == pytest.approx(CORPORA[corpus].keywords, rel=0.02)
    assert min(counts) >= 1
    assert all(len(set(row)) == len(row) for row in terms)


def test_weights_are_positive_and_of_unit_length() -> None:
    workload = made(corpus="reviews")
    for table in (workload.publications, workload.subscriptions):
        for row in table.to_pylist():
            assert len(row["weights"]) == len(row["terms"])
            assert min(row["weights"]) > 0
            assert sum(weight * weight for weight in row["weights"]) == pytest.approx(1.0, abs=1e-12)


def test_common_words_are_zipfian_and_weigh_least() -> None:
    rows = made(vocabulary=1000, keywords=2.0).publications.to_pylist()
    counts = Counter(term for row in rows for term in row["terms"])
    first, _, _, fourth = words(np.arange(4)).to_pylist()
    assert counts.most_common(1)[0][0] == first
    # Close to 4 to 1; fewer, because a message has a word once.
    assert 2.5 < counts[first] / counts[fourth] < 4.0
    ratios = [row["weights"][0] / row["weights"][1] for row in rows if len(row["terms"]) == 2]
    assert np.mean(np.array(ratios) < 1.0) > 0.9


def test_a_tiny_vocabulary_is_used_up() -> None:
    terms = made(n_publications=50, vocabulary=3, keywords=30.0).publications["terms"].to_pylist()
    assert {frozenset(row) for row in terms} == {frozenset(words(np.arange(3)).to_pylist())}


def test_a_message_settles_for_fewer_keywords_when_the_rest_are_too_rare() -> None:
    given = {
        "n_publications": 5,
        "n_subscriptions": 0,
        "vocabulary": 1000,
        "keywords": 900.0,
        "word_skew": 2.0,
    }
    counts = [len(row) for row in made(**given).publications["terms"].to_pylist()]
    assert 50 < min(counts) <= max(counts) < 900


def test_one_word_is_a_vocabulary() -> None:
    assert set(map(tuple, made(vocabulary=1).publications["weights"].to_pylist())) == {(1.0,)}


def test_messages_lie_in_cities_of_zipfian_sizes() -> None:
    table = made(n_cities=2, city_spread=0.001, seed=5).publications
    places = np.column_stack([table["x"].to_numpy(), table["y"].to_numpy()])
    cities = Counter(map(tuple, np.round(places, 1).tolist()))
    (large, n_large), (small, n_small) = cities.most_common(2)
    assert large != small
    assert n_large / n_small == pytest.approx(2.0, rel=0.1)


def test_places_stay_in_the_bounds() -> None:
    table = made(bounds=(-10.0, 40.0, -9.0, 42.0), city_spread=0.5).publications
    x, y = table["x"].to_numpy(), table["y"].to_numpy()
    assert ((x >= -10.0) & (x <= -9.0) & (y >= 40.0) & (y <= 42.0)).all()
    assert y.max() - y.min() > 1.9


def test_subscriptions_have_one_to_five_keywords_and_any_alpha() -> None:
    table = made(corpus="reviews").subscriptions
    counts = Counter(len(row) for row in table["terms"].to_pylist())
    assert sorted(counts) == [1, 2, 3, 4, 5]
    assert all(count == pytest.approx(400, rel=0.2) for count in counts.values())
    alpha = table["alpha"].to_numpy()
    assert 0.0 <= alpha.min() < 0.01 < 0.99 < alpha.max() <= 1.0
    assert set(table["k"].to_pylist()) == {20}


def test_a_subscription_never_has_more_keywords_than_its_message() -> None:
    counts = [len(row) for row in made(keywords=1.0).subscriptions["terms"].to_pylist()]
    assert set(counts) == {1}


def test_windows() -> None:
    assert set(subscriptions(Options(n_subscriptions=5, window_n=7))["window_n"].to_pylist()) == {7}
    assert set(subscriptions(Options(n_subscriptions=5, window_us=9))["window_us"].to_pylist()) == {9}
    assert not {"window_n", "window_us"} & set(subscriptions(Options(n_subscriptions=5, window_n=0)).column_names)


def test_the_stream_need_not_be_read_to_its_end() -> None:
    assert next(stream(Options(n_publications=10**12), 100)).num_rows == 100
