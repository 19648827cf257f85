"""What type checkers know of answers: rows of Python are answered with rows, tables with tables.

`assert_type` is checked by mypy, which goes through the tests as well, and does nothing when it runs. To mypy an Arrow
table is anything, since Arrow has no types.
"""

from collections.abc import Sequence
from typing import Any, assert_type

import pyarrow as pa

import skyband
from skyband import AnswerRows
from skyband.contract.intake import PythonIds, PythonRows
from skyband.ranked.engine import RankedEngine
from skyband.table.change import AnyRow

ANN = {"id": "ann", "k": 1, "score": "sum", "weights": [1.0]}


def test_rows_are_answered_with_rows() -> None:
    engine = skyband.open("window", "scan")
    given: Sequence[PythonRows] = [ANN, [ANN | {"id": "bob"}], (ANN | {"id": "cob"},)]
    assert_type(engine.subscribe(given[0]), AnswerRows)
    assert isinstance(assert_type(engine.subscribe({**ANN, "id": "eve"}), AnswerRows), AnswerRows)
    assert isinstance(assert_type(engine.subscribe([{**ANN, "id": "fay"}]), AnswerRows), AnswerRows)
    changes = assert_type(engine.publish({"id": 1, "ts": 1, "point": [1.0]}), AnswerRows)
    assert isinstance(changes, AnswerRows)
    assert [assert_type(row, AnyRow).publication for row in changes] == [1, 1, 1]
    assert assert_type(len(changes), int) == 3
    assert isinstance(assert_type(engine.publish([{"id": 2, "ts": 2, "point": [2.0]}]), AnswerRows), AnswerRows)
    ids: Sequence[PythonIds] = ["ann", ["eve"]]
    assert isinstance(assert_type(engine.resize("ann", 2), AnswerRows), AnswerRows)
    assert isinstance(assert_type(engine.retract([1]), AnswerRows), AnswerRows)
    assert all(isinstance(assert_type(engine.unsubscribe(some), AnswerRows), AnswerRows) for some in ids)
    assert isinstance(assert_type(engine.unsubscribe({"fay"}), AnswerRows), AnswerRows)
    assert isinstance(assert_type(engine.advance(3), AnswerRows), AnswerRows)


def test_tables_are_answered_with_tables() -> None:
    engine = skyband.open("window", "scan")
    asked = pa.table({name: [value] for name, value in ANN.items()})
    assert isinstance(assert_type(engine.subscribe(asked), Any), pa.Table)
    assert isinstance(engine.publish(pa.table({"id": [1], "ts": [1], "point": [[1.0]]})), pa.Table)
    assert isinstance(assert_type(engine.retract(pa.array([1])), Any), pa.Table)
    assert isinstance(assert_type(engine.unsubscribe(pa.array(["ann"])), Any), pa.Table)


def test_updates_are_typed_as_other_rows() -> None:
    engine = skyband.open("ranked", "scan")
    assert isinstance(engine, RankedEngine)
    engine.subscribe({"id": 1, "lo": [0.0], "hi": [1.0]})
    assert isinstance(assert_type(engine.update({"id": 1, "budget": 2}), AnswerRows), AnswerRows)
    assert isinstance(engine.update(pa.table({"id": [1], "budget": [3]})), pa.Table)
