"""The messages of the day: when, where and in what words, drawn from a seeded grammar."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from skyband.demo.city import City
from skyband.demo.day import EVERYWHERE, MIDNIGHT, MINUTE, N_MINUTES, OPENS, MessageSource
from skyband.demo.topic import FRAMES, SMALL_WORDS, SPOTS, TOPICS
from skyband.kernels.array import Floats, Int64s
from skyband.table.words import Words, tokenise

SAMPLE = 5_000
ELSEWHERE = 0.15


class DayMessages(NamedTuple):
    """Messages in order of time, numbered from 0; `ts` is in microseconds, `words` are their distinct words."""

    ts: Int64s
    xy: Floats
    topics: Int64s
    districts: Int64s
    texts: list[str]
    words: list[list[str]]

    def minute(self, number: int) -> int:
        """The minute of the day of a message."""
        return int(self.ts[number] - MIDNIGHT) // MINUTE

    def until(self, minute: int) -> int:
        """How many messages come before a minute of the day."""
        return int(np.searchsorted(self.ts, MIDNIGHT + minute * MINUTE))


def draw_messages(rng: np.random.Generator, city: City, streams: Sequence[MessageSource], n: int) -> DayMessages:
    """`n` messages, as often and as far apart as the streams say."""
    rates = np.stack([stream.rates for stream in streams]).ravel()
    cells = rng.choice(len(rates), n, p=rates / rates.sum())
    ts = MIDNIGHT + ((OPENS + cells % N_MINUTES) * MINUTE + rng.integers(0, MINUTE, n)).astype(np.int64)
    order = np.argsort(ts, kind="stable")
    of = (cells // N_MINUTES)[order]
    topics = np.array([stream.topic for stream in streams], np.int64)[of]
    fixed = np.array([stream.district for stream in streams], np.int64)[of]
    districts = np.where(fixed == EVERYWHERE, _wander(rng, city, topics), fixed)
    texts = _write(rng, city, topics, districts)
    words = [content_words(text) for text in texts]
    return DayMessages(ts[order], city.scatter(rng, districts), topics, districts, texts, words)


def _wander(rng: np.random.Generator, city: City, topics: Int64s) -> Int64s:
    """A district for each message: mostly one of the kinds its topic belongs to."""
    found = np.empty(len(topics), np.int64)
    for number, topic in enumerate(TOPICS):
        shares = np.array([d.share * (1.0 if d.kind in topic.kinds else ELSEWHERE) for d in city.districts])
        here = np.flatnonzero(topics == number)
        found[here] = rng.choice(len(shares), len(here), p=shares / shares.sum())
    return found


def _write(rng: np.random.Generator, city: City, topics: Int64s, districts: Int64s) -> list[str]:
    picks = rng.integers(0, 1 << 30, (len(topics), 4)).tolist()
    places = [district.name for district in city.districts]
    rows = zip(topics.tolist(), districts.tolist(), picks, strict=True)
    return [_sentence(topic, places[district], pick) for topic, district, pick in rows]


def _sentence(topic: int, place: str, pick: list[int]) -> str:
    frame, thing, remark, spot = pick
    about = TOPICS[topic]
    a_thing, a_remark = about.things[thing % len(about.things)], about.remarks[remark % len(about.remarks)]
    return FRAMES[frame % len(FRAMES)].format(
        thing=a_thing,
        Thing=_begun(a_thing),
        remark=a_remark,
        Remark=_begun(a_remark),
        spot=SPOTS[spot % len(SPOTS)],
        place=place,
    )


def _begun(words: str) -> str:
    return words[0].upper() + words[1:]


def content_words(text: str) -> list[str]:
    """The distinct words of a text that say something, in order."""
    return list(dict.fromkeys(word for word in tokenise(text) if word not in SMALL_WORDS))


def fit_words(rng: np.random.Generator, messages: DayMessages) -> Words:
    """How rare each word is, from a sample of the messages."""
    n = len(messages.ts)
    sample = np.sort(rng.choice(n, min(n, SAMPLE), replace=False))
    return Words.fit(messages.words[i] for i in sample.tolist())


def publications(messages: DayMessages, words: Words) -> pa.Table:
    """The messages as an engine takes them, with tf-idf weights; the id is the number of the message."""
    weights = [words.weigh(said)[1] for said in messages.words]
    return pa.table(
        {
            "id": pa.array(np.arange(len(messages.ts))),
            "ts": pa.array(messages.ts),
            "x": pa.array(messages.xy[:, 0]),
            "y": pa.array(messages.xy[:, 1]),
            "terms": pa.array(messages.words, pa.list_(pa.string())),
            "weights": pa.array(weights, pa.list_(pa.float64())),
            "text": pa.array(messages.texts, pa.string()),
        }
    )
