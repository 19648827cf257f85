"""What a long run has measured so far, point by point, so that one that was stopped goes on where it was.

Rows of a point are stored when it ends. The same command takes them from there, as long as the commit, the kernels and
the options are those with which they were measured; with changes that are in no commit everything is measured anew.
"""

import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from skyband.bench.row import Row
from skyband.bench.storage import read_rows, write_rows

SAME = ("benchmark", "size", "commit", "versions", "machine")


class UnfinishedRun:
    """A folder with a file for each point that has ended; `origin` is what every row of the run carries."""

    def __init__(self, folder: Path, origin: Row, options: dict[str, str]) -> None:
        self._folder, self._options = folder, options
        # Rows of one run have one time, that of its begin.
        kept = [rows[0] for path in sorted(folder.glob("*.parquet")) if self._fits(rows := read_rows(path), origin)]
        self.origin = origin | {"at": kept[0]["at"]} if kept else origin

    def found(self, label: str) -> list[Row] | None:
        """The rows of a point that has ended, as they were stored; None if it has to be measured."""
        path = piece_of(self._folder, label)
        if not path.exists():
            return None
        rows = read_rows(path)
        return rows if self._fits(rows, self.origin) else None

    def keep(self, label: str, rows: list[Row]) -> None:
        """A point has ended."""
        if rows:
            self._folder.mkdir(parents=True, exist_ok=True)
            write_rows(rows, piece_of(self._folder, label))

    def _fits(self, rows: list[Row], origin: Row) -> bool:
        is_same = all(row[name] == origin[name] for row in rows for name in SAME)
        has_options = all(row["parameters"].get("options", {}) == self._options for row in rows)
        return bool(rows) and is_same and has_options and not origin["commit"].endswith("-dirty")


def piece_of(folder: Path, label: str) -> Path:
    """The file with the rows of a point."""
    return folder / f"{re.sub('[^a-z0-9]+', '-', label.lower())}.parquet"


def drop_pieces(folder: Path, labels: Iterable[str]) -> None:
    """Forget points whose rows are stored elsewhere; another run may have its own in the same folder."""
    for label in labels:
        piece_of(folder, label).unlink(missing_ok=True)
    with suppress(OSError):
        folder.rmdir()
