"""Benchmarks: found in `skyband.bench.suite`, run at three sizes, stored as raw rows, drawn later from those alone."""

from skyband.bench.discovery import discover, draw, tables
from skyband.bench.experiment import AnyExperiment, Experiment, Progress, Size
from skyband.bench.opening import giving
from skyband.bench.row import Row
from skyband.bench.storage import load, rows_of, store
from skyband.bench.view import NoMatplotlib

BENCHMARKS: dict[str, AnyExperiment] = discover()
"""Every benchmark by name."""

__all__ = [
    "BENCHMARKS",
    "Experiment",
    "NoMatplotlib",
    "Progress",
    "Row",
    "Size",
    "draw",
    "giving",
    "load",
    "rows_of",
    "store",
    "tables",
]
