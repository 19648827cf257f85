"""`skyband pipeline`: the same engines behind Spark, from sources that stream to sinks that keep every batch once."""

import importlib
from typing import Any

import click

from skyband.cli.pipeline.place import plainly

# The commands in the order they are listed; each is in a module of its own, which is imported when it is asked for.
MODULES = {
    "run": "run",
    "fit": "fit",
    "backfill": "backfill",
    "status": "status",
    "explain": "explain",
    "append": "append",
    "dead": "dead_letter",
}


class PipelineCommands(click.Group):
    """The commands by name; the errors of the pipeline are sentences for the user already."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in MODULES:
            return None
        found: click.Command = importlib.import_module(f"skyband.cli.pipeline.{MODULES[cmd_name]}").command
        return found

    def invoke(self, ctx: click.Context) -> Any:
        with plainly():
            return super().invoke(ctx)


@click.group(cls=PipelineCommands)
def command() -> None:
    """Run engines on Spark, from sources that stream to sinks that keep every batch exactly once.

    A configuration, a YAML file, names the sources, the sinks and the state folder. status, dead, append and explain
    without --plan need no Spark.

    \b
    Example:
      skyband pipeline append in/publications publications.ndjson
      skyband pipeline explain pipeline.yaml
      skyband pipeline run pipeline.yaml
      skyband pipeline status pipeline.yaml
    """
