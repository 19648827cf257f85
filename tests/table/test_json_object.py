"""Rows as JSON: what is read back is what the table held."""

import datetime
import decimal
import json
import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skyband.table.json_object import ENCODER, json_objects, json_values

TEXT = st.text(st.characters(codec="utf-8"), max_size=6)
SIMPLE = {
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.uint64(): st.integers(0, 2**64 - 1),
    pa.int8(): st.integers(-128, 127),
    pa.float64(): st.floats(allow_nan=False),
    pa.bool_(): st.booleans(),
    pa.string(): TEXT,
    pa.large_string(): TEXT,
    pa.string_view(): TEXT,
    pa.binary(): TEXT.map(str.encode),
}


@st.composite
def columns(draw: st.DrawFn, depth: int = 2) -> tuple[pa.DataType, st.SearchStrategy[Any]]:
    """A type, nested at most so deep, and the values it has."""
    shape = draw(st.sampled_from(["simple", "simple", "list", "large", "fixed", "struct"] if depth else ["simple"]))
    if shape == "simple":
        kind = draw(st.sampled_from(list(SIMPLE)))
        return kind, st.none() | SIMPLE[kind]
    kind, values = draw(columns(depth - 1))
    if shape == "struct":
        return pa.struct([("a", kind), ('q"\\', pa.int64())]), st.none() | st.fixed_dictionaries(
            {"a": values, 'q"\\': st.none() | st.integers(0, 9)}
        )
    if shape == "fixed":
        return pa.list_(kind, 2), st.none() | st.lists(values, min_size=2, max_size=2)
    return (pa.large_list if shape == "large" else pa.list_)(kind), st.none() | st.lists(values, max_size=3)


def plain(value: Any) -> Any:
    """A value as JSON has it: nulls are left out of objects, and binary that is text is text."""
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items() if each is not None}
    if isinstance(value, list):
        return [plain(each) for each in value]
    return value.decode() if isinstance(value, bytes) else value


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    """A table of any columns."""
    kinds = draw(st.lists(columns(), max_size=3))
    n_rows = draw(st.integers(0, 5))
    start = draw(st.integers(0, n_rows))
    arrays = [
        pa.array(draw(st.lists(values, min_size=n_rows, max_size=n_rows)), kind, from_pandas=False)
        for kind, values in kinds
    ]
    names = [f"column {place}" for place in range(len(arrays))]
    return pa.Table.from_arrays(arrays, names).slice(start) if arrays else pa.table({"column": pa.nulls(n_rows)})


def decoded(value: Any) -> Any:
    """A value with text instead of binary."""
    if isinstance(value, dict):
        return {name: decoded(each) for name, each in value.items()}
    if isinstance(value, list):
        return [decoded(each) for each in value]
    return value.decode() if isinstance(value, bytes) else value


@given(tables())
def test_with_nulls_the_text_is_that_of_python(table: pa.Table) -> None:
    assert json_objects(table, nulls=True).to_pylist() == [ENCODER.encode(decoded(row)) for row in table.to_pylist()]


@given(st.lists(st.none() | st.floats() | st.floats(-1e17, 1e17) | st.floats(-1e-3, 1e-3), min_size=1))
def test_doubles_have_the_digits_of_python(values: list[float | None]) -> None:
    array = pa.array(values, pa.float64(), from_pandas=False)
    assert texts(array) == [None if value is None else ENCODER.encode(value) for value in values]


@given(tables())
def test_any_table_is_read_back(table: pa.Table) -> None:
    found = [json.loads(row) for row in json_objects(table).to_pylist()]
    assert found == [plain(row) for row in table.to_pylist()]
    # 1.0 and 1 are equal, but not to whoever reads a column of doubles.
    assert [list(map(type, row.values())) for row in found] == [
        list(map(type, plain(row).values())) for row in table.to_pylist()
    ]


def texts(array: pa.Array) -> list[str | None]:
    """The JSON of each value."""
    found: list[str | None] = json_values(array).to_pylist()
    return found


def test_doubles_keep_every_digit_and_stay_doubles() -> None:
    values = [0.1, 1.0, -0.0, 1e300, 5e-324, 0.1 + 0.2, 123456789012345680.0, None]
    assert texts(pa.array(values))[1:3] == ["1.0", "-0.0"]
    assert [None if text is None else json.loads(text) for text in texts(pa.array(values))] == values
    assert texts(pa.array([math.nan, math.inf, -math.inf])) == ["NaN", "Infinity", "-Infinity"]
    assert texts(pa.array([0.5, 0.25])) == ["0.5", "0.25"]
    assert texts(pa.array([0.1], pa.float32())) == ["0.10000000149011612"]


def test_times_are_iso_8601_in_utc_with_all_their_digits() -> None:
    moment = datetime.datetime(2024, 2, 29, 23, 59, 59, 123456)
    assert texts(pa.array([moment, None])) == ['"2024-02-29T23:59:59.123456Z"', None]
    paris = pa.array([moment], pa.timestamp("us", "Europe/Paris"))
    assert texts(paris) == ['"2024-02-29T23:59:59.123456Z"']
    assert texts(pa.array([moment], pa.timestamp("ns"))) == ['"2024-02-29T23:59:59.123456Z"']
    assert texts(pa.array([1], pa.timestamp("ns"))) == ['"1970-01-01T00:00:00.000000001Z"']
    assert texts(pa.array([1], pa.timestamp("s"))) == ['"1970-01-01T00:00:01Z"']
    assert texts(pa.array([moment.date()])) == ['"2024-02-29"']


def test_other_types_are_written_in_some_sensible_way() -> None:
    assert texts(pa.array([decimal.Decimal("1.50"), None])) == ["1.50", None]
    assert texts(pa.array(["a", None, "a"]).dictionary_encode()) == ['"a"', None, '"a"']
    assert texts(pa.nulls(2)) == [None, None]
    assert texts(pa.array([b"\xff"])) == ['{"skyband.written": "b\'\\\\xff\'"}']
    assert texts(pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64()))) == ['[["k", 1]]']


@pytest.mark.parametrize("code", range(32))
def test_control_characters_are_escaped(code: int) -> None:
    text = f'"{chr(code)}\\{chr(code)}'
    (written,) = texts(pa.array([text]))
    assert written is not None
    assert chr(code) not in written
    assert json.loads(written) == text
