"""Charts of a change log in characters: changes over time as columns, stays in a top as bars."""

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from skyband.cli.value import show_instant
from skyband.table.duration import show_duration

if TYPE_CHECKING:
    from skyband.kernels.array import Int64s
    from skyband.replay.history import Stay, Stretches

EIGHTHS = " ▁▂▃▄▅▆▇█"
HEIGHT = 5
COLOURS = {"enter": "green", "leave": "red", "move": "yellow"}
LONGEST_ID = 24


def show_time(us: int, timed: bool) -> str:
    """A time on an axis: a date and time where the log has those, and otherwise microseconds."""
    return show_instant(us).replace("T", " ").removesuffix("Z") if timed else str(us)


def show_step(us: int) -> str:
    """How long a column is, with its unit."""
    text = show_duration(us)
    return f"{text}us" if text.isdigit() else text


def columns_of(counts: "Int64s", height: int = HEIGHT) -> list[str]:
    """Counts as columns of eighths of a line, the highest line first; whatever is not 0 can be seen."""
    most = max(int(counts.max()), 1)
    eighths = [0 if not n else max(1, round(n / most * height * 8)) for n in counts.tolist()]
    return [
        "".join(EIGHTHS[min(max(n - 8 * line, 0), 8)] for n in eighths).rstrip() for line in reversed(range(height))
    ]


def changes_chart(found: "Stretches", timed: bool) -> list[tuple[str, str]]:
    """Lines of the chart of changes, each with its colour."""
    peaks = {op: f"{int(counts.max()):,}" for op, counts in found.counts.items()}
    width = max(len(f"{op} {peak}") for op, peak in peaks.items())
    lines: list[tuple[str, str]] = []
    for op, counts in found.counts.items():
        labels = itertools.chain([f"{op} {peaks[op]}"], itertools.repeat("", HEIGHT - 2), ["0"])
        lines += [
            (f"{label:>{width}} ┤{line}", COLOURS[op]) for label, line in zip(labels, columns_of(counts), strict=True)
        ]
    n_columns = len(next(iter(found.counts.values())))
    return [*lines, (_axis(width, n_columns, found.start, found.end, timed), "")]


def stays_chart(stays: "Sequence[Stay]", found: "Stretches", timed: bool) -> list[tuple[str, str]]:
    """Lines of the chart of a top: a line a stay, with the publication, its score, and when it was there."""
    n_columns = len(next(iter(found.counts.values())))
    labels = [(_short(str(stay.publication)), f"{stay.score:.4g}") for stay in stays]
    names, scores = (max(len(label[i]) for label in labels) for i in (0, 1))
    lines = []
    for stay, (name, score) in zip(stays, labels, strict=True):
        first, last = _place(stay.start, found), _place(found.end - 1 if stay.end is None else stay.end, found)
        bar = " " * first + "█" * (last - first + 1)
        lines.append((f"{name:<{names}}  {score:>{scores}} ┤{bar}", "cyan"))
    return [*lines, (_axis(names + scores + 2, n_columns, found.start, found.end, timed), "")]


def _place(us: int, found: "Stretches") -> int:
    return (us - found.start) // found.step


def _axis(width: int, n_columns: int, start: int, end: int, timed: bool) -> str:
    begins, ends = show_time(start, timed), show_time(end, timed)
    return f"{' ' * width} └{begins}{' ' * max(2, n_columns - len(begins) - len(ends))}{ends}"


def _short(text: str) -> str:
    plain = text if text.isprintable() else repr(text)[1:-1]
    return plain if len(plain) <= LONGEST_ID else plain[: LONGEST_ID - 1] + "…"
