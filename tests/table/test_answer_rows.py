"""Answers as rows: what they are, and that they are used like the table that they become."""

import copy
import pickle
from collections import OrderedDict
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import skyband
from skyband.contract import AnyEngine
from skyband.table.answer_rows import AnswerRows
from skyband.table.change import EventMatch, TopChange


def opened(names: Any = str, engine: str = "scan") -> AnyEngine:
    """An engine with subscriptions, whose ids are `names` of numbers."""
    made = skyband.open("window", engine, window=skyband.Window.count(2))
    made.subscribe([{"id": names(i), "k": 1, "score": "sum", "weights": [1.0 + i]} for i in range(3)])
    return made


def published(names: Any = str) -> AnswerRows:
    engine = opened(names)
    engine.publish({"id": names(7), "ts": 0, "point": [1.0]})
    answer: AnswerRows = engine.publish([{"id": names(8), "ts": 1, "point": [2.0]}])
    return answer


@pytest.mark.parametrize("names", [str, int])
def test_rows_are_those_of_the_table(names: Any) -> None:
    rows, table = published(names), published(names).table()
    assert type(rows) is AnswerRows
    assert type(table) is pa.Table
    assert len(rows) == rows.num_rows == len(table) == 6
    assert rows.to_pylist() == table.to_pylist()
    assert [row._asdict() for row in rows] == table.to_pylist()
    assert rows.rows[0] == TopChange(names(0), names(7), "leave", 1.0, None, 1, False)
    assert rows.rows[1] == TopChange(names(0), names(8), "enter", 2.0, 1, 1, True)
    assert (rows.schema, rows.column_names) == (table.schema, table.column_names)


def test_they_are_used_like_the_table() -> None:
    rows, table = published(), published().table()
    assert rows == table
    assert rows.equals(table)
    assert rows.equals(published())
    assert rows != table.slice(1)
    assert rows != "a text"
    assert rows["op"].to_pylist() == table["op"].to_pylist()
    assert rows.select(["rank"]).equals(table.select(["rank"]))
    assert repr(rows) == repr(table)
    assert pa.table(rows).equals(table)
    assert rows.to_pandas().equals(table.to_pandas())
    assert rows.table() is rows.table()
    with pytest.raises(AttributeError, match="no_such_thing"):
        rows.no_such_thing  # noqa: B018
    with pytest.raises(TypeError, match="unhashable"):
        hash(rows)


def test_copies_and_pickles_are_rows_too() -> None:
    rows = published()
    for twin in (pickle.loads(pickle.dumps(rows)), copy.copy(rows), copy.deepcopy(rows)):
        assert type(twin) is AnswerRows
        assert (twin, list(twin)) == (rows, list(rows))


def test_places_are_those_of_rows_and_names_those_of_columns() -> None:
    rows = published()
    listed = list(rows)
    assert (rows[0], rows[-1], rows[1:], list(reversed(rows))) == (listed[0], listed[-1], listed[1:], listed[::-1])
    assert rows[0] in rows
    assert rows["op"].to_pylist() == [row.op for row in listed]
    with pytest.raises(AttributeError, match="'AnswerRows' object has no attribute 'nope'"):
        rows.nope  # noqa: B018  # it is the looking up that fails


def test_shapes_of_other_packages() -> None:
    rows = published()
    assert skyband.answer_as(rows, "arrow") is rows.table()
    assert skyband.answer_as(rows, "pylist") == rows.to_pylist()
    assert skyband.answer_as(rows, "pandas")["rank"].tolist()[1] == 1


def test_an_answer_of_nothing() -> None:
    answer = opened().advance(5)
    assert (len(answer), list(answer), answer.to_pylist()) == (0, [], [])
    assert len(answer.table()) == 0
    assert answer.schema.names == list(TopChange._fields)
    assert not answer


def test_rows_of_any_table() -> None:
    table = pa.table({"id": [1, 2], "a name": [None, "x"]})
    rows = AnswerRows.of(table)
    assert rows.table() is table
    assert [tuple(row) for row in rows] == [(1, None), (2, "x")]
    assert [row.id for row in rows] == [1, 2]


@pytest.mark.parametrize("names", [str, int])
@pytest.mark.parametrize("engine", ["scan", "blocks", "tma"])
def test_an_answer_stays_what_it_was(names: Any, engine: str) -> None:
    made, twin = opened(names, engine), opened(names, engine)
    first, wanted = made.publish({"id": names(7), "ts": 0, "point": [1.0]}), None
    wanted = twin.publish({"id": names(7), "ts": 0, "point": [1.0]}).table()
    # Slots, arrays and ids are used again by what comes after it.
    made.unsubscribe([names(i) for i in range(3)])
    made.subscribe([{"id": names(i), "k": 2, "score": "sum", "weights": [5.0]} for i in range(20, 40)])
    for i in range(100, 130):
        made.publish({"id": names(i), "ts": i, "point": [float(i % 7)]})
    assert first.to_pylist() == wanted.to_pylist()
    assert first.table().equals(wanted)


@pytest.mark.parametrize("engine", ["scored", "scan"])
def test_matches_are_rows_too(engine: str) -> None:
    made = skyband.open("ranked", engine, k=2)
    made.subscribe([{"id": f"s{i}", "lo": [0.0], "hi": [1.0 + i]} for i in range(3)])
    answer = made.publish({"id": 7, "ts": 0, "point": [0.5]})
    assert list(answer) == [EventMatch(7, "s2", 1.0, 1), EventMatch(7, "s1", 1.0, 2)]
    again = made.publish([{"id": i, "ts": 1, "point": [x]} for i, x in ((8, 9.0), (9, 2.5))])
    assert list(again) == [EventMatch(9, "s2", 1.0, 1)]
    assert again.table().to_pylist() == again.to_pylist()
    assert list(made.publish({"id": 10, "ts": 1, "point": [9.0]})) == []


def test_rows_in_rows_out_and_tables_in_tables_out() -> None:
    engine = opened()
    rows = [{"id": "a", "ts": 3, "point": [1.0]}]
    assert type(engine.publish(rows)) is AnswerRows
    assert type(engine.publish(pa.table({"id": ["b"], "ts": [4], "point": [[1.0]]}))) is pa.Table
    assert type(engine.publish({"id": ["c"], "ts": np.array([5]), "point": [[1.0]]})) is AnswerRows
    assert type(engine.retract("a")) is AnswerRows
    assert type(engine.retract(pa.array(["b"]))) is pa.Table
    assert type(engine.resize(["1"], 2)) is AnswerRows
    assert type(engine.unsubscribe("1")) is AnswerRows
    assert type(engine.unsubscribe(pa.array(["2"]))) is pa.Table
    assert type(engine.advance(9)) is AnswerRows
    row = {"id": "d", "ts": 9, "point": [1.0]}
    containers: list[Callable[[Any], Any]] = [
        OrderedDict,
        MappingProxyType,
        lambda row: (row,),
        lambda row: iter([row]),
    ]
    for i, made in enumerate(containers):
        assert type(engine.publish(made(row | {"id": f"d{i}"}))) is AnswerRows
    for ids in (("d0",), {"d1"}, np.str_("d2")):
        assert type(engine.retract(ids)) is AnswerRows
    assert type(engine.retract(np.array(["d3"]))) is pa.Table
    assert type(engine.top()) is pa.Table
