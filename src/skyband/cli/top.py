"""`skyband top`: who has what at an instant."""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from skyband.cli.output import Output, output_options
from skyband.cli.run_option import check_names, default_window, run_options
from skyband.cli.value import INSTANT, show_instant, target

if TYPE_CHECKING:
    from skyband.replay import Ranking

ROWS_SHOWN = 100


@click.command()
@run_options
@click.option(
    "--at",
    type=INSTANT,
    help="The instant, in microseconds or as ISO 8601; what was published by then counts; the end by default.",
)
@click.option("--ids", help="Only these subscriptions, between commas; all by default.")
@click.option(
    "--limit",
    type=click.IntRange(1),
    help=f"How many rows to print: {ROWS_SHOWN} by default, and all with --json.",
)
@click.option("--out", type=target("parquet", "ndjson", "csv"), help="Write the rankings to this file, all of them.")
@output_options
def command(
    output: Output,
    publications: Path,
    subscriptions: Path,
    window_n: int | None,
    window_us: int | None,
    at: int | None,
    ids: str | None,
    limit: int | None,
    out: Path | None,
    **options: Any,
) -> None:
    """Print who has what at an instant.

    FAMILY is window, geotext or ranges; without it, the columns of the files decide. The publications up to the instant
    are replayed, time advances to it, and the answers are printed, best first. Ranked subscriptions have no standing
    answer.

    \b
    Example:
      skyband top --publications data/publications.parquet \\
          --subscriptions data/subscriptions.parquet --at 60000000 --ids 3,17
    """
    from skyband.replay import Plan, SummaryOnly, table_file, top

    plan = Plan(window=default_window(window_n, window_us), **options)
    wanted = None if ids is None else [part.strip() for part in ids.split(",")]
    check_names((out,), (publications, subscriptions))
    with ExitStack() as stack:
        writer = SummaryOnly() if out is None else stack.enter_context(table_file(out))
        with output.progress("publishing") as progress:
            ranking = top(publications, subscriptions, plan, at=at, ids=wanted, progress=progress)
        writer.begin(ranking.table.schema)
        writer.write(ranking.table)
    _print(output, ranking, limit, out)
    if ranking.n_rejected:
        rows = "1 row was" if ranking.n_rejected == 1 else f"{ranking.n_rejected:,} rows were"
        output.warn(f"{rows} left out; skyband replay with --rejects tells which.")


def _print(output: Output, ranking: "Ranking", limit: int | None, out: Path | None) -> None:
    at = show_instant(ranking.at) if ranking.timed and ranking.at is not None else ranking.at
    if output.as_json:
        rows = ranking.table.slice(0, limit).to_pylist()
        head = {"family": ranking.family, "engine": ranking.engine, "at": at, "n_rows": len(ranking.table)}
        output.document(head | {"notes": ranking.notes, "out": out, "rows": rows})
        return
    shown = ranking.table.slice(0, limit or ROWS_SHOWN)
    rows = [[str(row["subscription"]), row["rank"], str(row["publication"]), row["score"]] for row in shown.to_pylist()]
    output.table(("subscription", "rank", "publication", "score"), rows, title=f"Tops at {at}")
    left_out = len(ranking.table) - len(shown)
    if left_out:
        output.say(f"… and {left_out:,} more rows; --limit, --json or --out shows them.")
    for note in ranking.notes:
        output.say(note)
