"""Made-up words."""

import re

import numpy as np
import pyarrow.compute as pc

from skyband.workload.word import FIRST, words


def naive(rank: int) -> str:
    """Word by word: the rank among the words of its length, in base 70, least syllable first."""
    syllables = [c + v for c in "tsrnlmkdpbvgfz" for v in "aeiou"]
    length = 1
    while rank >= len(syllables) ** length:
        rank -= len(syllables) ** length
        length += 1
    spelled = []
    for _ in range(length):
        rank, digit = divmod(rank, len(syllables))
        spelled.append(syllables[digit])
    return "".join(spelled)


def test_words_are_spelled_by_their_ranks() -> None:
    edges = [int(edge) + step for edge in FIRST[:-1] for step in (-1, 0, 1) if edge + step >= 0]
    ranks = np.array([*edges, *range(0, 1_700_000, 9973)], dtype=np.int64)
    found = words(ranks).to_pylist()
    assert found == [naive(int(rank)) for rank in ranks]
    assert all(re.fullmatch(r"([^aeiou][aeiou])+", word) for word in found)


def test_no_two_ranks_share_a_word() -> None:
    assert pc.count_distinct(words(np.arange(400_000))).as_py() == 400_000


def test_common_words_are_short() -> None:
    lengths = pc.utf8_length(words(np.arange(100_000))).to_numpy()
    assert (np.diff(lengths) >= 0).all()


def test_no_words() -> None:
    assert words(np.arange(0)).to_pylist() == []
