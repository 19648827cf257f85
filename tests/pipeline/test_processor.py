"""What a pipeline uses of its processors is told once, by whom it was used. No Spark here."""

import time
from typing import Any

import pyarrow as pa
import pytest

from skyband.pipeline.processor import SPENT, STAGES, Account, java_of_worker, telling, told_by_source, used
from skyband.pipeline.stage.ipc import packed, unpacked, unpacked_with_costs
from skyband.pipeline.state.folder import Commit
from skyband.status.figure import figures_of, totals_of

ROUTER: dict[str, Any] = {
    "commands": 1, "publications": 4, "copies": 4, "late": 2, "dead": 1, "retracted": 1, "retracted_late": 1,
    "subscriptions": 1, "now": 0, "sent": [],
}  # fmt: skip


def work(seconds: float) -> None:
    """Keep a processor busy."""
    over = time.process_time() + seconds
    while time.process_time() < over:
        pass


def test_a_process_tells_what_it_has_used_once() -> None:
    used()
    work(0.02)
    assert used() >= 0.02
    before = time.process_time()
    told = used()
    assert 0 <= told <= time.process_time() - before + 0.02


def test_sources_tell_beside_their_rows() -> None:
    used()
    batches = [
        pa.record_batch({"value": ["a", "b"]}),
        pa.record_batch({"value": []}),
        pa.record_batch({"value": ["c"]}),
    ]

    def slow() -> Any:
        for batch in batches:
            work(0.01)
            yield batch

    found = list(telling(slow(), before=5.0))
    assert [batch.column("value").to_pylist() for batch in found] == [["a", "b"], ["c"]]
    assert found[0].column(SPENT).null_count == 1
    first, second = map(told_by_source, found)
    assert first >= 5.01
    # What was used for the batch without rows is told with the next one.
    assert 0.02 <= second < 5.0
    assert told_by_source(batches[0]) == 0.0


def test_parcels_tell_what_making_them_took() -> None:
    table = pa.table({"id": [1, 2]})
    parcels = [
        packed(-1, table, {"source": 1.0, "prepare": 2.0}),
        packed(-1, table),
        packed(-1, table, {"prepare": 0.5}),
    ]
    rows, spent = unpacked_with_costs(iter(parcels), table.schema)
    assert spent == {"source": 1.0, "prepare": 2.5}
    assert rows.schema.metadata is None
    assert rows == unpacked(iter(parcels), table.schema) == pa.concat_tables([table] * 3)


def test_an_account_is_taken_once() -> None:
    account = Account(None)
    account.begin()
    work(0.02)
    account.lap("merge")
    account.add([{"processor": {"source": 1.0, "route": 2.0}}, {"processor": {"match": 3.0}, "java": None}])
    account.add([{"processor": {"match": 4.0}}])
    taken = account.take()
    assert tuple(taken) == STAGES
    assert taken["merge"] >= 0.02
    assert (taken["source"], taken["route"], taken["match"], taken["jvm"]) == (1.0, 2.0, 7.0, 0.0)
    assert set(account.take().values()) == {0.0}


def test_executors_count_from_when_they_are_known() -> None:
    account = Account(None)
    reports: list[dict[str, Any]] = [
        {"processor": {}, "java": java} for java in (["a", 10.0], ["b", 50.0], ["a", 11.0], ["a", 11.5], None)
    ]
    account.add(reports)
    assert account.take()["jvm"] == 1.5
    assert all("java" not in report for report in reports)
    account.add([{"processor": {}, "java": ["b", 52.0]}])
    assert account.take()["jvm"] == 2.0


def test_without_spark_nobody_works_for_java() -> None:
    assert java_of_worker() is None


def test_figures_are_for_each_row_that_came() -> None:
    commits = [
        Commit(number, {"at": 0.0, "seconds": 1.0, "changes": 0, "parts": {"router": ROUTER}} | told, {}, {})
        for number, told in enumerate(({}, {"processor": {"route": 1.0, "jvm": 2.0}}, {"processor": {"route": 3.0}}))
    ]
    earlier, told, _ = map(figures_of, commits)
    assert (earlier["processor"], earlier["processor_us_per_row"]) == ({}, {})
    assert told["processor_us_per_row"] == {"route": pytest.approx(1e5), "jvm": pytest.approx(2e5)}
    totals = totals_of(map(figures_of, commits))
    # Batches of earlier versions, which do not tell, are not counted as free.
    assert (totals["processor"], totals["processor_rows"]) == ({"route": 4.0, "jvm": 2.0}, 20)
    assert totals["processor_us_per_row"]["route"] == pytest.approx(2e5)
