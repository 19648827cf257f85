"""Few plain rows are read without a table, and are what the rules of tables would have made of them."""

import datetime
import math
from dataclasses import fields
from itertools import cycle
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import skyband
from skyband.contract import FAMILIES
from skyband.contract.family import Family, Parse, ReadFew
from skyband.kernels.id_list import arrow_ids
from skyband.table import Settings
from skyband.table.memory import table_of
from skyband.table.plain import FEW, Doubtful, few_rows
from skyband.table.settings import Bounds, Window
from skyband.table.words import Words
from skyband.workload.draw import Row
from skyband.workload.recipe import recipe_of

MODEL = Words(3, {"jazz": 1, "blues": 2})
SETTINGS = [
    Settings(),
    Settings(dims=2, window=Window.count(3)),
    Settings(dims=1, window=Window.time(7)),
    Settings(words=MODEL),
    Settings(bounds=Bounds(0.0, 0.0, 10.0, 10.0)),
]
ODD: list[Any] = [
    *(None, math.nan, math.inf, -math.inf, -0.0, 0, 1, 0.5, 1e150, 2e150, 1e-320, True, False),
    *(2**53, 2**53 + 1, 2**63 - 1, 2**63, -(2**63) - 1, 10**30, "", "7", "é", "\ud800", b"7", "euclidean", "sum"),
    *([], [0.0], [1, 2.5], [0.0, 1.0], [1.0, 0.0, 2.0], [None], [math.nan, 0.0], [True, 1.0], [2**60, 1.0], [2e150]),
    *(["jazz"], ["jazz", "jazz"], ["jazz", None], ["\ud800"], [["jazz"]], (0.0, 1.0), {0.0, 1.0}, {"a": 1}),
    *([0.6, 0.8], [0.6, 0.8000009], [0.6, 0.80001], [0.6, -0.8], [3, 4], np.float64(0.5), np.int64(3)),
    *(np.array([0.0, 1.0]), datetime.datetime(2024, 1, 1), datetime.timedelta(seconds=1), "2024-01-01", "10m"),
]
PLAIN: dict[tuple[str, str], list[Row]] = {
    ("window", "publications"): [{"ts": 3, "point": [0.5, 1]}, {"ts": 5, "point": [0.5]}],
    ("window", "subscriptions"): [
        {"k": 2, "score": "euclidean", "point": [0.0, 1.0]},
        {"k": 1, "score": "sum", "weights": [0.0, 1.0], "point": None, "threshold": None},
        {"k": 1, "score": "cosine", "weights": [3.0], "window_n": 4},
        {"k": 1, "score": "chebyshev", "point": [3.0], "window_us": 4},
    ],
    ("geotext", "publications"): [
        {"ts": 1, "x": 0.25, "y": 1, "terms": ["jazz", "live"], "weights": [0.6, 0.8]},
        {"ts": 1, "x": 0.25, "y": 0.5, "terms": [], "weights": []},
        {"ts": 1, "x": 0.25, "y": 0.5, "text": "Jazz and blues"},
    ],
    ("geotext", "subscriptions"): [
        {"k": 3, "x": 0.25, "y": 1, "alpha": 0.5, "terms": ["jazz", "live"], "weights": [0.6, 0.8]},
        {"k": 3, "x": 0.25, "y": 1, "alpha": 1, "terms": ["jazz", "live"], "window_n": 3},
        {"k": 3, "x": 0.25, "y": 1, "alpha": 0.0, "text": "jazz"},
    ],
    ("ranges", "publications"): [
        {"ts": 1, "object": "a", "x": 0.5, "y": 2},
        {"ts": 1, "object": "b", "x": [0.5, 1.0], "y": 2.5},
    ],
    ("ranked", "subscriptions"): [
        {"lo": [0.5, 1], "hi": [1.5, 1.0]},
        {"lo": [0.5], "hi": [1.5], "weights": [0.0], "budget": 3},
        {"lo": [-0.0, 2.5], "hi": [0, 1e9], "weights": [-0.0, 2], "dims": None},
    ],
    ("ranked", "publications"): [{"ts": 1, "point": [0.5, 1.0]}, {"ts": 1, "point": [0.5], "k": 4}],
}
COLUMNS = ("id", "ts", "op", "k", "score", "point", "weights", "threshold", "window_us", "window_n", "x", "y")
MORE = ("terms", "text", "alpha", "object", "upper", "lo", "hi", "dims", "budget", "unknown")


def readers(family: Family, noun: str) -> tuple[Parse, ReadFew]:
    parse = family.parse_publications if noun == "publications" else family.parse_subscriptions
    read = family.read_publications if noun == "publications" else family.read_subscriptions
    assert parse is not None
    assert read is not None
    return parse, read


