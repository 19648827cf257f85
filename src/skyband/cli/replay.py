"""`skyband replay`: files through an engine, a change log and a summary out."""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from skyband.cli.follow import STDIN, check_followed, follow_files, print_following, rejects_of
from skyband.cli.output import Cell, Output, output_options
from skyband.cli.pipeline.place import ending_spark, need_spark, plainly
from skyband.cli.run_option import check_names, default_window, run_options
from skyband.cli.value import target

if TYPE_CHECKING:
    from skyband.replay import Percentiles, Summary
    from skyband.table import Reject


@click.command()
@run_options
@click.option("--out", type=target("parquet", "ndjson"), help="Where to write the change log: .parquet or .ndjson.")
@click.option(
    "--granularity",
    default="batch",
    show_default=True,
    type=click.Choice(("batch", "publication")),
    help="Whether changes are netted over a batch or reported for each publication.",
)
@click.option(
    "--rejects",
    "rejects_file",
    type=target("parquet", "ndjson", "csv"),
    help="Where to write the rows that --on-error collect leaves out.",
)
@click.option("--k", type=click.IntRange(1), help="How many subscriptions an event of ranked asks for; 20 by default.")
@click.option(
    "--matching",
    type=click.Choice(("relaxed", "exact")),
    help="Whether an event of ranked has to match all dimensions of a subscription, or at least one, the default.",
)
@click.option(
    "--runner",
    default="local",
    show_default=True,
    type=click.Choice(("local", "spark")),
    help="One engine in this process, or one engine per zone on Spark; the change log is the same.",
)
@click.option(
    "--follow",
    is_flag=True,
    help="Go on with what is added to the publications, which are NDJSON or - for standard input, until Ctrl-C.",
)
@click.option(
    "--zones", type=click.IntRange(1), help="The number of zones for the subscriptions on Spark; 1 by default."
)
@output_options
def command(
    output: Output,
    publications: Path,
    subscriptions: Path,
    window_n: int | None,
    window_us: int | None,
    out: Path | None,
    rejects_file: Path | None,
    on_error: str,
    runner: str,
    zones: int | None,
    follow: bool,
    **options: Any,
) -> None:
    """Run an engine over files, write how every answer changed, and print a summary.

    FAMILY is window, geotext, ranges or ranked; without it, the columns of the files decide. The change log appears at
    --out when it is complete, and not at all if the run fails. Rates and latencies are those of the engine alone.

    With --follow, or with - for standard input, publications are answered as they come: changes are printed, or added
    to an NDJSON file. Ctrl-C or the end of standard input ends it.

    \b
    Example:
      skyband replay --publications data/publications.parquet \\
          --subscriptions data/subscriptions.parquet --out changes.parquet
      some-program | skyband replay --publications - --subscriptions subscriptions.csv
    """
    if rejects_file is not None and on_error != "collect":
        raise click.UsageError("--rejects needs --on-error collect: otherwise the first bad row stops the run.")
    if zones is not None and runner == "local":
        raise click.UsageError("--zones needs --runner spark: the local runner has one engine for all subscriptions.")
    check_names((out, rejects_file), (publications, subscriptions))
    options |= {"window": default_window(window_n, window_us), "on_error": on_error}
    if follow or publications == STDIN:
        check_followed(publications, runner)
        _follow(output, publications, subscriptions, options, out, rejects_file)
        return
    from skyband.replay import SummaryOnly, table_file

    replay = _runner(runner, zones or 1)
    rejects: dict[str, list[Reject]] = {}
    with ExitStack() as stack:
        writer = SummaryOnly() if out is None else stack.enter_context(table_file(out))
        refused = None if rejects_file is None else stack.enter_context(table_file(rejects_file))
        with output.progress("publishing") as progress:
            summary = replay(publications, subscriptions, writer=writer, rejects=rejects, progress=progress, **options)
        if refused is not None:
            table = rejects_of(rejects)
            refused.begin(table.schema)
            refused.write(table)
    _print(output, summary, out, rejects_file)
    if summary.n_rejected:
        output.warn(_rejected(rejects))


