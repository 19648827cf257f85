"""`skyband pipeline append`: rows into an embedded log, so that a single machine needs no other service."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from skyband.cli.output import Output, output_options

if TYPE_CHECKING:
    from skyband.log import Log, Texts

STDIN = Path("-")
BYTES_AT_ONCE = 1 << 20
FORMATS = {".ndjson": "ndjson", ".jsonl": "ndjson", ".parquet": "parquet", ".pq": "parquet"}


@click.command()
@click.argument("log", type=click.Path(path_type=Path, file_okay=False))
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@output_options
def command(output: Output, log: Path, files: tuple[Path, ...]) -> None:
    """Append rows to the embedded log in the folder LOG, which is created if necessary.

    FILE is NDJSON, which may be compressed with gzip, or Parquet; - reads NDJSON from standard input, and appends lines
    as they come. Rows are not checked here: the pipeline adds bad ones to its dead letters. What was appended stays
    in the log should a later file fail.

    \b
    Example:
      skyband pipeline append in/publications publications.ndjson
      some-program | skyband pipeline append in/publications -
    """
    formats = [_format(path) for path in files]
    from skyband.log import Log

    told = []
    with Log(log) as writer:
        writer.claim()
        for path, kind in zip(files, formats, strict=True):
            told.append({"file": str(path), "rows": _append(output, writer, path, kind)})
        end = writer.end
    if output.as_json:
        output.document({"log": log, "end": end, "files": told})
        return
    rows = sum(each["rows"] for each in told if isinstance(each["rows"], int))
    output.say(f"{'1 row was' if rows == 1 else f'{rows:,} rows were'} appended to {log}, which has {end:,} now.")


def _format(path: Path) -> str:
    if path == STDIN:
        return "stdin"
    found = FORMATS.get(Path(path.name.lower().removesuffix(".gz")).suffix)
    if found is None or (found == "parquet" and path.suffix.lower() == ".gz"):
        known = ", ".join(FORMATS)
        raise click.UsageError(f"{path} cannot be appended: its name must end in {known}, or in .gz after .ndjson.")
    if not path.is_file():
        raise click.UsageError(f"There is no file {path}.")
    return found


def _append(output: Output, log: "Log", path: Path, kind: str) -> int:
    n_rows = 0
    with output.progress(f"appending {path}") as progress:
        for values in _lines_now() if kind == "stdin" else _values(path, kind):
            log.append(values)
            n_rows += len(values)
            progress(n_rows, n_rows)
    return n_rows


def _values(path: Path, kind: str) -> "Iterator[Texts]":
    from skyband.pipeline.source.file_rows import file_rows

    for batch in file_rows(path, kind):
        yield batch.column("value")


def _lines_now() -> Iterator[list[str]]:
    """Whole lines of standard input, as soon as they are there."""
    rest = b""
    with click.open_file("-", "rb") as stdin:
        while some := os.read(stdin.fileno(), BYTES_AT_ONCE):
            *lines, rest = (rest + some).split(b"\n")
            if found := _texts(lines):
                yield found
    if found := _texts([rest]):
        yield found


def _texts(lines: list[bytes]) -> list[str]:
    return [_text(line) for line in map(bytes.strip, lines) if line]


def _text(line: bytes) -> str:
    """A line as text; one that is not UTF-8 becomes a row that the pipeline will reject."""
    from skyband.pipeline.source.file_rows import bad

    try:
        return line.decode()
    except UnicodeDecodeError:
        return bad(f"the line is not UTF-8: {line.decode(errors='replace')}")
