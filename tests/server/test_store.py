"""What lasts: records, rows as they were sent, the journal and recovery from it and from checkpoints."""

import contextlib
import errno
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skyband.contract.tops import Id
from skyband.server.store.journal import Journal, NoRoom
from skyband.server.store.record import Body, Record, decode
from skyband.server.store.rows import UnreadableBody, read_rows, rows_body
from skyband.server.stream.checkpoint import Checkpoints
from skyband.server.stream.recovery import Unrecoverable, recover
from skyband.server.stream.spec import StreamSpec
from skyband.server.stream.stream_set import StreamSet, opening
from tests.server.calling import WINDOW, arrow, ndjson

ROWS = [{"id": "a", "ts": 1, "point": [1.5, 2.0]}, {"id": "b", "ts": 2, "point": [0.0, 1.0]}]
SPEC = StreamSpec.of(WINDOW)


@given(st.text(), st.integers(), st.sampled_from(["json", "ndjson"]), st.text(), st.none() | st.text(min_size=1))
def test_a_record_is_read_as_it_was_written(name: str, at: int, kind: Any, rows: str, key: str | None) -> None:
    body = Body(kind, rows.encode(errors="replace"))
    record = Record("publish", "t", name, at, {"ids": [1, "x"]}, body, key)
    assert decode(record.encode().encode(errors="surrogatepass").decode(errors="surrogatepass")) == record
    arrow_record = record._replace(body=Body("arrow", bytes(range(256))))
    assert decode(arrow_record.encode()) == arrow_record


def test_rows_are_the_same_in_every_format() -> None:
    for kind, data in (("json", rows_body(ROWS).data), ("ndjson", ndjson(ROWS)), ("arrow", arrow(ROWS))):
        reading = read_rows(Body(kind, data))  # type: ignore[arg-type]
        assert reading.table.select(["id", "ts"]).to_pylist() == [{"id": r["id"], "ts": r["ts"]} for r in ROWS]
        assert reading.rejects == []


@pytest.mark.parametrize("data", [b"", b"{}", b"\xff" * 64, arrow(ROWS)[:-40], arrow(ROWS)[:90]])
def test_what_is_no_arrow_stream_is_refused(data: bytes) -> None:
    with pytest.raises(UnreadableBody, match="Arrow stream"):
        read_rows(Body("arrow", data))


@given(st.data())
def test_damaged_arrow_is_refused_or_read(data: st.DataObject) -> None:
    whole = bytearray(arrow(ROWS))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(UnreadableBody, UnicodeDecodeError):
        read_rows(Body("arrow", bytes(whole))).table.to_pylist()


def test_compressed_arrow_is_refused_before_it_unfolds() -> None:
    rows: list[dict[str, Any]] = [{"id": i, "ts": 0, "point": [0.0]} for i in range(1000)]
    read_rows(Body("arrow", arrow(rows)))
    for compression in ("zstd", "lz4"):
        with pytest.raises(UnreadableBody, match="compressed"):
            read_rows(Body("arrow", arrow(rows, compression)))


def test_json_that_is_no_array_is_one_row_or_refused() -> None:
    assert read_rows(Body("json", b'{"id": 1}')).table.num_rows == 1
    assert read_rows(Body("json", b" ")).table.num_rows == 0
    with pytest.raises(UnreadableBody, match="JSON array"):
        read_rows(Body("json", b"[1,"))
    with pytest.raises(UnreadableBody, match="UTF-8"):
        read_rows(Body("json", b"\xff"))


def test_a_group_is_one_block_and_all_of_it_is_read_back(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "log")
    records = [Record("publish", "t", "s", i, {}, rows_body(ROWS)) for i in range(5)]
    journal.append(records[:3])
    journal.append(records[3:])
    assert (journal.n_groups, journal.n_records, journal.end) == (2, 5, 5)
    assert list(journal.since(1)) == records[1:]


