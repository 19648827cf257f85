"""The table of the documentation, made of stored rows alone: the newest of each peer at each size."""

from collections.abc import Sequence
from pathlib import Path

from bench.peers.contest import ANSWERS, LACKS, MILLISECONDS, OURS_MILLISECONDS, TIMES, VERSION, shown
from bench.peers.peer import Peer
from bench.peers.work import WORKS
from skyband.bench.row import Row
from skyband.bench.storage import load, rows_of

MEASURED = (MILLISECONDS, OURS_MILLISECONDS, TIMES)


def markdown(folder: Path, chosen: Sequence[type[Peer]], size: str) -> str:
    """One table of all that is stored of these peers at a size, in their order."""
    stored = [row for row in rows_of(load(folder)) if row["benchmark"].startswith("peers-") and row["size"] == size]
    places = {(peer.work, peer.name): i for i, peer in enumerate(chosen)}
    rows = [row for row in newest(shown(stored)) if _key(row) in places]
    rows.sort(
        key=lambda row: (list(WORKS).index(_key(row)[0]), places[_key(row)], row["parameters"]["n_subscriptions"])
    )
    headers = ["work", "subscriptions", "peer", *(column.header for column in (VERSION, *MEASURED, ANSWERS, LACKS))]
    lines = [headers, ["---"] * len(headers), *(_cells(row) for row in rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def newest(rows: Sequence[Row]) -> list[Row]:
    """The last row of each contest."""
    return list({row["contest"]: row for row in sorted(rows, key=lambda row: row["at"])}.values())


def _key(row: Row) -> tuple[str, str]:
    return row["parameters"]["work"], row["parameters"]["peer"]


def _cells(row: Row) -> list[str]:
    """What a row is about, and what was measured, or the reason why nothing was."""
    work, peer = _key(row)
    named = [work, f"{row['parameters']['n_subscriptions']:,}", peer, VERSION.cell(row, row)]
    if row["skipped"] is not None:
        return [*named, "", "", "", row["skipped"], LACKS.cell(row, row)]
    return [*named, *(column.cell(row, row) for column in (*MEASURED, ANSWERS, LACKS))]
