"""Streams in which many publications are withdrawn, made from a seed."""

import random
from collections.abc import Callable

from tests.pipeline.streams import Batch, Row


def retract(id: str, ts: int | None = None) -> Row:
    """A retraction."""
    return {"op": "retract", "id": id} | ({} if ts is None else {"ts": ts})


def window_row(rng: random.Random) -> Row:
    """The content of a window publication."""
    return {"point": [rng.randint(-8, 8) / 4, rng.randint(-8, 8) / 4]}


def window_question(rng: random.Random) -> Row:
    """A window subscription."""
    asked = {"k": rng.randint(1, 3), "score": rng.choice(["euclidean", "euclidean", "chebyshev"]), **window_row(rng)}
    return asked | ({"threshold": 0.75} if rng.random() < 0.2 else {})


def geotext_row(rng: random.Random) -> Row:
    """The content of a geotext publication."""
    terms = rng.sample("abcd", rng.randint(1, 2))
    place = {"x": rng.randint(0, 8) / 8, "y": rng.randint(0, 8) / 8}
    return place | {"terms": terms, "weights": [1.0] if len(terms) == 1 else rng.choice([[0.6, 0.8], [0.8, 0.6]])}


def geotext_question(rng: random.Random) -> Row:
    """A geotext subscription."""
    return {"k": rng.randint(1, 3), "alpha": rng.choice([0.0, 0.5, 1.0]), **geotext_row(rng)}


MAKERS: dict[str, tuple[Callable[[random.Random], Row], Callable[[random.Random], Row]]] = {
    "window": (window_row, window_question),
    "geotext": (geotext_row, geotext_question),
}


def long_stream(family: str, window: str, seed: int) -> list[Batch]:
    """Batches of publications of which many are withdrawn soon, late, twice and out of order, some to come again."""
    rng = random.Random(seed)
    content, question = MAKERS[family]
    batches, said, now, n_asked = [], ["p0"], 0, 0
    for number in range(25):
        commands: list[Row] = []
        for _ in range(rng.choice([2, 0, 0, 1]) if number else 12):
            n_asked += 1
            own: Row = {} if window != "none" or rng.random() < 0.9 else {"window_n": rng.randint(1, 6)}
            commands.append({"op": "subscribe", "id": f"s{n_asked}"} | question(rng) | own)
        if number % 5 == 4:
            commands.append({"op": "unsubscribe", "id": f"s{rng.randint(1, n_asked)}"})
            commands.append({"op": "resize", "id": f"s{rng.randint(1, n_asked)}", "k": rng.randint(1, 4)})
        rows: list[Row] = []
        for place in range(rng.randint(0, 14)):
            if rng.random() < 0.3:
                ts = rng.choice([None, None, None, now, now + 1])
                rows.append(retract(rng.choice(said[-5:]), ts))
                continue
            now += rng.choice([-1, 0, 0, 1])
            id = rng.choice(said[-12:]) if rng.random() < 0.2 else f"p{number}.{place}"
            said.append(id)
            rows.append({"id": id, "ts": now} | content(rng))
        batches.append(Batch(commands, rows))
    return batches
