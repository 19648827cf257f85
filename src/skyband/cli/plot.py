"""`skyband plot`: a change log over time, in characters and as a picture."""

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from skyband.cli.output import Output, output_options
from skyband.cli.run_option import check_names
from skyband.cli.value import ParsedValue

if TYPE_CHECKING:
    from skyband.replay.history import ChangeLogRows, Id, Stay, Stretches

    Tops = list[tuple[Id, list[Stay]]]

N_TOPS = 3
# Beside the columns there are labels, of which the longest is that of a publication and its score.
FOR_LABELS, FEWEST, IN_A_PICTURE = 38, 20, 200


def _svg(text: str) -> Path:
    if Path(text).suffix.lower() != ".svg":
        raise ValueError(f"{text} cannot be written: its name must end in .svg.")
    return Path(text)


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--ids",
    help=f"The subscriptions whose tops are shown, between commas; the {N_TOPS} with the most changes by default.",
)
@click.option(
    "--limit",
    default=10,
    show_default=True,
    type=click.IntRange(0),
    help="How many stays of each top to show, the last ones; 0 for no tops.",
)
@click.option("--out", type=ParsedValue("file", _svg), help="Also draw it as a picture, to this .svg file.")
@output_options
def command(output: Output, file: Path, ids: str | None, limit: int, out: Path | None) -> None:
    """Show the change log FILE over time: how many changes there were when, and who was in which top.

    FILE is what replay writes, or a pipeline: Parquet, NDJSON or CSV.

    \b
    Example:
      skyband plot changes.parquet --ids 3,17 --out changes.svg
    """
    from skyband.replay.history import read_changes, stretches

    check_names((out,), (file,))
    log = read_changes(file)
    wanted = log.busiest(N_TOPS) if ids is None else log.named([part.strip() for part in ids.split(",")])
    tops = [(subscription, log.stays(subscription)[-limit:]) for subscription in wanted] if limit else []
    if out is not None:
        _draw(out, file, log, stretches(log, IN_A_PICTURE), tops)
    columns = max(FEWEST, (shutil.get_terminal_size().columns if sys.stdout.isatty() else 110) - FOR_LABELS)
    _print(output, log, stretches(log, columns), tops, out)


def _draw(out: Path, file: Path, log: "ChangeLogRows", found: "Stretches", tops: "Tops") -> None:
    from skyband.cli.svg import draw_svg
    from skyband.table.write import replacing

    with replacing(out) as temporary:
        temporary.write_text(draw_svg(file.name, found, tops, log.timed), encoding="utf-8")


def _print(output: Output, log: "ChangeLogRows", found: "Stretches", tops: "Tops", out: Path | None) -> None:
    from skyband.cli.chart import changes_chart, show_step, stays_chart

    if output.as_json:
        output.document(_document(log, found, tops) | {"out": out})
        return
    if not log.ops:
        output.say(f"{log.name} has no changes.")
        return
    totals = ", ".join(f"{int(counts.sum()):,} {op}" for op, counts in found.counts.items())
    output.say(f"Changes over time: {totals}; a column is {show_step(found.step)}.")
    _paint(output, changes_chart(found, log.timed))
    for subscription, stays in tops:
        several = "the last stay" if len(stays) == 1 else f"the last {len(stays)} stays"
        output.say(f"\nTop of {subscription}: {several}.")
        _paint(output, stays_chart(stays, found, log.timed))
    if out is not None:
        output.say(f"\nThe picture is in {out}.")


def _paint(output: Output, lines: list[tuple[str, str]]) -> None:
    from rich.text import Text

    if not sys.stdout.isatty():
        output.say("\n".join(line for line, _ in lines))
        return
    console = output.console()
    for line, colour in lines:
        console.print(Text(line, colour), no_wrap=True, overflow="crop")


def _document(log: "ChangeLogRows", found: "Stretches", tops: "Tops") -> dict[str, Any]:
    return {
        "file": log.name,
        "n_changes": len(log.ops),
        "start": found.start,
        "step": found.step,
        "changes": {op: counts.tolist() for op, counts in found.counts.items()},
        "tops": [{"subscription": subscription, "stays": stays} for subscription, stays in tops],
    }
