"""An experiment: what a benchmark measures at each size, as points of a sweep, and what is shown of its rows.

Experiments are entries of tables: a module of this package that has some lists them under the name EXPERIMENTS. All of
them are run here: the scale of a size is swept over points, and each point is measured.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

from skyband.bench.machine import provenance
from skyband.bench.opening import given_options
from skyband.bench.row import Row
from skyband.bench.unfinished import UnfinishedRun, drop_pieces
from skyband.bench.view import Plot, ViewColumn, cells_of, draw_plot

Size = Literal["toy", "small", "full"]
Progress = Callable[[str], None]
Scale = TypeVar("Scale")
Point = TypeVar("Point")


class NoSuchPart(ValueError):
    """A part of a benchmark is asked for that it does not have."""


@dataclass(frozen=True)
class Experiment(Generic[Scale, Point]):
    """One benchmark by its name, with the points that its rows come from and the columns and figures made of them.

    Points are measured in their order, and may share what an earlier one has built or spent. `finish` is given all rows
    on their way out, to add measures that follow from others. Where points have a `label`, some of them can be measured
    alone, and each is stored when it ends.
    """

    name: str
    summary: str
    scales: Mapping[Size, Scale]
    sweep: Callable[[Scale], Iterable[Point]]
    measure: Callable[[Point, Progress], Iterable[Row]]
    columns: tuple[ViewColumn, ...]
    plots: tuple[Plot, ...] = ()
    finish: Callable[[Iterable[Row]], Iterable[Row]] = iter
    label: Callable[[Point], str] | None = None

    def run(
        self, size: Size, progress: Progress, only: Sequence[str] = (), unfinished: Path | None = None
    ) -> list[Row]:
        """Measure everything at a size; `progress` is told each step in a few words.

        Whoever interrupts it keeps the rows that were there by then. Options that engines were given are a parameter of
        every row. With `only`, points are measured whose labels have all of these texts; those that have ended are
        kept in the folder `unfinished`, until the whole run has.
        """
        origin, rows = {"benchmark": self.name, "size": size} | provenance(), list[Row]()
        points = self._chosen(size, only)
        if self.label is not None and unfinished is not None:
            return self._run_on(self.label, points, progress, UnfinishedRun(unfinished, origin, given_options()))
        try:
            for row in self.finish(row for point in points for row in self.measure(point, progress)):
                rows.append(origin | row | _parameters(row))
        except KeyboardInterrupt:
            if not rows:
                raise
            progress("Interrupted: what was measured by now is kept.")
        return rows

    def _chosen(self, size: Size, only: Sequence[str]) -> Iterable[Point]:
        points = self.sweep(self.scales[size])
        if not only:
            return points
        if self.label is None:
            raise NoSuchPart(f"{self.name} is measured as a whole: leave this out.")
        labels = {self.label(point): point for point in points}
        chosen = [point for label, point in labels.items() if all(text.lower() in label.lower() for text in only)]
        if not chosen:
            known = "; ".join(labels)
            wanted = " and ".join(map(repr, only))
            raise NoSuchPart(f"no part of {self.name} has {wanted} in its name; there are: {known}.")
        return chosen

    def _run_on(
        self, label: Callable[[Point], str], points: Iterable[Point], progress: Progress, run: UnfinishedRun
    ) -> list[Row]:
        """Measure what has not been measured yet."""

        def rows_of(point: Point) -> Iterator[Row]:
            found = run.found(label(point))
            if found is None:
                found = [run.origin | row | _parameters(row) for row in self.measure(point, progress)]
                run.keep(label(point), found)
            else:
                progress(f"{label(point)}: measured already")
            yield from found

        try:
            rows = list(self.finish(row for point in points for row in rows_of(point)))
        except KeyboardInterrupt:
            progress("Interrupted: the same command goes on with what is missing.")
            raise
        return rows

    def forget(self, size: Size, only: Sequence[str], unfinished: Path) -> None:
        """The rows of a whole run are stored: its points need not be kept one by one any more."""
        if self.label is not None:
            drop_pieces(unfinished, map(self.label, self._chosen(size, only)))

    def table(self, rows: list[Row]) -> tuple[list[str], list[list[str]]]:
        """Headers and cells; a point that was skipped shows its reason in the last column."""
        return [column.header for column in self.columns] + ["note"], cells_of(self.columns, rows)

    def figures(self, rows: list[Row], folder: Path) -> list[Path]:
        """Draw every figure of these rows into a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        measured = [row for row in rows if row["skipped"] is None]
        return [draw_plot(plot, self.name, measured, folder) for plot in self.plots]


def _parameters(row: Row) -> Row:
    options = given_options()
    return {"parameters": row["parameters"] | {"options": options}} if options else {}


AnyExperiment = Experiment[Any, Any]


def whole(scale: Scale) -> tuple[Scale]:
    """The sweep of an experiment whose scale is its only point."""
    return (scale,)
