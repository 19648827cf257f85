"""A folder with a small pipeline in it: its configuration, and two embedded logs with a few rows."""

import json
from pathlib import Path
from typing import Any

from skyband.log import Log

SUBSCRIBED = [
    {"id": "ann", "k": 1, "score": "euclidean", "point": [0, 0]},
    {"id": "bob", "k": 2, "score": "euclidean", "point": [2, 2]},
]
PUBLISHED = [{"id": f"p{i}", "ts": i, "point": [i % 3, i % 2]} for i in range(6)]
POISON = {"id": "p9", "ts": 9, "point": "here"}


def lines_of(rows: list[dict[str, Any]]) -> str:
    """Rows as NDJSON."""
    return "".join(json.dumps(row) + "\n" for row in rows)


def configured(folder: Path, **more: Any) -> Path:
    """The file of a configuration over two embedded logs, which hold a few rows."""
    for name, rows in (("subscriptions", SUBSCRIBED), ("publications", [*PUBLISHED, POISON])):
        with Log(folder / name) as log:
            log.claim()
            if not log.end:
                log.append(lines_of(rows).splitlines())
    keys = {
        "family": "window",
        "engine": "oracle",
        "dims": 2,
        "window": "10m",
        "zones": 2,
        "batch": 3,
        "trigger": "100ms",
        "subscriptions": {"format": "log", "path": "subscriptions"},
        "publications": {"format": "log", "path": "publications"},
        "changes": {"format": "parquet", "path": "changes"},
        "state": "state",
    }
    path = folder / "pipeline.yaml"
    path.write_text(json.dumps(keys | more))
    return path
