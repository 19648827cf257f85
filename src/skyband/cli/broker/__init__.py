"""`skyband broker`: brokers as processes, and what is asked of one that runs."""

import click

from skyband.cli.group import Commands


@click.group(
    cls=Commands,
    commands_in={
        "check": "skyband.cli.broker.check",
        "run": "skyband.cli.broker.run",
        "status": "skyband.cli.broker.status",
        "publish": "skyband.cli.broker.publish",
        "subscribe": "skyband.cli.broker.subscribe",
        "top": "skyband.cli.broker.top",
        "drain": "skyband.cli.broker.drain",
        "token": "skyband.cli.broker.token",
    },
)
def command() -> None:
    """Brokers as processes, joined by links: run one, and ask one that runs.

    \b
    Example:
      skyband broker check chart.yaml
      skyband broker run chart.yaml --name berlin
    """
