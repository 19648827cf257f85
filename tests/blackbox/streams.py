"""Seeded random streams that are hard on purpose: ties, monotone orders, late arrivals, windows that empty at once.

Numbers are small integers and halves, and weights few, so that sums are exact in any order and scores can be compared
to the last bit.
"""

import math
import random
from collections.abc import Callable, Sequence
from typing import Any

from tests.blackbox.draws import counts, distances, names, slide, times
from tests.blackbox.oracle import Row, retracts
from tests.blackbox.stream import Stream

WORDS = ("jazz", "rain", "park", "Straße", "日本", "a", "ab", "rock")


def window(seed: int) -> Stream:
    """Points on and around a ray, and subscriptions of every score."""
    rng = random.Random(f"window {seed}")
    n, m = counts(rng)
    dims = rng.choice([1, 1, 2, 3, 18])
    thick = rng.random() < 0.5
    publications = [
        {"id": name, "ts": ts, "point": [far, *(rng.randint(-4, 4) / 2 * thick for _ in range(dims - 1))]}
        for name, ts, far in zip(names(rng, n), times(rng, n), distances(rng, n), strict=True)
    ]
    scores = rng.choice([["euclidean"], ["euclidean", "chebyshev", "sum", "cosine"], ["cosine"], ["sum", "chebyshev"]])
    stream = slide(rng, Stream("window", publications, [asking(rng, name, dims, scores) for name in names(rng, m)]))
    for each in stream.subscriptions:
        if rng.random() < 0.15:
            each["threshold"] = rng.choice([-3.0, 0.0, 0.5, 2.0, 6.5])
            each["k"] = rng.choice([None, each["k"]])
    return stream


def asking(rng: random.Random, name: Any, dims: int, scores: Sequence[str]) -> Row:
    """A subscription of the window family."""
    score = rng.choice(scores)
    vector = [float(rng.choice([0, 0, 1, 3, -2, 0.5])) for _ in range(dims)]
    weights = [float(rng.choice([0, 1, 2, 0.5])) for _ in range(dims)]
    if score == "euclidean" or (score == "cosine" and rng.random() < 0.5):
        return {"id": name, "score": score, "point": vector}
    if score == "chebyshev":
        return {"id": name, "score": score, "point": vector, "weights": rng.choice([None, weights])}
    return {"id": name, "score": score, "weights": vector}


def weights_of(rng: random.Random, n: int) -> list[float]:
    """Weights of length 1 of which any sum of products is exact, or of two numbers alone."""
    return {1: [1.0], 2: rng.choice([[0.6, 0.8], [0.8, 0.6]]), 4: [0.5] * 4}[n]


def geotext(seed: int) -> Stream:
    """Messages on a grid of places with few words, thin words and none."""
    rng = random.Random(f"geotext {seed}")
    n, m = counts(rng)
    side = rng.choice([1.0, 32.0])
    thin = rng.random() < 0.3
    publications = []
    order = distances(rng, n)
    scale = 8 if max(order) <= 8 else 256
    for name, ts, far in zip(names(rng, n), times(rng, n), order, strict=True):
        x = far / scale * side
        terms = [] if rng.random() < 0.05 else rng.sample(WORDS[: 4 if thin else 8], rng.choice([1, 1, 2, 4]))
        weights = weights_of(rng, len(terms)) if terms else []
        publications.append({"id": name, "ts": ts, "x": x, "y": rng.randint(0, 4) / 4 * side * (not thin),
                             "terms": terms, "weights": weights})  # fmt: skip
    subscriptions = [placed(rng, name, side) for name in names(rng, m)]
    stream = slide(rng, Stream("geotext", publications, subscriptions, bounds=(0.0, 0.0, side, side)))
    for each in stream.subscriptions:
        if rng.random() < 0.15:
            each["threshold"] = rng.choice([0.0, 0.25, 0.5, 0.75])
    return stream


def placed(rng: random.Random, name: Any, side: float) -> Row:
    """A subscription of the geotext family; a single term weighs 1, whether it is given a weight or not."""
    terms = rng.sample(WORDS, rng.choice([1, 1, 2, 4]))
    weights = None if len(terms) == 1 and rng.random() < 0.5 else weights_of(rng, len(terms))
    place = {"x": rng.choice([0.0, 0.5, 1.0]) * side, "y": rng.choice([0.0, 0.25]) * side}
    return {"id": name, **place, "terms": terms, "weights": weights, "alpha": rng.choice([0.0, 0.25, 0.5, 1.0])}


def ranges(seed: int) -> Stream:
    """Objects that move, change and are deleted, told of late and early, and ranges of every width, none included."""
    rng = random.Random(f"ranges {seed}")
    n, m = counts(rng)
    dims = rng.choice([0, 0, 0, 1, 2])
    objects = names(rng, rng.choice([2, 10, 60]))
    publications = []
    for name, ts, y in zip(names(rng, n), times(rng, n), distances(rng, n), strict=True):
        gone = rng.random() < 0.15
        x = (
            None
            if gone and rng.random() < 0.5
            else located(dims, [rng.randint(0, 10) / 2 for _ in range(max(dims, 1))])
        )
        publications.append({"id": name, "ts": ts, "object": rng.choice(objects), "x": x, "y": None if gone else y})
    subscriptions = []
    for name in names(rng, m):
        lo = [rng.choice([-math.inf, 0.0, 1.0, 2.5, 3.0]) for _ in range(max(dims, 1))]
        hi = [max(each, rng.choice([math.inf, 1.0, 2.5, 4.0, 5.0])) for each in lo]
        k = rng.choice([1, 1, 2, 5, 20, 1_000_000])
        subscriptions.append({"id": name, "k": k, "lo": located(dims, lo), "hi": located(dims, hi)})
    stream = Stream("ranges", publications, subscriptions, rng.choice([1, 9, 1000]))
    stream.granularity = rng.choice(["batch", "publication"])
    return stream