def same_values(one: Any, other: Any) -> bool:
    """Whether fields of rows are equal, signs of zeros and types included."""
    one = arrow_ids(one)
    if isinstance(one, pa.Array):
        return bool(one.type == other.type and one.equals(other))
    if isinstance(one, tuple):
        return all(map(same_values, one, other))
    if isinstance(one, np.ndarray):
        return bool(one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes())
    return bool(one == other)


def check_same(family: str, noun: str, rows: list[Row], settings: Settings) -> bool:
    """Rows are doubtful, or read as they are parsed; says which."""
    parse, read = readers(FAMILIES[family], noun)
    few = few_rows(rows)
    assert few is not None
    try:
        found = read(few, settings)
    except Doubtful:
        return False
    parsed = parse(table_of(rows), settings)
    assert not parsed.rejects
    assert not len(parsed.left_out)
    assert len(parsed.kept) == len(rows)
    assert same_values(tuple(found), tuple(parsed.rows)), f"{found} and {parsed.rows}"
    assert all(field.flags.writeable for field in found if isinstance(field, np.ndarray))
    return True


@st.composite
def odd_rows(draw: st.DrawFn, kind: tuple[str, str]) -> list[Row]:
    """Plain rows, some with something odd in them."""
    rows = []
    for i in range(draw(st.integers(1, 3))):
        row = {"id": draw(st.sampled_from([i, i, f"{i}", 0]))} | draw(st.sampled_from(PLAIN[kind]))
        for name in draw(st.lists(st.sampled_from([*row, *row, *COLUMNS, *MORE]), max_size=2)):
            row[name] = draw(st.sampled_from(ODD))
        for name in draw(st.lists(st.sampled_from(sorted(row)), max_size=1)) if draw(st.booleans()) else ():
            del row[name]
        rows.append(row)
    return rows


@pytest.mark.parametrize("kind", PLAIN, ids=" ".join)
@given(data=st.data())
def test_what_is_not_doubtful_is_read_as_it_is_parsed(kind: tuple[str, str], data: st.DataObject) -> None:
    check_same(*kind, data.draw(odd_rows(kind)), data.draw(st.sampled_from(SETTINGS)))


@pytest.mark.parametrize("kind", PLAIN, ids=" ".join)
def test_one_odd_value_at_a_time(kind: tuple[str, str]) -> None:
    settings = cycle(SETTINGS)
    for plain in PLAIN[kind]:
        for name in ("id", *plain, "op", "threshold", "window_n", "upper", "unknown"):
            for value in ODD:
                check_same(*kind, [{"id": 1} | plain | {name: value}], next(settings))


@pytest.mark.parametrize("kind", PLAIN, ids=" ".join)
def test_plain_rows_are_not_doubtful(kind: tuple[str, str]) -> None:
    found = [any(check_same(*kind, [{"id": 1} | row], settings) for settings in SETTINGS) for row in PLAIN[kind]]
    assert all(found)


@pytest.mark.parametrize("kind", PLAIN, ids=" ".join)
def test_rows_of_workloads_are_not_doubtful(kind: tuple[str, str]) -> None:
    family, noun = kind
    recipe = recipe_of(family)
    sizes = {field.name for field in fields(recipe.options)} & {"n_subscriptions", "n_publications", "n_events"}
    table = getattr(recipe.generate(recipe.options(**dict.fromkeys(sizes, 100))), noun)
    rows = table.slice(0, FEW).to_pylist()
    settings = Settings(dims=None)
    assert all(check_same(family, noun, [row], settings) for row in rows)


def test_other_sources_become_tables() -> None:
    assert few_rows([{"id": 1}] * (FEW + 1)) is None
    assert few_rows([]) is None
    assert few_rows({"id": [1, 2]}) is None
    assert few_rows(({"id": 1},)) is None
    assert few_rows(pa.table({"id": [1]})) is None
    assert few_rows({"id": "a"}) == [{"id": "a"}]


def test_rejects_and_answers_are_those_of_tables() -> None:
    engine = skyband.open("window", "scan", window=skyband.Window.count(2))
    engine.subscribe({"id": "ann", "k": 1, "score": "sum", "weights": [1.0]})
    changes = engine.publish({"id": 1, "ts": 1, "point": [2.0]})
    assert changes.to_pylist()[0]["publication"] == 1
    with pytest.raises(skyband.Rejected, match="is live already"):
        engine.publish({"id": 1, "ts": 2, "point": [2.0]})
    with pytest.raises(skyband.Rejected, match="where 1 is expected"):
        engine.publish([{"id": 2, "ts": 2, "point": [2.0, 1.0]}])
    with pytest.raises(skyband.Rejected, match="lies beyond"):
        engine.publish([{"id": 2, "ts": 2**62, "point": [2.0]}])