def test_a_group_that_does_not_fit_leaves_nothing_and_the_next_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal(tmp_path / "log")
    journal.append([Record("publish", "t", "s", 0)])
    write = os.pwrite

    def half(descriptor: int, data: Any, position: int) -> int:
        write(descriptor, data[: len(data) // 2], position)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "pwrite", half)
    with pytest.raises(NoRoom):
        journal.append([Record("publish", "t", "s", 1)])
    monkeypatch.undo()
    journal.append([Record("publish", "t", "s", 2)])
    assert [record.at for record in journal.since(0)] == [0, 2]


def subscription(id: Id, k: int = 2) -> dict[str, Any]:
    return {"id": id, "k": k, "score": "euclidean", "point": [0.0, 0.0]}


HISTORY = [
    opening("t", "s", SPEC, 0),
    Record("subscribe", "t", "s", 1, {"until": 99}, rows_body([subscription("ann"), subscription("bob", 1)])),
    Record("publish", "t", "s", 2, {}, rows_body(ROWS), "key"),
    Record("publish", "t", "s", 3, {}, rows_body(ROWS), "key"),
    Record("publish", "t", "s", 4, {}, rows_body(ROWS)),
    Record("resize", "t", "s", 5, {"ids": ["bob"], "k": 2}),
    Record("put", "t", "s", 6, {}, rows_body([subscription("ann", 1)])),
    Record("retract", "t", "s", 7, {"ids": ["b"]}),
    Record("unsubscribe", "t", "s", 8, {"ids": ["bob"]}),
    Record("publish", "t", "s", 9, {}, Body("arrow", arrow([{"id": "c", "ts": 9, "point": [0.0, 0.5]}]))),
    Record("advance", "t", "s", 10, {"now": 600_000_003}),
    Record("publish", "t", "nowhere", 11, {}, rows_body(ROWS)),
]


def state(streams: StreamSet) -> Any:
    """Everything about the streams that anybody could see."""
    return [
        (
            stream.key,
            str(stream.last),
            stream.engine.now,
            stream.top(None),
            [(id, stream.registry.get(id)) for id in stream.registry],
            list(stream.keys.items()),
            stream.integer_ids,
            [(str(step.id), step.heard_by(None), step.ended) for step in stream.ring.since(stream.ring.begins) or ()],
        )
        for stream in streams
    ]


@pytest.mark.parametrize("checkpoint_at", [None, 0, 1, 5, 8, len(HISTORY)])
def test_recovery_leads_to_the_same_streams(tmp_path: Path, checkpoint_at: int | None) -> None:
    journal, checkpoints = Journal(tmp_path / "log"), Checkpoints(tmp_path / "checkpoints")
    journal.append(HISTORY[:4])
    journal.append(HISTORY[4:])
    expected = recover(journal, checkpoints, 1000)
    if checkpoint_at is not None:
        before = StreamSet(1000)
        for record in HISTORY[:checkpoint_at]:
            with contextlib.suppress(ValueError):
                before.do(record)
        checkpoints.write(checkpoint_at, before)
    assert state(recover(journal, checkpoints, 1000)) == state(expected)
    assert [stream.name for stream in expected] == ["s"]
    assert expected.get("t", "s").step == 9


def test_a_damaged_checkpoint_is_passed_over(tmp_path: Path) -> None:
    journal, checkpoints = Journal(tmp_path / "log"), Checkpoints(tmp_path / "checkpoints")
    journal.append(HISTORY)
    streams = recover(journal, checkpoints, 1000)
    checkpoints.write(journal.end, streams)
    for path in (tmp_path / "checkpoints").rglob("publications.arrow"):
        path.write_bytes(b"damage")
    assert state(recover(journal, checkpoints, 1000)) == state(streams)
    (tmp_path / "checkpoints" / f"{journal.end:020}" / "manifest.json").unlink()
    assert state(recover(journal, checkpoints, 1000)) == state(streams)


def test_two_checkpoints_are_kept_and_the_log_they_need(tmp_path: Path) -> None:
    journal, checkpoints = Journal(tmp_path / "log"), Checkpoints(tmp_path / "checkpoints")
    streams = StreamSet(1000)
    for record in HISTORY[:4]:
        journal.append([record])
        streams.do(record)
        checkpoints.write(journal.end, streams)
    assert checkpoints.offsets() == [4, 3]
    assert checkpoints.oldest() == 3


def test_a_log_without_its_beginning_needs_a_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal(tmp_path / "log")
    monkeypatch.setattr(Journal, "first", property(lambda self: 3))
    with pytest.raises(Unrecoverable, match="begins at record 3"):
        recover(journal, Checkpoints(tmp_path / "checkpoints"), 1000)


def test_a_subscription_is_replaced_only_by_one_that_the_engine_takes(tmp_path: Path) -> None:
    streams = StreamSet(1000)
    for record in HISTORY[:3]:
        streams.do(record)
    before = state(streams)
    other: dict[str, Any] = subscription("ann") | {"point": [0.0]}
    with pytest.raises(ValueError, match="point has 1 number"):
        streams.do(Record("put", "t", "s", 9, {}, rows_body([other])))
    assert state(streams) == before
    same = streams.do(Record("put", "t", "s", 9, {"until": 99}, rows_body([subscription("ann")])))
    assert same.steps == []
    assert state(streams) == before


def test_one_that_fails_unforeseen_takes_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    streams = StreamSet(1000)
    for record in HISTORY[:3]:
        streams.do(record)
    engine: Any = streams.get("t", "s").engine

    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(engine, "publish", fail)
    with pytest.raises(RuntimeError, match="MemoryError"):
        streams.do(HISTORY[4])
    monkeypatch.undo()
    with pytest.raises(RuntimeError, match="restore it from a backup, or drop it"):
        streams.do(HISTORY[4])
    streams.do(Record("drop", "t", "s", 9))
    assert len(streams) == 0
