"""Readers: window publications from Parquet, NDJSON and CSV files, from Arrow and from pandas."""

import importlib.util
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa

from skyband.bench.benchmark import Benchmark, Column, Progress, Size
from skyband.bench.clock import time_in_turn
from skyband.bench.contest import WrongAnswer
from skyband.bench.figure import Plot
from skyband.bench.row import Row, measured, ns_per_operation, number, ratio, skipped
from skyband.contract.reading import Rows, read_publications
from skyband.table import write_table
from skyband.window import workload as window

SIZES: dict[Size, tuple[int, ...]] = {
    "toy": (50,),
    "small": (1000, 10_000, 100_000),
    "full": (1000, 10_000, 100_000, 300_000),
}
ROUNDS: dict[Size, int] = {"toy": 2, "small": 5, "full": 5}
FILES = ("parquet", "ndjson", "csv")


def measure(size: Size, progress: Progress) -> Iterator[Row]:
    """Every reader at every number of rows."""
    for n in SIZES[size]:
        progress(f"{n:,} rows")
        table = window.generate(window.Options(n_publications=n, n_subscriptions=0)).publications
        with TemporaryDirectory() as folder:
            yield from _measure_rows(n, ROUNDS[size], table, Path(folder))


def _measure_rows(n: int, n_rounds: int, table: pa.Table, folder: Path) -> Iterator[Row]:
    sources: dict[str, Any] = {"arrow": table}
    for suffix in FILES:
        sources[suffix] = folder / f"publications.{suffix}"
        write_table(table, sources[suffix])
    contest, parameters = f"window publications, {n}", {"n": n, "dims": 4}
    if importlib.util.find_spec("pandas") is not None:
        sources["pandas"] = table.to_pandas()
    else:
        yield skipped(contest, "pandas", parameters, "Skipped: pandas is not installed.")
    _check(table, sources)
    calls: dict[str, Callable[[int], Rows]] = {name: partial(_read, source) for name, source in sources.items()}
    taken = time_in_turn(calls, n_rounds)
    for name in calls:
        n_bytes = {"bytes": float(sources[name].stat().st_size)} if name in FILES else {}
        yield measured(contest, name, parameters, taken[name], n, n_bytes)


def _read(source: Any, turn: int) -> Rows:
    return read_publications("window", source)


def _check(table: pa.Table, sources: dict[str, Any]) -> None:
    expected = np.array(table["point"].combine_chunks().flatten())
    for name, source in sources.items():
        if not np.array_equal(_read(source, 0).parsed.rows.points.ravel(), expected):
            raise WrongAnswer(f"What was read from {name} is not what was written.")


BENCHMARK = Benchmark(
    name="parse",
    summary="Readers of window publications: Arrow, Parquet, NDJSON, CSV and pandas.",
    measure=measure,
    columns=(
        Column("from", lambda row, first: row["algorithm"]),
        Column("rows", lambda row, first: f"{row['parameters']['n']:,}"),
        Column("rows a second", lambda row, first: number(1e9 / ns_per_operation(row))),
        Column("ns a row", lambda row, first: number(ns_per_operation(row))),
        Column("ratio", ratio),
    ),
    plots=(
        Plot(
            "rate",
            "Readers: rows a second",
            "n",
            "rows",
            lambda row: 1e9 / ns_per_operation(row),
            "rows a second",
            lambda row: str(row["algorithm"]),
        ),
    ),
)
