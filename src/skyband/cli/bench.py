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
@click.option("--list", "list_only", is_flag=True, help="List the benchmarks and exit.")
@engine_option
@output_options
def command(
    output: Output, name: str | None, size: str, out: Path, list_only: bool, engine_options: dict[str, str]
) -> None:
    """Run the benchmark NAME, or all of them with the name all, and store every raw row.

    Without a name the benchmarks are listed. Each checks its answers before it measures. Options of engines go to all
    that have them, except where the benchmark itself says what they are.

    \b
    Example:
      skyband bench scan --size toy
    """
    from skyband import bench

    if name is None or list_only:
        _list(output, bench.BENCHMARKS)
        return
    if name != "all" and name not in bench.BENCHMARKS:
        known = ", ".join([*bench.BENCHMARKS, "all"])
        raise click.BadParameter(f"there is no benchmark {name!r}; there are {known}.", param_hint="NAME")
    chosen = list(bench.BENCHMARKS.values()) if name == "all" else [bench.BENCHMARKS[name]]
    done = [_run(output, benchmark, size, out, engine_options) for benchmark in chosen]
    if output.as_json:
        output.document(done)


def _list(output: Output, benchmarks: Any) -> None:
    if output.as_json:
        output.document([{"name": each.name, "summary": each.summary} for each in benchmarks.values()])
    else:
        output.table(("benchmark", "what it measures"), [(each.name, each.summary) for each in benchmarks.values()])


def _run(output: Output, benchmark: Any, size: str, out: Path, engine_options: dict[str, str]) -> dict[str, Any]:
    from skyband import bench

    with bench.giving(engine_options) as given:
        out.mkdir(parents=True, exist_ok=True)
        rows = benchmark.run(size, lambda text: print(text, file=sys.stderr, flush=True))
    for name in given.untaken:
        output.warn(f"{benchmark.name} opened no engine that takes the option {name}: it was left unused.")
    file = bench.store(rows, out)
    headers, cells = benchmark.table(rows)
    if not output.as_json:
        output.table(headers, cells, title=benchmark.name)
        output.say(f"{len(rows):,} raw rows are in {file}.")
    table = [dict(zip(headers, row, strict=True)) for row in cells]
    return {"name": benchmark.name, "size": size, "n_rows": len(rows), "file": file, "table": table}
