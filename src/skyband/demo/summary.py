"""What came of the day: numbers, a table of them, and the files."""

import json
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from rich.console import Console
from rich.table import Table

from skyband.demo.frame import rates
from skyband.demo.ledger import DayLedger, adds_up
from skyband.demo.runner import DayRunner
from skyband.demo.scene import Scene
from skyband.table import write_table
from skyband.table.write import replacing

# Where the pipeline of the demo lies, in the folder of its files.
FOLDER = "pipeline"


class DemoSummary(NamedTuple):
    """The day in numbers; `seconds` is the time of the whole stream, rates are per second of `busy_seconds`.

    Those are spent in the engine where `runner` is local, and in micro-batches where it is spark. What only one of the
    two can tell is None for the other.

    `in_tops` is the number of members of all tops at the end, `adds_up` whether the running sum of the changes is
    exactly those members, `finished` whether the day was played to its end. `picture` is None where matplotlib is
    not installed.
    """

    city: str
    seed: int
    runner: str
    subscribers: int
    publications: int
    enters: int
    leaves: int
    changes: int
    deliveries: int
    scored: int
    in_tops: int
    adds_up: bool
    seconds: float
    busy_seconds: float
    publications_per_second: float
    scores_per_second: float
    changes_per_second: float
    bytes_per_subscription: float | None
    zones: int | None
    micro_batches: int | None
    copies_per_publication: float | None
    dead_letters: int | None
    start_seconds: float | None
    finished: bool
    change_log: str
    publications_file: str
    subscriptions_file: str
    summary_file: str
    pipeline: str | None
    picture: str | None


def summarise(
    scene: Scene, seed: int, runner: DayRunner, ledger: DayLedger, seconds: float, out: Path, picture: Path | None
) -> DemoSummary:
    """The numbers of a run whose files are in `out`."""
    fast, changes, traffic = rates(ledger), ledger.table(), ledger.traffic
    n_enters, n_leaves = int(ledger.tally.enters.sum()), int(ledger.tally.leaves.sum())
    n_subscribers, n_bytes = len(scene.subscriptions), runner.bytes_used()
    return DemoSummary(
        city=scene.city.name,
        seed=seed,
        runner="local" if traffic is None else "spark",
        subscribers=n_subscribers,
        publications=fast.messages,
        enters=n_enters,
        leaves=n_leaves,
        changes=len(changes),
        deliveries=fast.deliveries,
        scored=fast.scores,
        in_tops=n_enters - n_leaves,
        adds_up=adds_up(changes, runner.tops()),
        seconds=round(seconds, 3),
        busy_seconds=round(fast.seconds, 3),
        publications_per_second=round(fast.per_second(fast.messages), 1),
        scores_per_second=round(fast.per_second(fast.scores), 1),
        changes_per_second=round(fast.per_second(fast.changes), 1),
        bytes_per_subscription=None if n_bytes is None else round(n_bytes / n_subscribers, 1),
        zones=None if traffic is None else traffic.zones,
        micro_batches=None if traffic is None else traffic.batches,
        copies_per_publication=None if traffic is None else round(traffic.replication, 3),
        dead_letters=None if traffic is None else traffic.dead,
        start_seconds=None if traffic is None else round(traffic.start_seconds, 3),
        finished=ledger.n_steps == len(ledger.tally.messages),
        change_log=str(out / "changes.parquet"),
        publications_file=str(out / "publications.parquet"),
        subscriptions_file=str(out / "subscriptions.parquet"),
        summary_file=str(out / "summary.json"),
        pipeline=None if traffic is None else str(out / FOLDER),
        picture=None if picture is None else str(picture),
    )


def write_files(summary: DemoSummary, scene: Scene, changes: pa.Table) -> None:
    """The change log, what it came from, and the summary; each whole or not at all."""
    write_table(changes, summary.change_log)
    write_table(scene.publications.slice(0, summary.publications), summary.publications_file)
    write_table(scene.subscriptions, summary.subscriptions_file)
    with replacing(Path(summary.summary_file)) as temporary:
        temporary.write_text(json.dumps(summary._asdict(), indent=2) + "\n", encoding="utf-8")


def print_summary(console: Console, summary: DemoSummary) -> None:
    """The summary for people."""
    title = f"A day in {summary.city}" if summary.finished else f"A part of a day in {summary.city}"
    table = Table(title=title, title_justify="left", show_header=False, min_width=60)
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    for name, amount, rate in _rows(summary):
        table.add_row(name, amount, rate)
    console.print(table, highlight=False)
    for what, path in _files(summary):
        console.print(f"{what:<14}{path}", markup=False, highlight=False, soft_wrap=True)


def _rows(summary: DemoSummary) -> list[tuple[str, str, str]]:
    agree = "equals the tops" if summary.adds_up else "DIFFERS from the tops"
    size = "" if summary.bytes_per_subscription is None else f"{summary.bytes_per_subscription:,.0f} bytes each"
    where = "in the engine" if summary.runner == "local" else "in micro-batches"
    return [
        ("subscribers", f"{summary.subscribers:,}", size),
        ("messages", f"{summary.publications:,}", f"{summary.publications_per_second:,.0f} /s"),
        ("scores", f"{summary.scored:,}", f"{summary.scores_per_second:,.0f} /s"),
        ("changes", f"{summary.changes:,}", f"{summary.changes_per_second:,.0f} /s"),
        ("  enters", f"{summary.enters:,}", ""),
        ("  leaves", f"{summary.leaves:,}", ""),
        ("deliveries (first entries)", f"{summary.deliveries:,}", ""),
        ("in tops at the end", f"{summary.in_tops:,}", ""),
        ("running sum of the changes", "", agree),
        *_pipeline_rows(summary),
        ("time", f"{summary.seconds:.1f} s", f"{summary.busy_seconds:.1f} s {where}"),
    ]


def _pipeline_rows(summary: DemoSummary) -> list[tuple[str, str, str]]:
    if summary.micro_batches is None:
        return []
    each = summary.busy_seconds / max(summary.micro_batches, 1)
    return [
        ("pipeline on Spark", f"{summary.zones} zones", f"started in {summary.start_seconds:.1f} s"),
        ("  micro-batches", f"{summary.micro_batches:,}", f"{each:.2f} s each"),
        ("  zones that a message went to", f"{summary.copies_per_publication:.2f}", "on average"),
        ("  dead letters", f"{summary.dead_letters:,}", ""),
    ]


def _files(summary: DemoSummary) -> list[tuple[str, str]]:
    files = [
        ("changes", summary.change_log),
        ("publications", summary.publications_file),
        ("subscriptions", summary.subscriptions_file),
        ("summary", summary.summary_file),
    ]
    if summary.pipeline is not None:
        files.append(("pipeline", summary.pipeline))
    return files if summary.picture is None else [("picture", summary.picture), *files]
