"""Figures of batches, for people."""

from typing import Any


def show_replication(value: float | None) -> str:
    """Zones per publication, for people."""
    return "-" if value is None else f"{value:.2f} zones a publication"


def show_retracted(counts: dict[str, Any], since: str = "") -> list[tuple[str, str]]:
    """What was withdrawn, for people; nothing where nobody tried."""
    n, n_late = counts["retracted"], counts["retracted_late"]
    return [("retracted", f"{n:,}{since}, and {n_late:,} that were not live")] if n or n_late else []
