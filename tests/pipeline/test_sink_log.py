"""The embedded log as a sink: every change once, as JSON, in order."""

import json
from pathlib import Path

import pyarrow as pa
import pytest

from skyband.log import Log
from skyband.log.segment import Segment
from skyband.pipeline.config import Endpoint
from skyband.pipeline.sink import Sink, SinkFailed, open_sink
from tests.pipeline.staging import Batch, changes_schema, some_changes


def open_log(tmp_path: Path, state: str = "state", schema: pa.Schema | None = None) -> Sink:
    """The sink of changes in the log `out`."""
    endpoint = Endpoint("log", {"path": str(tmp_path / "out")})
    schema = changes_schema() if schema is None else schema
    return open_sink(endpoint, "changes", spark=None, folder=tmp_path / state, schema=schema)


def records(tmp_path: Path) -> list[dict[str, object]]:
    """What the log holds."""
    log = Log(tmp_path / "out")
    return [json.loads(value) for value in log.read(log.first)["value"].to_pylist()]


def rows_of(batches: list[Batch]) -> list[dict[str, object]]:
    """The rows of batches."""
    return [row for batch in batches for row in batch.table.to_pylist()]


def test_changes_are_there_once_and_in_order(tmp_path: Path) -> None:
    batches = [some_changes(tmp_path, number, n_rows) for number, n_rows in ((0, 100), (3, 1), (4, 30))]
    for place, batch in enumerate(batches):
        sink = open_log(tmp_path)
        sink.deliver(*batch.given)
        sink.deliver(*batches[0].given)
        sink.close()
        assert records(tmp_path) == rows_of(batches[: place + 1])
    assert Log(tmp_path / "out").last_batch == 4


def test_times_are_iso_in_utc(tmp_path: Path) -> None:
    batch = some_changes(tmp_path, 0, 3, changes_schema(timed=True))
    sink = open_log(tmp_path, schema=changes_schema(timed=True))
    sink.deliver(*batch.given)
    sink.close()
    told = [f"{row['at']:%Y-%m-%dT%H:%M:%S.%f}Z" for row in batch.table.to_pylist()]
    assert [row["at"] for row in records(tmp_path)] == told


def test_no_room_is_told_and_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    batches = [some_changes(tmp_path, number, 20) for number in range(2)]
    sink = open_log(tmp_path)
    sink.deliver(*batches[0].given)

    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Segment, "append", refuse)
        with pytest.raises(
            SinkFailed, match=r"^The log sink at .*out could not take batch 1 \(No space left on device\)"
        ):
            sink.deliver(*batches[1].given)
    assert records(tmp_path) == rows_of(batches[:1])
    sink.deliver(*batches[1].given)
    assert records(tmp_path) == rows_of(batches)
    sink.close()


def test_logs_of_others_are_refused(tmp_path: Path) -> None:
    sink = open_log(tmp_path)
    with pytest.raises(ValueError, match="has another writer"):
        open_log(tmp_path)
    sink.close()
    with pytest.raises(ValueError, match="written by a run with another state folder"):
        open_log(tmp_path, "another")
    (tmp_path / "out" / ".skyband.json").unlink()
    with pytest.raises(ValueError, match="which no sink wrote; choose an empty folder"):
        open_log(tmp_path)
