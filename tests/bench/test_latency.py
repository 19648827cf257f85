"""The latency of few rows: rows of Python, tables and kernels measured side by side."""

import sys
from typing import Any

import pyarrow as pa
import pytest

from skyband.bench import Row, latency
from skyband.bench.latency import KernelClock, LatencyPlan, latency_rows, percentiles
from skyband.bench.runner import WrongAnswer
from skyband.kernels import order
from skyband.kernels.dispatch import Kernel

PLAN = LatencyPlan((20,), (1, 2), 30, 200, 4, 1e9)


def quiet(said: str) -> None:
    pass


@pytest.mark.jit_only
def test_every_verb_is_measured_in_three_ways() -> None:
    rows = list(latency_rows(PLAN, quiet))
    calls = [("publish", 1), ("publish", 2), ("subscribe", 1), ("unsubscribe", 1)]
    wanted = [(*call, name) for call in calls for name in ("kernels", "rows", "tables")]
    for label in ("window uniform", "geotext", "ranked"):
        own = [row for row in rows if row["parameters"]["label"] == label]
        assert [named(row) for row in own] == wanted
        for row in own:
            measures = row["measures"]
            assert len(row["latencies"]) == PLAN.n_rounds
            assert 0.0 < measures["p50_us"] <= measures["p99_us"]
            is_kernels = row["algorithm"] == "kernels"
            assert (measures["over_us"] == 0.0) == is_kernels


def named(row: Row) -> tuple[str, int, str]:
    return row["parameters"]["operation"], row["parameters"]["n_rows"], row["algorithm"]


def test_the_median_and_the_percentile() -> None:
    assert percentiles([1000 * i for i in range(1, 102)]) == (51.0, 100.0)


@pytest.mark.jit_only
def test_the_clock_sees_kernels_while_it_runs() -> None:
    import numpy as np

    keys, clock = np.arange(40)[::-1].copy(), KernelClock()
    order.order_by(keys)
    assert clock.spent == 0
    with clock.running():
        assert not isinstance(vars(order)["_sort_digit"], Kernel)
        order.order_by(keys)
    assert clock.spent > 0
    assert isinstance(vars(sys.modules["skyband.kernels.order"])["_sort_digit"], Kernel)


def test_answers_are_compared_before_anything_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    def spoilt(table: pa.Table) -> Any:
        return [row | {"point": [0.0] * len(row["point"])} if "point" in row else row for row in table.to_pylist()]

    monkeypatch.setattr(latency, "_plain", spoilt)
    with pytest.raises(WrongAnswer, match="window uniform: the answers differ"):
        next(latency_rows(PLAN, quiet))
