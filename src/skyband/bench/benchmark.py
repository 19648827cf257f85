"""A benchmark: what it measures, how its rows are shown as a table, and which figures are drawn from them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from skyband.bench.figure import Plot, draw_plot
from skyband.bench.machine import provenance
from skyband.bench.row import Row

Size = Literal["toy", "small", "full"]
Progress = Callable[[str], None]


class Column(NamedTuple):
    """A column of the printed table: its header, and the text for a row and the first row of its contest."""

    header: str
    cell: Callable[[Row, Row], str]


@dataclass(frozen=True)
class Benchmark:
    """One benchmark, by what makes its rows and what is shown of them."""

    name: str
    summary: str
    measure: Callable[[Size, Progress], Iterator[Row]]
    columns: tuple[Column, ...]
    plots: tuple[Plot, ...]

    def run(self, size: Size, progress: Progress) -> list[Row]:
        """Measure everything at a size; `progress` is told each step in a few words.

        Whoever interrupts it keeps the rows that were there by then.
        """
        origin, rows = {"benchmark": self.name, "size": size} | provenance(), list[Row]()
        try:
            for row in self.measure(size, progress):
                rows.append(origin | row)
        except KeyboardInterrupt:
            if not rows:
                raise
            progress("Interrupted: what was measured by now is kept.")
        return rows

    def table(self, rows: list[Row]) -> tuple[list[str], list[list[str]]]:
        """Headers and cells; a point that was skipped shows its reason in the last column."""
        first: dict[str, Row] = {}
        for row in rows:
            if row["skipped"] is None:
                first.setdefault(row["contest"], row)
        cells = [self._cells(row, first.get(row["contest"], row)) for row in rows]
        return [column.header for column in self.columns] + ["note"], cells

    def _cells(self, row: Row, first: Row) -> list[str]:
        if row["skipped"] is None:
            return [column.cell(row, first) for column in self.columns] + [""]
        # The first two columns say what a row is about; the rest would be measured.
        named = [column.cell(row, first) for column in self.columns[:2]]
        return named + [""] * (len(self.columns) - 2) + [row["skipped"]]

    def figures(self, rows: list[Row], folder: Path) -> list[Path]:
        """Draw every figure of these rows into a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        measured = [row for row in rows if row["skipped"] is None]
        return [draw_plot(plot, self.name, measured, folder) for plot in self.plots]
