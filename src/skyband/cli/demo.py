"""`skyband demo`: a seeded day in a city."""

import sys
from pathlib import Path

import click

from skyband.cli.output import Output, speaks


@click.command()
@click.option(
    "--out",
    default="build/demo",
    show_default=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="The folder for the picture, the change log and the summary.",
)
@click.option("--seed", default=7, show_default=True, type=click.IntRange(0), help="The seed of the day.")
@click.option(
    "--subscribers", default=4000, show_default=True, type=click.IntRange(1), help="How many people subscribe."
)
@click.option(
    "--publications", default=60000, show_default=True, type=click.IntRange(1), help="How many messages the day has."
)
@click.option("--no-live", is_flag=True, help="Run as fast as possible, without the moving view.")
@speaks
def command(output: Output, out: Path, seed: int, subscribers: int, publications: int, no_live: bool) -> None:
    """Show a seeded day in a city: messages, subscribers, and their answers as they change.

    A live view of the stream on a terminal, plain lines elsewhere; then a summary, and a picture on disk. Ctrl-C ends
    the day early, with the summary so far.

    \b
    Example:
      skyband demo --seed 3
    """
    from skyband import demo

    live = not no_live and not output.as_json and sys.stdout.isatty()
    summary = demo.run(
        seed=seed,
        subscribers=subscribers,
        publications=publications,
        out=out,
        live=live,
        console=output.console(stderr=output.as_json),
    )
    if output.as_json:
        output.document(summary)
