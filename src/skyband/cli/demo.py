"""`skyband demo`: a seeded day in a city."""

import sys
from pathlib import Path
from typing import Literal

import click

from skyband.cli.output import Output, output_options
from skyband.cli.pipeline.place import plainly


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
@click.option(
    "--runner",
    type=click.Choice(["spark", "local"]),
    help="Where the day runs: in the pipeline on Spark, or in this process; spark unless Spark or Java is missing.",
)
@click.option("--no-live", is_flag=True, help="Run as fast as possible, without the moving view.")
@output_options
def command(
    output: Output,
    out: Path,
    seed: int,
    subscribers: int,
    publications: int,
    runner: Literal["spark", "local"] | None,
    no_live: bool,
) -> None:
    """Show a seeded day in a city: messages, subscribers, and their answers as they change.

    The day runs through the pipeline on Spark, on this machine alone. A live view of the stream on a terminal, plain
    lines elsewhere; then a summary, and a picture on disk. Ctrl-C ends the day early, with the summary so far.

    \b
    Example:
      skyband demo --seed 3
    """
    from skyband import demo

    live = not no_live and not output.as_json and sys.stdout.isatty()
    with plainly():
        summary = demo.run(
            seed=seed,
            subscribers=subscribers,
            publications=publications,
            out=out,
            live=live,
            runner=runner,
            console=output.console(stderr=output.as_json),
        )
    if output.as_json:
        output.document(summary)
