"""Rows become typed ones, or say what is wrong with them, whichever chunk they come in."""

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skyband.pipeline.stage.prepare import prepare_rows
from skyband.pipeline.state.spec import RAW, Shape
from skyband.table.words import Words
from tests.pipeline.streams import raw, shape_of, streams

FAMILIES = ["window", "geotext", "ranges", "ranked"]


def prepared(shape: Shape, *values: Any, noun: str = "publications", form: str = "json") -> list[dict[str, Any]]:
    """What becomes of values, given as JSON or as text that is none."""
    texts = [value if isinstance(value, str) else json.dumps(value) for value in values]
    rows = [{"noun": noun, "origin": "o", "offset": i, "form": form, "value": text} for i, text in enumerate(texts)]
    found: list[dict[str, Any]] = prepare_rows(pa.Table.from_pylist(rows, schema=RAW), shape).to_pylist()
    return found


def reasons(*args: Any, **more: Any) -> list[str | None]:
    """What is wrong with each value."""
    return [row["reason"] for row in prepared(*args, **more)]


GOOD = {"id": "p", "ts": 5, "point": [1, 2.5]}


def test_a_good_row_is_typed() -> None:
    (row,) = prepared(shape_of("window", 1), GOOD)
    assert (row["op"], row["reason"], row["row"]) == ("publish", None, None)
    assert row["said"] == {"id": "p", "ts": 5, "point": [1.0, 2.5]}


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("not JSON", "the line is not a JSON object"),
        ("[1]", "the line is not a JSON object"),
        ("", "the line is not a JSON object"),
        ('{"id": "a", "id": "b"}', "the line is not a JSON object (it names a column twice)"),
        ({}, "id: id must not be null"),
        ({"id": 7, "ts": 1, "point": [0, 0]}, "id: ids of this pipeline are text, not 7"),
        ({"id": True, "ts": 1, "point": [0, 0]}, "id: ids of this pipeline are text, not True"),
        ({"id": "a\0b", "ts": 1, "point": [0, 0]}, "id: an id must not hold the character NUL"),
        ({"id": "p", "point": [0, 0]}, "ts: ts must not be null"),
        ({"id": "p", "ts": "soon", "point": [0, 0]}, "ts:"),
        ({"id": "p", "ts": 1}, "point: point must not be null"),
        ({"id": "p", "ts": 1, "point": [0]}, "point: point has 1 number"),
        ({"id": "p", "ts": 1, "point": [0, None]}, "point:"),
        ('{"id": "p", "ts": 1, "point": [0, NaN]}', "point:"),
        ('{"id": "p", "ts": 1, "point": [0, 1e999]}', "point:"),
        ({"id": "p", "ts": 1, "point": "here"}, "point:"),
    ],
)
def test_a_bad_row_keeps_its_text_and_spares_the_others(value: Any, reason: str) -> None:
    before, bad, after = prepared(shape_of("window", 1), GOOD, value, GOOD | {"id": "q"})
    assert before["reason"] is None
    assert after["reason"] is None
    assert bad["reason"].startswith(reason)
    assert bad["row"] == (value if isinstance(value, str) else json.dumps(value))
    assert bad["said"] is None


def test_line_breaks_inside_a_document_do_not_matter() -> None:
    (row,) = prepared(shape_of("window", 1), json.dumps(GOOD, indent=2))
    assert row["reason"] is None


def test_the_same_id_twice_is_for_the_router_to_judge() -> None:
    assert reasons(shape_of("window", 1), GOOD, GOOD, GOOD) == [None] * 3


def test_integer_ids_are_asked_for() -> None:
    shape = shape_of("window", 1)
    shape = shape._replace(ids=shape.ids._replace(publications="integers"))
    told = reasons(shape, GOOD | {"id": 3}, GOOD, GOOD | {"id": 2**63}, GOOD | {"id": 1.5})
    assert told[0] is None
    assert all(reason is not None and reason.startswith("id: ids of this pipeline are integers") for reason in told[1:])


def test_cells_of_csv_are_read_as_the_family_asks() -> None:
    row = {"id": "7", "ts": "5", "point": "[1, 2.5]"}
    (text,) = prepared(shape_of("window", 1), row, form="cells")
    assert text["said"] == {"id": "7", "ts": 5, "point": [1.0, 2.5]}
    shape = shape_of("window", 1)
    shape = shape._replace(ids=shape.ids._replace(publications="integers"))
    number, bad = prepared(shape, row, row | {"id": "x"}, form="cells")
    assert number["said"] == {"id": 7, "ts": 5, "point": [1.0, 2.5]}
    assert bad["reason"] == "id: ids of this pipeline are integers, not 'x'"


