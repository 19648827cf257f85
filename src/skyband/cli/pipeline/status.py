"""`skyband pipeline status`: where a pipeline stands, from its state folder alone."""

from pathlib import Path
from typing import Any

import click

from skyband.cli.output import Cell, Output, output_options
from skyband.cli.pipeline.figure import show_replication, show_retracted
from skyband.cli.pipeline.place import PLACE, Place, find_state
from skyband.cli.pipeline.view import counted
from skyband.cli.value import show_instant


@click.command()
@PLACE
@output_options
def command(output: Output, place: Path) -> None:
    """Say where a pipeline stands: its last batch, its zones, what it rejected, and what waits to be read or delivered.

    CONFIG is a configuration, STATE the state folder of one. Only files are read, so this command can be run at any
    time. Waiting rows are counted for embedded logs, and only with CONFIG.

    \b
    Example:
      skyband pipeline status pipeline.yaml
    """
    status = _status(find_state(place))
    if output.as_json:
        output.document(status)
        return
    output.table(("", ""), _lines(status), title="Pipeline")
    if status["last"] is not None:
        rows = [tuple(zone.values()) for zone in status["parts"]]
        output.table(
            ("part", "subscriptions", "rows", "seconds", "snapshot", "batches since", "log bytes since"),
            [[_shown(value) for value in row] for row in rows],
            title="Parts",
        )
        _print_processor(output, status["recent"])
    for letter in status["dead"]["last"]:
        place_of = f"{letter['noun']} {letter['origin']}, row {letter['offset']}, batch {letter['batch']}"
        output.say(f"Dead letter: {place_of}: {letter['reason']}.")


def _print_processor(output: Output, recent: dict[str, Any]) -> None:
    """A table of what each stage has used; none where only an earlier version has run."""
    rows = [
        (stage, f"{seconds:.3f}", _shown(recent["processor_us_per_row"].get(stage)))
        for stage, seconds in recent["processor"].items()
    ]
    if rows:
        title = f"Processor, {recent['processor_rows']:,} rows"
        output.table(("stage", "processor seconds", "µs a row"), rows, title=title)


def _status(place: Place) -> dict[str, Any]:
    from skyband.status.pipeline_status import NOUNS, status_of

    # What cannot be gone on with is told in full.
    place.state.shape()
    return status_of(place.state.folder, {noun: _log(place, noun) for noun in NOUNS})


def _log(place: Place, noun: str) -> Path | None:
    """The embedded log that is read, if it is one."""
    endpoint = None if place.config is None else getattr(place.config, noun)
    return Path(endpoint.options["path"]) if endpoint is not None and endpoint.format == "log" else None


def _lines(status: dict[str, Any]) -> list[tuple[str, Cell]]:
    last, recent = status["last"], status["recent"]
    lines: list[tuple[str, Cell]] = [
        ("state", str(status["state"])),
        ("pipeline", f"{status['family']}, engine {status['engine']}, {counted(status['zones'], 'zone')}"),
    ]
    if last is None:
        return [*lines, ("last batch", "none yet"), *_waiting_lines(status)]
    undelivered = status["undelivered"]
    since = f"over the last {recent['batches']:,} batches" if recent["batches"] > 1 else "of the last batch"
    return [
        *lines,
        ("last batch", f"{last['batch']}, {status['seconds_since']:,.0f} s ago, took {last['seconds']:.2f} s"),
        ("time of the stream", "-" if last["now"] is None else show_instant(last["now"])),
        ("subscriptions", f"{last['subscriptions']:,}"),
        ("publications", f"{recent['publications']:,} {since}"),
        ("changes", f"{recent['changes']:,} {since}"),
        ("replication", show_replication(recent["replication"])),
        ("late publications", f"{recent['late']:,} {since}"),
        *show_retracted(recent, f" {since}"),
        ("dead letters", f"{status['dead']['rows']:,} in all"),
        ("log", f"{status['log_bytes']:,} bytes"),
        ("delivered", f"batch {status['delivered']}" if undelivered is None else f"batch {undelivered} is not yet"),
        *_waiting_lines(status),
    ]


def _waiting_lines(status: dict[str, Any]) -> list[tuple[str, Cell]]:
    return [(f"{noun} waiting", f"{n:,}") for noun, n in status["waiting"].items() if n is not None]


def _shown(value: Any) -> Cell:
    return f"{value:.3f}" if isinstance(value, float) else "-" if value is None else value
