"""Messages as tables: what they take on the way, and that they need their numbers in full."""

import numpy as np
import pyarrow as pa
import pytest

import skyband
from skyband.ranges.engine import RangesPaint
from skyband.ranges.subscribers import SubscriberTable
from skyband.ranges.wire import SIDES, message_bytes

# What a record batch takes besides its rows; the padding of each of its buffers to 8 bytes, at most 8 bytes each.
PADDING = 8 * 32


def _sent(dims: int, n: int) -> pa.Table:
    """The messages of n objects that come, one each."""
    engine = skyband.open("ranges", "paint", granularity="publication")
    assert isinstance(engine, RangesPaint)
    whole = {"lo": -1.0, "hi": n} if dims == 1 else {"lo": [-1.0] * dims, "hi": [float(n)] * dims}
    engine.subscribe([{"id": 1, "k": n, **whole}])
    places = [float(i) if dims == 1 else [float(i)] * dims for i in range(n)]
    return engine.messages([{"id": i, "ts": i, "object": i, "x": x, "y": 1.0} for i, x in enumerate(places)]).messages


def _size(table: pa.Table) -> int:
    (batch,) = table.combine_chunks().to_batches()
    return int(batch.serialize().size)


@pytest.mark.parametrize(("dims", "wanted"), [(1, 72), (2, 132)])
def test_the_bytes_of_a_message_are_those_that_are_sent(dims: int, wanted: int) -> None:
    small, large = _sent(dims, 50), _sent(dims, 450)
    assert (len(small), len(large)) == (50, 450)
    assert message_bytes(dims) == wanted
    rows = 400 * message_bytes(dims) + 400 // 8
    assert abs(_size(large) - _size(small) - rows) <= PADDING


def test_a_box_in_numbers_of_four_bytes_reaches_nobody() -> None:
    rows = [{"id": "ann", "k": 2, "lo": 2.0, "hi": 4.0}, {"id": "bob", "k": 2, "lo": 3.0, "hi": 9.0}]
    engine = skyband.open("ranges", "paint")
    assert isinstance(engine, RangesPaint)
    engine.subscribe(rows)
    sent = engine.messages([{"id": 1, "ts": 1, "object": "B", "x": 3.5, "y": 10.0}]).messages
    for kind, reached in ((np.float64, 2), (np.float32, 0)):
        afar = SubscriberTable(rows, skyband.open("ranges", "oracle").top())
        table = sent
        for side in SIDES:
            ends = pa.array(sent[side].to_numpy().astype(kind).astype(np.float64))
            table = table.set_column(table.column_names.index(side), side, ends)
        afar.receive(table)
        assert afar.top().num_rows == reached
