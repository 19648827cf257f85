"""`skyband bench`: benchmarks by name, their raw rows stored."""

import sys
from pathlib import Path
from typing import Any

import click

from skyband.cli.output import Output, output_options
from skyband.cli.run_option import engine_option


@click.command()
@click.argument("name", required=False)
@click.option(
    "--size",
    default="small",
    show_default=True,
    type=click.Choice(("toy", "small", "full")),
    help="How much to measure: seconds, minutes, or all that the tables in the documentation show.",
)
@click.option(
    "--out",
    default="build/bench",
    show_default=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="The folder for the raw rows, one Parquet file per run.",
)
@click.option(
    "--only",
    multiple=True,
    metavar="TEXT",
    help="Measure only the parts with this text in their names, and with all of them if it is given several times.",
)
@click.option("--list", "list_only", is_flag=True, help="List the benchmarks and exit.")
@engine_option
@output_options
def command(
    output: Output,
    name: str | None,
    size: str,
    out: Path,
    only: tuple[str, ...],
    list_only: bool,
    engine_options: dict[str, str],
) -> None:
    """Run the benchmark NAME, or all of them with the name all, and store every raw row.

    Without a name the benchmarks are listed. Each checks its answers before it measures. Options of engines go to all
    that have them, except where the benchmark itself says what they are. A benchmark whose parts have names stores each
    when it ends, so that the same command goes on where it was stopped.

    \b
    Example:
      skyband bench scan --size toy
      skyband bench overlay-table3 --size toy --only zone-leases --only staircase
    """
    from skyband import bench
    from skyband.bench.experiment import NoSuchPart

    if name is None or list_only:
        _list(output, bench.BENCHMARKS)
        return
    if name != "all" and name not in bench.BENCHMARKS:
        known = ", ".join([*bench.BENCHMARKS, "all"])
        raise click.BadParameter(f"there is no benchmark {name!r}; there are {known}.", param_hint="NAME")
    chosen = list(bench.BENCHMARKS.values()) if name == "all" else [bench.BENCHMARKS[name]]
    try:
        done = [_run(output, benchmark, size, out, only, engine_options) for benchmark in chosen]
    except NoSuchPart as error:
        raise click.BadParameter(str(error), param_hint="--only") from error
    if output.as_json:
        output.document(done)


def _list(output: Output, benchmarks: Any) -> None:
    if output.as_json:
        output.document([{"name": each.name, "summary": each.summary} for each in benchmarks.values()])
    else:
        output.table(("benchmark", "what it measures"), [(each.name, each.summary) for each in benchmarks.values()])


def _run(
    output: Output, benchmark: Any, size: str, out: Path, only: tuple[str, ...], engine_options: dict[str, str]
) -> dict[str, Any]:
    from skyband import bench

    unfinished = out / f"{benchmark.name}-{size}.unfinished"
    with bench.giving(engine_options) as given:
        out.mkdir(parents=True, exist_ok=True)
        rows = benchmark.run(size, lambda text: print(text, file=sys.stderr, flush=True), only, unfinished)
    for name in given.untaken:
        output.warn(f"{benchmark.name} opened no engine that takes the option {name}: it was left unused.")
    file = bench.store(rows, out)
    benchmark.forget(size, only, unfinished)
    headers, cells = benchmark.table(rows)
    if not output.as_json:
        output.table(headers, cells, title=benchmark.name)
        output.say(f"{len(rows):,} raw rows are in {file}.")
    table = [dict(zip(headers, row, strict=True)) for row in cells]
    return {"name": benchmark.name, "size": size, "n_rows": len(rows), "file": file, "table": table}
