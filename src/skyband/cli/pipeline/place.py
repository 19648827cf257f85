"""What the commands of the pipeline are given: a configuration, or its state folder; and whether Spark is here."""

import contextlib
import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from skyband.cli.group import TRACEBACK, Failure

if TYPE_CHECKING:
    from skyband.pipeline.config import Config
    from skyband.pipeline.state.folder import State

CONFIG = click.argument("config_file", metavar="CONFIG", type=click.Path(path_type=Path))
PLACE = click.argument("place", metavar="CONFIG|STATE", type=click.Path(path_type=Path))


class Place(NamedTuple):
    """The state of a pipeline, and its configuration if that was what the user named."""

    state: "State"
    config: "Config | None"


@contextlib.contextmanager
def plainly() -> Iterator[None]:
    """Tell the errors that the package defines as they are: their sentences are meant for the user."""
    try:
        yield
    except click.ClickException:
        raise
    except Exception as error:
        if not type(error).__module__.startswith("skyband.") or os.environ.get(TRACEBACK):
            raise
        raise Failure(" ".join(str(error).split())) from None


def need_spark() -> None:
    """Say how to install Spark where it is not."""
    _need("pyspark", "This runs on Spark, which")


@contextlib.contextmanager
def ending_spark() -> Iterator[None]:
    """Stop the Spark session that the block starts; one that runs already is left alone."""
    from pyspark.sql import SparkSession

    before = SparkSession.getActiveSession()
    try:
        yield
    finally:
        session = SparkSession.getActiveSession()
        if before is None and session is not None:
            session.stop()


def read_config(path: Path) -> "Config":
    """The configuration in a file."""
    _need("yaml", "Configurations are read by the package pyyaml, which")
    from skyband.pipeline.config import load_config

    return load_config(path)


def find_state(path: Path) -> Place:
    """The state that a pipeline has left, by its folder or by the configuration that names it."""
    from skyband.pipeline.state.folder import State

    config = None if path.is_dir() else read_config(path)
    state = State(path if config is None else config.state)
    if not state.exists():
        hint = "name the folder that a configuration has as its state" if config is None else "run the pipeline first"
        raise Failure(f"There is no state of a pipeline in {state.folder}: {hint}.")
    return Place(state, config)


def _need(package: str, what: str) -> None:
    if importlib.util.find_spec(package) is None:
        raise Failure(f'{what} is not installed: run pip install "skyband[spark]".')
