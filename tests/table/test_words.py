"""Words: tokens of any script, and weights of unit length."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skyband.table import WordModel
from skyband.table.words import Words, tokenise


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


def test_a_version_names_the_counts() -> None:
    words = Words.fit_texts(["a b", "b c"])
    same = Words(2, {"c": 1, "b": 2, "a": 1})
    assert words.version == same.version
    assert words.version != Words(3, words.frequencies).version
    assert words.version != Words(2, {**words.frequencies, "a": 2}).version
    # A word may hold whatever separates the counts.
    assert Words(1, {"a\x001": 1}).version != Words(1, {"a": 1, "1": 1}).version


def test_a_file_whose_counts_were_changed_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "words.json"
    words = Words.fit_texts(["été Straße", "été"])
    words.save(path)
    assert Words.load(path).version == words.version
    path.write_text(path.read_text(encoding="utf-8").replace('"été": 2', '"été": 1'), encoding="utf-8")
    with pytest.raises(ValueError, match="is damaged: its counts are not those of version"):
        Words.load(path)


def test_a_file_without_a_version_of_its_counts_is_read(tmp_path: Path) -> None:
    path = tmp_path / "words.json"
    path.write_text('{"format": "skyband-words", "version": 1, "documents": 1, "frequencies": {"a": 1}}')
    assert Words.load(path) == Words(1, {"a": 1})


def test_an_updated_model_is_that_of_all_documents() -> None:
    documents = [["a", "b"], ["b", "b"], ["c"], []]
    words = Words.fit(documents[:2])
    assert words.updated(documents[2:]) == Words.fit(documents)
    assert words == Words.fit(documents[:2])


def test_drift_is_the_average_change_of_idf() -> None:
    words, newer = Words(4, {"a": 4, "b": 1}), Words(8, {"a": 4, "c": 2})
    expected = 4 * abs(newer.idf("a") - words.idf("a")) + 2 * abs(newer.idf("c") - words.idf("c"))
    assert words.drift(newer) == pytest.approx(expected / (4 * newer.idf("a") + 2 * newer.idf("c")))
    assert words.drift(words) == 0.0
    assert words.drift(Words(0, {})) == 0.0


@pytest.mark.parametrize(
    ("fit", "given", "sentence"),
    [
        (
            Words.fit,
            ["jazz in the park"],
            "Document 1 is 'jazz in the park' and not a list of words; for texts there is",
        ),
        (Words.fit, [["jazz"], 7], "Document 2 is 7 and not a list of words"),
        (
            Words.fit,
            "jazz",
            "'jazz' is not a list of documents; each is a list of words, and for texts there is fit_texts",
        ),
        (Words.fit, None, "None is not a list of documents"),
        (Words.fit_texts, [["jazz"]], r"\['jazz'\] is not a text; for lists of words there is fit"),
        (Words.fit_texts, "jazz", "'jazz' is not a list of texts; one text is a list of one"),
    ],
)
def test_texts_are_not_taken_for_words(fit: Any, given: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        fit(given)
