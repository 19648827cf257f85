"""A pipeline as a program that `spark-submit` can be given: this file with `run CONFIG`.

    python -m skyband.pipeline run CONFIG [--until-idle]    as `skyband pipeline run` does, without a view
    python -m skyband.pipeline archive FILE                 write the package as an archive for executors

Below `spark-submit` its master and settings hold, above those of the configuration.
"""

import argparse
import os
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from skyband.pipeline.config import Config, load_config
from skyband.pipeline.submit import build_archive

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# spark-submit has started Java already and tells Python by this where to find it.
SUBMITTED = "PYSPARK_GATEWAY_PORT"
# How long to wait for the stream before looking whether it is to end, in seconds.
TICK = 0.5


def main(words: list[str] | None = None) -> int:
    """Do what the words of the command line ask for; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m skyband.pipeline", description="Run a pipeline.")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run a pipeline until it is stopped")
    run.add_argument("config", type=Path, help="the configuration, a YAML file")
    run.add_argument("--until-idle", action="store_true", help="end when all that the sources hold has been read")
    archive = commands.add_parser("archive", help="write the package as an archive for executors")
    archive.add_argument("file", type=Path, help="the zip file to write")
    given = parser.parse_args(words)
    try:
        if given.command == "archive":
            print(build_archive(given.file))
        else:
            run_pipeline(load_config(given.config), given.until_idle)
    except (ValueError, OSError, RuntimeError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def run_pipeline(config: Config, until_idle: bool) -> None:
    """Run a pipeline to its end; SIGTERM and Ctrl-C end it after the batch that is running."""
    from skyband.pipeline.run import Pipeline

    asked: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        asked.append(number)

    pipeline = Pipeline(config, submitted_session(config) if SUBMITTED in os.environ else None)
    before = {number: signal.signal(number, note) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        pipeline.listen(lambda commit: print(f"batch {commit.batch}: {commit.report['changes']} changes", flush=True))
        pipeline.start(until_idle)
        while not pipeline.wait(TICK):
            if asked:
                pipeline.stop()
                break
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        pipeline.spark.stop()


def submitted_session(config: Config) -> "SparkSession":
    """The session that `spark-submit` prepared: what it was told holds, and our settings where it was told nothing."""
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    from skyband.pipeline.session import session_settings

    # Without this SparkConf does not see the settings that Java was given.
    SparkContext._ensure_initialized()
    told = dict(SparkConf().getAll())
    builder = SparkSession.builder
    for key, value in session_settings(told.get("spark.master", config.master), config.spark).items():
        if key not in told:
            builder = builder.config(key, value)
    return builder.getOrCreate()


if __name__ == "__main__":
    sys.exit(main())
