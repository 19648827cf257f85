"""What a running pipeline looks like: one line that changes on a terminal, a line for each batch elsewhere, or JSON."""

import contextlib
import json
import sys
from collections.abc import Iterator
from typing import Any, Protocol

import click

from skyband.cli.output import Output, plain

Figures = dict[str, Any]


class View(Protocol):
    """Told in words what happens, and in figures what each batch came to."""

    def say(self, text: str) -> None:
        """Show a sentence."""

    def batch(self, figures: Figures, totals: Figures) -> None:
        """Show a batch, and what all batches of this run came to."""


class Documents:
    """One JSON object a batch."""

    def say(self, text: str) -> None:
        """Do nothing: there is nothing but JSON."""

    def batch(self, figures: Figures, totals: Figures) -> None:
        """Print the figures of a batch."""
        print_object(figures)


class BatchLines:
    """A sentence a batch."""

    def say(self, text: str) -> None:
        """Print a sentence."""
        click.echo(text)

    def batch(self, figures: Figures, totals: Figures) -> None:
        """Print the figures of a batch."""
        click.echo(f"batch {figures['batch']}: {told(figures)}; {rates(figures)}")


class LiveLine:
    """One line at the bottom of a terminal."""

    def __init__(self, status: Any) -> None:
        self._status = status

    def say(self, text: str) -> None:
        """Show a sentence in place of the line."""
        self._status.update(text)

    def batch(self, figures: Figures, totals: Figures) -> None:
        """Show the last batch, and the sums of this run."""
        self._status.update(f"batch {figures['batch']}: {rates(figures)}; since the start {told(totals)}")


@contextlib.contextmanager
def open_view(output: Output) -> Iterator[View]:
    """The view that suits where the output goes."""
    if output.as_json:
        yield Documents()
    elif not sys.stderr.isatty():
        yield BatchLines()
    else:
        with output.console(stderr=True).status("", spinner_style="none") as status:
            yield LiveLine(status)


def print_object(value: Any) -> None:
    """Print a value as JSON on a line of its own, at once."""
    click.echo(json.dumps(plain(value), ensure_ascii=False))
    sys.stdout.flush()


def told(figures: Figures) -> str:
    """What went in and came out, in words."""
    copies = figures["replication"]
    parts = [
        counted(figures["publications"], "publication"),
        *([counted(figures["commands"], "command")] if figures["commands"] else []),
        counted(figures["changes"], "change"),
        *([] if copies is None else [f"{copies:.2f} zones each"]),
        *([counted(figures["dead"], "dead letter")] if figures["dead"] else []),
        *([f"{figures['late']:,} late"] if figures["late"] else []),
        *([f"{figures['retracted']:,} retracted"] if figures["retracted"] else []),
    ]
    return ", ".join(parts)


def counted(n: int, noun: str) -> str:
    """So many of something."""
    return f"1 {noun}" if n == 1 else f"{n:,} {noun}s"


def rates(figures: Figures) -> str:
    """How fast it went, in words; Spark's figures where they are known."""
    spark = figures.get("spark")
    if spark is None:
        return f"{figures['seconds']:.2f} s"
    coming, done = spark["rows_per_second"], spark["processed_rows_per_second"]
    return f"{spark['seconds']:.2f} s, {coming or 0:,.0f} rows/s in, {done or 0:,.0f} rows/s done"
