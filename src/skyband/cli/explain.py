"""`skyband explain`: why a publication is in a top, or why not."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from skyband.cli.output import Output, output_options
from skyband.cli.run_option import default_window, run_options
from skyband.cli.value import INSTANT, show_instant

if TYPE_CHECKING:
    from skyband.replay import Explanations

PARTS_SHOWN = 40


@click.command()
@run_options
@click.option("--subscription", required=True, help="Whose top: the id of one subscription.")
@click.option("--publication", required=True, help="What to explain: the id of one publication, of ranges an object.")
@click.option(
    "--at",
    type=INSTANT,
    help="The instant, in microseconds or as ISO 8601; what was published by then counts; the end by default.",
)
@click.option("--k", type=click.IntRange(1), help="How many subscriptions an event of ranked asks for; 20 by default.")
@click.option(
    "--matching",
    type=click.Choice(("relaxed", "exact")),
    help="Whether an event of ranked has to match all dimensions of a subscription, or at least one, the default.",
)
@output_options
def command(
    output: Output,
    publications: Path,
    subscriptions: Path,
    subscription: str,
    publication: str,
    window_n: int | None,
    window_us: int | None,
    at: int | None,
    **options: Any,
) -> None:
    """Say why a publication is in a top at an instant, or why not and by how much it misses.

    FAMILY is window, geotext, ranges or ranked; without it, the columns of the files decide. The publications up to the
    instant are replayed, and time advances to it. An event of ranked is explained when it is published. What is said:
    the parts of the score, the rank, the score of the last place, what has become of the publication, which conditions
    it does not meet, and what the engine keeps of it.

    \b
    Example:
      skyband explain --publications data/publications.parquet \\
          --subscriptions data/subscriptions.parquet --subscription 3 --publication 17
    """
    from skyband.replay import Plan, explain

    plan = Plan(window=default_window(window_n, window_us), **options)
    with output.progress("publishing") as progress:
        found = explain(
            publications,
            subscriptions,
            plan,
            subscription=subscription,
            publication=publication,
            at=at,
            progress=progress,
        )
    _print(output, found)
    if found.n_rejected:
        rows = "1 row was" if found.n_rejected == 1 else f"{found.n_rejected:,} rows were"
        output.warn(f"{rows} left out; skyband replay with --rejects tells which.")


def _print(output: Output, found: "Explanations") -> None:
    told, now = found.explanation, found.explanation.now
    at = show_instant(now) if found.timed and now is not None else now
    if output.as_json:
        output.document({"engine": found.engine, "at": at} | told.as_dict() | {"notes": [*told.notes, *found.notes]})
        return
    output.say(told.text)
    for note in found.notes:
        output.say(note)
    if told.parts:
        output.say("")
        parts = [[part.name, part.value, part.weight, part.contribution] for part in told.parts[:PARTS_SHOWN]]
        output.table(("part of the score", "value", "weight", "contribution"), parts)
        if len(told.parts) > PARTS_SHOWN:
            output.say(f"… and {len(told.parts) - PARTS_SHOWN:,} more parts; --json shows them.")
    if told.conditions:
        output.say("")
        rows = [["yes" if one.met else "no", one.name, *one[2:]] for one in told.conditions]
        output.table(("met", "condition", "value", "from", "to", "outside by"), rows)
