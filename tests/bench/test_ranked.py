"""The evaluation of the ranked paper at toy size: equal answers, bounds that hold anywhere, and what is left out."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from skyband.bench import BENCHMARKS, Row, ranked_contest, ranked_data, ranked_entrant
from skyband.bench.ranked_contest import RankedEffort, check, contest, duel, leaves, n_events, tree_of, updates, work
from skyband.bench.ranked_data import RankedData, about, invented, short, sparse, subset, with_budgets, zipfian
from skyband.bench.ranked_entrant import (
    BUDGETED,
    DYNAMIC,
    EXACT,
    INDEXES,
    RELAXED,
    SCAN,
    SEGMENT,
    SOPT,
    TIERS,
    TIERS_DYNAMIC,
    BuiltEntrant,
    IndexEntrant,
    IndexScan,
    build,
    replaced,
)
from skyband.bench.real import VARIABLE, find
from skyband.bench.runner import WrongAnswer
from skyband.bench.suite import ranked
from skyband.ranked.kernels.fitting import Rule
from skyband.ranked.kernels.interval_scan import BestSlots, Events
from skyband.ranked.matcher import Matcher
from skyband.ranked.rows import UNLIMITED
from tests.bench.chosen import toys

QUICK = RankedEffort(1, 4, 0.01)
INTERSECT = IndexEntrant("intersect", "sopt", exact="intersect")


def silent(said: str) -> None:
    """Where progress is not looked at."""


def data_sets() -> list[RankedData]:
    return [
        zipfian(150, 1, 20),
        zipfian(90, 3, 20),
        short(120, 20),
        sparse(90, 12, 3, 20),
        about(invented(40), 60, 20, ""),
    ]


@pytest.mark.few(3)
@pytest.mark.parametrize("rule", [RELAXED, EXACT], ids=["relaxed", "exact"])
@pytest.mark.parametrize("entrant", [*INDEXES, INTERSECT], ids=lambda entrant: entrant.label)
def test_all_indexes_and_scan_give_the_same_answers(entrant: IndexEntrant, rule: Rule) -> None:
    for data in data_sets():
        check(build(entrant, rule, data).matcher, IndexScan(rule, data), data, 7, data.label)


def test_budgets_that_are_used_up_are_not_matched() -> None:
    data = zipfian(150, 1, 20)
    spent = data._replace(rows=with_budgets(data.rows))
    assert 0 < (spent.rows.budget == 0).sum() < 50
    assert (data.rows.budget == UNLIMITED).all()
    check(build(BUDGETED, RELAXED, data).matcher, IndexScan(RELAXED, spent), data, 7, "budgeted")


@pytest.mark.parametrize("dims", [1, 2])
def test_tiers_give_the_same_answers(dims: int) -> None:
    data = zipfian(150, dims, 20)
    built = build(TIERS, RELAXED, data)
    check(built.matcher, IndexScan(RELAXED, data), data, 7, "tiers")
    assert built.n_bytes > 0


@pytest.mark.parametrize("entrant", [DYNAMIC, TIERS_DYNAMIC], ids=lambda entrant: entrant.label)
def test_the_dynamic_form_is_a_tenth_replaced_with_merges_as_they_come(
    entrant: IndexEntrant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranked_entrant, "DELTA", 8)
    data = zipfian(150, 2, 20)
    built = build(entrant, RELAXED, data)
    matcher = built.matcher
    assert isinstance(matcher, Matcher)
    assert (built.n_merges > 0) == (entrant is DYNAMIC)
    matcher.check()
    asks = np.arange(150)
    asks[replaced(150)[:15]] += 1
    check(matcher, IndexScan(RELAXED, data._replace(rows=subset(data.rows, asks % 150))), data, 7, "dynamic")


def test_other_answers_are_not_timed() -> None:
    data = zipfian(60, 1, 20)
    other = data._replace(rows=subset(data.rows, np.arange(59, -1, -1)))
    with pytest.raises(WrongAnswer, match="differ"):
        check(build(SOPT, RELAXED, data).matcher, IndexScan(RELAXED, other), data, 5, "here")


@pytest.mark.parametrize("entrant", INDEXES, ids=lambda entrant: entrant.label)
def test_one_dimension_takes_k_accesses_and_what_was_just_missed(entrant: IndexEntrant) -> None:
    data = zipfian(300, 1, 20)
    lo, hi, points = data.rows.lo, data.rows.hi, data.points
    assert ((lo <= points) & (points <= hi)).sum(axis=1).min() >= 5
    found = work(build(entrant, RELAXED, data), data.events(20, 5))
    assert 5.0 <= found["sorted"] <= 6.0
    assert found["random"] == 0.0


@pytest.mark.parametrize("k", [1, 2, 7, 30])
def test_the_score_optimal_tree_opens_at_most_2k_leaves(k: int) -> None:
    for data in (zipfian(600, 1, 30), short(600, 30)):
        matcher = build(SOPT, RELAXED, data).matcher
        assert isinstance(matcher, Matcher)
        tree, width = tree_of(matcher)
        opened = leaves(tree, matcher, width, data.points[:, 0], k)
        assert opened.min() >= 1
        assert opened.max() <= 2 * k


@pytest.mark.jit_only
@pytest.mark.parametrize("kind", ["sopt", "r"])
def test_packed_trees_take_12_6_bytes_an_interval(kind: str) -> None:
    entrant = next(entrant for entrant in INDEXES if entrant.kind == kind)
    built = build(entrant, RELAXED, zipfian(20_000, 1, 1))
    # Beside it there are two IR-trees of nothing.
    assert built.n_bytes * 20_000 <= 12.6 * 20_000 + 65_536


def test_updates_replace_a_quarter_and_count_merges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranked_entrant, "DELTA", 8)
    data = zipfian(120, 2, 20)
    for entrant in (*INDEXES, TIERS):
        built = build(entrant, RELAXED, data)
        found = updates(built, data, 60.0)
        assert found["updates"] > 0
        # The first batch, of 3, is not counted.
        assert found["updated"] == 27
        assert (found["merges"] >= 1) == (entrant.kind != "ir" and entrant is not TIERS)
        assert isinstance(built.matcher, Matcher)
        built.matcher.check()


def test_updates_end_when_patience_does() -> None:
    data = zipfian(120, 1, 20)
    assert updates(build(SOPT, RELAXED, data), data, 0.0)["updated"] == 3


class Slow(IndexScan):
    """Brute force that has no time for more than a handful of events; `asked` are the numbers of events."""

    def __init__(self, rule: Rule, data: RankedData) -> None:
        super().__init__(rule, data)
        self.asked: list[int] = []

    def match(self, events: Events, sort: bool = True) -> BestSlots:
        self.asked.append(len(events.k))
        return super().match(events, sort)


def test_a_slow_index_is_asked_for_a_handful_of_events(monkeypatch: pytest.MonkeyPatch) -> None:
    data = zipfian(60, 1, 40)
    slow = Slow(RELAXED, data)
    quick = BuiltEntrant(SCAN, IndexScan(RELAXED, data), 0.0, 0.0)
    monkeypatch.setattr(ranked_contest, "n_events", lambda matcher, *rest: 5 if matcher is slow else 30)
    latencies, n, measures = duel(BuiltEntrant(SCAN, slow, 0.0, 0.0), quick, data, 3, RankedEffort(3, 40, 1.0))
    assert slow.asked == [5, 5]
    assert (len(latencies), n) == (3, 30)
    assert measures["ratio"] > 0
    slow.asked.clear()
    latencies, n, _ = duel(quick, BuiltEntrant(SCAN, slow, 0.0, 0.0), data, 3, RankedEffort(3, 40, 1.0))
    assert (len(latencies), n) == (1, 5)
    assert set(slow.asked) == {5}


def test_no_more_events_are_timed_than_there_is_patience_for() -> None:
    data = zipfian(60, 1, 40)
    scan = IndexScan(RELAXED, data)
    assert n_events(scan, data, 3, RankedEffort(3, 40, 0.0)) == ranked_contest.LEAST
    assert n_events(scan, data, 3, RankedEffort(3, 40, 1e6)) == 40
    assert n_events(scan, data, 3, RankedEffort(3, 2, 0.0)) == 2


def test_an_entrant_without_time_left_is_not_timed() -> None:
    effort = QUICK._replace(allowance=0.0, updating=1.0)
    rows = list(contest(zipfian(50, 1, 8), RELAXED, (SOPT,), [1, 2], effort, silent))
    assert all("used up" in row["skipped"] for row in rows)


def test_a_segment_tree_that_is_too_large_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranked_contest, "MOST_BYTES", 10.0)
    rows = list(contest(zipfian(50, 2, 8), RELAXED, (SOPT, SEGMENT), [1, 2], QUICK, silent))
    assert [(row["algorithm"], row["parameters"]["k"], row["skipped"] is None) for row in rows] == [
        ("SOPT-R", 1, True),
        ("SOPT-R", 2, True),
        ("Segment", 1, False),
        ("Segment", 2, False),
    ]
    assert "GB are allowed" in rows[2]["skipped"]
    table = BENCHMARKS["ranked-table2"].run("toy", silent)
    assert [row["algorithm"] for row in table if row["skipped"]] == ["Segment", "Segment"]
    figure = BENCHMARKS["ranked-figure6"]
    headers, cells = figure.table(figure.run("toy", silent))
    assert sum("allowed" in row[headers.index("note")] for row in cells) == 1


def test_what_would_not_fit_into_memory_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranked, "BYTES_A_PART", 1e15)
    rows = BENCHMARKS["ranked"].run("toy", silent)
    left_out = [row for row in rows if row["skipped"]]
    assert {row["parameters"]["d"] for row in left_out} == {1, 2}
    assert {row["parameters"]["data"] for row in rows if not row["skipped"]} == {"short"}
    headers, cells = BENCHMARKS["ranked"].table(rows)
    assert {len(row) for row in cells} == {len(headers)}


def test_table_2_of_the_paper_is_shown_beside_ours() -> None:
    table = BENCHMARKS["ranked-table2"]
    row = table.run("toy", silent)[1] | {"algorithm": "IR", "parameters": {"n_subscriptions": 1_000_000}}
    headers, cells = table.table([row])
    assert cells[0][headers.index("MB, paper")] == "16.5"


def test_short_intervals_have_a_thousand_at_a_point() -> None:
    data = short(20_000, 10)
    stabbed = ((data.rows.lo <= data.points) & (data.points <= data.rows.hi)).sum(axis=1)
    assert 700 < stabbed.mean() < 1300


def test_sparse_subscriptions_ask_about_distinct_dimensions() -> None:
    data = sparse(200, 4, 3, 1)
    dims = data.rows.dim.reshape(-1, 3)
    assert (np.diff(dims) > 0).all()
    assert set(dims.ravel().tolist()) == {0, 1, 2, 3}


def test_people_come_from_the_file_or_the_run_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    rows = BENCHMARKS["ranked-census"].run("small", silent)
    assert len(rows) == len(ranked.PEOPLE["small"].ns)
    assert all(VARIABLE in row["skipped"] for row in rows)
    _, cells = BENCHMARKS["ranked-census"].table(rows)
    assert VARIABLE in cells[0][-1]
    people = {name: pa.array([1, 3, 2]) for name in ranked_data.COLUMNS[:-1]} | {"capital_loss": pa.array([0, 0, 0])}
    pq.write_table(pa.table(people), tmp_path / ranked_data.FILE)
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    few = ranked.PEOPLE["small"]._replace(ns=(8,), effort=QUICK)
    monkeypatch.setitem(ranked.PEOPLE, "small", few)
    assert all(row["skipped"] is None for row in BENCHMARKS["ranked-census"].run("small", silent))
    path = find(ranked_data.FILE)
    assert path is not None
    assert ranked_data.read(path).tolist() == [[0, 0, 0, 0, 0], [1, 1, 1, 1, 0], [0.5, 0.5, 0.5, 0.5, 0]]


@pytest.mark.parametrize("name", toys("ranked", "ranked-figure6", "ranked-figure7", "ranked-figure9", "ranked-census"))
def test_rows_say_what_their_ratios_are_to(name: str, runs: dict[str, list[Row]]) -> None:
    firsts = {row["contest"]: row for row in reversed(runs[name])}
    assert {row["algorithm"] for row in firsts.values()} == {"SOPT-R"}
    assert {row["measures"]["ratio"] for row in firsts.values()} == {1.0}


@pytest.mark.parametrize(
    "name",
    toys("ranked", "ranked-figure7", "ranked-figure8", "ranked-figure9", "ranked-census", "ranked-sparse"),
)
def test_tiers_take_part_in_relaxed_matching_in_several_dimensions(name: str, runs: dict[str, list[Row]]) -> None:
    wanted = {row["contest"] for row in runs[name] if 1 < row["parameters"]["d"] <= 16}
    wanted -= {row["contest"] for row in runs[name] if row["parameters"]["matching"] == "exact"}
    assert wanted
    assert {row["contest"] for row in runs[name] if row["algorithm"] == "Tiers"} == wanted
