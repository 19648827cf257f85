"""Dead letters: rows that are good for nothing, with their text and the reason."""

import numpy as np
import pyarrow as pa

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


def dead_letters(batch: int, prepared: pa.Table, reasons: list[str | None]) -> pa.Table:
    """The rows that have a reason, with their text; what was read well is written as JSON again."""
    bad = [i for i, reason in enumerate(reasons) if reason is not None]
    chosen = prepared.take(pa.array(bad, pa.int64()))
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
            pa.array([reasons[i] for i in bad], pa.string()),
        ],
        schema=DEAD,
    )
