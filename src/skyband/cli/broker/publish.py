"""`skyband broker publish`: rows to a broker."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from skyband.cli.broker.asking import broker_options
from skyband.cli.broker.row_file import read_row_file
from skyband.cli.output import Output, output_options

if TYPE_CHECKING:
    from skyband.broker.client.broker_client import BrokerClient


@click.command()
@click.option(
    "--rows",
    "file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A file of JSON, a row in each line; standard input without it.",
)
@output_options
@broker_options
def command(output: Output, client: "BrokerClient", file: Path | None) -> None:
    """Publish rows at the broker at ADDRESS; when the command ends they are durable there.

    The broker gives each publication its time.

    \b
    Example:
      echo '{"id": 1, "point": [0.5, 0.5]}' | skyband broker publish 127.0.0.1:7500
    """
    done = client.publish(read_row_file(file, sys.stdin))
    if output.as_json:
        output.document({"published": done})
    else:
        output.say(f"{len(done)} rows were published.")
