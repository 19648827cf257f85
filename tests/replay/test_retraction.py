"""Retractions in files: rows in their order, runs of retractions as steps of their own, however long batches are."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import skyband
from skyband.replay import Plan, follow, replay, top
from skyband.replay.growing import readings
from skyband.replay.retraction import Piece, pieces
from skyband.table import Reading, Rejected
from tests.replay.small import Kept

ASKED = [{"id": "ann", "k": 2, "score": "euclidean", "point": [0.0], "window_us": 100}]


def said(id: Any, ts: int, x: float) -> dict[str, Any]:
    return {"id": id, "ts": ts, "point": [x]}


def gone(id: Any, ts: int | None = None) -> dict[str, Any]:
    return {"id": id, "op": "retract"} | ({} if ts is None else {"ts": ts})


ROWS = [
    gone("early"),
    said("a", 1, 1.0),
    said("b", 2, 2.0),
    said("c", 3, 3.0),
    gone("a"),
    gone("b"),
    said("a", 4, 9.0),
    gone("zoe", 50),
    gone("c", 102),
    said("d", 103, 1.0),
]
# Who, what, which change, and when: c expires at 103, and time has passed before that.
LOG = [
    ("a", "enter", 3),
    ("b", "enter", 3),
    ("a", "leave", 3),
    ("b", "leave", 3),
    ("c", "enter", 3),
    ("a", "enter", 4),
    ("c", "leave", 102),
    ("d", "enter", 103),
]


def told(kept: Kept) -> list[tuple[Any, ...]]:
    return [(row["publication"], row["op"], row["at"]) for row in kept.rows]


def written(folder: Path, rows: list[dict[str, Any]]) -> Path:
    path = folder / "publications.ndjson"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_rows_are_taken_in_the_order_of_the_file(tmp_path: Path) -> None:
    kept = Kept()
    summary = replay(written(tmp_path, ROWS), ASKED, writer=kept)
    assert told(kept) == LOG
    assert (summary.n_publications, summary.n_retracted, summary.n_retracted_late) == (5, 3, 2)
    assert kept.rows[-3]["first"]


def test_batches_are_cut_where_retractions_begin_and_end() -> None:
    places, retractions = np.array([1, 2, 3, 6, 9, 10]), np.array([0, 4, 5, 7, 8])
    assert list(pieces(places, retractions, 2)) == [
        Piece(False, 0, 1),
        Piece(True, 0, 2),
        Piece(True, 2, 3),
        Piece(False, 1, 3),
        Piece(True, 3, 4),
        Piece(False, 3, 5),
        Piece(True, 4, 6),
    ]
    assert list(pieces(places, retractions[:0], 1000)) == [Piece(True, 0, 6)]
    assert list(pieces(places[:0], retractions, 2)) == [Piece(False, 0, 5)]


@pytest.mark.parametrize("batch", [1, 2, 1000])
def test_by_publication_the_length_of_batches_does_not_matter(batch: int, tmp_path: Path) -> None:
    logs = []
    for size in (batch, 7):
        logs.append(Kept())
        replay(written(tmp_path, ROWS), ASKED, batch=size, granularity="publication", writer=logs[-1])
    assert told(logs[0]) == told(logs[1])


@pytest.mark.parametrize(
    ("at", "wanted"),
    [(1, ["a"]), (2, ["a", "b"]), (3, ["c"]), (4, ["c", "a"]), (60, ["c", "a"]), (102, ["a"]), (103, ["d", "a"])],
)
def test_tops_at_an_instant(at: int, wanted: list[str], tmp_path: Path) -> None:
    """A retraction without a time happens at the largest time before it."""
    assert top(written(tmp_path, ROWS), ASKED, at=at).table["publication"].to_pylist() == wanted


def test_what_was_published_again_in_the_past_was_retracted_before(tmp_path: Path) -> None:
    rows = [said("a", 1, 1.0), said("b", 9, 1.0), gone("a"), said("a", 2, 3.0), gone("a", 20), said("a", 3, 4.0)]
    assert top(written(tmp_path, rows), ASKED, at=1).table["score"].to_pylist() == [1.0]
    assert top(written(tmp_path, rows), ASKED, at=2).table["score"].to_pylist() == [3.0]
    assert top(written(tmp_path, rows), ASKED, at=3).table["score"].to_pylist() == [4.0]


def batches(rows: list[dict[str, Any]], n: int) -> Iterator[Reading]:
    return readings((json.dumps(row).encode() + b"\n" for row in rows), n, bool)


def test_following_tells_the_same() -> None:
    """Each line comes alone, so each is a step of its own."""
    kept = Kept()
    summary = follow(batches(ROWS, 1), ASKED, Plan(), name="stream", writer=kept)
    assert summary is not None
    assert [row for row in told(kept) if row[0] == "c"] == [("c", "enter", 3), ("c", "leave", 102)]
    assert (summary.n_publications, summary.n_retracted, summary.n_retracted_late) == (5, 3, 2)
    engine = skyband.open("window", window=skyband.Window.time(100))
    wanted = engine.subscribe(ASKED).to_pylist()
    for row in ROWS:
        if "op" in row:
            wanted += engine.advance(row["ts"]).to_pylist() if "ts" in row else []
            wanted += engine.retract(row["id"]).to_pylist()
        else:
            wanted += engine.publish(row).to_pylist()
    assert kept.rows == wanted


def test_nothing_but_retractions_comes() -> None:
    assert follow(batches([gone("a"), gone("b")], 1), ASKED, Plan(), name="stream", writer=Kept()) is None


def test_words_are_counted_in_what_is_published_alone(tmp_path: Path) -> None:
    place = {"x": 0.5, "y": 0.5}
    rows = [{"id": i, "ts": i, "terms": ["a"], "weights": [1.0], **place} for i in range(3)]
    asked = [{"id": "ann", "k": 1, "terms": ["a"], "weights": [1.0], "alpha": 0.5, **place}]
    summary = replay(written(tmp_path, [*rows, gone(1)]), asked, family="geotext", window="1h")
    assert (summary.n_retracted, summary.notes) == (1, [])
    rows = [{"id": i, "ts": i, "text": "jazz tonight", **place} for i in range(3)]
    asked = [{"id": "ann", "k": 1, "text": "jazz", "alpha": 0.5, **place}]
    logs = Kept(), Kept()
    for kept, more in zip(logs, ([], [gone(7) | {"text": "jazz jazz jazz"}]), strict=True):
        replay(written(tmp_path, [*rows, *more]), asked, family="geotext", writer=kept)
    assert logs[0].rows == logs[1].rows


def test_bad_retractions_are_rejected_with_their_rows(tmp_path: Path) -> None:
    rows = [said("a", 1, 1.0), gone("a", 2**61 + 1), gone(None), gone("a") | {"op": "delete"}, gone("a")]
    rejects: dict[str, Any] = {}
    summary = replay(written(tmp_path, rows), ASKED, on_error="collect", rejects=rejects)
    assert [(reject.row, reject.column) for reject in rejects["publications"]] == [(2, "ts"), (3, "id"), (4, "op")]
    assert (summary.n_rejected, summary.n_retracted) == (3, 1)
    with pytest.raises(Rejected, match="row 2"):
        replay(written(tmp_path, rows), ASKED)


GEOTEXT = [{"id": "ann", "k": 1, "x": 0.5, "y": 0.5, "terms": ["jazz"], "alpha": 0.5}]


@pytest.mark.parametrize(("family", "asked"), [("window", ASKED), (None, ASKED), ("geotext", GEOTEXT), (None, GEOTEXT)])
def test_a_file_may_have_retractions_only(family: str | None, asked: list[dict[str, Any]], tmp_path: Path) -> None:
    path = written(tmp_path, [gone("p1"), gone("p2")])
    done = replay(path, asked, family=family, engine="oracle")
    assert (done.n_publications, done.n_retracted, done.n_retracted_late) == (0, 0, 2)
    assert len(top(path, asked, Plan(family=family, engine="oracle")).table) == 0
