"""Vocabularies: what is asked for is found, whether words are few or more than there is room for."""

from unittest import mock

import numpy as np
import pyarrow as pa
import pytest

from skyband.zoning import vocabulary as module
from skyband.zoning.vocabulary import GroupWords, joined, no_words, renumbered, said, vocabulary


def found(words: GroupWords, term: str) -> dict[int, float]:
    """The groups that ask for a term, and the most that it weighs there."""
    entries = said(words, pa.array([term]), np.array([0, 1]), np.ones(1))
    if not len(entries.key):
        return {}
    part = slice(*words.starts[entries.key[0] : entries.key[0] + 2])
    return dict(zip(words.group[part].tolist(), words.weight[part].tolist(), strict=True))


def numbered(n: int, n_groups: int) -> GroupWords:
    terms = pa.array([f"word {i}" for i in range(n)])
    return vocabulary(terms, np.full(n, 0.1), np.arange(n) % n_groups)


def test_groups_and_weights_are_kept() -> None:
    words = vocabulary(
        pa.array(["b", "a", "b", "b", ""]), np.array([0.5, 1.0, 0.7, 0.6, 0.1]), np.array([2, 0, 2, 1, 300])
    )
    assert found(words, "a") == {0: pytest.approx(1.0)}
    assert found(words, "b") == {1: pytest.approx(0.6), 2: pytest.approx(0.7)}
    assert found(words, "") == {300: pytest.approx(0.1)}
    assert found(words, "c") == {}
    assert min(found(words, term)[group] - weight for term, group, weight in (("a", 0, 1.0), ("b", 2, 0.7))) > 0.0


def test_nobody_asks_for_anything() -> None:
    assert found(no_words(), "a") == {}
    assert found(joined(no_words(), no_words()), "a") == {}
    words = vocabulary(pa.array(["a"]), np.ones(1), np.zeros(1, np.int64))
    assert len(said(words, pa.array([], pa.string()), np.zeros(3, np.int64), np.zeros(0)).row) == 0


def test_rows_are_told() -> None:
    words = vocabulary(pa.array(["a", "b"]), np.ones(2), np.array([0, 1]))
    entries = said(words, pa.array(["x", "a", "b", "a"]), np.array([0, 2, 2, 4]), np.array([0.1, 0.2, 0.3, 0.4]))
    assert entries.row.tolist() == [0, 2, 2]
    assert entries.weight.tolist() == [0.2, 0.3, 0.4]
    assert entries.key[0] == entries.key[2] != entries.key[1]


def test_groups_can_be_renumbered_and_joined() -> None:
    one = vocabulary(pa.array(["a", "b"]), np.array([0.5, 0.6]), np.array([0, 1]))
    other = vocabulary(pa.array(["a", "c"]), np.array([0.7, 0.8]), np.array([0, 1]))
    both = joined(renumbered(one, np.array([0, 0])), renumbered(other, np.array([0, 1])))
    assert found(both, "a") == {0: pytest.approx(0.7)}
    assert found(both, "b") == {0: pytest.approx(0.6)}
    assert found(both, "c") == {1: pytest.approx(0.8)}


def test_too_many_words_share_keys() -> None:
    with mock.patch.multiple(module, BITS=8, MOST_KEYS=256):
        words = numbered(1_000, 5)
        assert len(words.keys) <= 256
        assert words.shift == 56
        for i in range(1_000):
            assert i % 5 in found(words, f"word {i}")
        few = numbered(100, 5)
        assert few.shift == 0
        for both in (joined(words, few), joined(few, words), joined(words, words)):
            assert both.shift == 56
            for i in range(1_000):
                assert i % 5 in found(both, f"word {i}")
        many = joined(
            numbered(200, 3), vocabulary(pa.array([f"x{i}" for i in range(200)]), np.ones(200), np.full(200, 4))
        )
        assert many.shift == 56
        assert all(4 in found(many, f"x{i}") for i in range(200))
