"""`skyband cover`: which subscriptions of a file cover which, and what a routing table has to hold of them."""

import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from skyband.cli.output import Cell, Output, output_options
from skyband.cli.run_option import check_names
from skyband.cli.value import ParsedValue, target

if TYPE_CHECKING:
    import pyarrow as pa

    from skyband import CoverSet, Domain
    from skyband.replay import TableFile
    from skyband.replay.source import Loaded, Opened

ROWS_SHOWN = 100
# Large batches are placed in one go; the greedy search may take seconds for one row, and the bar should move.
BATCH, GREEDY_BATCH = 10_000, 100
# What each search counts.
STEPS = {"corners": "nodes", "jumps": "leaves", "greedy": "probes"}


class Answered(NamedTuple):
    """A file whose rows were added or asked for: what was read of it, the answers, and the steps they took."""

    source: "Loaded"
    table: "pa.Table"
    n_steps: int


def _domain(text: str) -> "Domain":
    from skyband import Domain

    low, high, *kind = text.split(":") if ":" in text else (text, "")
    try:
        if kind in ([], ["integer"]):
            return Domain(float(low), float(high), bool(kind))
    except ValueError:
        pass
    raise ValueError(f"{text!r} is not a domain; write LOW:HIGH, or LOW:HIGH:integer.")


@click.command()
@click.argument("subscriptions", type=click.Path(path_type=Path))
@click.option(
    "--against",
    type=click.Path(path_type=Path),
    help="Find for each row of this file an uncovered subscription that covers it; its rows are not added.",
)
@click.option(
    "--search",
    default="corners",
    show_default=True,
    type=click.Choice(tuple(STEPS)),
    help="The search: corners and jumps are exact, greedy is the approximate search of the paper.",
)
@click.option(
    "--epsilon",
    type=click.FloatRange(0.0, 1.0, max_open=True),
    help="The share of the region that the greedy search may leave out; 0 by default.",
)
@click.option(
    "--bits",
    type=click.IntRange(2, 32),
    help="The bits per coordinate: 16 by default, or as many as fit into keys.",
)
@click.option(
    "--domain",
    "domains",
    multiple=True,
    metavar="LOW:HIGH[:integer]",
    type=ParsedValue("domain", _domain),
    help="The values that attributes may have: once for all of them, or once for each in turn; any numbers by default.",
)
@click.option("--out", type=target("parquet", "ndjson", "csv"), help="Write the uncovered subscriptions to this file.")
@click.option(
    "--relations",
    type=target("parquet", "ndjson", "csv"),
    help="Write to this file which subscription covers each one, or each row of --against.",
)
@click.option(
    "--rejects",
    type=target("parquet", "ndjson", "csv"),
    help="Leave bad rows out and write them to this file; without it, a bad row stops the run.",
)
@output_options
def command(
    output: Output,
    subscriptions: Path,
    against: Path | None,
    out: Path | None,
    relations: Path | None,
    rejects: Path | None,
    **options: Any,
) -> None:
    """Find out which subscriptions are covered by another one.

    SUBSCRIPTIONS is a Parquet, NDJSON or CSV file of boxes: id, lo and hi. Whatever matches a covered subscription also
    matches the one that covers it, so that a broker has to pass on only the uncovered ones.

    \b
    Example:
      skyband generate covering --out data
      skyband cover data/subscriptions.parquet --out table.parquet --relations relations.parquet
    """
    check_names((out, relations, rejects), [path for path in (subscriptions, against) if path is not None])
    cover = _opened(**options, on_error="raise" if rejects is None else "collect")
    from skyband import Rejected
    from skyband.replay import table_file
    from skyband.replay.source import open_source

    started = time.perf_counter()
    with ExitStack() as stack:
        files = [None if path is None else stack.enter_context(table_file(path)) for path in (out, relations, rejects)]
        opened = [open_source(path, "subscriptions") for path in (subscriptions, against) if path is not None]
        added = _answer(output, "covering", cover, opened[0], cover.add)
        asked = None if against is None else _answer(output, "asking", cover, opened[1], cover.find)
        related = (lambda: cover.covered_by()) if asked is None else (lambda: asked.table)
        for file, table in zip(files, (cover.uncovered, related, lambda: _rejects(added, asked)), strict=True):
            if file is not None:
                _write(file, table())
    summary = _summary(cover, added, asked) | {"seconds": time.perf_counter() - started}
    _print(output, summary, asked, {"out": out, "relations": relations, "rejects": rejects})
    for source in (answered.source for answered in (added, asked) if answered is not None):
        if source.rejects:
            output.warn(f"Rows were left out. {Rejected(source.rejects, source.name)}")


