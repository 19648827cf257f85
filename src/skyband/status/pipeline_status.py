"""Where a pipeline stands: its last batch, its parts, what it rejected, and what waits to be read or delivered."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet

from skyband.log import Log
from skyband.status.figure import figures_of, totals_of
from skyband.status.state_files import (
    CommittedBatch,
    begun_with,
    commits,
    dead_files,
    delivered,
    last_letters,
    log_file,
    offsets,
)

# What a state folder keeps of its batches is looked at this far back.
BATCHES = 100
LETTERS = 3
NOUNS = ("subscriptions", "publications")


def status_of(folder: Path, logs: Mapping[str, Path | None] | None = None, letters: int = LETTERS) -> dict[str, Any]:
    """Where the pipeline in a state folder stands; rows are waited for in the embedded logs that it reads, by noun."""
    began = begun_with(folder)
    kept = commits(folder, BATCHES)
    last, has = kept[-1] if kept else None, delivered(folder)
    return {
        "state": folder,
        "family": began.family,
        "engine": began.engine,
        "zones": began.n_zones,
        "last": None if last is None else figures_of(last),
        "seconds_since": None if last is None else max(0.0, time.time() - last.report["at"]),
        "recent": totals_of([figures_of(commit) for commit in kept]),
        "parts": [] if last is None else _parts(folder, last),
        "log_bytes": sum(path.stat().st_size for path in (folder / "log").glob("*.arrow")),
        "delivered": has,
        "undelivered": last.batch if last is not None and last.batch > has else None,
        "dead": _dead(folder, last, letters),
        "waiting": _waiting(folder, logs or {}, last),
    }


def history_of(folder: Path) -> list[dict[str, Any]]:
    """The figures of the last committed batches, oldest first."""
    return [figures_of(commit) for commit in commits(folder, BATCHES)]


def _parts(folder: Path, last: CommittedBatch) -> list[dict[str, Any]]:
    """Of the router and each zone, what it holds and how much log there is since its snapshot."""
    parts = last.report["parts"]
    names = ["router", *(f"zone-{zone}" for zone in range(len(parts["router"]["sent"])))]
    rows = [sum(parts["router"]["sent"]), *parts["router"]["sent"]]
    told = []
    for name, sent in zip(names, rows, strict=True):
        snapshot = last.snapshots.get(name)
        since = range(0 if snapshot is None else snapshot + 1, last.batch + 1)
        logs = [path for path in (log_file(folder, batch) for batch in since) if path.exists()]
        told.append(
            {
                "part": name,
                "subscriptions": parts[name]["subscriptions"],
                "rows": sent,
                "seconds": parts[name]["seconds"],
                "snapshot": snapshot,
                "batches_since": len(logs),
                "log_bytes": sum(path.stat().st_size for path in logs),
            }
        )
    return told


def _dead(folder: Path, last: CommittedBatch | None, letters: int) -> dict[str, Any]:
    files = dead_files(folder, None if last is None else last.batch)
    n_rows = sum(pyarrow.parquet.read_metadata(path).num_rows for path in files)
    return {"rows": n_rows, "last": last_letters(files, letters)}


def _waiting(folder: Path, logs: Mapping[str, Path | None], last: CommittedBatch | None) -> dict[str, int | None]:
    """How many rows of each source no committed batch has read; None where only the source itself knows."""
    read = {} if last is None else offsets(folder, last.batch)
    waiting: dict[str, int | None] = {}
    for noun in NOUNS:
        place = logs.get(noun)
        log = None if place is None else Log(place)
        waiting[noun] = None if log is None else log.end - max(read.get(noun, 0), log.first)
    return waiting
