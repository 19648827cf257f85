"""Small logs for tests, and what they hold."""

from __future__ import annotations

from pathlib import Path

from hypothesis import strategies as st

from skyband.log import SCHEMA, Log

# No surrogates: they are not text that UTF-8 can hold.
BATCHES = st.lists(st.lists(st.text(st.characters(codec="utf-8"), max_size=5), max_size=4), max_size=8)


def texts(log: Log, start: int = 0, end: int | None = None, limit: int | None = None) -> list[str]:
    """The records in a range, after checking their numbers."""
    table = log.read(start, end, limit)
    assert table.schema == SCHEMA
    assert table["offset"].to_pylist() == list(range(start, start + table.num_rows))
    values: list[str] = table["value"].to_pylist()
    return values


def segments(folder: Path) -> list[Path]:
    """The segment files, oldest first."""
    return sorted(folder.glob("*.log"))


def filled(folder: Path, *batches: list[str], blocks: int = 4096) -> list[int]:
    """Append batches, some blocks to a segment, and return the size of all segments after each."""
    sizes = []
    with Log(folder, segment_blocks=blocks) as log:
        for batch in batches:
            log.append(batch)
            sizes.append(sum(segment.stat().st_size for segment in segments(folder)))
    return sizes
