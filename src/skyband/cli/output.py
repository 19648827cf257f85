"""How commands speak: one JSON document, tables on a terminal, plain aligned text elsewhere."""

import contextlib
import functools
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])
Cell = str | int | float | None

STATES = {"ok": "green", "warning": "yellow", "lacking": "bold red"}


class Output(NamedTuple):
    """What the user chose of --json and --no-color."""

    as_json: bool = False
    no_color: bool = False

    def document(self, value: Any) -> None:
        """Print a value as the one JSON document of a command."""
        click.echo(json.dumps(plain(value), indent=2, ensure_ascii=False))

    def say(self, text: str) -> None:
        """Print a sentence."""
        click.echo(text)

    def warn(self, text: str) -> None:
        """Print a sentence beside the answer, on stderr."""
        click.echo(f"Warning: {text}", err=True)

    def table(
        self,
        headers: Sequence[str],
        rows: Sequence[Sequence[Cell]],
        title: str = "",
        right: Sequence[bool] | None = None,
    ) -> None:
        """Print a table; columns that hold numbers are set to the right, or those that `right` says."""
        cells = [[_cell(value) for value in row] for row in rows]
        right = (
            right
            or [
                bool(rows) and all(isinstance(value, int | float) for value in column)
                for column in zip(*rows, strict=True)
            ]
            or [False] * len(headers)
        )
        if sys.stdout.isatty():
            self._rich(headers, cells, right, title)
        else:
            from skyband.table import aligned

            click.echo("\n".join(aligned([list(headers), *cells] if any(headers) else cells, right)))

    def _rich(self, headers: Sequence[str], cells: list[list[str]], right: Sequence[bool], title: str) -> None:
        from rich.table import Table
        from rich.text import Text

        table = Table(title=title or None, show_header=any(headers), title_justify="left")
        for header, is_number in zip(headers, right, strict=True):
            table.add_column(header, justify="right" if is_number else "left", overflow="fold")
        for row in cells:
            table.add_row(*(Text(cell, STATES.get(cell, "")) for cell in row))
        self.console().print(table)

    def console(self, stderr: bool = False) -> Any:
        """A rich console; it takes NO_COLOR into account by itself."""
        from rich.console import Console

        return Console(stderr=stderr, no_color=True if self.no_color else None, highlight=False)

    @contextlib.contextmanager
    def progress(self, label: str) -> Iterator[Callable[[int, int], None]]:
        """A bar on stderr, if that is a terminal; to be told how many of how many are done."""
        if not sys.stderr.isatty():
            yield lambda done, total: None
            return
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        # Not redirected: a command asks these streams what they are while the bar is shown.
        bar = Progress(
            *columns,
            console=self.console(stderr=True),
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        with bar:
            task = bar.add_task(label, total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total)


def output_options(command: Command) -> Command:
    """Give a command --json and --no-color, and hand it the `output` that follows from them."""

    @click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
    @click.option("--no-color", is_flag=True, help="Print without colours, as NO_COLOR does.")
    @functools.wraps(command)
    def speaking(*args: Any, as_json: bool, no_color: bool, **options: Any) -> Any:
        return command(*args, output=Output(as_json, no_color), **options)

    return speaking  # type: ignore[return-value]  # click adds options to the same function


def plain(value: Any) -> Any:
    """A value as JSON has it: named tuples as objects, paths as text."""
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return plain(value._asdict())
    if isinstance(value, dict):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return str(value) if isinstance(value, Path) else value


def _cell(value: Cell) -> str:
    if isinstance(value, bool) or value is None:
        return "" if value is None else str(value).lower()
    return f"{value:,}" if isinstance(value, int) else str(value)
