"""Rows: one algorithm at one point of a sweep, with every latency.

Rows with the same `contest` were measured side by side, turn and turn about, and only those are compared: the first of
them is what the ratios are to.
"""

import math
from statistics import median
from typing import Any

from skyband.kernels.array import Floats

Row = dict[str, Any]


def measured(
    contest: str,
    algorithm: str,
    parameters: dict[str, Any],
    latencies: list[int],
    n_operations: int,
    measures: dict[str, float],
) -> Row:
    """A row: latencies in nanoseconds, each of `n_operations` operations."""
    return {
        "contest": contest,
        "algorithm": algorithm,
        "parameters": parameters,
        "latencies": latencies,
        "n_operations": n_operations,
        "measures": measures,
        "skipped": None,
    }


def skipped(contest: str, algorithm: str, parameters: dict[str, Any], reason: str) -> Row:
    """A row for a point that was not measured, with the reason as a sentence."""
    return measured(contest, algorithm, parameters, [], 0, {}) | {"skipped": reason}


def ns_per_operation(row: Row) -> float:
    """The median time of one operation."""
    return float(median(row["latencies"]) / row["n_operations"])


def ratio(row: Row, first: Row) -> str:
    """How many times the first row of the contest took."""
    return f"{ns_per_operation(row) / ns_per_operation(first):.3g}"


def number(value: float) -> str:
    """A number for people: whole and with commas from a thousand on, three digits below."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def average(name: str, values: Floats) -> dict[str, float]:
    """The mean of values and its standard error, by name; nothing without values."""
    if not len(values):
        return {}
    error = values.std(ddof=1) / math.sqrt(len(values)) if len(values) > 1 else math.inf
    return {name: float(values.mean()), f"{name}_error": float(error)}
