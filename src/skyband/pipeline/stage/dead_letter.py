"""Dead letters: rows that are good for nothing, with their text and the reason."""

import numpy as np
import pyarrow as pa

from skyband.kernels.array import Bools, Int64s
from skyband.table.json_object import ENCODER

DEAD = pa.schema(
    [
        ("batch", pa.int64()),
        ("noun", pa.string()),
        ("origin", pa.string()),
        ("offset", pa.int64()),
        ("row", pa.string()),
        ("reason", pa.string()),
    ]
)


class Refusals:
    """Which rows of a batch are good for nothing, and why: some when they come, and others on their way."""

    def __init__(self, prepared: pa.Table) -> None:
        self.is_bad: Bools = prepared["reason"].is_valid().to_numpy().astype(np.bool_)
        self._told: list[tuple[Int64s, str]] = []

    def refuse(self, places: Int64s, reason: str) -> None:
        """These are good for nothing, all for this reason."""
        self.is_bad[places] = True
        self._told.append((places, reason))

    def reasons(self, prepared: pa.Table) -> list[str]:
        """Why each of the bad rows is bad, in their order."""
        bad = np.flatnonzero(self.is_bad)
        found: list[str] = prepared["reason"].take(pa.array(bad)).to_pylist()
        for places, reason in self._told:
            for place in np.searchsorted(bad, places).tolist():
                found[place] = reason
        return found


def dead_letters(batch: int, prepared: pa.Table, refusals: Refusals) -> pa.Table:
    """The rows that have a reason, with their text; what was read well is written as JSON again."""
    bad = np.flatnonzero(refusals.is_bad)
    if not len(bad):
        return DEAD.empty_table()
    chosen = prepared.take(pa.array(bad))
    texts = []
    for row in chosen.select(["row", "asked", "said", "op"]).to_pylist():
        plain = row["said"] or row["asked"] or {}
        op = {} if row["op"] in (None, "publish", "subscribe") else {"op": row["op"]}
        kept = {name: value for name, value in plain.items() if value is not None}
        texts.append(row["row"] if row["row"] is not None else ENCODER.encode(op | kept))
    return pa.Table.from_arrays(
        [
            pa.array(np.full(len(bad), batch), pa.int64()),
            chosen["noun"],
            chosen["origin"],
            chosen["offset"],
            pa.array(texts, pa.string()),
            pa.array(refusals.reasons(prepared), pa.string()),
        ],
        schema=DEAD,
    )
