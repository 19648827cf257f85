"""Words: tokens of any script, and weights of unit length."""

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skyband.model import WordModel
from skyband.scoring.words import Words, tokenise


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", []),
        ("Jazz, jazz & RAIN!", ["jazz", "jazz", "rain"]),
        ("Don't — don’t", ["dont", "dont"]),
        ("Straße ﬁn Ⅳ", ["strasse", "fin", "iv"]),
        ("cafe\u0301 café", ["café", "café"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("14 km x_y", ["14", "km", "x", "y"]),
        ("東京 ☃ tower", ["東京", "tower"]),
    ],
)
def test_tokenise(text: str, tokens: list[str]) -> None:
    assert tokenise(text) == tokens


@given(st.text())
def test_tokens_of_tokens_are_the_same(text: str) -> None:
    tokens = tokenise(text)
    assert tokenise(" ".join(tokens)) == tokens


def test_rare_words_weigh_more() -> None:
    words = Words.fit([["jazz", "bar"], ["jazz", "jazz"], ["jazz"]])
    assert words.idf("jazz") == math.log(2)
    assert words.idf("bar") == words.idf("never seen") == math.log(4)
    terms, weights = words.weigh(["jazz", "bar", "jazz"])
    assert terms == ["jazz", "bar"]
    assert weights[0] / weights[1] == pytest.approx(2 * math.log(2) / math.log(4))


@given(st.lists(st.lists(st.sampled_from("abcd"))), st.lists(st.sampled_from("abcdef")))
def test_weights_are_positive_and_of_unit_length(documents: list[list[str]], tokens: list[str]) -> None:
    model: WordModel = Words.fit(documents)
    terms, weights = model.weigh(tokens)
    assert terms == list(dict.fromkeys(tokens))
    assert all(weight > 0 for weight in weights)
    if tokens:
        assert math.hypot(*weights) == pytest.approx(1.0, abs=1e-12)


def test_save_and_load(tmp_path: Path) -> None:
    words = Words.fit_texts(["Ärger im Café", "im Regen"])
    words.save(tmp_path / "words.json")
    assert Words.load(tmp_path / "words.json") == words
    assert [path.name for path in tmp_path.iterdir()] == ["words.json"]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("{", "is not a JSON file of words"),
        ("[]", "is not a file of words"),
        (
            json.dumps({"format": "skyband-words", "version": 2}),
            "has version 2 of the format; this is version 1",
        ),
        (json.dumps({"format": "skyband-words", "version": 1, "documents": -1}), "-1 is not a count"),
        (json.dumps({"format": "skyband-words", "version": 1, "documents": 1}), "it has no frequencies"),
    ],
)
def test_files_that_are_not_words(content: str, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "words.json").write_text(content)
    with pytest.raises(ValueError, match=sentence):
        Words.load(tmp_path / "words.json")
    with pytest.raises(ValueError, match="There is no file"):
        Words.load(tmp_path / "none.json")
