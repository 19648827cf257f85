"""Checked batches: whoever takes them answers as if it had parsed the rows itself, and does not parse them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import skyband
from skyband.contract import FAMILIES, AnyEngine, Checked, check, find_engine, pack
from skyband.table import Settings, Window, read_table
from skyband.table.words import Words
from skyband.workload.draw import draws_of

Row = dict[str, Any]

WORDS = Words.fit_texts(["a b", "jazz zz"])
WRONG = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([-1, 0, 2**63, 1.5, float("nan"), float("inf"), "", "2024-01-01", "sum"]),
    st.lists(st.sampled_from([None, 0.0, 1.0, "a", float("nan")]), max_size=3),
)
NAMES = ("window", "geotext", "ranges", "ranked")


def in_time(window: int | None) -> Window | None:
    return None if window is None else Window.time(window)


SETTINGS = st.builds(
    lambda dims, window, words: Settings(dims=dims, window=in_time(window), words=words),
    st.sampled_from([None, None, 1, 2, 3]),
    st.sampled_from([None, 5]),
    st.sampled_from([None, WORDS]),
)


@st.composite
def batch(draw: st.DrawFn, family: str, noun: str) -> list[Row]:
    """Rows whose ids recur and may be of two types, of which some have a cell that does not fit."""
    rows = []
    contents = draws_of(family).publications if noun == "publications" else draws_of(family).subscriptions
    others = st.sampled_from(["a", "7", None, 2.5])
    for content in draw(st.lists(contents, max_size=6)):
        row: Row = {"id": draw(st.integers(0, 9)), "ts": draw(st.integers(-3, 9))} | content
        if draw(st.integers(0, 4)) == 0:
            row["id"] = draw(others)
        if draw(st.integers(0, 3)) == 0:
            row[draw(st.sampled_from(sorted(row)))] = draw(WRONG)
        rows.append(row)
    return rows


@st.composite
def stream(draw: st.DrawFn) -> tuple[str, list[tuple[str, list[Row]]]]:
    family = draw(st.sampled_from(NAMES))
    nouns = draw(st.lists(st.sampled_from(["publications", "publications", "subscriptions"]), min_size=1, max_size=5))
    return family, [(noun, draw(batch(family, noun))) for noun in nouns]


def outcome(act: Callable[[Any], pa.Table], given: Any) -> Any:
    """What an action answers, or how it fails."""
    try:
        return act(given)
    except ValueError as error:
        return type(error), str(error), getattr(error, "rejects", None)


def verb(engine: AnyEngine, noun: str) -> Callable[[Any], pa.Table]:
    return engine.publish if noun == "publications" else engine.subscribe


def state(engine: AnyEngine) -> Any:
    return engine.rejects, engine.counters, engine.settings, engine.now, engine._id_types


@given(stream(), SETTINGS, st.sampled_from(["raise", "collect"]))
def test_a_checked_batch_is_taken_as_the_rows_themselves(case: Any, settings: Settings, on_error: Any) -> None:
    family, batches = case
    by_rows, by_checked = (find_engine(family, "oracle")(settings, on_error=on_error) for _ in range(2))
    for noun, rows in batches:
        wanted = outcome(verb(by_rows, noun), rows)
        found = outcome(verb(by_checked, noun), check(family, noun, read_table(rows), by_checked.settings))
        assert found == wanted
        assert state(by_checked) == state(by_rows)


@given(stream(), SETTINGS, SETTINGS, st.sampled_from(["raise", "collect"]), st.integers(1, 3))
def test_parts_are_taken_as_parts_of_a_table(
    case: Any, own: Settings, checked: Settings, on_error: Any, n: int
) -> None:
    """Good rows are checked once, against any settings, and cut into parts: as rows in a table they answer the same."""
    family, batches = case
    by_table, by_checked = (find_engine(family, "oracle")(own, on_error=on_error) for _ in range(2))
    for noun, rows in batches:
        whole = check(family, noun, read_table(rows), checked)
        table = whole.table()
        for start in range(0, len(whole), n):
            before = len(by_table.rejects)
            part = whole.slice(start, n)
            wanted = outcome(verb(by_table, noun), table.slice(start, n))
            found = outcome(verb(by_checked, noun), part)
            by_table.rejects[before:] = in_source(by_table.rejects[before:], part)
            if isinstance(wanted, tuple) and wanted[2]:
                assert (found[0], found[2]) == (wanted[0], in_source(wanted[2], part))
            else:
                assert found == wanted
            assert state(by_checked) == state(by_table)


def in_source(rejects: list[Any], part: Checked) -> list[Any]:
    return [reject._replace(row=int(part.numbers[reject.row - 1])) for reject in rejects]


@given(st.data(), st.sampled_from(["raise", "collect"]))
def test_a_cover_set_takes_checked_boxes(data: st.DataObject, on_error: Any) -> None:
    sides = st.one_of(st.integers(-2, 2), st.sampled_from([None, "a", [0.0, 1.0], [1.0]]))
    row = st.fixed_dictionaries({"id": st.one_of(st.integers(0, 5), st.just("a")), "lo": sides, "hi": sides})
    by_rows, by_checked = (skyband.CoverSet(on_error=on_error) for _ in range(2))
    for rows in data.draw(st.lists(st.lists(row, max_size=5), max_size=3)):
        wanted = outcome(by_rows.add, rows)
        found = outcome(by_checked.add, check("covering", "subscriptions", read_table(rows), by_checked.settings))
        assert found == wanted
        assert by_checked.rejects == by_rows.rejects
        assert by_checked.counters == by_rows.counters


POINTS = [{"id": i, "ts": i, "point": [float(i), 1.0]} for i in range(4)]


def test_checked_rows_are_not_parsed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = skyband.open("window")
    checked = check("window", "publications", read_table(POINTS))
    monkeypatch.setattr("skyband.contract.checked.Checked.table", None)
    monkeypatch.setattr("skyband.contract.checked.typed", None)
    engine.publish(checked.slice(0, 2))
    engine.publish(checked.take(np.array([3, 2])))
    assert engine.counters["publications"] == 4
    assert engine.settings.dims == 2


def test_rows_are_taken_in_any_order() -> None:
    checked = check("window", "publications", read_table([{"id": 9}, *POINTS])).take(np.array([3, 1, 0, 2]))
    assert checked.rejects == []
    assert checked.numbers.tolist() == [5, 3, 2, 4]
    assert checked.rows.ids.to_pylist() == checked.table()["id"].to_pylist() == [3, 1, 0, 2]


def test_an_engine_owns_the_arrays_that_it_is_given() -> None:
    rows = [{"id": i, "lo": [0.0], "hi": [9.0], "budget": 1} for i in range(3)]
    checked = check("ranked", "subscriptions", read_table(rows), Settings(dims=1))
    before = pack(checked.rows)
    for _ in range(2):
        engine = skyband.open("ranked", "oracle", k=3)
        engine.subscribe(checked)
        assert len(engine.publish([{"id": 1, "ts": 1, "point": [4.0]}])) == 3
    assert pack(checked.rows).equals(before)


def test_ids_keep_the_type_of_the_whole_file(tmp_path: Path) -> None:
    (tmp_path / "said.csv").write_text('id,ts,point\n1,1,"[0.7]"\n2,2,"[0.6]"\nx,3,"[0.5]"\n')
    checked = check("window", "publications", read_table(tmp_path / "said.csv"), Settings(dims=1))
    other = Settings(bounds=[0, 0, 2, 2])
    engine = find_engine("window", "oracle")(other)
    engine.subscribe([{"id": 1, "k": 3, "score": "sum", "weights": [1.0]}])
    assert engine.publish(checked.slice(0, 2))["publication"].to_pylist() == ["1", "2"]
    assert engine.publish(checked.slice(2))["publication"].to_pylist() == ["x"]


def test_other_settings_are_looked_at() -> None:
    places = [{"id": i, "ts": 1, "x": x, "y": 0.5, "terms": [], "weights": []} for i, x in enumerate([0.5, 1.5])]
    wide = check("geotext", "publications", read_table(places), Settings(bounds=[0, 0, 2, 2]))
    assert len(wide) == 2
    engine = skyband.open("geotext", on_error="collect")
    engine.publish(wide)
    assert [str(reject) for reject in engine.rejects] == [
        "row 2, column x, value 1.5: x must lie within the bounds, 0 to 1"
    ]


def test_rows_that_do_not_tell_their_dimensions_are_looked_at() -> None:
    sparse, dense = {"id": 1, "lo": [0.0], "hi": [1.0], "dims": [1]}, {"id": 2, "lo": [0.0] * 2, "hi": [1.0] * 2}
    whole = check("ranked", "subscriptions", read_table([sparse, dense | {"dims": None}]))
    engine = skyband.open("ranked", "oracle")
    with pytest.raises(skyband.Rejected, match="row 1, column dims"):
        engine.subscribe(whole.slice(0, 1))
    engine.subscribe(whole)
    assert engine.settings.dims == 2


@pytest.mark.parametrize("noun", ["publications", "subscriptions"])
def test_rows_of_another_kind_are_refused(noun: str) -> None:
    schema = getattr(FAMILIES["ranked"], noun)
    checked = check("ranked", noun, read_table(schema.empty_table()))
    other = "subscriptions" if noun == "publications" else "publications"
    for engine, its_noun in ((skyband.open("window"), noun), (skyband.open("ranked"), other)):
        with pytest.raises(ValueError, match=f"These are checked ranked {noun}, and something else is wanted here"):
            verb(engine, its_noun)(checked)
    with pytest.raises(ValueError, match="The family covering has no publications"):
        check("covering", "publications", read_table([]))
