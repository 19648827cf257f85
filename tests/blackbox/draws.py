"""What all random streams are drawn from: ids, times, orders, windows and batches."""

import random
from collections.abc import Callable
from typing import Any

from tests.blackbox.stream import Stream

ORDERS = ("random", "farther", "farther", "nearer", "sawtooth", "level")
# None looks like an integer, since a CSV column of such ids alone would hold integers.
NAMES = ("ä", "Z", "z", "010", "09", "日本", "😀", "é", " ", "\u0301", "a,b", 'q"', "\u017f", "-01", "nul")


def names(rng: random.Random, n: int) -> list[Any]:
    """Distinct ids in no order: integers of either sign, or strings of any script."""
    if rng.random() < 0.5:
        return rng.sample([*range(-n, n), 2**62, -(2**62), 2**53 + 1], n)
    return rng.sample([f"{name}{i}" for i in range(1 + n // len(NAMES)) for name in NAMES], n)


def times(rng: random.Random, n: int) -> list[int]:
    """Times that mostly rise: even, in bursts, with gaps in which all expires at once, and with late arrivals."""
    style = rng.choice(["even", "bursts", "gaps", "late", "still"])
    now, found = rng.choice([0, -50, 1_700_000_000_000_000]), []
    for _ in range(n):
        now += {"even": 1, "still": 0, "gaps": rng.choice([1, 1, 1, 120])}.get(style, rng.choice([0, 0, 0, 1, 7]))
        found.append(now - (rng.choice([0, 0, 3, 30, 130]) if style == "late" else 0))
    return found


def distances(rng: random.Random, n: int) -> list[float]:
    """How far each publication is from the origin, in the order in which they come."""
    tooth = rng.choice([5, 20, 60])
    by_order: dict[str, Callable[[int], float]] = {
        "random": lambda i: rng.randint(0, 12) / 2,
        "farther": lambda i: float(i),
        "nearer": lambda i: float(n - i),
        "sawtooth": lambda i: float(i % tooth) * rng.choice([1, 1, 1, 1.5]),
        "level": lambda i: 4.0,
    }
    of = by_order[rng.choice(ORDERS)]
    return [of(i) for i in range(n)]


def slide(rng: random.Random, stream: Stream) -> Stream:
    """Choose batches and windows; k goes from 1 to beyond the window."""
    stream.batch = rng.choice([1, 1, 9, 1000])
    stream.granularity = rng.choice(["batch", "publication"])
    kind = rng.choice(["n", "n", "us", "none"])
    width = rng.choice([1, 3, 10, 40, 100, 100])
    stream.window_n = width if kind == "n" else None
    stream.window_us = width if kind == "us" else None
    own = rng.random() < 0.4
    for each in stream.subscriptions:
        each["k"] = rng.choice([1, 1, 2, 5, 10, width // 3 + 1, width, width + 7, 1_000_000])
        if own and rng.random() < 0.6:
            each[rng.choice(["window_n", "window_us"])] = rng.choice([1, 2, 15, 60, 200])
    return alone(rng, stream) if rng.random() < 0.4 else stream


def alone(rng: random.Random, stream: Stream) -> Stream:
    """Keep a few subscriptions with long rows and a wide window, so that rows outgrow their room again and again."""
    stream.batch = rng.choice([1, 1, 9])
    stream.window_n, stream.window_us = 100, None
    stream.subscriptions = stream.subscriptions[: rng.randint(1, 3)]
    for each in stream.subscriptions:
        each["k"] = rng.randint(10, 60)
    return stream


def counts(rng: random.Random) -> tuple[int, int]:
    """How many publications and subscriptions there are."""
    return rng.randint(90, 250), rng.choice([1, 3, rng.randint(3, 80), rng.randint(3, 80)])
