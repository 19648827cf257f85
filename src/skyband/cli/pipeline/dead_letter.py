"""`skyband pipeline dead`: the rows that a pipeline could not use, with the reasons."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from skyband.cli.output import Output, output_options
from skyband.cli.pipeline.place import PLACE, find_state
from skyband.cli.value import target

if TYPE_CHECKING:
    import pyarrow as pa

    from skyband.pipeline.state.folder import State

ROWS_SHOWN = 100
LONGEST = 80


@click.command()
@PLACE
@click.option("--out", type=target("parquet", "ndjson", "csv"), help="Write all of them to this file.")
@output_options
def command(output: Output, place: Path, out: Path | None) -> None:
    """Show the rows that a pipeline could not use, each with its reason and where it came from.

    The last 100 are shown, and all with --json; the text of a row is cut to 80 characters unless it is written to --out
    or as JSON. CONFIG is a configuration, STATE the state folder of one.

    \b
    Example:
      skyband pipeline dead pipeline.yaml --out dead.ndjson
    """
    letters = dead_letters(find_state(place).state)
    if out is not None:
        from skyband.replay import table_file

        with table_file(out) as file:
            file.begin(letters.schema)
            file.write(letters)
    if output.as_json:
        output.document({"n_rows": len(letters), "out": out, "rows": letters.to_pylist()})
        return
    if not len(letters):
        output.say("There are no dead letters.")
        return
    shown = letters.slice(max(0, len(letters) - ROWS_SHOWN)).to_pylist()
    rows = [(row["batch"], row["noun"], row["origin"], row["offset"], row["reason"], _cut(row["row"])) for row in shown]
    output.table(("batch", "noun", "origin", "offset", "reason", "row"), rows, title="Dead letters")
    if len(letters) > len(shown):
        output.say(f"These are the last {len(shown)} of {len(letters):,} rows; --json or --out shows them all.")
    if out is not None:
        output.say(f"All of them are in {out}.")


def dead_letters(state: "State") -> "pa.Table":
    """The dead letters of committed batches, in order."""
    import pyarrow as pa
    import pyarrow.parquet

    from skyband.pipeline.stage.dead_letter import DEAD
    from skyband.status.state_files import dead_files

    last = state.last()
    files = dead_files(state.folder, None if last is None else last.batch)
    return pa.concat_tables([DEAD.empty_table(), *map(pyarrow.parquet.read_table, files)])


def _cut(text: str | None) -> str:
    return "" if text is None else text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
