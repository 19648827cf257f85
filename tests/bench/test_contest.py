"""A contest compares before it times, and a sweep stops where the next size would be too much."""

import pyarrow as pa
import pytest

from skyband.bench.contest import check_tops, duel, fill, ranges_case, ranked_case, window_case
from skyband.bench.row import Row, measured
from skyband.bench.runner import Spent, WrongAnswer, reluctance, require_equal, sweep
from skyband.bench.scan import check_matches
from skyband.contract import AnyEngine

N, LIVE, BATCH, ROUNDS = 10, 12, 3, 2


def test_brute_force_scores_every_publication_for_every_subscription() -> None:
    scan, oracle = duel(window_case("uniform", LIVE), ("scan", "oracle"), N, BATCH, ROUNDS)
    # No row runs short here (k = 9 of at most 26 kept), so nothing is scored twice.
    assert scan["measures"]["refilled"] == 0
    assert scan["measures"]["scored"] == BATCH * N
    assert scan["measures"]["publications"] == BATCH
    assert scan["measures"]["changes"] == oracle["measures"]["changes"]
    assert scan["n_operations"] == BATCH * N
    assert len(scan["latencies"]) == len(oracle["latencies"]) == ROUNDS
    assert scan["contest"] == oracle["contest"]


def test_ranges_hold_every_change_against_every_subscription() -> None:
    scan, _ = duel(ranges_case(8), ("scan", "oracle"), N, BATCH, ROUNDS)
    assert scan["measures"]["compared"] == BATCH * N + 8 * scan["measures"].get("refilled", 0.0)


def test_a_refill_scores_everything_live() -> None:
    case = window_case("uniform", LIVE)
    made = case.generate(N, 0)
    engine = case.open("scan")
    fill(engine, made.subscriptions.slice(0, 0), made.publications, case.fill_batch)
    before = engine.counters
    engine.subscribe(made.subscriptions)
    after = engine.counters
    assert after["refilled"] - before.get("refilled", 0) == N
    assert after["scored"] - before.get("scored", 0) == N * LIVE


def filled(n_live: int = LIVE) -> tuple[AnyEngine, pa.Table, pa.Table]:
    case = window_case("clustered", n_live)
    made = case.generate(N, 0)
    engine = case.open("scan")
    fill(engine, made.subscriptions, made.publications, case.fill_batch)
    return engine, made.subscriptions, made.publications


def test_tops_are_compared_with_those_of_a_fresh_engine() -> None:
    engine, subscriptions, publications = filled()
    case = window_case("clustered", LIVE)
    check_tops(case, engine, subscriptions, publications)
    with pytest.raises(WrongAnswer, match="window clustered: the answers differ"):
        check_tops(case, engine, subscriptions, publications.slice(0, LIVE - 1))


def test_matches_are_compared_with_the_oracle() -> None:
    case = ranked_case()
    made = case.generate(N, 4)
    engine = case.open("scan")
    engine.subscribe(made.subscriptions)
    check_matches(case, engine, made.subscriptions, made.publications.slice(0, 2))
    ended = case.open("scan")
    ended.subscribe(made.subscriptions.slice(0, 1))
    with pytest.raises(WrongAnswer):
        check_matches(case, ended, made.subscriptions, made.publications.slice(2))


def test_different_answers_are_not_timed() -> None:
    one, other = pa.table({"id": [1]}), pa.table({"id": [2]})
    require_equal(one, one, "same")
    with pytest.raises(WrongAnswer, match="1 rows, and 1 were expected"):
        require_equal(one, other, "case")


def test_a_size_is_skipped_when_it_would_take_too_long_or_too_much() -> None:
    first, second = Spent(n=100, seconds=2.0, n_bytes=0.0), Spent(n=200, seconds=3.0, n_bytes=1e9)
    assert reluctance(1000, [], 0.0, 0.0) is None
    assert reluctance(1000, [first], 0.0, 0.0) is None
    assert reluctance(1000, [first, second], 11.0, 1e12) is None
    assert "11 s, and 10 s are allowed" in str(reluctance(1000, [first, second], 10.0, 1e12))
    assert "27.0 GB of memory, and 20.0 GB are free" in str(reluctance(1000, [first, second], 11.0, 2e10))


def test_noise_does_not_make_a_larger_size_look_cheaper() -> None:
    first, second = Spent(n=100, seconds=3.0, n_bytes=0.0), Spent(n=200, seconds=2.0, n_bytes=0.0)
    assert "2 s" in str(reluctance(1000, [first, second], 1.0, 1e12))


def test_a_sweep_says_what_it_skips() -> None:
    told: list[str] = []

    def one_row(n: int) -> list[Row]:
        return [measured("c", "scan", {"n_subscriptions": n}, [1], 1, {"bytes.rows": n * 1e15})]

    first, second, third = sweep("case", "scan", (1, 2, 10), 60.0, one_row, told.append)
    assert first["skipped"] is None
    assert second["skipped"] is None
    assert "GB of memory" in third["skipped"]
    assert third["skipped"] in told[2]
