"""Messages and subscriptions for the figures of the Skype paper, made up or real.

Made-up collections are those of the workload. Real ones are in files that are not part of the project: names of
populated places (GeoNames, CC BY 4.0), earthquakes (USGS, public domain) and listings (Inside Airbnb, CC BY 4.0). The
folder they lie in is named by an environment variable; where there is none, whatever needs them is skipped and says so.
A subscription is made of a random message (section 7.1): its place, one to five of its keywords, and a random α.
"""

from collections import Counter
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from skyband.bench.real import find, why_missing
from skyband.geotext import workload as geotext
from skyband.geotext.keyword import Keywords
from skyband.geotext.workload import CORPORA, MOST_KEYWORDS, MessageDraws
from skyband.kernels.array import Floats, Int64s
from skyband.table.words import Words, tokenise
from skyband.workload.clock import MINUTE
from skyband.workload.seed import Chunk, Purpose, chunks, generator
from skyband.workload.table import repeated

FILES = {
    "geonames": "geotext_geonames.parquet",
    "quakes": "geotext_quakes.parquet",
    "listings": "geotext_airbnb_nyc.parquet",
}
REAL = tuple(FILES)
SEED = 1
# Real messages are replayed one a second; windows are counted in messages, so that nothing depends on it.
SECOND = MINUTE // 60


class Corpus(NamedTuple):
    """A collection by name; of a made-up one only so many words are taken as 1 / `shrink` of its vocabulary."""

    data: str
    shrink: int = 1

    @property
    def missing(self) -> str | None:
        """Why there are no messages, as a sentence; None if there are."""
        if self.data in CORPORA or find(FILES[self.data]) is not None:
            return None
        return why_missing(FILES[self.data])

    def options(self, n_publications: int) -> geotext.Options:
        """Those of the workload, for a made-up collection."""
        vocabulary = CORPORA[self.data].vocabulary // self.shrink
        return geotext.Options(n_publications=n_publications, corpus=self.data, vocabulary=vocabulary, seed=SEED)  # type: ignore[arg-type]  # one of those named there

    def publications(self, n: int) -> pa.Table:
        """The first n messages; a real collection starts again where it ends, with new ids and times."""
        if self.data in CORPORA:
            return pa.concat_tables(geotext.stream(self.options(n), 1 << 16))
        found, numbers = self._real(), np.arange(n)
        columns = {"id": pa.array(numbers), "ts": pa.array(numbers * SECOND)}
        return pa.table(columns | _content(found, taken(found.messages, numbers % found.messages.keywords.n_rows)))

    def subscriptions(self, n: int, k: int, n_keywords: int = 0) -> pa.Table:
        """n subscriptions to the k best, with so many keywords each; 0 stands for one to five."""
        collection: Collection = (
            MadeCorpus(geotext.MessageDrawer(self.options(0))) if self.data in CORPORA else self._real()
        )
        return pa.concat_tables([_subscriptions(collection, chunk, k, n_keywords) for chunk in chunks(n)])

    def _real(self) -> "Real":
        path = find(FILES[self.data])
        if path is None:
            raise FileNotFoundError(self.missing)
        return read(path)


class Collection(Protocol):
    """Where messages are drawn from."""

    def draw(self, random: np.random.Generator, n: int) -> MessageDraws:
        """n messages at random."""

    def columns(self, keywords: Keywords) -> tuple[pa.Array, pa.Array]:
        """Words as lists, and their weights."""


class MadeCorpus:
    """A collection that is made up."""

    def __init__(self, source: geotext.MessageDrawer) -> None:
        self.draw = source.draw
        self.columns = source.vocabulary.columns


class Real(NamedTuple):
    """A collection in the order it is published in; keywords are numbered by `words`, and `idf` weighs them."""

    messages: MessageDraws
    words: pa.Array
    idf: Floats

    def draw(self, random: np.random.Generator, n: int) -> MessageDraws:
        """n messages, each chosen from all."""
        return taken(self.messages, random.integers(self.messages.keywords.n_rows, size=n))

    def columns(self, keywords: Keywords) -> tuple[pa.Array, pa.Array]:
        """Words as lists, and their weights: tf-idf, each row of unit length."""
        raw = keywords.counts * self.idf[keywords.ranks]
        squares = np.bincount(keywords.rows, raw * raw, minlength=keywords.n_rows)
        offsets = offsets_of(keywords).astype(np.int32)
        weights = pa.array(raw / np.sqrt(squares)[keywords.rows])
        terms = self.words.take(pa.array(keywords.ranks))
        return pa.ListArray.from_arrays(offsets, terms), pa.ListArray.from_arrays(offsets, weights)


