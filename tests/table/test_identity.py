"""Ids are integers or text, whatever else a batch holds beside them."""

import datetime
from typing import Any

import numpy as np
import pytest

import skyband

DAY = datetime.date(2024, 1, 1)
MOMENTS = [DAY, datetime.datetime(2024, 1, 1, 3), np.datetime64("2024-01-01"), np.datetime64("2024-01-01T03", "us")]


def subscribed(ids: list[Any]) -> tuple[int, list[int]]:
    """How many of subscriptions with these ids are taken, and which are rejected."""
    engine = skyband.open("window", on_error="collect")
    engine.subscribe([{"id": id, "k": 1, "score": "sum", "weights": [1.0]} for id in ids])
    assert {reject.reason for reject in engine.rejects} <= {"id must be an integer or text"}
    return engine.n_subscriptions, [reject.row for reject in engine.rejects]


@pytest.mark.parametrize("moment", MOMENTS, ids=repr)
def test_a_time_is_no_id_alone_or_beside_others(moment: Any) -> None:
    assert subscribed([moment]) == (0, [1])
    assert subscribed([moment, moment]) == (0, [1, 2])
    assert subscribed([moment, 1, 2]) == (2, [1])
    assert subscribed(["a", moment, "b"]) == (2, [2])
    assert subscribed([moment, *range(600)]) == (600, [1])


@pytest.mark.parametrize("moment", MOMENTS, ids=repr)
def test_a_time_is_one_beside_integers_and_text(moment: Any) -> None:
    engine = skyband.open("window")
    engine.subscribe({"id": 1, "k": 9, "score": "sum", "weights": [1.0]})
    times = ["2023-12-31T00:00", moment, 1_800_000_000_000_000]
    engine.publish([{"id": i, "ts": ts, "point": [1.0]} for i, ts in enumerate(times)])
    assert engine.top()["publication"].to_pylist() == [2, 1, 0]
