"""Everything the demo runs on, drawn from one seed: the city, its day, the messages and the subscribers."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from skyband.demo.city import City, make_city
from skyband.demo.day import CLOSES, OPENS, Event, plan_events, sources
from skyband.demo.message import DayMessages, draw_messages, fit_words, publications
from skyband.demo.subscriber import DaySubscribers, draw_subscribers, subscriptions

# Changes are netted over so many simulated minutes, whether somebody watches or not; in the pipeline each step is one
# micro-batch, most of whose time does not depend on how many messages it has.
STEP = 10


class Scene(NamedTuple):
    """A day to play: who lives there, what happens, and the tables that an engine takes."""

    city: City
    events: tuple[Event, ...]
    messages: DayMessages
    subscribers: DaySubscribers
    publications: pa.Table
    subscriptions: pa.Table


def make_scene(seed: int, n_subscribers: int, n_publications: int) -> Scene:
    """The day of a seed; each part has a random stream of its own, so that no size shifts another part."""
    town, plan, talk, sample, people = (np.random.Generator(np.random.PCG64(s)) for s in _seeds(seed, 5))
    city = make_city(town)
    events = plan_events(plan, city)
    messages = draw_messages(talk, city, sources(events), n_publications)
    words = fit_words(sample, messages)
    subscribers = draw_subscribers(people, city, n_subscribers)
    tables = publications(messages, words), subscriptions(subscribers, words)
    return Scene(city, events, messages, subscribers, *tables)


def _seeds(seed: int, n: int) -> list[np.random.SeedSequence]:
    return np.random.SeedSequence(seed).spawn(n)


def steps(messages: DayMessages) -> list[tuple[int, int, int]]:
    """The batches of the day: the minute each ends at, and its messages from the first to before the last."""
    minutes = range(OPENS + STEP, CLOSES + 1, STEP)
    ends = [messages.until(minute) for minute in minutes]
    return list(zip(minutes, [0, *ends[:-1]], ends, strict=True))
