"""Which benchmarks there are: every module of `skyband.bench.suite` has a table of them, under the name EXPERIMENTS."""

import importlib
import pkgutil
from pathlib import Path

from skyband.bench import suite
from skyband.bench.experiment import AnyExperiment
from skyband.bench.row import Row
from skyband.bench.storage import latest, load, rows_of


def discover() -> dict[str, AnyExperiment]:
    """All benchmarks by name, in the order of their names."""
    found: dict[str, AnyExperiment] = {}
    for module in pkgutil.iter_modules(suite.__path__, f"{suite.__name__}."):
        for experiment in importlib.import_module(module.name).EXPERIMENTS:
            if experiment.name in found:
                raise ValueError(f"There is a benchmark {experiment.name} already.")
            found[experiment.name] = experiment
    return dict(sorted(found.items()))


def draw(folder: str | Path, out: str | Path) -> list[Path]:
    """Draw the figures of the newest stored run of each benchmark into `out`."""
    return [path for benchmark, rows in _runs(folder) for path in benchmark.figures(rows, Path(out))]


def tables(folder: str | Path) -> str:
    """The tables of the newest stored run of each benchmark, as Markdown."""
    return "\n".join(_table(benchmark, rows) for benchmark, rows in _runs(folder))


def _runs(folder: str | Path) -> list[tuple[AnyExperiment, list[Row]]]:
    benchmarks, runs = discover(), latest(rows_of(load(folder)))
    return [(benchmarks[name], rows) for name, rows in sorted(runs.items()) if name in benchmarks]


def _table(benchmark: AnyExperiment, rows: list[Row]) -> str:
    headers, cells = benchmark.table(rows)
    origin = (
        f"`{rows[0]['commit']}`, kernels `{rows[0]['versions'].get('kernels', 'unknown')}`, {rows[0]['at']:%Y-%m-%d}"
    )
    lines = [headers, ["---"] * len(headers), *cells]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"## {benchmark.name}\n\n{benchmark.summary} Size {rows[0]['size']}, {origin}.\n\n{table}\n"
