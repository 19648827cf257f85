"""The workload of the Skype paper (section 7.1, Table 1): messages at places, asked for by place and words.

The three collections are replaced by made-up ones with their vocabularies and average numbers of
keywords. A message lies in one of a few cities, large ones more often, and draws Zipfian words until it
has as many different ones as it is to have. A subscription is made of a message that is not itself
published: its place, and one to five of its keywords. Weights are tf-idf of unit length, with document
frequencies that follow from the word distribution.
"""

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa

from skyband.geotext.keyword import Keywords, ZipfWords, pick
from skyband.kernels.array import Floats
from skyband.workload.clock import Clock
from skyband.workload.cluster import clusters
from skyband.workload.option import Timed, option
from skyband.workload.recipe import Columns, Recipe
from skyband.workload.seed import CHUNK, Purpose, chunks, generator, part_of
from skyband.workload.table import Workload, batches, ids, repeated, workload


class MessageCorpus(NamedTuple):
    """A row of Table 1."""

    vocabulary: int
    keywords: float


CORPORA = {
    "tweets": MessageCorpus(1_700_000, 9.0),
    "places": MessageCorpus(208_000, 7.0),
    "reviews": MessageCorpus(85_000, 37.0),
}
MOST_KEYWORDS = 5
"""The most keywords a subscription has."""


@dataclass(frozen=True)
class Options(Timed):
    """Section 7.1 of the Skype paper."""

    n_publications: int = option(
        1_100_000, "The number of messages: a full window and 100,000 more.", "section 7.1", low=0
    )
    n_subscriptions: int = option(1_000_000, "The number of subscriptions.", "section 7.1", low=0)
    rate: float = option(
        72.0, "Messages per minute; 12.7 million tweets in four months are 72.", "Table 1", low=1e-6, high=1e9
    )
    corpus: Literal["tweets", "places", "reviews"] = option(
        "tweets", "Which collection's vocabulary and message length to take.", "TWEETS, GN, YELP of Table 1"
    )
    vocabulary: int = option(
        0,
        "The number of words; 0 takes the corpus's: 1,700,000, 208,000 or 85,000.",
        "Table 1",
        low=0,
        high=10**9,
    )
    keywords: float = option(
        0.0,
        "The average number of keywords of a message; 0 takes the corpus's: 9, 7 or 37.",
        "Table 1",
        low=0.0,
    )
    word_skew: float = option(1.0, "The Zipfian parameter of word frequencies.", low=0.0, high=2.0)
    n_cities: int = option(100, "The number of cities that messages come from.", low=1)
    city_skew: float = option(1.0, "The Zipfian parameter of city sizes.", low=0.0, high=10.0)
    city_spread: float = option(0.02, "The standard deviation of a city, as a share of the bounds.", low=0.0, high=3.0)
    bounds: tuple[float, ...] = option(
        (0.0, 0.0, 1.0, 1.0), "The space: least x, least y, greatest x, greatest y.", low=-1e150, high=1e150
    )
    k: int = option(20, "How many messages a subscription asks for.", "section 7.1", low=1, high=1_000_000)
    window_n: int = option(
        1_000_000, "The window, in messages; 0 leaves the window out of the table.", "section 7.1", low=0
    )
    window_us: int = option(0, "A window in microseconds in place of one in messages; 0 for none.", low=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.bounds) != 4 or self.bounds[0] >= self.bounds[2] or self.bounds[1] >= self.bounds[3]:
            raise ValueError(f"bounds must be least x, least y, greatest x and greatest y, not {self.bounds}.")


class MessageDraws(NamedTuple):
    """Places and keywords of some messages."""

    places: Floats
    keywords: Keywords


class MessageDrawer:
    """Draws messages; the cities and the words are those of the seed."""

    def __init__(self, options: Options) -> None:
        corpus = CORPORA[options.corpus]
        random = generator(options.seed, Purpose.CENTRES)
        self.cities = clusters(random, options.n_cities, 2, options.city_spread, options.city_skew)
        size, average = options.vocabulary or corpus.vocabulary, options.keywords or corpus.keywords
        self.vocabulary = ZipfWords(size, average, options.word_skew)
        self.low, self.high = np.array(options.bounds, dtype=np.float64).reshape(2, 2)

    def draw(self, random: np.random.Generator, n_rows: int) -> MessageDraws:
        """This many messages."""
        places = self.low + self.cities.draw(random, n_rows) * (self.high - self.low)
        # The product may round to just above the greatest coordinate.
        return MessageDraws(np.minimum(places, self.high), self.vocabulary.draw(random, n_rows))


def generate(options: Options) -> Workload:
    """The whole workload in memory."""
    publications = pa.concat_tables(_publications(options))
    return workload("geotext", options, subscriptions(options), publications)


def stream(options: Options, batch: int) -> Iterator[pa.Table]:
    """The messages in batches; together they are those of `generate`, whatever the size."""
    return batches(_publications(options), batch)


def subscriptions(options: Options) -> pa.Table:
    """The subscriptions, each made of a message."""
    return pa.concat_tables(_subscriptions(options))


def _publications(options: Options) -> Iterator[pa.Table]:
    clock, source = Clock(options), MessageDrawer(options)
    for chunk in chunks(options.n_publications):
        random = generator(options.seed, Purpose.PUBLICATIONS, chunk.number)
        numbers = np.arange(chunk.start, chunk.start + chunk.size)
        columns = {"id": ids(options, "p", numbers), "ts": pa.array(clock.tick(chunk))}
        yield pa.table(columns | _content(source, source.draw(random, chunk.size)))


def _subscriptions(options: Options) -> Iterator[pa.Table]:
    source = MessageDrawer(options)
    for chunk in chunks(options.n_subscriptions):
        random = generator(options.seed, Purpose.SUBSCRIPTIONS, chunk.number)
        messages = source.draw(random, chunk.size)
        chosen = messages._replace(keywords=pick(messages.keywords, random, MOST_KEYWORDS))
        numbers = np.arange(chunk.start, chunk.start + chunk.size)
        columns = {"id": ids(options, "s", numbers), "k": repeated(options.k, chunk.size)}
        columns |= _content(source, chosen) | {"alpha": pa.array(random.random(chunk.size))}
        yield pa.table(columns | _window(options, chunk.size))


def _content(source: MessageDrawer, messages: MessageDraws) -> dict[str, pa.Array]:
    x, y = np.ascontiguousarray(messages.places.T)
    terms, weights = source.vocabulary.columns(messages.keywords)
    return {"x": pa.array(x), "y": pa.array(y), "terms": terms, "weights": weights}


def _window(options: Options, n_rows: int) -> dict[str, pa.Array]:
    if options.window_us:
        return {"window_us": repeated(options.window_us, n_rows)}
    return {"window_n": repeated(options.window_n, n_rows)} if options.window_n else {}


def chunk(options: Options, noun: str, number: int) -> Columns:
    """What the rows of one chunk hold."""
    source = _source(options)
    random = generator(options.seed, part_of(noun), number)
    messages = source.draw(random, CHUNK)
    if noun == "publications":
        return _content(source, messages)
    chosen = messages._replace(keywords=pick(messages.keywords, random, MOST_KEYWORDS))
    return _content(source, chosen) | {"alpha": pa.array(random.random(CHUNK))} | _window(options, CHUNK)


@functools.lru_cache(2)
def _source(options: Options) -> MessageDrawer:
    return MessageDrawer(options)


RECIPE = Recipe(
    options=Options,
    generate=generate,
    help="Messages at places, and subscriptions by place and words (the Skype paper).",
    subscriptions=subscriptions,
    stream=stream,
    chunk=chunk,
)
