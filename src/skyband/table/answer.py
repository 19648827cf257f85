"""Answers in the shape that a program works with: Arrow as it is, a data frame, or rows of Python."""

import importlib
from typing import TYPE_CHECKING, Any, Literal, overload

import pyarrow as pa

from skyband.table.answer_rows import AnswerRows, table_of_answer
from skyband.table.argument import check_choice
from skyband.table.reject import shorten

if TYPE_CHECKING:
    import pandas as pd

AnswerShape = Literal["arrow", "pandas", "polars", "pylist"]
INSTALLS = {"pandas": '"skyband[pandas]"', "polars": "polars"}


class NotInstalled(ImportError):
    """An answer was asked for in the shape of a package that is not installed."""


@overload
def answer_as(table: Any, shape: Literal["pandas"]) -> "pd.DataFrame": ...


@overload
def answer_as(table: Any, shape: Literal["pylist"]) -> list[dict[str, Any]]: ...


@overload
def answer_as(table: Any, shape: Literal["arrow", "polars"]) -> Any: ...


def answer_as(table: Any, shape: AnswerShape) -> Any:
    """An answer as a pandas or Polars data frame, as a list of rows ("pylist"), or as the Arrow table that it is.

    In pandas, ranks stay integers although they are missing where something leaves.

    >>> answer_as(pa.table({"publication": [7], "op": ["enter"]}), "pylist")
    [{'publication': 7, 'op': 'enter'}]
    """
    check_choice("shape", shape, AnswerShape)
    if not isinstance(table, pa.Table | AnswerRows):
        raise ValueError(f"An answer is an Arrow table, or rows of one, not {shorten(table)}.")
    if shape == "pylist":
        return table.to_pylist()
    table = table_of_answer(table)
    if shape == "arrow":
        return table
    package = _package(shape)
    if shape == "polars":
        return package.from_arrow(table)
    return table.to_pandas(types_mapper={pa.int32(): package.Int32Dtype()}.get)


def _package(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise NotInstalled(f"{name} is not installed: run pip install {INSTALLS[name]}.") from None
