"""`skyband broker top`: the tops at a broker."""

from typing import TYPE_CHECKING

import click

from skyband.cli.broker.asking import broker_options
from skyband.cli.output import Output, output_options

if TYPE_CHECKING:
    from skyband.broker.client.broker_client import BrokerClient


@click.command()
@output_options
@broker_options
def command(output: Output, client: "BrokerClient") -> None:
    """Print the tops of all subscriptions at the broker at ADDRESS.

    \b
    Example:
      skyband broker top 127.0.0.1:7500
    """
    tops = client.top()
    if output.as_json:
        output.document({"tops": tops.rows, "cursor": tops.cursor, "applied": tops.applied})
        return
    rows = [(str(each.subscription), each.rank, str(each.publication), each.origin, each.score) for each in tops.rows]
    output.table(("subscription", "rank", "publication", "published at", "score"), rows)
