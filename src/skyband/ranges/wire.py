"""Messages as they go through a network: a table of them, and back.

A message reaches the subscriptions to the best `k` whose range [l, r] has, in every dimension, l_out < l <= l_in and
r_in <= r < r_out. It tells that `object` is at `x` with `y` now, or, where y is null, that it is gone.
An infinite end of a range counts as the farthest finite number, since objects lie at finite places.

Sides are 8-byte numbers, and have to be: a box may be as tight as the subscriptions in it, and one that is rounded to
4-byte numbers may reach others, or nobody. So a message takes more than the 24 bytes of the ranges paper, which counts
six numbers of 4 bytes; `message_bytes` says what it takes here.
"""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from skyband.kernels.array import Floats, Int64s
from skyband.ranges.kernels.message import GONE, Messages, make_messages

SIDES = ("l_in", "r_in", "l_out", "r_out")


# A number of the table, an integer id included, and the offset that a list takes besides its numbers.
NUMBER, OFFSET = 8, 4


def message_bytes(dims: int, ids: int = 2 * NUMBER) -> int:
    """The bytes of a message as it is sent, a row of the table; `ids` are those of its two ids, integers by default.

    What a whole table takes besides, its head and a bit a row for y, is not in it: batches share that.
    """
    n_places = len(SIDES) + 1
    offsets = 0 if dims == 1 else n_places * OFFSET
    return NUMBER * (n_places * dims + len(("k", "y"))) + offsets + ids


class Wired(NamedTuple):
    """Messages out of a table, with the k and the object of each; their groups and slots are not filled in."""

    messages: Messages
    k: Int64s
    objects: Any


def message_schema(publication: pa.DataType, object: pa.DataType, dims: int) -> pa.Schema:
    """The columns of a table of messages; those that say where are lists in more than one dimension."""
    place = pa.float64() if dims == 1 else pa.list_(pa.float64())
    sides = [pa.field(side, place) for side in SIDES]
    fields = [("publication", publication), ("k", pa.int64()), *sides, ("object", object), ("x", place)]
    return pa.schema([*fields, ("y", pa.float64())])


def message_table(messages: Messages, k: Int64s, events: pa.Array, objects: pa.Array, schema: pa.Schema) -> pa.Table:
    """A table of messages: `k` is by group, the ids of events and of objects are by message."""
    n = int(messages.length[0])
    low, high, y = messages.low[:n], messages.high[:n], messages.y[:n]
    # Beyond the farthest number is infinity, which is meant.
    with np.errstate(over="ignore"):
        sides = (high[:, 0::2], low[:, 1::2], np.nextafter(low[:, 0::2], -np.inf), np.nextafter(high[:, 1::2], np.inf))
    columns = [events, pa.array(k[messages.group[:n]]), *map(_places, sides), objects]
    return pa.table([*columns, _places(messages.x[:n]), pa.array(y, mask=y == GONE)], schema=schema)


def _places(values: Floats) -> pa.Array:
    flat = pa.array(np.ascontiguousarray(values).reshape(-1))
    if values.shape[1] == 1:
        return flat
    return pa.ListArray.from_arrays(pa.array(np.arange(len(values) + 1, dtype=np.int32) * values.shape[1]), flat)


def read_messages(table: pa.Table, dims: int) -> Wired:
    """The messages of a table."""
    n = len(table)
    messages = make_messages(n, dims)
    messages.length[0] = n
    l_in, r_in, l_out, r_out = (_numbers(table[side], dims) for side in SIDES)
    messages.low[:, 0::2], messages.low[:, 1::2] = np.nextafter(l_out, np.inf), r_in
    messages.high[:, 0::2], messages.high[:, 1::2] = l_in, np.nextafter(r_out, -np.inf)
    messages.x[:] = _numbers(table["x"], dims)
    messages.y[:] = np.asarray(table["y"].fill_null(GONE).combine_chunks(), np.float64)
    k = np.asarray(table["k"].combine_chunks(), np.int64)
    return Wired(messages, k, table["object"].combine_chunks())


def _numbers(column: pa.ChunkedArray, dims: int) -> Floats:
    flat = column.combine_chunks()
    flat = flat.flatten() if pa.types.is_list(flat.type) else flat
    return np.asarray(flat, np.float64).reshape(-1, dims)
