"""Digests: they do not change, do not depend on how an array is stored, and spread."""

import numpy as np
import pyarrow as pa
import pytest

from skyband.zoning.digest import digests, digests_of_words

TEXTS = ["", "a", "b", "ab", "ba", "a\0", "\0", "été", "e\u0301te\u0301", "猫", "😀", "z" * 1000]


def test_digests_are_what_they_have_always_been() -> None:
    """Zones are kept in files: another digest would send subscriptions elsewhere."""
    assert digests(pa.array(["", "a", "猫"])).tolist() == [0, 17158499018558952680, 6937863172845169398]
    assert digests(pa.array([0, 1, -1, 2**62])).tolist() == [
        16294208416658607535,
        10451216379200822465,
        16490336266968443936,
        47939714376772075,
    ]


@pytest.mark.parametrize("values", [TEXTS, [0, 1, -1, 2**62, -(2**63), 2**63 - 1]])
def test_storage_makes_no_difference(values: list[object]) -> None:
    array = pa.array(values)
    expected = digests(array).tolist()
    assert len(set(expected)) == len(values)
    for start in range(len(values)):
        assert digests(array[start:]).tolist() == expected[start:]
        assert digests(array[start : start + 2]).tolist() == expected[start : start + 2]
    assert digests(pa.chunked_array([array[:3], array[3:]])).tolist() == expected
    assert [int(digests(array[i : i + 1])[0]) for i in range(len(values))] == expected
    assert digests(array[:0]).tolist() == []
    assert digests(pa.array([], pa.null())).tolist() == []


def test_words_have_the_same_digests() -> None:
    words = pa.array([*TEXTS, *reversed(TEXTS)])
    assert digests_of_words(words).tolist() == digests(words).tolist()
    assert digests_of_words(words[:0]).tolist() == []


def test_large_strings_are_as_others() -> None:
    assert digests(pa.array(TEXTS, pa.large_string())).tolist() == digests(pa.array(TEXTS)).tolist()


@pytest.mark.parametrize("kind", ["numbers", "texts", "long texts"])
def test_any_bits_spread(kind: str) -> None:
    n = 8_000
    ids = (
        pa.array(range(n))
        if kind == "numbers"
        else pa.array([("x" * 90 if "long" in kind else "") + f"s{i}" for i in range(n)])
    )
    found = digests(ids)
    assert len(np.unique(found)) == n
    for buckets in (found % np.uint64(8), found % np.uint64(3), found >> np.uint64(61)):
        counts = np.bincount(buckets.astype(np.int64))
        assert counts.max() < 1.15 * counts.mean()
