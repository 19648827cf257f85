"""The benchmark of the server: what it counts does not depend on the machine, and its answers are checked."""

import numpy as np
import pytest

from skyband.bench import BENCHMARKS, served_bodies
from skyband.bench.runner import WrongAnswer
from skyband.bench.served_bodies import _arrow, _json, _ndjson, _table, body_rows
from skyband.bench.served_crowd import listened
from skyband.bench.served_process import may_open
from skyband.server.store.record import Body
from skyband.server.store.rows import read_rows


def test_all_formats_hold_the_same_rows() -> None:
    table = _table(3, np.arange(8.0).reshape(4, 2))
    for kind, encode in (("arrow", _arrow), ("json", _json), ("ndjson", _ndjson)):
        found = read_rows(Body(kind, encode(table))).table  # type: ignore[arg-type]
        assert found.select(["id", "ts"]).to_pylist() == table.select(["id", "ts"]).to_pylist()


def test_more_files_than_there_can_be_are_refused() -> None:
    assert may_open(1)
    assert not may_open(2**40)


@pytest.mark.changed("src/skyband/server/", "src/skyband/bench/")
def test_a_toy_run_measures_push_and_bodies() -> None:
    rows = BENCHMARKS["serve"].run("toy", lambda said: None)
    one, all_told, *bodies = rows
    for told, push in (("one", one), ("all", all_told)):
        assert push["parameters"] == {"n_listeners": 3, "n_subscriptions": 20, "n_published": 5, "told": told}
        assert len(push["latencies"]) == 5
        assert 0 < push["measures"]["p50_ms"] <= push["measures"]["p99_ms"]
    assert [row["algorithm"] for row in bodies] == ["engine", "arrow", "ndjson", "json"]
    assert all(len(row["latencies"]) == 4 and row["measures"]["rows_per_s"] > 0 for row in bodies)
    assert len(BENCHMARKS["serve"].table(rows)[1]) == 6


def test_listeners_of_their_own_are_never_told() -> None:
    assert {listened(i, 20) for i in range(100)} == {str(i) for i in range(1, 20)}
    assert {listened(i, 0) for i in range(100)} == {"0"}


@pytest.mark.changed("src/skyband/server/", "src/skyband/bench/")
def test_another_top_than_that_of_the_engine_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    other = {"arrow": ("application/json", lambda table: _json(table.slice(0, 0)))}
    monkeypatch.setattr(served_bodies, "FORMATS", other)
    with pytest.raises(WrongAnswer, match="other tops"):
        list(body_rows(5, 2, 2, 3))
