"""The vocabulary: codes of words while they are in use, against a dictionary of counts."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from skyband.kernels.id_list import IdList
from skyband.topk.vocabulary import Vocabulary

NONE = np.zeros(0, np.int64)


def _words(*words: str) -> pa.Array:
    return pa.array(words, pa.string())


@pytest.mark.parametrize("few", [False, True])
def test_few_words_and_many_have_the_same_codes(few: bool) -> None:
    random, vocabulary, twin = np.random.default_rng(3), Vocabulary(), Vocabulary()
    for _ in range(30):
        words = [f"w{i}" for i in random.integers(0, 20, 9)]
        codes = vocabulary.take(IdList.of_texts(words) if few else _words(*words))
        assert codes.tolist() == twin.take(_words(*words)).tolist()
        assert vocabulary.words(codes).to_pylist() == words
        gone = np.array(sorted(set(codes.tolist())))[::2]
        for each in (vocabulary, twin):
            each.give(gone)
            each.check()


def test_a_word_keeps_its_code_while_it_is_in_use() -> None:
    vocabulary = Vocabulary()
    first = vocabulary.take(_words("jazz", "rain", "jazz"))
    assert first[0] == first[2] != first[1]
    again = vocabulary.take(_words("rain", "snow", "jazz"))
    assert again[[0, 2]].tolist() == first[[1, 0]].tolist()
    assert vocabulary.size == vocabulary.n_codes == 3
    assert vocabulary.words(again).to_pylist() == ["rain", "snow", "jazz"]
    vocabulary.check()


def test_a_word_is_given_up_when_nobody_uses_it_any_more() -> None:
    vocabulary = Vocabulary()
    jazz, rain, _ = vocabulary.take(_words("jazz", "rain", "jazz")).tolist()
    vocabulary.give(np.array([jazz]))
    assert vocabulary.take(_words("jazz")).tolist() == [jazz]
    vocabulary.give(np.array([jazz, rain, jazz]))
    vocabulary.check()
    assert (vocabulary.size, vocabulary.n_codes) == (0, 2)
    # Others come under the same codes, and the words that had them are new.
    assert sorted(vocabulary.take(_words("snow", "hail")).tolist()) == [0, 1]
    assert vocabulary.take(_words("jazz")).tolist() == [2]
    assert vocabulary.words(np.arange(3)).to_pylist() == ["snow", "hail", "jazz"]
    vocabulary.check()


def test_a_word_given_up_as_often_as_it_was_taken_in_one_call() -> None:
    vocabulary = Vocabulary()
    codes = vocabulary.take(_words(*["a"] * 1000, "b"))
    vocabulary.give(codes[:999])
    assert vocabulary.size == 2
    vocabulary.give(codes[:1])
    assert vocabulary.size == 1
    assert vocabulary.words(codes[-1:]).to_pylist() == ["b"]
    vocabulary.check()


def test_words_of_any_kind() -> None:
    words = [
        "",
        " ",
        "é",
        "e\u0301",
        "猫",
        "👩\u200d🚀",
        "👩",
        "Straße",
        "STRASSE",
        "a",
        "a\0",
        "\uffff",
        "z" * 5000,
        "A",
    ]
    vocabulary = Vocabulary()
    codes = vocabulary.take(_words(*words))
    assert sorted(codes.tolist()) == list(range(len(words)))
    assert vocabulary.words(codes).to_pylist() == words
    vocabulary.check()
    vocabulary.give(codes[::2])
    assert vocabulary.take(_words(*words[1::2])).tolist() == codes[1::2].tolist()
    assert vocabulary.words(codes[1::2]).to_pylist() == words[1::2]
    vocabulary.check()


def test_words_in_a_slice_of_an_array() -> None:
    vocabulary = Vocabulary()
    whole = _words("a", "b", "c", "d")
    codes = vocabulary.take(whole.slice(1, 2))
    assert vocabulary.words(codes).to_pylist() == ["b", "c"]
    assert vocabulary.size == 2


def test_no_words() -> None:
    vocabulary = Vocabulary()
    assert vocabulary.take(_words()).tolist() == []
    vocabulary.give(NONE)
    assert vocabulary.words(NONE).to_pylist() == []
    assert (vocabulary.size, vocabulary.n_codes) == (0, 0)
    vocabulary.check()


@pytest.mark.parametrize("n_words", [3, 60])
def test_codes_equal_a_dictionary_of_counts(n_words: int) -> None:
    random = np.random.default_rng(n_words)
    vocabulary, uses, codes = Vocabulary(), Counter[str](), dict[str, int]()
    for _ in range(80):
        if random.random() < 0.5:
            words = [f"word {i}" for i in random.integers(0, n_words, random.integers(0, 12)).tolist()]
            taken = vocabulary.take(_words(*words)).tolist()
            for word, code in zip(words, taken, strict=True):
                assert codes.setdefault(word, code) == code
            uses.update(words)
        else:
            used = random.permutation(np.array(list(uses.elements()), object))[: random.integers(0, 12)].tolist()
            vocabulary.give(np.array([codes[word] for word in used], np.int64))
            uses.subtract(used)
            uses = +uses
            codes = {word: code for word, code in codes.items() if uses[word]}
        vocabulary.check()
        assert len(set(codes.values())) == vocabulary.size == len(uses)
        assert vocabulary.words(np.array(list(codes.values()), np.int64)).to_pylist() == list(codes)
    assert vocabulary.n_codes <= n_words


def test_memory_stays_the_same_over_windows_of_new_words() -> None:
    vocabulary, sizes = Vocabulary(), list[int]()
    live = [NONE, NONE]
    for window in range(300):
        # Two windows are live at a time, and a few words are said in all of them.
        words = [f"{window:03}.{i:02}" for i in range(40)] + ["jazz", "rain"] * 5
        live.append(vocabulary.take(_words(*words)))
        vocabulary.give(live[-3])
        sizes.append(vocabulary.n_bytes)
        assert vocabulary.size <= 2 * 40 + 2
    vocabulary.check()
    assert vocabulary.n_codes <= 3 * 40 + 2
    assert max(sizes[100:]) <= max(sizes[:100])


def test_the_check_notices_damage() -> None:
    for damage in ("a use too many", "a code that is free twice", "a code that is free and in use"):
        vocabulary = Vocabulary()
        codes = vocabulary.take(_words("a", "b", "c"))
        vocabulary.give(codes[:1])
        vocabulary.check()
        if damage == "a use too many":
            vocabulary._n_uses[codes[0]] += 1
        else:
            vocabulary._free = np.append(vocabulary._free, codes[0 if "twice" in damage else 1])
        with pytest.raises(AssertionError):
            vocabulary.check()
