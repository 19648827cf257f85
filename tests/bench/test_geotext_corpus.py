"""Messages and subscriptions for the figures of the Skype paper: read, scaled, weighed and replayed as promised."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from skyband.bench import geotext_corpus
from skyband.bench.geotext_corpus import FILES, REAL, SEED, Corpus
from skyband.bench.real import VARIABLE
from skyband.geotext import workload as geotext
from skyband.geotext.keyword import Keywords
from skyband.table.words import Words

TEXTS = ["Al Markaz, Al Markaz", "8 km N of Anza, CA", "", "Don't; loft in Brooklyn", "km km of", "Brooklyn loft"]


def write(folder: Path, data: str = "quakes") -> None:
    n = len(TEXTS)
    columns = {
        "id": pa.array(range(n)),
        "lat": pa.array([10.0, 20.0, 30.0, 20.0, 10.0, 50.0], pa.float32()),
        "lon": pa.array([-5.0, 5.0, 0.0, 0.0, 2.5, -2.5], pa.float32()),
        "text": pa.array(TEXTS, pa.large_string()),
    }
    if data != "geonames":
        columns["ts"] = pa.array([5, 4, 3, 2, None, 1], pa.timestamp("ms"))
    pq.write_table(pa.table(columns), folder / FILES[data])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    for data in REAL:
        write(tmp_path, data)
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_real_messages_come_by_time_and_start_again() -> None:
    table = Corpus("quakes").publications(10)
    # The message without a time and the one without a word are left out.
    first_words = [terms[0] for terms in table["terms"].to_pylist()]
    assert first_words == ["brooklyn", "dont", "8", "al"] * 2 + ["brooklyn", "dont"]
    assert table["id"].to_pylist() == list(range(10))
    assert np.diff(table["ts"].to_numpy()).tolist() == [1_000_000] * 9
    assert table["x"].to_pylist()[:4] == pytest.approx([0.25, 0.5, 1.0, 0.0])
    assert table["y"].to_pylist()[:4] == pytest.approx([1.0, 0.25, 0.25, 0.0])


@pytest.mark.usefixtures("folder")
def test_messages_without_times_are_shuffled_alike_each_time() -> None:
    first = Corpus("geonames").publications(5)
    geotext_corpus.read.cache_clear()
    assert Corpus("geonames").publications(5).equals(first)
    said = sorted(tuple(terms) for terms in first["terms"].to_pylist())
    assert said == sorted([("al", "markaz"), ("8", "km", "n", "of", "anza", "ca"), ("dont", "loft", "in", "brooklyn"),
                           ("km", "of"), ("brooklyn", "loft")])  # fmt: skip


@pytest.mark.usefixtures("folder")
def test_real_messages_weigh_what_the_words_model_says() -> None:
    texts = [text for i, text in enumerate(TEXTS) if text and i != 4]
    words = Words.fit_texts(texts)
    table = Corpus("listings").publications(4)
    for terms, weights in zip(table["terms"].to_pylist(), table["weights"].to_pylist(), strict=True):
        text = next(text for text in texts if words.weigh(words.tokens(text))[0] == terms)
        assert weights == pytest.approx(words.weigh(words.tokens(text))[1])


@pytest.mark.parametrize("data", ["tweets", "quakes"])
@pytest.mark.usefixtures("folder")
def test_subscriptions_are_made_of_messages(data: str) -> None:
    asked = Corpus(data, 10_000).subscriptions(300, 7)
    counts = [len(terms) for terms in asked["terms"].to_pylist()]
    assert set(counts) == {1, 2, 3, 4, 5}
    assert set(asked["k"].to_pylist()) == {7}
    assert asked["id"].to_pylist() == list(range(300))
    alpha = asked["alpha"].to_numpy()
    assert 0.0 <= alpha.min() < 0.1
    assert 0.9 < alpha.max() <= 1.0
    assert [sum(w * w for w in weights) for weights in asked["weights"].to_pylist()] == pytest.approx([1.0] * 300)
    if data == "quakes":
        said = {(x, y): set(terms) for x, y, terms in _rows(Corpus(data).publications(4))}
        assert all(set(terms) <= said[x, y] for x, y, terms in _rows(asked))


def _rows(table: pa.Table) -> list[tuple[float, float, list[str]]]:
    return list(zip(*(table[name].to_pylist() for name in ("x", "y", "terms")), strict=True))


@pytest.mark.parametrize("n", [1, 2, 4, 5])
@pytest.mark.usefixtures("folder")
def test_subscriptions_have_as_many_keywords_as_asked_for(n: int) -> None:
    for data in ("places", "quakes"):
        asked = Corpus(data, 1000).subscriptions(50, 3, n)
        assert {len(set(terms)) for terms in asked["terms"].to_pylist()} == {n}


@pytest.mark.usefixtures("folder")
def test_where_no_message_is_long_enough_all_its_keywords_are_taken() -> None:
    asked = Corpus("quakes").subscriptions(20, 3, 9)
    assert max(len(terms) for terms in asked["terms"].to_pylist()) == 6


def test_made_messages_are_those_of_the_workload() -> None:
    table = Corpus("reviews", 100).publications(50)
    options = geotext.Options(n_publications=50, n_subscriptions=0, corpus="reviews", vocabulary=850, seed=SEED)
    assert table.equals(geotext.generate(options).publications)
    assert Corpus("tweets").options(1).vocabulary == 1_700_000


def test_rows_are_taken_in_any_order() -> None:
    keywords = Keywords(3, np.array([0, 0, 2]), np.array([7, 8, 9]), np.array([1, 2, 3]))
    messages = geotext.MessageDraws(np.arange(6.0).reshape(3, 2), keywords)
    got = geotext_corpus.taken(messages, np.array([2, 1, 0, 2]))
    assert got.places.tolist() == [[4.0, 5.0], [2.0, 3.0], [0.0, 1.0], [4.0, 5.0]]
    assert got.keywords.rows.tolist() == [0, 2, 2, 3]
    assert got.keywords.ranks.tolist() == [9, 7, 8, 9]
    assert got.keywords.counts.tolist() == [3, 1, 2, 3]


@pytest.mark.parametrize("folder_named", [None, "", "nowhere"])
def test_without_the_files_a_sentence_says_so(folder_named: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if folder_named is None:
        monkeypatch.delenv(VARIABLE, raising=False)
    else:
        monkeypatch.setenv(VARIABLE, folder_named)
    assert Corpus("tweets").missing is None
    for data in REAL:
        assert f"SKYBAND_DATA does not name a folder that holds {FILES[data]}." in str(Corpus(data).missing)
        with pytest.raises(FileNotFoundError, match="does not name a folder"):
            Corpus(data).publications(1)