def test_times_are_read_in_every_form() -> None:
    told = prepared(shape_of("window", 1), GOOD | {"ts": "1970-01-01T00:00:01.000005Z"})
    assert told[0]["said"]["ts"] == 1_000_005


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ({"op": "unsubscribe", "id": "a"}, None),
        ({"op": "resize", "id": "a", "k": 3}, None),
        ({"op": "advance", "ts": 3}, None),
        ({"op": "resize", "id": "a", "k": 0}, "k: k must be at least 1"),
        ({"op": "resize", "id": "a"}, "k: k must not be null"),
        ({"op": "advance"}, "ts: ts must not be null"),
        ({"op": "unsubscribe"}, "id: id must not be null"),
        ({"op": "unsubscribe", "id": "\0"}, "id: an id must not hold the character NUL"),
        ({"op": "forget", "id": "a"}, "op: 'forget' is not one of subscribe, unsubscribe, resize, advance"),
        ({"op": 5, "id": "a"}, "op: '5' is not one of"),
    ],
)
def test_commands(command: dict[str, Any], reason: str | None) -> None:
    good = {"id": "s", "k": 1, "score": "euclidean", "point": [0, 0]}
    told = reasons(shape_of("window", 1), good, command, noun="subscriptions")
    assert told[0] is None
    assert told[1] is None if reason is None else str(told[1]).startswith(reason)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"op": "retract", "id": "p"}, None),
        ({"op": "retract", "id": "p", "ts": None, "point": "here"}, None),
        ({"op": "retract", "id": "p", "ts": "1970-01-01T00:00:00Z", "point": [1]}, None),
        (GOOD | {"op": "publish"}, None),
        (GOOD | {"op": None}, None),
        ({"op": "retract"}, "id: id must not be null"),
        ({"op": "retract", "id": 7}, "id: ids of this pipeline are text, not 7"),
        ({"op": "retract", "id": "a\0b"}, "id: an id must not hold the character NUL"),
        ({"op": "retract", "id": "p", "ts": "soon"}, "ts:"),
        ({"op": "retract", "id": "p", "ts": 2**62}, "ts: lies beyond ±2**61 microseconds"),
        (GOOD | {"ts": 2**62}, "ts: lies beyond ±2**61 microseconds"),
        (GOOD | {"op": "delete"}, "op: op must be publish or retract"),
        (GOOD | {"op": 5}, "op: op must be text"),
    ],
)
@pytest.mark.parametrize("n_others", [0, 1])
def test_retractions(row: dict[str, Any], reason: str | None, n_others: int) -> None:
    *others, told = prepared(shape_of("window", 1), *[GOOD] * n_others, row)
    assert all(other["reason"] is None for other in others)
    if reason is not None:
        assert told["reason"].startswith(reason)
        return
    assert (told["op"], told["reason"]) == (row["op"] or "publish", None)
    if row["op"] == "retract":
        assert told["said"] == {"id": "p", "ts": 0 if row.get("ts") else None, "point": None}


def test_cells_of_csv_retract() -> None:
    rows = [{"id": "7", "ts": "", "point": "", "op": "retract"}, {"id": "8", "ts": "5", "point": "[1, 2]", "op": ""}]
    plain = [{name: cell or None for name, cell in row.items()} for row in rows]
    told = prepared(shape_of("window", 1), *plain, form="cells")
    assert [(row["op"], row["reason"]) for row in told] == [("retract", None), ("publish", None)]


@pytest.mark.parametrize("family", ["ranges", "ranked"])
def test_some_families_have_no_retractions(family: str) -> None:
    told = reasons(shape_of(family, 1), {"op": "retract", "id": "p", "ts": 1})
    assert told == [f"op: publications of the family {family} cannot be retracted"]


def test_ranked_subscriptions_have_no_k_to_change() -> None:
    told = reasons(shape_of("ranked", 1), {"op": "resize", "id": "a", "k": 3}, noun="subscriptions")
    assert told == ["op: subscriptions of the family ranked have no k of their own to change"]


@pytest.mark.parametrize(
    ("window", "given", "reason"),
    [
        ("time", {"window_us": 5}, None),
        ("time", {}, None),
        ("time", {"window_us": 6}, "window_us: the window must be within that of the pipeline, 5 microseconds"),
        ("time", {"window_n": 2}, "window_n: the window must be within that of the pipeline, 5 microseconds"),
        ("count", {"window_n": 5}, "window_n: the window must be within that of the pipeline, 4 publications"),
        ("none", {"window_n": 5}, None),
    ],
)
def test_windows_lie_within_that_of_the_pipeline(window: str, given: dict[str, Any], reason: str | None) -> None:
    row = {"id": "s", "k": 1, "score": "euclidean", "point": [0, 0]} | given
    assert reasons(shape_of("window", 1, window=window), row, noun="subscriptions") == [reason]


def test_texts_are_split_and_weighed() -> None:
    shape = shape_of("geotext", 1)
    shape = shape._replace(settings=shape.settings._replace(words=Words(10, {"jazz": 1, "the": 10})))
    (row,) = prepared(shape, {"id": "m", "ts": 1, "x": 0.5, "y": 0.5, "text": "The JAZZ"})
    assert row["said"]["terms"] == ["the", "jazz"]
    assert row["said"]["weights"][1] > row["said"]["weights"][0] > 0


@pytest.mark.parametrize("family", FAMILIES)
@given(data=st.data())
def test_chunks_do_not_matter(family: str, data: st.DataObject) -> None:
    shape = shape_of(family, 1)
    rows = pa.concat_tables([raw(batch) for batch in data.draw(streams(family))])
    whole = prepare_rows(rows, shape).to_pylist()
    edges = sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=4)))
    cuts = list(zip([0, *edges], [*edges, len(rows)], strict=True))
    parts = [prepare_rows(rows.slice(begin, end - begin), shape).to_pylist() for begin, end in cuts if end > begin]
    assert [row for part in parts for row in part] == whole
