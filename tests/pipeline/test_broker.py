"""A broker as a source and as a sink of a pipeline: everything once, in order, after restarts and repeats too."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from skyband.broker import BrokerClient, RunningBroker
from skyband.pipeline.config import BadConfiguration, Endpoint, make_config
from skyband.pipeline.sink import Sink, SinkFailed, open_sink
from skyband.pipeline.source.source import check_source
from tests.broker.processes import at
from tests.broker.threads import chart_of, running
from tests.pipeline.staging import Batch, changes_schema, some_changes


@pytest.fixture
def site(tmp_path: Path) -> Iterator[RunningBroker]:
    """A broker whose publications have one coordinate."""
    with running(chart_of(tmp_path, ("berlin",), dims=1), "berlin") as (broker,):
        yield broker


def opened(address: str, tmp_path: Path, state: str = "state") -> Sink:
    """A sink of changes at a broker."""
    endpoint = Endpoint("broker", {"address": address, "seconds": 20})
    return open_sink(endpoint, "changes", spark=None, folder=tmp_path / state, schema=changes_schema())


def published(address: str) -> list[tuple[list[Any], list[float]]]:
    """What was published at a broker, with ids as the lists that they are."""
    with BrokerClient(address) as client:
        return [(json.loads(each.row["id"]), each.row["point"]) for each in client.publications().rows]


def wanted(batches: list[Batch]) -> list[tuple[Any, ...]]:
    """What a sink has to publish of batches."""
    rows = [row for batch in batches for row in batch.table.to_pylist()]
    return [
        (row["subscription"], row["publication"], row["batch"], row["row"], [row["score"]])
        for row in rows
        if row["op"] != "leave"
    ]


def finite(tmp_path: Path, number: int, n_rows: int) -> Batch:
    """A batch of which the broker takes every score."""
    import pyarrow as pa
    import pyarrow.parquet

    batch = some_changes(tmp_path, number, n_rows)
    scores = pa.array([float(i) for i in range(n_rows)], pa.float64())
    place = batch.table.schema.get_field_index("score")
    table = batch.table.set_column(place, batch.table.schema.field("score"), scores)
    pa.parquet.write_table(table, batch.path)
    return batch._replace(table=table)


def test_a_batch_is_published_once_however_often_it_is_delivered(site: RunningBroker, tmp_path: Path) -> None:
    batches = [finite(tmp_path, number, n_rows) for number, n_rows in ((0, 40), (3, 1), (4, 30))]
    for batch in batches:
        sink = opened(site.address, tmp_path)
        sink.deliver(*batch.given)
        sink.deliver(*batches[0].given)
        # As after a crash between publishing and noting it.
        (tmp_path / "state" / "broker.json").unlink()
        sink.deliver(*batch.given)
        sink.close()
    told = published(site.address)
    assert [(id[0], id[1], id[3], id[4], point) for id, point in told] == wanted(batches)
    assert len({id[2] for id, _ in told}) == 1


def test_runs_do_not_take_each_other_for_the_same(site: RunningBroker, tmp_path: Path) -> None:
    batch = finite(tmp_path, 0, 20)
    for state in ("one", "other"):
        sink = opened(site.address, tmp_path, state)
        sink.deliver(*batch.given)
        sink.close()
    assert len(published(site.address)) == 2 * len(wanted([batch]))


def test_what_a_broker_refuses_is_told_and_loses_nothing(tmp_path: Path) -> None:
    batch = finite(tmp_path, 0, 20)
    with running(chart_of(tmp_path, ("berlin",)), "berlin") as (broker,):
        sink = opened(broker.address, tmp_path)
        with pytest.raises(SinkFailed, match=r"could not take batch 0: .* needs the family window with dims: 1"):
            sink.deliver(*batch.given)
        assert published(broker.address) == []
        sink.close()
    assert not (tmp_path / "state" / "broker.json").exists()


def test_a_broker_that_is_not_there_is_told_of(tmp_path: Path) -> None:
    endpoint = Endpoint("broker", {"address": "127.0.0.1:1", "seconds": 1})
    with pytest.raises(SinkFailed, match=r"cannot begin: The broker at 127.0.0.1:1 was tried for 1 s"):
        open_sink(endpoint, "changes", spark=None, folder=tmp_path / "state", schema=changes_schema())
    missing = Endpoint("broker", {"address": "127.0.0.1:1", "token_file": str(tmp_path / "none")})
    with pytest.raises(ValueError, match=r"The token in .*none cannot be read"):
        open_sink(missing, "changes", spark=None, folder=tmp_path / "state", schema=changes_schema())


def test_a_broker_hands_over_publications_only() -> None:
    with pytest.raises(BadConfiguration, match="what is published there, and nothing else"):
        check_source("subscriptions", Endpoint("broker", {"address": "127.0.0.1:1"}))
    with pytest.raises(BadConfiguration, match="needs the option address"):
        check_source("publications", Endpoint("broker", {}))


def test_files_are_looked_for_beside_the_configuration(tmp_path: Path) -> None:
    site = {"format": "broker", "address": "localhost:7500", "token_file": "token", "authority": "authority.pem"}
    document = {"family": "window", "dims": 1, "publications": site, "subscriptions": {"format": "log", "path": "in"}}
    options = make_config(document | {"state": "state"}, tmp_path).publications.options
    assert (options["token_file"], options["authority"]) == (str(tmp_path / "token"), str(tmp_path / "authority.pem"))
    other = Endpoint("broker", options | {"token_file": "elsewhere", "seconds": 5})
    assert other.place() == Endpoint("broker", options).place()
    assert "token" not in other.describe()


@pytest.mark.spark
def test_a_stream_reads_each_publication_once_across_restarts(spark: Any, tmp_path: Path) -> None:
    from skyband.pipeline.source.source import read_source

    chart = chart_of(tmp_path, ("berlin",))
    read: list[tuple[int, dict[str, Any]]] = []
    sizes: list[int] = []

    def take(batch: Any, number: int) -> None:
        rows = sorted((row.offset, json.loads(row.value)) for row in batch.collect())
        sizes.append(len(rows))
        read.extend(rows)

    sent: list[int] = []
    for _ in range(2):
        with running(chart, "berlin") as (broker,), BrokerClient(broker.address) as client:
            client.publish([at(len(sent) + i, i / 10, 0.5) for i in range(7)])
            sent += range(len(sent), len(sent) + 7)
            endpoint = Endpoint("broker", {"address": broker.address})
            rows = read_source(spark, "publications", endpoint, stream=True, max_rows=3)
            writer = rows.writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
            writer.foreachBatch(take).trigger(availableNow=True).start().awaitTermination()
            told = client.publications().rows
            batch = read_source(spark, "publications", endpoint, stream=False, max_rows=None).collect()
    assert sizes == [3, 3, 1, 3, 3, 1]
    assert [row["id"] for _, row in read] == sent
    assert read == [(row.number, row.row | {"ts": row.ts}) for row in told]
    assert sorted(row.offset for row in batch) == [number for number, _ in read]
