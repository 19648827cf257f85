"""Races: what is counted of each engine, who takes turns with whom, and what is left out."""

import math

import pyarrow as pa
import pytest

from skyband.bench import geotext_contest
from skyband.bench.geotext_contest import (
    SCAN,
    GeotextCourse,
    GeotextEntrant,
    GeotextRunner,
    GeotextSetting,
    Meter,
    contest,
)
from skyband.bench.geotext_corpus import REAL, Corpus
from skyband.bench.real import VARIABLE
from skyband.bench.runner import WrongAnswer
from skyband.geotext.scan import GeotextScan

SETTING = GeotextSetting(Corpus("tweets", 10_000), 8, 30, 10, 5, 3, k=2)
SKYPE, OURS = GeotextEntrant("skype", "skype", {"groups": 3}, {"shown": 1}), GeotextEntrant("blocks", "blocks")


def quiet(said: str) -> None:
    pass


def test_every_entrant_has_a_row_and_the_first_stays() -> None:
    said: list[str] = []
    rows = list(contest(SETTING, [SKYPE, OURS, SCAN], 2, "here", said.append))
    assert [row["algorithm"] for row in rows] == ["skype", "blocks", "scan"]
    assert said == ["here: skype", "here: blocks", "here: scan"]
    assert {row["contest"] for row in rows} == {"here"}
    for row in rows:
        assert len(row["latencies"]) == SETTING.n_rounds
        assert row["n_operations"] == SETTING.batch
        found = row["measures"]
        assert found["all_us"] == pytest.approx(sum(row["latencies"]) / 15 / 1e3)
        assert found["publications"] == 1.0
        assert (found["warmed"], found["first.all_us"] > 0) == (10.0, True)
    # Each goes on from where its warm-up ended, so that the second and the third see the same messages.
    assert rows[1]["measures"]["changes"] == rows[2]["measures"]["changes"]
    assert rows[0]["measures"]["first.all_us"] == rows[0]["measures"]["all_us"]
    assert rows[2]["measures"]["first.all_us"] != rows[1]["measures"]["first.all_us"]
    given = rows[0]["parameters"]
    assert (given["engine"], given["groups"], given["shown"], given["data"]) == ("skype", 3, 1, "tweets")
    assert {"arrival_us", "expiry_us", "index.accepted", "row_length", "bytes.index"} <= set(rows[0]["measures"])
    assert "arrival_us" in rows[2]["measures"]
    assert "row_length" not in rows[2]["measures"]


def test_granularities_take_turns_on_one_engine() -> None:
    setting = SETTING._replace(granularities=("batch", "publication"))
    rows = list(contest(setting, [OURS], 3, "here", quiet))
    assert [row["parameters"]["granularity"] for row in rows] == ["batch", "publication"]
    for row in rows:
        assert row["measures"]["publications"] == 1.0
        assert row["measures"]["first.all_us"] == row["measures"]["all_us"]


def test_times_are_of_arrivals_and_of_expiries() -> None:
    (row,) = contest(SETTING, [OURS], 3, "here", quiet)
    found = row["measures"]
    assert found["arrival_us"] > 0
    assert found["expiry_us"] > 0
    assert found["arrival_us"] + found["expiry_us"] <= found["all_us"]


def test_what_expires_has_expired_before_the_next_batch_arrives() -> None:
    setting = SETTING._replace(n_warm=0)
    course = GeotextCourse(setting, 1)
    runner = GeotextRunner(course, SCAN)
    for turn in range(setting.n_rounds):
        before = runner.engine.top()
        changes = runner.publish("batch", turn)
        assert isinstance(runner.engine, GeotextScan)
        assert runner.engine._store is not None
        assert runner.engine._store.size == setting.n_live
        assert runner.engine.now == course.ts[runner.position - 1]
        assert len(before) + (changes["op"].to_pylist().count("enter") - changes["op"].to_pylist().count("leave")) == (
            len(runner.engine.top())
        )


def test_a_meter_leaves_the_first_round_out() -> None:
    runner = GeotextRunner(GeotextCourse(SETTING, 1), OURS)
    meter = Meter({"blocks": runner})
    for turn in range(3):
        meter.note("blocks", turn, runner.publish("batch", turn))
    assert meter.measures("blocks", 10)["publications"] == 1.0
    meter.note("blocks", 3, None)
    assert meter.measures("blocks", 10)["publications"] == 1.0


def test_warming_up_ends_with_the_patience() -> None:
    assert GeotextRunner(GeotextCourse(SETTING._replace(patience=0.0), 1), OURS).measures["warmed"] == 0.0
    assert GeotextRunner(GeotextCourse(SETTING._replace(n_warm=7), 1), OURS).measures["warmed"] == 7.0


def test_the_length_of_rows_is_noted_as_windows_pass() -> None:
    kmax = GeotextEntrant("kmax", "skype", {"policy": "kmax"})
    setting = SETTING._replace(n_subscriptions=40, n_live=200, n_warm=200, batch=20)
    told = GeotextRunner(GeotextCourse(setting, 1), kmax).measures
    # Rows of kmax are as long as a search leaves them, three times k, and shrink until the next one.
    assert 6.0 >= told["row_length_tenth"] > told["row_length_window"] > 0.0
    early = GeotextRunner(GeotextCourse(setting._replace(n_warm=20), 1), kmax).measures
    assert "row_length_tenth" in early
    assert "row_length_window" not in early
    assert "row_length_tenth" not in GeotextRunner(GeotextCourse(SETTING, 1), SCAN).measures


def test_the_share_of_full_tops_is_noted() -> None:
    full = GeotextRunner(GeotextCourse(SETTING._replace(k=1), 1), OURS).measures["full"]
    assert 0.5 < full <= 1.0
    assert GeotextRunner(GeotextCourse(SETTING._replace(k=1000), 1), OURS).measures["full"] == 0.0


def test_a_wrong_answer_is_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    course = GeotextCourse(SETTING, 1)
    runner = GeotextRunner(course, OURS)
    monkeypatch.setattr(runner.engine, "top", lambda ids: pa.table({"rank": [1]}))
    with pytest.raises(WrongAnswer, match="tweets, blocks: the answers differ"):
        runner._check()


def test_without_real_data_rows_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    for data in REAL:
        rows = list(contest(SETTING._replace(corpus=Corpus(data)), [SKYPE, OURS], 2, "here", quiet))
        assert [row["algorithm"] for row in rows] == ["skype", "blocks"]
        assert all("does not name a folder" in row["skipped"] for row in rows)
        assert rows[0]["parameters"]["data"] == data


def test_parameters_can_be_stored() -> None:
    assert all(isinstance(value, int | str) for value in SETTING.parameters.values())
    assert SETTING.patience == math.inf
    assert SETTING.n_subscriptions < geotext_contest.N_CHECKED