@lru_cache(maxsize=3)
def read(path: Path) -> Real:
    """The messages of a file by time, or shuffled where they have none; those without a time or a word are left out."""
    table = pq.read_table(path)
    if "ts" in table.column_names:
        table = table.filter(pc.is_valid(table["ts"])).sort_by([("ts", "ascending"), ("id", "ascending")])
    else:
        table = table.take(pa.array(generator(SEED, Purpose.PUBLICATIONS).permutation(len(table))))
    counted = [Counter(tokenise(text)) for text in table["text"].to_pylist()]
    some = np.flatnonzero([bool(counts) for counts in counted])
    return _real([counted[row] for row in some], _scaled(table)[some])


def _scaled(table: pa.Table) -> Floats:
    """Longitudes and latitudes, each shifted and scaled to [0, 1]."""
    places = np.stack([table[name].to_numpy() for name in ("lon", "lat")], axis=1).astype(np.float64)
    low, high = places.min(axis=0), places.max(axis=0)
    return np.asarray((places - low) / np.where(high > low, high - low, 1.0))


def _real(counted: list[Counter[str]], places: Floats) -> Real:
    words = Words.fit(list(counts) for counts in counted)
    ranks = {word: rank for rank, word in enumerate(words.frequencies)}
    keywords = Keywords(
        len(counted),
        np.repeat(np.arange(len(counted)), [len(counts) for counts in counted]),
        np.array([ranks[word] for counts in counted for word in counts], np.int64),
        np.array([n for counts in counted for n in counts.values()], np.int64),
    )
    return Real(MessageDraws(places, keywords), pa.array(list(ranks)), np.array([words.idf(word) for word in ranks]))


def offsets_of(keywords: Keywords) -> Int64s:
    """Where the keywords of each row begin, and where the last ones end."""
    offsets = np.zeros(keywords.n_rows + 1, np.int64)
    np.cumsum(np.bincount(keywords.rows, minlength=keywords.n_rows), out=offsets[1:])
    return offsets


def taken(messages: MessageDraws, chosen: Int64s) -> MessageDraws:
    """These messages, in this order; one may be chosen several times."""
    keywords, offsets = messages.keywords, offsets_of(messages.keywords)
    lengths = np.diff(offsets)[chosen]
    rows = np.repeat(np.arange(len(chosen)), lengths)
    at = np.repeat(offsets[chosen] - np.cumsum(lengths) + lengths, lengths) + np.arange(len(rows))
    return MessageDraws(messages.places[chosen], Keywords(len(chosen), rows, keywords.ranks[at], keywords.counts[at]))


def some_of(keywords: Keywords, random: np.random.Generator, wanted: Int64s) -> Keywords:
    """So many keywords of each row, chosen at random, or all where it has fewer; each is counted once."""
    order = np.lexsort((random.random(len(keywords.rows)), keywords.rows))
    place = np.arange(len(order)) - offsets_of(keywords)[keywords.rows]
    kept = np.sort(order[place < wanted[keywords.rows]])
    return Keywords(keywords.n_rows, keywords.rows[kept], keywords.ranks[kept], np.ones(len(kept), np.int64))


def _subscriptions(collection: Collection, chunk: Chunk, k: int, n_keywords: int) -> pa.Table:
    random = generator(SEED, Purpose.SUBSCRIPTIONS, chunk.number)
    messages = _with_keywords(collection, random, chunk.size, n_keywords)
    wanted = random.integers(1, MOST_KEYWORDS + 1, chunk.size)
    if n_keywords:
        wanted = np.full(chunk.size, n_keywords)
    chosen = messages._replace(keywords=some_of(messages.keywords, random, wanted))
    numbers = np.arange(chunk.start, chunk.start + chunk.size)
    columns = {"id": pa.array(numbers), "k": repeated(k, chunk.size)} | _content(collection, chosen)
    return pa.table(columns | {"alpha": pa.array(random.random(chunk.size))})


def _with_keywords(collection: Collection, random: np.random.Generator, n: int, least: int) -> MessageDraws:
    """n messages with enough keywords, as far as there are some among four times as many."""
    if least <= 1:
        return collection.draw(random, n)
    drawn = collection.draw(random, 4 * n)
    short = np.diff(offsets_of(drawn.keywords)) < least
    return taken(drawn, np.argsort(short, kind="stable")[:n])


def _content(collection: Collection, messages: MessageDraws) -> dict[str, pa.Array]:
    x, y = np.ascontiguousarray(messages.places.T)
    terms, weights = collection.columns(messages.keywords)
    return {"x": pa.array(x), "y": pa.array(y), "terms": terms, "weights": weights}
