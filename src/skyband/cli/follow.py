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


def follow_files(
    output: Output, publications: Path, subscriptions: Path, plan: "Plan", out: Path | None, rejects_file: Path | None
) -> "tuple[Summary | None, dict[str, list[Reject]]]":
    """Run over publications as they come, until Ctrl-C or the end of standard input: what it came to, and rejects."""
    from skyband.replay import follow

    rejects: dict[str, list[Reject]] = {"publications": [], "subscriptions": []}
    with ExitStack() as stack, Requests() as requests:
        writer = PrintedChanges(output) if out is None else stack.enter_context(_file(out))
        refuse = _refuser(None if rejects_file is None else stack.enter_context(_file(rejects_file)))

        def refused(noun: str, some: "list[Reject]") -> None:
            rejects[noun] += some
            refuse(noun, some)

        batches = _readings(publications, plan.batch, lambda: requests.asked is not None)
        name = "standard input" if publications == STDIN else str(publications)
        summary = follow(batches, subscriptions, plan, name=name, writer=writer, refused=refused)
    return summary, rejects


def _file(path: Path) -> Any:
    """NDJSON grows in place for others to read; other formats are whole at the end, or not there at all."""
    from skyband.replay import growing_file, table_file

    return growing_file(path) if path.suffix.lower() in SUFFIXES else table_file(path)


def _refuser(writer: "TableWriter | None") -> "Callable[[str, list[Reject]], None]":
    """What writes rejects to a file as they come, if there is one."""
    from skyband.cli.replay import rejects_of

    if writer is None:
        return lambda noun, some: None
    writer.begin(rejects_of({"publications": []}).schema)
    return lambda noun, some: writer.write(rejects_of({noun: some}))


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
