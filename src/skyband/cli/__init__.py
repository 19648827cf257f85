"""The command line: one module for each command, imported when it is asked for."""

import click

from skyband import __version__
from skyband.cli.group import Commands

__all__ = ["main"]


@click.group(
    cls=Commands,
    commands_in={
        "demo": "skyband.cli.demo",
        "generate": "skyband.cli.generate",
        "replay": "skyband.cli.replay",
        "top": "skyband.cli.top",
        "explain": "skyband.cli.explain",
        "show": "skyband.cli.show",
        "plot": "skyband.cli.plot",
        "cover": "skyband.cli.cover",
        "pipeline": "skyband.cli.pipeline",
        "serve": "skyband.cli.serve",
        "overlay": "skyband.cli.overlay",
        "broker": "skyband.cli.broker",
        "engines": "skyband.cli.engines",
        "bench": "skyband.cli.bench",
        "warm": "skyband.cli.warm",
        "doctor": "skyband.cli.doctor",
        "completion": "skyband.cli.completion",
    },
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(__version__, prog_name="skyband", help="Print the version and exit.")
def main() -> None:
    """Skyband: top-k publish/subscribe.

    Standing questions, and exactly how their answers change as publications stream in and expire.

    \b
    A first look:
      skyband demo
      skyband generate window --out data --n-publications 10000
      skyband replay --publications data/publications.parquet \\
          --subscriptions data/subscriptions.parquet --out changes.parquet

    Every command has --json, which prints one JSON document. Commands end with 0 when all is well, 1 when the
    work failed or a bad row stopped it, 2 when the command was not understood, 130 after Ctrl-C, 143 after SIGTERM
    and 129 after SIGHUP.
    """