def _follow(
    output: Output,
    publications: Path,
    subscriptions: Path,
    options: dict[str, Any],
    out: Path | None,
    rejects_file: Path | None,
) -> None:
    from skyband.replay import Plan

    summary, rejects = follow_files(output, publications, subscriptions, Plan(**options), out, rejects_file)
    if print_following(output, summary, out, rejects_file):
        assert summary is not None
        _print(output, summary, out, rejects_file)
    if any(rejects.values()):
        output.warn(_rejected(rejects))


def _runner(runner: str, zones: int) -> "Callable[..., Summary]":
    """What replays files: in this process, or on Spark in so many zones."""
    from skyband.replay import Plan, replay

    if runner == "local":
        return replay
    need_spark()
    from skyband.pipeline.replay import replay_on_spark

    def replay_in_zones(
        publications: Path, subscriptions: Path, *, writer: Any, rejects: Any, progress: Any, **plan: Any
    ) -> "Summary":
        with plainly(), ending_spark():
            return replay_on_spark(
                publications,
                subscriptions,
                Plan(**plan),
                zones=zones,
                progress=progress,
                writer=writer,
                rejects=rejects,
            )

    return replay_in_zones


def _rejected(rejects: "dict[str, list[Reject]]") -> str:
    noun, first = next((noun, its_rejects[0]) for noun, its_rejects in rejects.items() if its_rejects)
    n_rejects = sum(map(len, rejects.values()))
    rows = "1 row was" if n_rejects == 1 else f"{n_rejects:,} rows were"
    return f"{rows} left out; the first: {noun}, {first}."


def _print(output: Output, summary: "Summary", out: Path | None, rejects_file: Path | None) -> None:
    if output.as_json:
        output.document(summary._asdict() | {"out": out, "rejects": rejects_file})
        return
    output.table(("", ""), _lines(summary, out), title="Replay")
    for note in summary.notes:
        output.say(note)


def _lines(summary: "Summary", out: Path | None) -> list[tuple[str, Cell]]:
    rate = summary.publications_per_second
    changes = ", ".join(f"{n:,} {op}" for op, n in summary.changes.items())
    parts = summary.bytes_per_subscription
    memory = ", ".join(f"{n_bytes:,.0f} {part}" for part, n_bytes in parts.items())
    counters = ", ".join(f"{name} {n:,}" for name, n in summary.counters.items())
    retracted = f"{summary.n_retracted:,}, and {summary.n_retracted_late:,} that were not there, or no longer"
    has_retracted = summary.n_retracted + summary.n_retracted_late > 0
    return [
        ("family", summary.family),
        ("engine", summary.engine),
        ("publications", f"{summary.n_publications:,}"),
        ("subscriptions", f"{summary.n_subscriptions:,}"),
        ("rejected rows", f"{summary.n_rejected:,}"),
        ("late publications", f"{summary.n_late:,}"),
        *([("retracted", retracted)] if has_retracted else []),
        ("seconds", f"{summary.seconds:.2f}, of which publishing {summary.publishing_seconds:.2f}"),
        ("publications per second", "-" if rate is None else f"{rate:,.0f}"),
        ("changes", changes),
        ("deliveries", f"{summary.deliveries:,}"),
        ("latency of a batch", _latency(summary.batch_latency)),
        ("latency of a publication", _latency(summary.publication_latency)),
        ("bytes per subscription", f"{sum(parts.values()):,.0f} ({memory})" if parts else "not counted"),
        ("counters", counters),
        ("change log", "not written" if out is None else str(out)),
    ]


def _latency(percentiles: "Percentiles") -> str:
    parts = [f"{name} {_seconds(value)}" for name, value in percentiles._asdict().items() if value is not None]
    return ", ".join(parts) or "-"


def _seconds(value: float) -> str:
    for factor, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "µs")):
        if value * factor >= 1.0:
            return f"{value * factor:.3g} {unit}"
    return f"{value * 1e9:.3g} ns"
