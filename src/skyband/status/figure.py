"""What the reports of batches come to: the figures of one, and the sums of several."""

import functools
from collections.abc import Iterable
from typing import Any, Protocol


class Reported(Protocol):
    """A committed batch, whoever has read it."""

    @property
    def batch(self) -> int:
        """Its number."""

    @property
    def report(self) -> dict[str, Any]:
        """What was noted of it."""


# What adds up from batch to batch.
COUNTED = ("commands", "publications", "changes", "copies", "late", "retracted", "retracted_late", "dead")
# Of these, what adds up to the rows that came.
ROWS = ("commands", "publications", "late", "retracted", "retracted_late", "dead")


def figures_of(commit: Reported) -> dict[str, Any]:
    """The figures of a committed batch."""
    report, router = commit.report, commit.report["parts"]["router"]
    counts = counts_of(report)
    return {
        "batch": commit.batch,
        "at": report["at"],
        "seconds": report["seconds"],
        **counts,
        "replication": replication(counts),
        **processor_of(report.get("processor", {}), sum(counts[name] for name in ROWS)),
        "subscriptions": router["subscriptions"],
        "now": router["now"],
        "zones": zones_of(commit),
    }


def counts_of(report: dict[str, Any]) -> dict[str, int]:
    """What adds up, from the report of a batch; one of an earlier version does not know of retractions."""
    router = report["parts"]["router"]
    return {name: router[name] if name in router else report.get(name, 0) for name in COUNTED}


def processor_of(seconds: dict[str, float], n_rows: int) -> dict[str, Any]:
    """The processor seconds of each stage, and what that is in microseconds a row; earlier versions tell of none."""
    n_rows = n_rows if seconds else 0
    each = {stage: spent / n_rows * 1e6 for stage, spent in seconds.items()} if n_rows else {}
    return {"processor": seconds, "processor_rows": n_rows, "processor_us_per_row": each}


def zones_of(commit: Reported) -> list[dict[str, Any]]:
    """Of each zone its subscriptions, the rows it was sent, and how long it took."""
    parts = commit.report["parts"]
    return [
        {
            "zone": zone,
            "subscriptions": parts[f"zone-{zone}"]["subscriptions"],
            "rows": rows,
            "seconds": parts[f"zone-{zone}"]["seconds"],
            "rebuilt_seconds": parts[f"zone-{zone}"]["rebuilt_seconds"],
        }
        for zone, rows in enumerate(parts["router"]["sent"])
    ]


def totals_of(batches: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The sums of several batches."""
    nothing = {"batches": 0, "last": None, "seconds": 0.0, **dict.fromkeys(COUNTED, 0), "replication": None}
    return functools.reduce(with_batch, batches, nothing | processor_of({}, 0))


def with_batch(totals: dict[str, Any], figures: dict[str, Any]) -> dict[str, Any]:
    """The sums with one more batch."""
    sums = {name: totals[name] + figures[name] for name in ("seconds", *COUNTED)}
    spent, more = totals["processor"], figures["processor"]
    spent = {stage: spent.get(stage, 0.0) + more.get(stage, 0.0) for stage in spent | more}
    told = processor_of(spent, totals["processor_rows"] + figures["processor_rows"])
    counts = {"batches": totals["batches"] + 1, "last": figures["batch"], **sums}
    return {**counts, "replication": replication(sums), **told}


def replication(counts: dict[str, Any]) -> float | None:
    """How many zones a publication was sent to on average; None where there was none."""
    copies, publications = counts["copies"], counts["publications"]
    return copies / publications if publications else None
