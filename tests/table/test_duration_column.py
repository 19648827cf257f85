"""Windows in rows: microseconds, durations of Python, numpy and Arrow, and texts."""

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import skyband
from skyband.contract import read_subscriptions
from skyband.table import write_table
from skyband.table.typed import restated
from skyband.window.family import FAMILY

ROW: dict[str, Any] = {"id": "ann", "k": 1, "score": "sum", "weights": [1.0]}
TEN_MINUTES = 600_000_000


def sizes(*windows: Any) -> list[int]:
    rows = [ROW | {"id": i, "window_us": window} for i, window in enumerate(windows)]
    found: list[int] = read_subscriptions("window", rows).parsed.rows.window.size.tolist()
    return found


@pytest.mark.parametrize(
    "window",
    [
        TEN_MINUTES,
        6e8,
        "10m",
        "600s",
        datetime.timedelta(minutes=10),
        np.timedelta64(600, "s"),
        np.timedelta64(10, "m"),
        np.array(1, "m8[10m]")[()],
        pd.Timedelta(minutes=10),
        pa.scalar(600, pa.duration("s")).as_py(),
    ],
)
def test_a_window_of_ten_minutes(window: Any) -> None:
    assert sizes(window) == [TEN_MINUTES]


def test_rows_may_differ() -> None:
    assert sizes("10m", 5, None, "1h30m") == [TEN_MINUTES, 5, 0, 5_400_000_000]
    assert sizes(datetime.timedelta(seconds=1), None) == [1_000_000, 0]
    ten = (datetime.timedelta(minutes=10), np.timedelta64(600, "s"), np.timedelta64(10, "m"), pd.Timedelta(minutes=10))
    assert sizes(*ten, "10m", 6e8, TEN_MINUTES) == [TEN_MINUTES] * 7


def test_a_duration_is_nothing_else_in_a_column_of_several_types() -> None:
    for name, value, reason in (("id", "ann", "id must be an integer or text"), ("k", 1, "k must be an integer")):
        rows = [ROW | {"id": f"{i}"} | {name: given} for i, given in enumerate((value, datetime.timedelta(seconds=1)))]
        (reject,) = read_subscriptions("window", rows, on_error="collect").rejects
        assert (reject.row, reject.column) == (2, name)
        assert reason in reject.reason


@pytest.mark.parametrize(("unit", "hours"), [("m", 1 / 60), ("h", 1), ("D", 24), ("W", 168)])
def test_arrays_of_numpy_in_any_unit(unit: str, hours: float) -> None:
    given = np.array([3, "NaT"], f"m8[{unit}]")
    columns = {"id": [1, 2], "k": [1, 1], "score": ["sum"] * 2, "weights": [[1.0]] * 2, "window_us": given}
    found = read_subscriptions("window", columns).parsed.rows.window.size.tolist()
    assert found == sizes(*given) == [round(3 * hours * 3_600_000_000), 0]


@pytest.mark.parametrize("suffix", ["csv", "ndjson", "parquet"])
def test_files_may_have_durations(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"asked.{suffix}"
    write_table(
        pa.table({"id": [1, 2], "k": [1, 1], "score": ["sum"] * 2, "weights": [[1.0]] * 2, "window_us": ["10m", None]}),
        path,
    )
    read = read_subscriptions("window", path)
    assert read.parsed.rows.window.size.tolist() == [TEN_MINUTES, 0]
    again = restated(read.table, read.parsed.rows, FAMILY.subscriptions)
    assert again["window_us"].to_pylist() == [TEN_MINUTES, None]


@pytest.mark.parametrize(
    ("window", "reason"),
    [
        ("ten minutes", "window_us must be an integer of microseconds or a duration such as 10m"),
        ("600000000", "window_us must be an integer of microseconds or a duration such as 10m"),
        ("-10m", "window_us must be an integer of microseconds or a duration such as 10m"),
        ("99999999999999999999d", "window_us is beyond the range of 64-bit integers"),
        ("0s", "window_us must be greater than 0"),
        (datetime.timedelta(0), "window_us must be greater than 0"),
        (datetime.timedelta(seconds=-5), "window_us must be greater than 0"),
        (np.timedelta64(1, "ns"), "window_us has a fraction of a microsecond, which would be lost"),
        (np.timedelta64(2**62, "W"), "window_us is beyond the range of 64-bit integers"),
        (np.timedelta64(2**62, "s"), "window_us is beyond the range of 64-bit integers"),
        (True, "window_us must be an integer"),
        (1.5, "window_us must be an integer"),
    ],
)
def test_what_is_no_window(window: Any, reason: str) -> None:
    with pytest.raises(skyband.Rejected) as raised:
        sizes(window)
    assert raised.value.rejects[0].reason == reason


def test_a_column_of_mixed_durations_is_judged_row_by_row() -> None:
    rows = [ROW | {"id": 1, "window_us": "10m"}, ROW | {"id": 2, "window_us": [5]}]
    read = read_subscriptions("window", rows, on_error="collect")
    assert read.parsed.rows.window.size.tolist() == [TEN_MINUTES]
    assert [reject.reason for reject in read.rejects] == ["window_us must be an integer"]
