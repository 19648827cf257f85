"""`skyband pipeline status`: where a pipeline stands, from its state folder alone."""

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from skyband.cli.output import Cell, Output, output_options
from skyband.cli.pipeline.dead_letter import dead_files, dead_letters
from skyband.cli.pipeline.figure import figures_of, show_replication, show_retracted, totals_of
from skyband.cli.pipeline.place import PLACE, Place, find_state
from skyband.cli.pipeline.view import counted
from skyband.cli.value import show_instant

if TYPE_CHECKING:
    from skyband.pipeline.state.folder import Commit, State

# What a state folder keeps of its batches is looked at this far back.
BATCHES = 100
LETTERS_SHOWN = 3


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
    state, shape = place.state, place.state.shape()
    kept = state.commits(BATCHES)
    last = kept[-1] if kept else None
    delivered = state.delivered
    return {
        "state": state.folder,
        "family": shape.family,
        "engine": shape.engine,
        "zones": shape.n_zones,
        "last": None if last is None else figures_of(last),
        "seconds_since": None if last is None else max(0.0, time.time() - last.report["at"]),
        "recent": totals_of([figures_of(commit) for commit in kept]),
        "parts": [] if last is None else _parts(state, last),
        "log_bytes": sum(path.stat().st_size for path in (state.folder / "log").glob("*.arrow")),
        "delivered": delivered,
        "undelivered": last.batch if last is not None and last.batch > delivered else None,
        "dead": _dead(state),
        "waiting": _waiting(place, last),
    }


def _parts(state: "State", last: "Commit") -> list[dict[str, Any]]:
    """Of the router and each zone, what it holds and how much log there is since its snapshot."""
    parts = last.report["parts"]
    names = ["router", *(f"zone-{zone}" for zone in range(len(parts["router"]["sent"])))]
    rows = [sum(parts["router"]["sent"]), *parts["router"]["sent"]]
    told = []
    for name, sent in zip(names, rows, strict=True):
        snapshot = last.snapshots.get(name)
        since = range(0 if snapshot is None else snapshot + 1, last.batch + 1)
        logs = [path for path in map(state.log, since) if path.exists()]
        told.append(
            {
                "part": name,
                "subscriptions": parts[name]["subscriptions"],
                "rows": sent,
                "seconds": parts[name]["seconds"],
                "snapshot": snapshot,
                "batches_since": len(logs),
                "log_bytes": sum(path.stat().st_size for path in logs),
            }
        )
    return told


def _dead(state: "State") -> dict[str, Any]:
    import pyarrow.parquet

    n_rows = sum(pyarrow.parquet.read_metadata(path).num_rows for path in dead_files(state))
    last = dead_letters(state, LETTERS_SHOWN).drop_columns(["row"]).to_pylist()
    return {"rows": n_rows, "last": last}


def _waiting(place: Place, last: "Commit | None") -> dict[str, int | None]:
    """How many rows of each source no committed batch has read; None where only the source itself knows."""
    read = {} if last is None else _offsets(place.state, last)
    waiting: dict[str, int | None] = {}
    for noun in ("subscriptions", "publications"):
        endpoint = None if place.config is None else getattr(place.config, noun)
        if endpoint is None or endpoint.format != "log":
            waiting[noun] = None
            continue
        from skyband.log import Log

        log = Log(endpoint.options["path"])
        waiting[noun] = log.end - max(read.get(noun, 0), log.first)
    return waiting


def _offsets(state: "State", last: "Commit") -> dict[str, int]:
    """How many records of each embedded log Spark has noted as read by the last committed batch."""
    path = state.checkpoint / "offsets" / str(last.batch - state.checkpoint_base())
    if not path.exists():
        return {}
    # A version, what Spark wants to remember, and then a line for each source in the order of the stream.
    lines = path.read_text(encoding="utf-8").splitlines()[2:]
    found = {}
    for noun, line in zip(("subscriptions", "publications"), lines, strict=False):
        offset = json.loads(line) if line.startswith("{") else None
        if isinstance(offset, dict) and isinstance(offset.get("record"), int):
            found[noun] = offset["record"]
    return found


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
