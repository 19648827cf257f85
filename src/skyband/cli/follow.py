"""Following for `skyband replay --follow`: publications as they come, changes as they are."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from skyband.cli.output import Output, plain
from skyband.cli.request import Requests
from skyband.cli.value import cell_text

if TYPE_CHECKING:
    import pyarrow as pa

    from skyband.replay import Plan, Summary, TableWriter
    from skyband.table import Reading, Reject

STDIN = Path("-")
SUFFIXES = (".ndjson", ".jsonl")


class PrintedChanges:
    """A writer to standard output: a JSON object a row, or its cells side by side below the names of the columns."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._widths: list[int] = []

    def begin(self, schema: "pa.Schema") -> None:
        """Print the names of the columns."""
        # Nobody knows yet what will come: these are wide enough for most.
        self._widths = [22 if str(field.type) == "double" else 12 for field in schema]
        if not self._output.as_json:
            self._output.say(self._padded(schema.names))

    def write(self, table: "pa.Table") -> None:
        """Print the next rows."""
        from skyband.table.show import plain_rows
        from skyband.table.write import json_rows

        if self._output.as_json:
            lines = list(json_rows(table))
        else:
            lines = [self._padded([cell_text(value) for value in row.values()]) for row in plain_rows(table)]
        if lines:
            self._output.say("\n".join(lines))

    def _padded(self, cells: list[str]) -> str:
        return "  ".join(cell.ljust(width) for cell, width in zip(cells, self._widths, strict=True)).rstrip()


def check_followed(publications: Path, runner: str) -> None:
    """Refuse what cannot be followed."""
    if runner != "local":
        raise click.UsageError("--follow needs --runner local; skyband pipeline run is what follows on Spark.")
    if publications != STDIN and publications.suffix.lower() not in SUFFIXES:
        raise click.UsageError(f"{publications} cannot be followed: its name must end in {' or '.join(SUFFIXES)}.")


class RejectsFile:
    """A writer of rejects as they come, if there is a file for them; it begins with the first of them at the latest."""

    def __init__(self, writer: "TableWriter | None") -> None:
        self._writer = writer
        self._has_begun = False

    def begin(self) -> None:
        """Begin the file anew, unless it has begun."""
        if self._writer is not None and not self._has_begun:
            self._has_begun = True
            self._writer.begin(rejects_of({"publications": []}).schema)

    def write(self, noun: str, rejects: "list[Reject]") -> None:
        """Write the next rejects."""
        self.begin()
        if self._writer is not None:
            self._writer.write(rejects_of({noun: rejects}))


class BothFiles:
    """A writer of changes, with which a file of rejects begins."""

    def __init__(self, changes: "TableWriter", rejects: RejectsFile) -> None:
        self._changes = changes
        self._rejects = rejects

    def begin(self, schema: "pa.Schema") -> None:
        """Begin both."""
        self._changes.begin(schema)
        self._rejects.begin()

    def write(self, table: "pa.Table") -> None:
        """Write the next changes."""
        self._changes.write(table)


def follow_files(
    output: Output, publications: Path, subscriptions: Path, plan: "Plan", out: Path | None, rejects_file: Path | None
) -> "tuple[Summary | None, dict[str, list[Reject]]]":
    """Run over publications as they come, until Ctrl-C or the end of standard input: what it came to, and rejects."""
    from skyband.replay import follow

    rejects: dict[str, list[Reject]] = {"publications": [], "subscriptions": []}
    with ExitStack() as stack, Requests() as requests:
        changes = PrintedChanges(output) if out is None else stack.enter_context(_file(out))
        refusing = RejectsFile(None if rejects_file is None else stack.enter_context(_file(rejects_file)))

        def refused(noun: str, some: "list[Reject]") -> None:
            rejects[noun] += some
            refusing.write(noun, some)

        batches = _readings(publications, plan.batch, lambda: requests.asked is not None)
        name = "standard input" if publications == STDIN else str(publications)
        writer = BothFiles(changes, refusing)
        summary = follow(batches, subscriptions, plan, name=name, writer=writer, refused=refused)
    return summary, rejects


def _file(path: Path) -> Any:
    """NDJSON grows in place for others to read; other formats are whole at the end, or not there at all."""
    from skyband.replay import growing_file, table_file

    return growing_file(path) if path.suffix.lower() in SUFFIXES else table_file(path)


def rejects_of(rejects: "dict[str, list[Reject]]") -> Any:
    """Rejects as a table, with the file that each is of."""
    import pyarrow as pa

    from skyband.table import rejects_table

    tables = []
    for noun, its_rejects in rejects.items():
        nouns = pa.array([noun] * len(its_rejects), pa.string())
        tables.append(rejects_table(its_rejects).add_column(0, "file", nouns))
    return pa.concat_tables(tables)


def _readings(publications: Path, batch: int, stopped: Callable[[], bool]) -> "Iterator[Reading]":
    from skyband.replay.growing import file_bytes, readings, stream_bytes

    if publications == STDIN:
        return readings(stream_bytes(_reader(), stopped), batch, stopped)
    return readings(file_bytes(publications, stopped), batch, stopped)


def _reader() -> Callable[[], bytes]:
    """What reads some of standard input as soon as there is some."""
    from skyband.replay.growing import BYTES_AT_ONCE

    stdin = sys.stdin.buffer
    try:
        number = stdin.fileno()
    except OSError:
        return lambda: stdin.read(BYTES_AT_ONCE)
    return lambda: os.read(number, BYTES_AT_ONCE)


def print_following(output: Output, summary: "Summary | None", out: Path | None, rejects_file: Path | None) -> bool:
    """Say what came of it, beside changes that were printed; whether the whole summary is still to be printed."""
    if output.as_json:
        found = None if summary is None else summary._asdict() | {"out": out, "rejects": rejects_file}
        output.say(json.dumps({"summary": plain(found)}, ensure_ascii=False))
        return False
    if summary is None:
        click.echo("Nothing was published.", err=True)
        return False
    if out is None:
        n = sum(summary.changes.values())
        click.echo(f"{summary.n_publications:,} publications led to {n:,} changes.", err=True)
    return out is not None
