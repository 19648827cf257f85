"""The people who follow the stream: where they live, what they follow, and how far back they look."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from skyband.demo.city import City
from skyband.demo.topic import TOPICS
from skyband.kernels.array import Floats, Int64s
from skyband.table.words import Words

TWO_HOURS = 2 * 3600 * 1_000_000
KS = (3, 5, 5, 5, 10, 10, 20)
HALF_AN_HOUR = TWO_HOURS // 4
SHORT_SHARE = 0.2


class Role(NamedTuple):
    """A subscriber that is shown: what they are, the kind of district, the words they follow."""

    what: str
    kind: str
    words: tuple[str, ...]
    alpha: float
    colour: str


# These are the first subscriptions, so their ids are 0, 1 and 2.
ROLES = (
    Role("a jazz lover", "harbour", ("jazz", "saxophone", "trio"), 0.3, "#ff9ff3"),
    Role("a football fan", "stadium", ("football", "derby", "goal"), 0.35, "#7bed9f"),
    Role("a commuter", "station", ("tram", "delay", "rain"), 0.3, "#ffd166"),
)


class DaySubscribers(NamedTuple):
    """Subscribers by number; windows are in microseconds."""

    xy: Floats
    words: list[list[str]]
    alphas: Floats
    ks: Int64s
    windows: Int64s


def titles(city: City) -> tuple[str, ...]:
    """The shown subscribers by what they are and where they live."""
    return tuple(f"{role.what} in {city.districts[city.district(role.kind)].name}" for role in ROLES)


def draw_subscribers(rng: np.random.Generator, city: City, n: int) -> DaySubscribers:
    """`n` subscribers, at least the three that are shown; most look back two hours, some half an hour."""
    shares = np.array([district.share for district in city.districts])
    homes = rng.choice(len(shares), n, p=shares / shares.sum())
    shown = len(ROLES)
    homes[:shown] = [city.district(role.kind) for role in ROLES]
    xy = city.scatter(rng, homes, 1.3)
    xy[:shown] = city.scatter(rng, homes[:shown], 0.35)
    alphas = np.round(0.1 + 0.8 * rng.beta(2.0, 2.0, n), 3)
    alphas[:shown] = [role.alpha for role in ROLES]
    ks = rng.choice(KS, n)
    ks[:shown] = 5
    windows = np.where(rng.random(n) < SHORT_SHARE, HALF_AN_HOUR, TWO_HOURS)
    windows[:shown] = TWO_HOURS
    words = [list(role.words) for role in ROLES] + [_interests(rng) for _ in range(n - shown)]
    return DaySubscribers(xy, words, alphas, ks.astype(np.int64), windows.astype(np.int64))


def _interests(rng: np.random.Generator) -> list[str]:
    """One to four words, mostly of one topic."""
    main = TOPICS[int(rng.integers(len(TOPICS)))].words
    other = TOPICS[int(rng.integers(len(TOPICS)))].words
    picks = [main if rng.random() < 0.7 else other for _ in range(int(rng.integers(1, 5)))]
    return list(dict.fromkeys(str(rng.choice(words)) for words in picks))


def subscriptions(subscribers: DaySubscribers, words: Words) -> pa.Table:
    """The subscribers as an engine takes them; the id is the number of the subscriber."""
    return pa.table(
        {
            "id": pa.array(np.arange(len(subscribers.ks))),
            "k": pa.array(subscribers.ks),
            "x": pa.array(subscribers.xy[:, 0]),
            "y": pa.array(subscribers.xy[:, 1]),
            "terms": pa.array(subscribers.words, pa.list_(pa.string())),
            "weights": pa.array([words.weigh(asked)[1] for asked in subscribers.words], pa.list_(pa.float64())),
            "alpha": pa.array(subscribers.alphas),
            "window_us": pa.array(subscribers.windows),
        }
    )
