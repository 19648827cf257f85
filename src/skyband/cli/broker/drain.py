"""`skyband broker drain`: a broker that shall leave."""

import time
from typing import TYPE_CHECKING

import click

from skyband.cli.broker.asking import broker_options
from skyband.cli.output import Output, output_options

if TYPE_CHECKING:
    from skyband.broker.client.broker_client import BrokerClient

PAUSE_SECONDS = 0.5


@click.command()
@click.option("--wait", is_flag=True, help="Ask until the broker is free to go.")
@click.option("--withdraw-all", is_flag=True, help="Withdraw all subscriptions of its clients first.")
@output_options
@broker_options
def command(output: Output, client: "BrokerClient", wait: bool, withdraw_all: bool) -> None:
    """Tell the broker at ADDRESS that it shall leave: it takes no publications and subscriptions from then on.

    It is free to go when its clients have withdrawn their subscriptions and what was published there has expired.

    \b
    Example:
      skyband broker drain 127.0.0.1:7500 --withdraw-all --wait
    """
    if withdraw_all:
        client.unsubscribe(client.subscriptions())
    state = client.drain()
    while wait and not state.is_free:
        time.sleep(PAUSE_SECONDS)
        state = client.drain()
    if output.as_json:
        output.document(state)
    elif state.is_free:
        output.say("The broker is free to go: stop it, and give the others the chart without it.")
    else:
        what = f"{state.n_subscriptions} subscriptions and {state.n_publications} publications"
        output.say(f"The broker still has {what}: ask again.")