def _opened(search: Any, epsilon: float | None, bits: int | None, domains: "tuple[Domain, ...]", on_error: Any) -> Any:
    from skyband import CoverSet

    try:
        given = domains[0] if len(domains) == 1 else domains or None
        return CoverSet(search=search, epsilon=epsilon, bits=bits, domains=given, on_error=on_error)
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def _answer(
    output: Output, label: str, cover: "CoverSet", opened: "Opened", verb: "Callable[[Any], pa.Table]"
) -> Answered:
    """Give all rows of a file to the cover set; what it rejects has the row numbers and the name of the file."""
    import pyarrow as pa

    from skyband.replay.source import load

    source = load(opened, "covering", cover.settings, cover.on_error)
    answers, size, total = [], GREEDY_BATCH if cover.search == "greedy" else BATCH, len(source.checked)
    n_steps = _n_steps(cover)
    with output.progress(label) as progress:
        # One batch at least, as it has the columns of an answer.
        for start in range(0, max(total, 1), size):
            answers.append(source.give(verb, cover, start, size))
            progress(min(start + size, total), total)
    source.rejects.sort()
    # A batch without a good row may have come before the type of ids was known.
    table = pa.concat_tables([answer for answer in answers if len(answer)] or answers[-1:])
    return Answered(source, table, _n_steps(cover) - n_steps)


def _n_steps(cover: "CoverSet") -> int:
    return cover.counters.get(STEPS[cover.search], 0)


def _rejects(added: Answered, asked: Answered | None) -> "pa.Table":
    import pyarrow as pa

    from skyband.table import rejects_table

    tables = []
    for noun, answered in (("subscriptions", added), ("against", asked)):
        rejects = [] if answered is None else answered.source.rejects
        tables.append(rejects_table(rejects).add_column(0, "file", pa.array([noun] * len(rejects), pa.string())))
    return pa.concat_tables(tables)


def _write(file: "TableFile", table: "pa.Table") -> None:
    file.begin(table.schema)
    file.write(table)


def _summary(cover: "CoverSet", added: Answered, asked: Answered | None) -> dict[str, Any]:
    n = len(cover)
    summary = {
        "search": cover.search,
        "epsilon": cover.epsilon,
        "n_subscriptions": n,
        "n_rejected": sum(len(each.source.rejects) for each in (added, asked) if each is not None),
        "n_covered": n - cover.n_uncovered,
        "n_uncovered": cover.n_uncovered,
        "uncovered_share": cover.n_uncovered / n if n else None,
        "steps": STEPS[cover.search],
        "steps_per_subscription": added.n_steps / n if n else None,
        "bytes_per_subscription": {part: n_bytes / n for part, n_bytes in cover.memory().items()} if n else {},
        "counters": cover.counters,
    }
    if asked is not None:
        n_asked = len(asked.table)
        summary["n_asked"] = n_asked
        summary["n_asked_covered"] = n_asked - asked.table["covered_by"].null_count
        summary["steps_per_asked"] = asked.n_steps / n_asked if n_asked else None
    return summary


def _print(output: Output, summary: dict[str, Any], asked: Answered | None, paths: dict[str, Path | None]) -> None:
    if output.as_json:
        rows = {} if asked is None else {"rows": asked.table.to_pylist()}
        output.document(summary | paths | rows)
        return
    if asked is not None:
        shown = [[str(row["subscription"]), _named(row["covered_by"])] for row in asked.table[:ROWS_SHOWN].to_pylist()]
        output.table(("subscription", "covered by"), shown, title="Asked")
        if len(asked.table) > ROWS_SHOWN:
            output.say(f"… and {len(asked.table) - ROWS_SHOWN:,} more rows; --json or --relations shows them.")
    output.table(("", ""), _lines(summary, paths), title="Covering")


def _named(id: object) -> str:
    return "-" if id is None else str(id)


def _lines(summary: dict[str, Any], paths: dict[str, Path | None]) -> list[tuple[str, Cell]]:
    share, parts = summary["uncovered_share"], summary["bytes_per_subscription"]
    table = f"{summary['n_uncovered']:,}" + ("" if share is None else f", {share:.1%} of the subscriptions")
    memory = ", ".join(f"{n_bytes:,.0f} {part}" for part, n_bytes in parts.items())
    steps = summary["steps"]
    lines: list[tuple[str, Cell]] = [
        ("subscriptions", f"{summary['n_subscriptions']:,}"),
        ("rejected rows", f"{summary['n_rejected']:,}"),
        ("covered", f"{summary['n_covered']:,}"),
        ("routing table", table),
        ("search", summary["search"] + (f", epsilon {summary['epsilon']:g}" if summary["search"] == "greedy" else "")),
        (f"{steps} per subscription", _number(summary["steps_per_subscription"])),
    ]
    if "n_asked" in summary:
        lines += [
            ("asked", f"{summary['n_asked']:,}, of which covered {summary['n_asked_covered']:,}"),
            (f"{steps} per row asked", _number(summary["steps_per_asked"])),
        ]
    lines += [
        ("bytes per subscription", f"{sum(parts.values()):,.0f} ({memory})" if parts else "-"),
        ("seconds", f"{summary['seconds']:.2f}"),
    ]
    names = {"out": "uncovered ones", "relations": "relations", "rejects": "rejects"}
    return lines + [(names[name], str(path)) for name, path in paths.items() if path is not None]


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.1f}"
