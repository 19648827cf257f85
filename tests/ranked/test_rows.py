"""Ranked rows: what is a part and what is not, sparse rows, events that are intervals, and updates."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skyband.ranked.rows import UNLIMITED, parse_publications, parse_subscriptions, parse_updates
from skyband.table import Settings, to_table

INF = float("inf")
Row = dict[str, Any]


def parsed(rows: list[Row], dims: int | None = None) -> Any:
    return parse_subscriptions(to_table(rows), Settings(dims=dims))


def parts(rows: Any) -> list[list[tuple[int, float, float, float]]]:
    """The parts of each row."""
    flat = list(zip(rows.dim.tolist(), rows.lo.tolist(), rows.hi.tolist(), rows.weight.tolist(), strict=True))
    return [flat[start:end] for start, end in zip(rows.offsets[:-1], rows.offsets[1:], strict=True)]


def test_what_is_open_and_weighs_nothing_is_no_part() -> None:
    rows = [
        {"id": 1, "lo": [0.0, None, None], "hi": [1.0, 5.0, None], "weights": None},
        {"id": 2, "lo": [0.0, None, None], "hi": [1.0, 5.0, None], "weights": [0.0, 0.0, 0.0]},
        {"id": 3, "lo": [-INF, -INF, None], "hi": [INF, INF, None], "weights": [0.0, 2.0, -0.0]},
        {"id": 4, "lo": [None, None, None], "hi": [None, None, None], "weights": None},
    ]
    result = parsed(rows)
    assert result.rejects == []
    assert parts(result.rows) == [
        [(0, 0.0, 1.0, 1.0), (1, -INF, 5.0, 1.0)],
        [(0, 0.0, 1.0, 0.0), (1, -INF, 5.0, 0.0)],
        [(1, -INF, INF, 2.0)],
        [],
    ]
    assert result.rows.dims == 3
    assert result.rows.dim.dtype == np.int32
    assert result.rows.budget.tolist() == [UNLIMITED] * 4


def test_sparse_rows_name_their_dimensions_in_any_order() -> None:
    rows = [
        {"id": 1, "lo": [5.0, 1.0], "hi": [6.0, 2.0], "weights": [0.5, 0.25], "dims": [99, 3], "budget": 7},
        {"id": 2, "lo": [], "hi": [], "dims": []},
    ]
    result = parsed(rows, dims=100)
    assert result.rejects == []
    assert parts(result.rows) == [[(3, 1.0, 2.0, 0.25), (99, 5.0, 6.0, 0.5)], []]
    assert result.rows.budget.tolist() == [7, UNLIMITED]


def test_sparse_rows_need_the_number_of_dimensions() -> None:
    sparse = {"id": 1, "lo": [0.0], "hi": [1.0], "dims": [1]}
    (reject,) = parsed([sparse]).rejects
    assert (reject.column, reject.value) == ("dims", "[1]")
    assert "once the number of dimensions is known: set it in the settings, or give a row without dims" in reject.reason
    dense = {"id": 2, "lo": [0.0, 0.0], "hi": [1.0, 1.0], "dims": None}
    assert parsed([sparse, dense]).rejects == []
    assert [r.reason for r in parsed([sparse | {"dims": [2]}, dense]).rejects] == [
        "dims must hold integers below 2, the number of dimensions"
    ]
    bad = dense | {"lo": [3.0, 0.0]}
    assert [r.row for r in parsed([sparse, bad]).rejects] == [1, 2]


def test_a_dense_row_of_another_length_is_rejected() -> None:
    (reject,) = parsed([{"id": 1, "lo": [0.0], "hi": [1.0]}], dims=2).rejects
    assert reject.reason == "lo has 1 number where 2 are expected"


def test_events_are_points_or_intervals() -> None:
    rows = [
        {"id": 1, "ts": 0, "point": [1.0, None], "upper": None, "k": None},
        {"id": 2, "ts": 0, "point": [1.0, 2.0], "upper": [None, 2.5], "k": 4},
    ]
    events = parse_publications(to_table(rows), Settings()).rows
    np.testing.assert_array_equal(events.points, [[1.0, np.nan], [1.0, 2.0]])
    np.testing.assert_array_equal(events.upper, [[1.0, np.nan], [1.0, 2.5]])
    assert events.k.tolist() == [0, 4]


@pytest.mark.parametrize(
    ("edit", "column", "reason"),
    [
        ({}, "id", "an update must give lo and hi, weights or a budget"),
        ({"lo": [1.0, 1.0]}, "hi", "lo and hi must be given together"),
        ({"hi": [1.0, 1.0]}, "lo", "lo and hi must be given together"),
        ({"dims": [1], "budget": 3}, "dims", "dims must hold as many numbers as lo, hi and weights"),
        ({"dims": [], "budget": 3}, "dims", "dims must come with lo and hi, or with weights"),
        ({"weights": [1.0]}, "weights", "weights has 1 number where 2 are expected"),
        ({"lo": [1.0, 1.0], "hi": [1.0, 1.0], "weights": [1.0]}, "weights", "weights must hold as many"),
        ({"weights": [1.0], "dims": [2]}, "dims", "dims must hold integers below 2"),
    ],
)
def test_updates_that_make_no_sense(edit: Row, column: str, reason: str) -> None:
    result = parse_updates(to_table([{"id": 1} | edit, {"id": 2, "budget": 1}]), Settings(dims=2))
    assert [(r.row, r.column) for r in result.rejects] == [(1, column)]
    assert result.rejects[0].reason.startswith(reason)
    assert result.rows.ids.to_pylist() == [2]


def test_updates_say_what_they_give() -> None:
    rows = [
        {"id": 1, "lo": [1.0, None], "hi": [2.0, None]},
        {"id": 2, "weights": [3.0], "dims": [1]},
        {"id": 3, "budget": 4},
    ]
    updates = parse_updates(to_table(rows), Settings(dims=2)).rows
    assert updates.boxed.tolist() == [True, False, False]
    assert updates.weighed.tolist() == [False, True, False]
    assert updates.budget.tolist() == [UNLIMITED, UNLIMITED, 4]
    assert updates.offsets.tolist() == [0, 2, 3, 3]
    assert updates.dim.tolist() == [0, 1, 1]
    np.testing.assert_array_equal(updates.lo, [1.0, -np.inf, np.nan])
    np.testing.assert_array_equal(updates.weight, [np.nan, np.nan, 3.0])


WEIGHT = st.one_of(st.just(0.0), st.floats(0, 1e150))


@given(st.data(), st.integers(1, 6))
def test_parts_to_sparse_rows_to_parts(data: st.DataObject, dims: int) -> None:
    """Any row, dense or sparse, is the same subscription as its parts given in reverse."""
    rows: list[Row] = []
    for id in range(data.draw(st.integers(1, 4))):
        named = data.draw(st.one_of(st.none(), st.lists(st.integers(0, dims - 1), unique=True)))
        n = dims if named is None else len(named)
        ends = [sorted(data.draw(st.tuples(*[st.floats(allow_nan=False)] * 2))) for _ in range(n)]
        weights = data.draw(st.one_of(st.none(), st.lists(WEIGHT, min_size=n, max_size=n)))
        lo, hi = [pair[0] for pair in ends], [pair[1] for pair in ends]
        rows.append({"id": id, "lo": lo, "hi": hi, "weights": weights, "dims": named})
    first = parsed(rows, dims)
    assert first.rejects == []
    again: list[Row] = []
    for id, its in enumerate(parts(first.rows)):
        columns = [list(column) for column in zip(*its[::-1], strict=True)] or [[], [], [], []]
        again.append(dict(zip(("dims", "lo", "hi", "weights"), columns, strict=True)) | {"id": id})
    for source in (to_table(again), pa.Table.from_pylist(again)):
        second = parse_subscriptions(source, Settings(dims=dims))
        assert second.rejects == []
        assert parts(second.rows) == parts(first.rows)
