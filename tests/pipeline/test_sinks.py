"""Sinks by their names: which there are, and what is wrong with an endpoint."""

from pathlib import Path

import pyarrow as pa
import pytest

from skyband.pipeline.config import Endpoint
from skyband.pipeline.sink import SINKS, open_sink
from tests.pipeline.staging import changes_schema, some_changes


def test_discard_takes_everything(tmp_path: Path) -> None:
    batch = some_changes(tmp_path, 0, 2)
    for what in SINKS["discard"].accepts:
        sink = open_sink(Endpoint("discard", {}), what, spark=None, folder=tmp_path / "state", schema=pa.schema([]))
        sink.deliver(*batch.given)
        sink.close()
    assert list(tmp_path.iterdir()) == [batch.path]


@pytest.mark.parametrize(
    ("endpoint", "what", "message"),
    [
        (Endpoint("xml", {}), "changes", "there is no format 'xml'; there are parquet, ndjson, csv, log, postgres"),
        (Endpoint("csv", {"path": "x"}), "tops", "csv takes no tops; those that do are parquet, postgres, kafka"),
        (Endpoint("csv", {"folder": "x"}), "changes", "csv has no option 'folder'; its options are path"),
        (Endpoint("discard", {"path": "x"}), "changes", "discard has no option 'path'; it has none"),
        (Endpoint("csv", {}), "changes", "csv needs the option path, the folder to write to"),
        (Endpoint("csv", {"path": 3}), "changes", "the option path of csv must be text"),
        (Endpoint("parquet", {"path": "x", "compact_every": 0}), "tops", "must be an integer from 1 up"),
        (Endpoint("parquet", {"path": "x", "compact_every": True}), "tops", "must be an integer from 1 up"),
        (
            Endpoint("kafka", {"servers": "x", "topic": "t", "options": "x"}),
            "changes",
            "the option options of kafka must be a mapping",
        ),
        (Endpoint("kafka", {"servers": "x", "topic": "t"}), "changes", "kafka needs a Spark session"),
    ],
)
def test_endpoints_that_cannot_be(endpoint: Endpoint, what: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        open_sink(endpoint, what, spark=None, folder=tmp_path, schema=changes_schema())  # type: ignore[arg-type]  # a word


def test_every_kind_of_sink_is_described() -> None:
    assert all(name == kind.name and kind.description.endswith(".") and kind.accepts for name, kind in SINKS.items())
    assert all(option.description for kind in SINKS.values() for option in kind.options.values())
