"""Rows are chosen, written and read again, also those with lists of several lengths."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from skyband.contract import pack, take, unpack
from skyband.geotext import rows as geotext
from skyband.ranked import rows as ranked
from skyband.table import Settings, to_table
from skyband.window import rows as window

GEOTEXT = [
    {"id": i, "k": 1, "x": 0.0, "y": 0.5, "terms": terms, "alpha": 0.5, "threshold": 0.1}
    for i, terms in enumerate([["a"], ["b", "c"], ["d"]])
]
RANKED = [
    {"id": i, "lo": [0.0] * n, "hi": [1.0] * n, "dims": list(range(n)), "budget": n} for i, n in enumerate([2, 0, 3])
]
WINDOW = [
    {"id": i, "k": i + 1, "score": "sum", "weights": [1.0, float(i)], "window_n": 5, "threshold": 0.1} for i in range(3)
]
BATCHES: dict[str, tuple[Any, Any]] = {
    "geotext": (geotext, GEOTEXT),
    "ranked": (ranked, RANKED),
    "window": (window, WINDOW),
}


def equal(left: Any, right: Any) -> bool:
    """Whether two batches are the same, field by field."""
    return bool(pack(left).equals(pack(right)))


@pytest.mark.parametrize("family", BATCHES)
def test_rows_are_taken_packed_and_unpacked(family: str) -> None:
    model, rows = BATCHES[family]
    settings = Settings(dims=3 if family == "ranked" else None)
    whole = model.parse_subscriptions(to_table(rows), settings).rows
    for chosen in ([2, 0], [1], [], [0, 1, 2]):
        taken = take(whole, np.array(chosen, np.int64))
        wanted = model.parse_subscriptions(to_table([rows[i] for i in chosen]), settings).rows
        assert taken.ids.to_pylist() == chosen
        if chosen:
            assert equal(taken, wanted)
            assert equal(unpack(model.Subscriptions, pack(taken)), taken)
            chunked = pa.concat_tables([pack(taken).slice(0, 1), pack(taken).slice(1)])
            assert equal(unpack(model.Subscriptions, chunked), taken)


def test_what_is_said_of_the_whole_batch_stays() -> None:
    rows = ranked.parse_subscriptions(to_table(RANKED), Settings(dims=9)).rows
    assert take(rows, np.array([1])).dims == 9
    assert unpack(ranked.Subscriptions, pack(rows)).dims == 0
