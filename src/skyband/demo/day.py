"""The rhythm of a day from six to midnight: how much is said of what, minute by minute, and what goes on."""

from typing import NamedTuple

import numpy as np

from skyband.demo.city import City
from skyband.demo.topic import TOPICS
from skyband.kernels.array import Floats

# Midnight at the start of Saturday, 20 June 2026, UTC; in microseconds like every time in an engine.
MIDNIGHT = 1_781_913_600_000_000
MINUTE = 60_000_000
OPENS, CLOSES = 6 * 60, 24 * 60
N_MINUTES = CLOSES - OPENS
EVERYWHERE = -1


class Event(NamedTuple):
    """Something that happens: from `start` to `end` (minutes of the day), in a district or everywhere."""

    headline: str
    topic: int
    district: int
    start: int
    end: int
    height: float


class MessageSource(NamedTuple):
    """A stream of messages on one topic, in one district or everywhere, with its rate at each minute."""

    topic: int
    district: int
    rates: Floats


def clock(minute: int) -> str:
    """A minute of the day as people write it."""
    return f"{minute // 60:02d}:{minute % 60:02d}"


def plan_events(rng: np.random.Generator, city: City) -> tuple[Event, ...]:
    """The events of this day, in order of time; the hours differ a little from one seed to another."""
    planned = (
        ("street market", "market", "market", 8 * 60, 13 * 60, 1.8),
        ("half marathon", "park", "park", 9 * 60 + 15, 11 * 60, 2.2),
        ("rain over the city", "weather", "", 15 * 60 + 10, 16 * 60 + 25, 6.5),
        ("trams held up", "transit", "station", 16 * 60 + 45, 18 * 60, 2.6),
        ("football derby", "football", "stadium", 19 * 60 + 30, 21 * 60 + 20, 7.5),
        ("jazz night", "jazz", "harbour", 20 * 60 + 30, 23 * 60 + 30, 3.0),
        ("fireworks", "night", "harbour", 23 * 60, 23 * 60 + 35, 5.0),
    )
    events = []
    for headline, topic, kind, start, end, height in planned:
        shift = int(rng.integers(-3, 4)) * 5
        district = city.district(kind) if kind else EVERYWHERE
        where = f" in {city.districts[district].name}" if kind else ""
        until = min(end + shift, CLOSES - 10)
        events.append(Event(headline + where, topic_number(topic), district, start + shift, until, height))
    return tuple(events)


def topic_number(name: str) -> int:
    """Where a topic stands in `TOPICS`."""
    return next(i for i, topic in enumerate(TOPICS) if topic.name == name)


def sources(events: tuple[Event, ...]) -> tuple[MessageSource, ...]:
    """All streams of messages: what is said of each topic all day, and what the events add."""
    return tuple(_talk(i) for i in range(len(TOPICS))) + tuple(_stir(event) for event in events)


def awake(minutes: Floats) -> Floats:
    """The part of the people that is awake: few at six, all by nine, fewer again towards midnight."""
    rising = 1.0 / (1.0 + np.exp(-(minutes - 7.1 * 60) / 26.0))
    resting = 1.0 / (1.0 + np.exp((minutes - 23.6 * 60) / 30.0))
    rhythm: Floats = 0.05 + rising * resting
    return rhythm


def _minutes() -> Floats:
    return np.arange(OPENS, CLOSES, dtype=np.float64)


def _talk(topic: int) -> MessageSource:
    hours = _minutes() / 60.0
    rates = np.full(N_MINUTES, 0.06)
    for hour, width, height in TOPICS[topic].peaks:
        rates += height * np.exp(-0.5 * ((hours - hour) / width) ** 2)
    return MessageSource(topic, EVERYWHERE, rates * awake(_minutes()))


def _stir(event: Event) -> MessageSource:
    """Rises quickly, stays, and ebbs away within a quarter of an hour of the end."""
    minutes = _minutes()
    rise = 1.0 / (1.0 + np.exp(-(minutes - event.start) / 4.0))
    ebb = 1.0 / (1.0 + np.exp((minutes - event.end) / 7.0))
    return MessageSource(event.topic, event.district, event.height * rise * ebb)


def happening(events: tuple[Event, ...], minute: int) -> str:
    """What goes on at a minute of the day, in words."""
    now = [event.headline for event in events if event.start <= minute < event.end]
    return ", ".join(now) or _usual(minute)


def _usual(minute: int) -> str:
    ends = ((7 * 60, "the city wakes up"), (9 * 60, "breakfast and the way to work"), (12 * 60, "a busy morning"))
    later = ((14 * 60, "lunch"), (17 * 60, "the afternoon"), (20 * 60, "the evening begins"), (CLOSES, "night falls"))
    return next((words for end, words in ends + later if minute < end), "midnight")
