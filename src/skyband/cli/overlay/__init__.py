"""`skyband overlay`: brokers that route subscriptions and publications among themselves."""

import click

from skyband.cli.group import Commands


@click.group(cls=Commands, commands_in={"draw": "skyband.cli.overlay.draw", "simulate": "skyband.cli.overlay.simulate"})
def command() -> None:
    """Networks of brokers, and a simulator that tries to break them.

    \b
    Example:
      skyband overlay simulate zone-leases --seeds 5
    """
