"""Answers in the shape that a program works with."""

import sys
from types import ModuleType
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import skyband
from skyband.table.answer import NotInstalled

CHANGES = pa.table({"publication": [7, 7], "op": ["enter", "leave"], "rank": pa.array([1, None], pa.int32())})


def test_arrow_and_rows() -> None:
    assert skyband.answer_as(CHANGES, "arrow") is CHANGES
    assert skyband.answer_as(CHANGES, "pylist") == CHANGES.to_pylist()


def test_pandas_keeps_ranks_whole() -> None:
    frame = skyband.answer_as(CHANGES, "pandas")
    assert frame["rank"].dtype == pd.Int32Dtype()
    assert frame["op"].tolist() == ["enter", "leave"]


def test_polars_is_given_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    polars = ModuleType("polars")
    polars.__dict__["from_arrow"] = lambda table: ("frame of", table)
    monkeypatch.setitem(sys.modules, "polars", polars)
    assert skyband.answer_as(CHANGES, "polars") == ("frame of", CHANGES)


@pytest.mark.parametrize(("package", "install"), [("pandas", '"skyband[pandas]"'), ("polars", "polars")])
def test_a_package_that_is_not_installed(package: Any, install: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(NotInstalled) as raised:
        skyband.answer_as(CHANGES, package)
    assert str(raised.value) == f"{package} is not installed: run pip install {install}."


def test_what_is_no_answer() -> None:
    with pytest.raises(ValueError, match=r"^An answer is an Arrow table, or rows of one, not \[\]\.$"):
        skyband.answer_as([], "pylist")
