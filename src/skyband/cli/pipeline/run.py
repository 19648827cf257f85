"""`skyband pipeline run`: the stream until it is told to end, or until there is nothing left to read."""

import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from skyband.cli.output import Cell, Output
from skyband.cli.pipeline.figure import show_replication, show_retracted
from skyband.cli.pipeline.place import CONFIG, ending_spark, need_spark, read_config
from skyband.cli.pipeline.view import View, open_view, print_object
from skyband.cli.request import Requests
from skyband.status.figure import figures_of, totals_of, with_batch

if TYPE_CHECKING:
    from skyband.pipeline.run import Pipeline
    from skyband.pipeline.state.folder import Commit

# How long to wait for the stream before looking at what else has happened, in seconds.
TICK = 0.25


class Ended(click.ClickException):
    """Ctrl-C, which is how a stream without an end is ended."""

    exit_code = 130


@click.command()
@CONFIG
@click.option("--until-idle", is_flag=True, help="End when everything that the sources hold now has been read.")
@click.option(
    "--master", help="Where Spark runs, such as local[4] or spark://host:7077, in place of what the configuration says."
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object per line: one for each batch, then the summary."
)
@click.option("--no-color", is_flag=True, help="Print without colours, as NO_COLOR does.")
def command(config_file: Path, until_idle: bool, master: str | None, as_json: bool, no_color: bool) -> None:
    """Run a pipeline: create its state folder if there is none, or go on from it.

    On a terminal one line shows what happens now, elsewhere there is a line for each batch. Ctrl-C ends the pipeline
    after the batch that is running, and SIGTERM does the same; a second Ctrl-C aborts that batch, which the next run
    repeats. Whichever way it ends, the next run goes on where it was.

    \b
    Example:
      skyband pipeline run pipeline.yaml
      skyband pipeline run pipeline.yaml --until-idle --json
    """
    output, config = Output(as_json, no_color), read_config(config_file)
    need_spark()
    from skyband.pipeline.run import Pipeline

    with open_view(output) as view, ending_spark():
        view.say("Starting Spark.")
        pipeline = Pipeline(config if master is None else config._replace(master=master))
        told = RunSums(view)
        # Spark has set a handler of its own by now, which would cancel the batch that is running.
        with Requests() as requests:
            try:
                _follow(pipeline, told, requests, until_idle)
            except KeyboardInterrupt:
                raise Ended("Aborted by Ctrl-C; the next run does the batch that was running again.") from None
    summary = {**told.totals, "state": pipeline.state.folder}
    _print(output, summary, until_idle)
    if summary["dead"]:
        output.warn(f"Rows were left out: `skyband pipeline dead {config_file}` shows them with their reasons.")
    if requests.asked == signal.SIGINT:
        raise Ended("Stopped by Ctrl-C after the batch that was running; the next run goes on from there.")


class RunSums:
    """What the view has been told: the sums of all batches of this run."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.totals = totals_of([])

    def tell(self, commit: "Commit", spark: dict[str, Any] | None) -> None:
        """Show a batch, with Spark's own figures where they are known."""
        figures = figures_of(commit) | {"spark": spark}
        self.totals = with_batch(self.totals, figures)
        self.view.batch(figures, self.totals)


def _follow(pipeline: "Pipeline", told: RunSums, requests: Requests, until_idle: bool) -> None:
    """Run the stream to its end; a batch is told once Spark's own figures for it are known."""
    waiting: list[Commit] = []
    pipeline.listen(waiting.append)
    query = pipeline.start(until_idle)
    told.view.say("Waiting for rows.")
    ended = False
    try:
        while not ended:
            ended = pipeline.wait(TICK)
            if requests.asked is not None and not ended:
                told.view.say("Stopping after the batch that is running; Ctrl-C again aborts it.")
                pipeline.stop()
                ended = True
            known = _progress(query, pipeline.state.checkpoint_base()) if waiting else {}
            while waiting and (ended or waiting[0].batch in known):
                commit = waiting.pop(0)
                told.tell(commit, known.get(commit.batch))
    finally:
        # The stream has failed: these batches are delivered all the same.
        for commit in waiting:
            told.tell(commit, None)


def _progress(query: Any, base: int) -> dict[int, dict[str, Any]]:
    """What Spark measured of its last batches, by our number of each."""
    return {
        progress["batchId"] + base: {
            "rows": progress["numInputRows"],
            "rows_per_second": progress["inputRowsPerSecond"],
            "processed_rows_per_second": progress["processedRowsPerSecond"],
            "seconds": progress["durationMs"].get("triggerExecution", 0) / 1000,
        }
        for progress in query.recentProgress
    }


def _print(output: Output, summary: dict[str, Any], until_idle: bool) -> None:
    if output.as_json:
        print_object({"summary": summary})
        return
    output.table(("", ""), _lines(summary), title="Pipeline")
    if not summary["batches"] and until_idle:
        output.say("There was nothing new to read.")


def _lines(summary: dict[str, Any]) -> list[tuple[str, Cell]]:
    rate = summary["publications"] / summary["seconds"] if summary["seconds"] else None
    return [
        (
            "batches",
            f"{summary['batches']:,}" + ("" if summary["last"] is None else f", the last is {summary['last']}"),
        ),
        ("seconds in batches", f"{summary['seconds']:.2f}"),
        ("commands", f"{summary['commands']:,}"),
        ("publications", f"{summary['publications']:,}" + ("" if not rate else f", {rate:,.0f} a second")),
        ("changes", f"{summary['changes']:,}"),
        ("replication", show_replication(summary["replication"])),
        ("late publications", f"{summary['late']:,}"),
        *show_retracted(summary),
        ("dead letters", f"{summary['dead']:,}"),
        ("state", str(summary["state"])),
    ]
