"""The column `op`: which rows retract, which ids may come again, and what is rejected."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import skyband
from skyband.contract.checked import check, parse_of
from skyband.table import Parsed, Rejected, Settings, read_table
from skyband.table.operation import without_retractions


def parsed(*rows: dict[str, Any]) -> Parsed[Any]:
    """Rows of the window family."""
    return parse_of("window", "publications")(read_table(list(rows)).table, Settings())


def said(id: Any, ts: int | None = 1, **more: Any) -> dict[str, Any]:
    return {"id": id, "ts": ts, "point": [1.0], **more}


def gone(id: Any, ts: Any = None) -> dict[str, Any]:
    return {"id": id, "ts": ts, "point": None, "op": "retract"}


def reasons(found: Parsed[Any]) -> list[tuple[int, str, str]]:
    return [(reject.row, reject.column, reject.reason) for reject in found.rejects]


def test_retractions_are_left_out_and_need_an_id_alone() -> None:
    found = parsed(said("a"), gone("a"), said("b", op="publish"), gone("zoe", 5))
    assert found.rows.ids.to_pylist() == ["a", "b"]
    assert (found.kept.tolist(), found.left_out.tolist(), found.rejects) == ([0, 2], [1, 3], [])


def test_an_id_may_come_again_after_it_was_retracted() -> None:
    found = parsed(said("a"), said("b"), gone("a"), said("a"), said("b"), gone("b"), gone("b"), said("a"), said("b"))
    assert found.kept.tolist() == [0, 1, 3, 8]
    assert reasons(found) == [(5, "id", "id is already in row 2"), (8, "id", "id is already in row 4")]


def test_random_ids_against_a_dictionary() -> None:
    random = np.random.default_rng(3)
    for _ in range(50):
        rows = [
            gone(int(id)) if random.random() < 0.3 else said(int(id))
            for id in random.integers(0, 5, random.integers(30))
        ]
        live: set[int] = set()
        kept = []
        for i, row in enumerate(rows):
            if row.get("op"):
                live.discard(row["id"])
            elif row["id"] not in live:
                live.add(row["id"])
                kept.append(i)
        assert parsed(*rows).kept.tolist() == kept if rows else True


def test_what_is_rejected() -> None:
    found = parsed(
        said("a", op="delete"), said("b", op=5), gone(None), gone("c", "noon"), said("d", None), gone("e"), said("f")
    )
    assert reasons(found) == [
        (1, "op", "op must be publish or retract"),
        (2, "op", "op must be text"),
        (3, "id", "id must not be null"),
        (4, "ts", "ts must be an integer of microseconds or an ISO 8601 time"),
        (5, "ts", "ts must not be null"),
    ]
    assert (found.kept.tolist(), found.left_out.tolist()) == ([6], [5])


@pytest.mark.parametrize("family", ["window", "geotext"])
def test_publish_takes_no_retraction(family: str) -> None:
    row = {"point": [1.0]} if family == "window" else {"x": 0.5, "y": 0.5, "terms": ["a"], "weights": [1.0]}
    rows = [{"id": 1, "ts": 1, "op": None} | row, {"id": 1, "ts": None, "op": "retract"} | dict.fromkeys(row)]
    engine = skyband.open(family, "oracle")
    with pytest.raises(Rejected, match=r"row 2.*publish takes no retractions; give the id to the verb retract"):
        engine.publish(rows)
    checked = check(family, "publications", read_table(rows))
    with pytest.raises(Rejected, match=r"row 2.*verb retract"):
        engine.publish(checked)
    assert engine.publish(checked.slice(0)).num_rows == 0
    engine = skyband.open(family, "oracle", on_error="collect")
    engine.publish(rows)
    assert (engine.counters["publications"], [reject.row for reject in engine.rejects]) == (1, [2])


def test_other_families_do_not_know_the_column() -> None:
    engine = skyband.open("ranges", "oracle")
    engine.publish([{"id": 1, "ts": 1, "object": 1, "x": 1.0, "y": 1.0, "op": "retract"}])
    assert engine.counters["publications"] == 1


def test_rows_that_do_not_retract() -> None:
    table = pa.table({"id": [1, 2, 3], "op": [None, "retract", "publish"]})
    assert without_retractions(table)["id"].to_pylist() == [1, 3]
    assert without_retractions(table.select(["id"])).num_rows == 3
