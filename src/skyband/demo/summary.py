"""What came of the day: numbers, a table of them, and the files."""

import json
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from rich.console import Console
from rich.table import Table

from skyband.contract import AnyEngine
from skyband.demo.frame import rates
from skyband.demo.ledger import Ledger, adds_up
from skyband.demo.scene import Scene
from skyband.model import write_table
from skyband.model.write import replacing


class DemoSummary(NamedTuple):
    """The day in numbers; rates are per second of engine time, `seconds` is the time of the whole stream.

    `in_tops` is the number of members of all tops at the end, `adds_up` whether the running sum of the changes is
    exactly those members, `finished` whether the day was played to its end. `picture` is None where matplotlib is
    not installed.
    """

    city: str
    seed: int
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
    engine_seconds: float
    publications_per_second: float
    scores_per_second: float
    changes_per_second: float
    bytes_per_subscription: float
    finished: bool
    change_log: str
    publications_file: str
    subscriptions_file: str
    summary_file: str
    picture: str | None


def summarise(
    scene: Scene, seed: int, engine: AnyEngine, ledger: Ledger, seconds: float, out: Path, picture: Path | None
) -> DemoSummary:
    """The numbers of a run whose files are in `out`."""
    fast, changes = rates(engine, ledger), ledger.table()
    n_enters, n_leaves = int(ledger.tally.enters.sum()), int(ledger.tally.leaves.sum())
    memory = engine.memory()
    return DemoSummary(
        city=scene.city.name,
        seed=seed,
        subscribers=engine.n_subscriptions,
        publications=fast.messages,
        enters=n_enters,
        leaves=n_leaves,
        changes=len(changes),
        deliveries=fast.deliveries,
        scored=fast.scores,
        in_tops=n_enters - n_leaves,
        adds_up=adds_up(changes, engine),
        seconds=round(seconds, 3),
        engine_seconds=round(fast.seconds, 3),
        publications_per_second=round(fast.per_second(fast.messages), 1),
        scores_per_second=round(fast.per_second(fast.scores), 1),
        changes_per_second=round(fast.per_second(fast.changes), 1),
        bytes_per_subscription=round((memory["rows"] + memory["questions"]) / engine.n_subscriptions, 1),
        finished=ledger.n_steps == len(ledger.tally.messages),
        change_log=str(out / "changes.parquet"),
        publications_file=str(out / "publications.parquet"),
        subscriptions_file=str(out / "subscriptions.parquet"),
        summary_file=str(out / "summary.json"),
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
    return [
        ("subscribers", f"{summary.subscribers:,}", f"{summary.bytes_per_subscription:,.0f} bytes each"),
        ("messages", f"{summary.publications:,}", f"{summary.publications_per_second:,.0f} /s"),
        ("scores", f"{summary.scored:,}", f"{summary.scores_per_second:,.0f} /s"),
        ("changes", f"{summary.changes:,}", f"{summary.changes_per_second:,.0f} /s"),
        ("  enters", f"{summary.enters:,}", ""),
        ("  leaves", f"{summary.leaves:,}", ""),
        ("deliveries (first entries)", f"{summary.deliveries:,}", ""),
        ("in tops at the end", f"{summary.in_tops:,}", ""),
        ("running sum of the changes", "", agree),
        ("time", f"{summary.seconds:.1f} s", f"{summary.engine_seconds:.1f} s in the engine"),
    ]


def _files(summary: DemoSummary) -> list[tuple[str, str]]:
    files = [
        ("changes", summary.change_log),
        ("publications", summary.publications_file),
        ("subscriptions", summary.subscriptions_file),
        ("summary", summary.summary_file),
    ]
    return files if summary.picture is None else [("picture", summary.picture), *files]