def located(dims: int, numbers: list[float]) -> Any:
    """A vector, or a number where there are no dimensions to speak of."""
    return numbers if dims else numbers[0]


def ranked(seed: int) -> Stream:
    """Events with dimensions that are missing or intervals, and subscriptions that are open, sparse or used up."""
    rng = random.Random(f"ranked {seed}")
    n, m = counts(rng)
    dims = rng.choice([1, 2, 3, 5, 18])
    publications = [event(rng, name, ts, dims) for name, ts in zip(names(rng, n), times(rng, n), strict=True)]
    subscriptions = [offer(rng, name, dims, i) for i, name in enumerate(names(rng, m))]
    stream = Stream("ranked", publications, subscriptions, rng.choice([1, 9, 1000]))
    stream.more = {"--k": str(rng.choice([1, 3, 20, 500])), "--matching": rng.choice(["relaxed", "exact"])}
    return stream


def event(rng: random.Random, name: Any, ts: int, dims: int) -> Row:
    """An event of the ranked family."""
    point = [rng.choice([None, math.nan]) if rng.random() < 0.1 else rng.randint(0, 12) / 2 for _ in range(dims)]
    upper = None
    if rng.random() < 0.3:
        upper = [None if not (x is not None and x >= 0) or rng.random() < 0.5 else x + rng.randint(0, 3) for x in point]
    return {"id": name, "ts": ts, "point": point, "upper": upper, "k": rng.choice([None, None, 1, 4, 1_000_000])}


def offer(rng: random.Random, name: Any, dims: int, i: int) -> Row:
    """A subscription of the ranked family; the first is dense, so that the dimensions of sparse ones are known."""
    sparse = i > 0 and rng.random() < 0.3
    asked = rng.sample(range(dims), rng.randint(1, dims)) if sparse else list(range(dims))
    lo = [rng.choice([None, -math.inf, 0.0, 1.0, 3.0, 4.5]) for _ in asked]
    hi = [rng.choice([None, math.inf, max(low or 0.0, 0.0), max(low or 0.0, 0.0) + 2]) for low in lo]
    weights = rng.choice([None, [rng.choice([0.0, 0.5, 1.0, 2.0, 3.0]) for _ in asked]])
    budget = rng.choice([None, None, 0, 1, 5])
    return {"id": name, "lo": lo, "hi": hi, "weights": weights, "dims": asked if sparse else None, "budget": budget}


def ever_farther(family: str) -> Stream:
    """One subscription whose best publication is always the oldest: rows grow as long as rows can."""
    near = {"id": 1, "k": 30}
    if family == "geotext":
        publications = [
            {"id": i, "ts": i, "x": i / 128, "y": 0.0, "terms": ["a"], "weights": [1.0]} for i in range(120)
        ]
        subscriptions = [near | {"x": 0.0, "y": 0.0, "terms": ["a"], "alpha": 0.5}]
    else:
        publications = [{"id": i, "ts": i, "point": [float(i)]} for i in range(120)]
        subscriptions = [near | {"score": "euclidean", "point": [0.0]}]
    return Stream(family, publications, subscriptions, 1, window_n=100)


def with_retractions(family: str, seed: int) -> Stream:
    """A stream in which some rows, some runs of rows, or now and then all so far, are retracted, and some come again.

    Some retractions bring a time; some are of what has expired, was retracted before, or never was.
    """
    rng = random.Random(f"retract {family} {seed}")
    stream = MAKERS[family](seed)
    rows: list[Row] = []
    often = rng.choice([0.02, 0.1, 0.4])
    for row in stream.publications:
        rows.append(row)
        if rng.random() < often:
            rows += retractions(rng, rows)
    stream.publications = rows
    return stream


def retractions(rng: random.Random, before: Sequence[Row]) -> list[Row]:
    """A run of retractions, and what is published again after it."""
    said = {row["id"]: row for row in before if not retracts(row)}
    n = min(rng.choice([1, 1, 2, 9, len(said)]), len(said))
    ids = rng.sample(list(said), n) if rng.random() < 0.5 else list(said)[-n:]
    now = max(row["ts"] for row in before if row.get("ts") is not None)
    rows: list[Row] = [{"id": each, "op": "retract"} for each in ids]
    for row in rows:
        row["ts"] = now + rng.choice([-5, 0, 2, 9]) if rng.random() < 0.3 else None
    again = rng.sample(ids, rng.randint(0, min(n, 3)))
    op = rng.choice([None, "publish"])
    return rows + [said[each] | {"ts": now + rng.choice([-3, 0, 0, 4]), "op": op} for each in again]


MAKERS: dict[str, Callable[[int], Stream]] = {"window": window, "geotext": geotext, "ranges": ranges, "ranked": ranked}
