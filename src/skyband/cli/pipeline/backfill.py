"""`skyband pipeline backfill`: all that the sources hold, in one pass, and a state for the stream to go on from."""

from pathlib import Path
from typing import Any

import click

from skyband.cli.output import Cell, Output, output_options
from skyband.cli.pipeline.figure import show_replication, show_retracted
from skyband.cli.pipeline.place import CONFIG, ending_spark, need_spark, read_config
from skyband.status.figure import counts_of, replication


@click.command()
@CONFIG
@click.option(
    "--batch",
    default=1000,
    show_default=True,
    type=click.IntRange(1),
    help="How many publications an engine is given at once.",
)
@output_options
def command(output: Output, config_file: Path, batch: int) -> None:
    """Run what the sources hold now through the pipeline in one pass, and leave a state to go on from.

    It is quicker than the stream over a long history, and gives the same changes for the same batches. All commands of
    the subscriptions come before the first publication. The state folder must be new; to begin a failed backfill anew,
    give the same command again.

    \b
    Example:
      skyband pipeline backfill pipeline.yaml --batch 10000
    """
    config = read_config(config_file)
    need_spark()
    from skyband.pipeline.backfill import backfill

    with output.progress("publishing") as progress, ending_spark():
        told = backfill(config, batch=batch, progress=progress)
    router = told["parts"]["router"]
    counts = counts_of(told)
    summary = {
        "batches": told["batches"],
        "seconds": told["seconds"],
        **counts,
        "replication": replication(counts),
        "subscriptions": router["subscriptions"],
        "state": config.state,
    }
    if output.as_json:
        output.document(summary)
    else:
        output.table(("", ""), _lines(summary), title="Backfill")
    if summary["dead"]:
        output.warn(f"Rows were left out: `skyband pipeline dead {config_file}` shows them with their reasons.")


def _lines(summary: dict[str, Any]) -> list[tuple[str, Cell]]:
    return [
        ("batches", f"{summary['batches']:,}"),
        ("seconds", f"{summary['seconds']:.2f}"),
        ("subscriptions", f"{summary['subscriptions']:,}"),
        ("publications", f"{summary['publications']:,}"),
        ("changes", f"{summary['changes']:,}"),
        ("replication", show_replication(summary["replication"])),
        ("late publications", f"{summary['late']:,}"),
        *show_retracted(summary),
        ("dead letters", f"{summary['dead']:,}"),
        ("state", str(summary["state"])),
    ]
