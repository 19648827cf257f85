"""Tops kept from events are those of the engine after every step, ranks included, for every family that has tops."""

from typing import Any

import numpy as np
import pytest

import skyband
from skyband.client import ChangesEvent, ResetEvent, SnapshotEvent, StandingTops, TopRow
from skyband.contract import Granularity

N_STEPS = 60
FIVE = skyband.Window.time(5)


def points(chance: np.random.Generator, step: int) -> list[dict[str, Any]]:
    return [{"id": 10 * step + i, "ts": step, "point": [float(chance.integers(6))]} for i in range(4)]


def moves(chance: np.random.Generator, step: int) -> list[dict[str, Any]]:
    objects = chance.choice(9, 4, replace=False)
    return [{"id": 10 * step + i, "ts": step, "object": int(objects[i]), "x": int(chance.integers(9)),
             "y": float(chance.integers(9))} for i in range(4)]  # fmt: skip


def places(chance: np.random.Generator, step: int) -> list[dict[str, Any]]:
    words: dict[str, Any] = {"terms": ["a"], "weights": [1.0]}
    return [{"id": 10 * step + i, "ts": step, "x": float(chance.integers(9)), "y": 0.0, **words}
            for i in range(4)]  # fmt: skip


WINDOW = [{"id": id, "k": k, "score": "euclidean", "point": [x]} for id, k, x in (("ann", 3, 2.0), ("bob", 2, 0.0))]
RANGES = [{"id": id, "k": k, "lo": lo, "hi": lo + 5} for id, k, lo in (("ann", 3, 0), ("bob", 4, 2))]
GEOTEXT = [{"id": "ann", "k": 3, "x": 4.0, "y": 0.0, "terms": ["a"], "alpha": 0.5}]


@pytest.mark.parametrize(
    ("family", "granularity", "given", "subscriptions", "rows"),
    [
        ("window", "batch", {"window": FIVE}, WINDOW, points),
        ("window", "publication", {"window": FIVE}, WINDOW, points),
        ("geotext", "batch", {"window": FIVE, "bounds": (0, 0, 9, 9)}, GEOTEXT, places),
        ("ranges", "batch", {}, RANGES, moves),
        ("ranges", "publication", {}, RANGES, moves),
    ],
)
@pytest.mark.parametrize("seed", range(5))
def test_tops_are_the_engines(
    family: str,
    granularity: Granularity,
    given: dict[str, Any],
    subscriptions: list[dict[str, Any]],
    rows: Any,
    seed: int,
) -> None:
    engine = skyband.open(family, "scan", granularity=granularity, **given)
    chance, tops = np.random.default_rng(seed), StandingTops(granularity)
    tops.take(changes(engine.subscribe(subscriptions)))
    n_moves = 0
    for step in range(N_STEPS):
        event = changes(engine.publish(rows(chance, step)))
        n_moves += sum(row["op"] == "move" for row in event.changes)
        tops.take(event)
        for subscription in subscriptions:
            top = engine.top([subscription["id"]]).to_pylist()
            shown = [TopRow(row["rank"], row["publication"], row["score"]) for row in top]
            assert tops.of(subscription["id"]) == shown
    assert n_moves > 0 or family != "ranges"


def test_a_subscription_that_has_ended_has_no_top_and_one_in_its_place_has() -> None:
    tops = StandingTops()
    tops.take(SnapshotEvent("e.1", {"ann": [TopRow(1, "p", 0.5)], "bob": []}))
    tops.take(ChangesEvent("e.2", [row("ann", "p", "leave", None)], ["ann"], False))
    assert (list(tops), len(tops)) == (["bob"], 1)
    tops.take(ChangesEvent("e.3", [row("bob", "q", "enter", 1)], ["bob"], True))
    assert tops.of("bob") == [TopRow(1, "q", 0.5)]
    tops.take(ResetEvent("It cannot be gone on with."))
    assert list(tops) == []


def row(subscription: str, publication: str, op: str, rank: int | None) -> dict[str, Any]:
    return {"subscription": subscription, "publication": publication, "op": op, "rank": rank, "score": 0.5}


def changes(answer: Any) -> ChangesEvent:
    return ChangesEvent("e.1", answer.to_pylist(), [], False)
