"""`skyband show`: the rows of a file, as a table for people."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from skyband.cli.output import Output, output_options
from skyband.cli.value import cell_text, plain_value

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_SHOWN = 20


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--limit",
    type=click.IntRange(1),
    help=f"How many rows to print: {ROWS_SHOWN} by default, and all with --json.",
)
@click.option("--last", is_flag=True, help="Print the last rows of the file rather than the first.")
@click.option("--ids", help="Only the rows of these subscriptions, between commas; all rows by default.")
@click.option("--columns", help="Only these columns, between commas and in this order; all by default.")
@output_options
def command(output: Output, file: Path, limit: int | None, last: bool, ids: str | None, columns: str | None) -> None:
    """Print the rows of FILE, such as a change log, as a table.

    FILE is Parquet, NDJSON, JSON or CSV: whatever a command reads or writes, rejects and workloads too.

    \b
    Example:
      skyband show changes.parquet --ids 3,17 --limit 10
    """
    from skyband.table import read_table

    reading = read_table(file)
    table = _chosen(str(file), reading.table, _words(ids), _words(columns))
    n_shown = limit or (len(table) if output.as_json else ROWS_SHOWN)
    shown = table.slice(max(0, len(table) - n_shown) if last else 0, n_shown)
    _print(output, file, table, shown)
    if reading.rejects:
        rows = "1 row" if len(reading.rejects) == 1 else f"{len(reading.rejects):,} rows"
        output.warn(f"{rows} could not be read; the first: {reading.rejects[0]}.")


def _words(text: str | None) -> list[str] | None:
    return None if text is None else [part.strip() for part in text.split(",")]


def _chosen(name: str, table: "pa.Table", ids: list[str] | None, columns: list[str] | None) -> "pa.Table":
    """The rows and the columns that were asked for."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for column in [*(columns or []), *(["subscription"] if ids else [])]:
        if column not in table.column_names:
            found = ", ".join(table.column_names) or "none"
            raise ValueError(f"{name} has no column {column!r} (columns found: {found}).")
    if ids is not None:
        table = table.filter(pc.is_in(pc.cast(table["subscription"], pa.string()), value_set=pa.array(ids)))
    return table.select(columns) if columns else table


def _print(output: Output, file: Path, table: "pa.Table", shown: "pa.Table") -> None:
    from skyband.table.show import plain_rows

    rows = [{name: plain_value(value) for name, value in row.items()} for row in plain_rows(shown)]
    if output.as_json:
        output.document({"file": file, "n_rows": len(table), "columns": table.column_names, "rows": rows})
        return
    if not table.num_columns:
        output.say("There are no rows.")
        return
    cells = [[cell_text(value) for value in row.values()] for row in rows]
    right = [bool(rows) and all(_is_number(row[name]) for row in rows) for name in table.column_names]
    output.table(table.column_names, cells, title=str(file), right=right)
    left_out = len(table) - len(shown)
    if left_out:
        output.say(f"… and {left_out:,} more rows; --limit, --last or --json shows them.")


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))
