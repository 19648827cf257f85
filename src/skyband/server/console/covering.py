"""Which subscriptions of a stream stand for others: the boxes that they ask about, as a forest.

A subscription is below another one whose box holds its own: whatever concerns it concerns the other one too.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from skyband.contract.tops import Id
from skyband.server.stream.registry import Registered
from skyband.server.stream.served import ServedStream

MOST_MEMBERS = 500
"""How many subscriptions, the first by id, are held against each other."""
SIDES = ("lo", "hi")


def has_boxes(stream: ServedStream) -> bool:
    """Whether the subscriptions of a stream ask about boxes."""
    return set(SIDES) <= set(stream.family.subscriptions.names)


def box_of(row: Mapping[str, Any], n: int) -> dict[str, list[float | None]]:
    """The box of a subscription in n dimensions, as it was sent; a side that has no end is None."""
    listed = {side: row[side] if isinstance(row[side], list) else [row[side]] for side in SIDES}
    dims = row.get("dims") or range(len(listed["lo"]))
    box: dict[str, list[float | None]] = {side: [None] * n for side in SIDES}
    for place, dim in enumerate(dims):
        for side in SIDES:
            end = listed[side][place]
            box[side][dim] = None if end is None or abs(float(end)) == float("inf") else float(end)
    return box


def forest_of(subscriptions: Iterable[tuple[Id, Registered]], dims: int | None) -> list[dict[str, Any]]:
    """Each subscription with its box and the one that it is below; those that stand for themselves have none above."""
    from skyband.covering import CoverSet

    rows = [(id, json.loads(entry.text)) for id, entry in subscriptions]
    n = dims or max((len(row["lo"]) if isinstance(row["lo"], list) else 1 for _, row in rows), default=1)
    boxes = [{"id": str(id)} | box_of(row, n) for id, row in rows]
    if not boxes:
        return []
    cover = CoverSet()
    # One by one and the smallest first, so that each hangs below the next larger one rather than all below a root.
    for box in sorted(boxes, key=_size):
        cover.add([box])
    above = {row["subscription"]: row["covered_by"] for row in cover.covered_by().to_pylist()}
    return [box | {"covered_by": above[box["id"]]} for box in boxes]


def _size(box: Mapping[str, Any]) -> tuple[int, float]:
    """How large a box is: by its sides without an end, and then by how long the others are together."""
    ends = list(zip(box["lo"], box["hi"], strict=True))
    n_open = sum((lo is None) + (hi is None) for lo, hi in ends)
    return n_open, sum(hi - lo for lo, hi in ends if lo is not None and hi is not None)
