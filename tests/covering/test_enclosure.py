"""Why one box covers another, or why not: as the oracle says of every pair."""

from typing import Any

import numpy as np
import pytest

import skyband
from skyband.covering.coverset import CoverSet
from skyband.covering.oracle import CoverOracle
from skyband.covering.rows import parse_subscriptions
from skyband.table import Rejected, Settings, read_table
from tests.covering.test_coverset import boxes


@pytest.mark.parametrize("seed", range(3))
def test_every_pair_is_as_the_oracle_says(seed: int) -> None:
    rows = boxes(np.random.default_rng(seed), 30, 0)
    cover, oracle = CoverSet(), CoverOracle()
    cover.add(rows)
    oracle.add(parse_subscriptions(read_table(rows).table, Settings()).rows)
    hung = {row["subscription"]: row["covered_by"] for row in cover.covered_by().to_pylist()}
    for own in rows:
        around = set(oracle.covering(own["id"]))
        for other in rows:
            got = cover.explain(own["id"], other["id"])
            assert got.covers == (other["id"] in around or other["id"] == own["id"])
            assert got.covered_by == hung[own["id"]]
            assert [one.outside_by for one in got.conditions] == sticking_out(own, other)


def sticking_out(own: dict[str, Any], other: dict[str, Any]) -> list[float | None]:
    """By how much each side lies outside, None for infinitely much."""
    pairs = zip(own["lo"], own["hi"], other["lo"], other["hi"], strict=True)
    gaps = [gap for lo, hi, low, high in pairs for gap in ((low, lo), (hi, high))]
    return [0.0 if a <= b else (a - b if np.isfinite(a - b) else None) for a, b in gaps]


def test_it_is_said_in_sentences() -> None:
    cover = skyband.CoverSet()
    cover.add([{"id": "ann", "lo": [1.0, None], "hi": [7.0, 3.0]}, {"id": "bob", "lo": [0.0, 0.0], "hi": [5.0, 9.0]}])
    got = cover.explain("ann", "bob")
    assert got.text.splitlines() == [
        "The subscription 'bob' does not cover the subscription 'ann'.",
        "The side hi[0] is 7.0, and that of the other is 5.0: it sticks out by 2.0.",
        "The side lo[1] is open, and that of the other is 0.0.",
        "In the cover set 'ann' is uncovered.",
    ]
    assert got.as_dict()["conditions"][1]["outside_by"] == 2.0


def test_what_is_not_there_is_refused() -> None:
    cover = skyband.CoverSet(on_error="collect")
    cover.add([{"id": "ann", "lo": [1.0], "hi": [7.0]}])
    with pytest.raises(Rejected, match="value 'eve': is not registered"):
        cover.explain("ann", "eve")
    with pytest.raises(ValueError, match="One subscription is explained at a time, not 0"):
        cover.explain([], "ann")  # type: ignore[arg-type]
