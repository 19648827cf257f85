"""The evaluation of covering at toy size: what its parts promise, what is left out, and figures that hold anywhere."""

import numpy as np
import pytest

from skyband.bench import BENCHMARKS, Row, covering_data, covering_recall, runner
from skyband.bench.covering_contest import LEAST, CoveringEffort, build, check, compare, feasible
from skyband.bench.covering_data import (
    LARGE,
    CoveringData,
    CoveringSetting,
    CoverScan,
    covers,
    draw,
    lengths_of,
    n_probes,
    on_curve,
    queries,
    raised,
)
from skyband.bench.covering_recall import Limited
from skyband.bench.covering_speedup import RegionCase, SpeedupPlan, foretell, regions, sparse, speed_up
from skyband.bench.runner import WrongAnswer
from skyband.covering.kernels.corners import NONE
from skyband.covering.kernels.cubes import n_cubes
from skyband.covering.roots import Roots
from skyband.covering.search import Greedy
from tests.bench.chosen import toys

SETTINGS = (
    CoveringSetting(60, 2, bits=6),
    CoveringSetting(80, 2, sides=LARGE, bits=5),
    CoveringSetting(80, 3, "clustered", bits=7),
    CoveringSetting(50, 2, "zipfian", bits=16),
    CoveringSetting(1, 2, bits=5),
)
EFFORT = CoveringEffort(8, 1, 2, 0.01, 500, 500, (0.5,))


def silent(said: str) -> None:
    """Where progress is not looked at."""


def covered(data: CoveringData, asked: np.ndarray) -> np.ndarray:
    """Whether any subscription covers each query, by definition."""
    return np.array([any((point >= each).all() for point in data.points) for each in asked])


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.label)
def test_a_scan_finds_what_covers(setting: CoveringSetting) -> None:
    data = draw(setting, 20)
    found = CoverScan(data.points).find(data.others)
    assert np.array_equal(found != NONE, covered(data, data.others))
    assert np.array_equal(covers(data.points, found, data.others), found != NONE)
    assert CoverScan(data.points).n_bytes == data.points.nbytes


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.label)
def test_the_second_half_of_the_queries_is_just_not_covered(setting: CoveringSetting) -> None:
    data = draw(setting, 21)
    roots = on_curve(data)
    roots.check(np.arange(setting.n))
    asked = queries(data, roots)
    assert np.array_equal(asked[:10], data.others[:10])
    assert not covered(data, asked[10:]).any()
    # A cell less on each side, a query is what it was drawn as or a subscription.
    known = {tuple(np.minimum(point + 1, 1e9)) for point in (*data.points, *data.others)}
    top = (1 << setting.bits) - 1
    for point in known.copy():
        ends = np.array(point)
        ends[0::2][ends[0::2] >= 0] = np.inf
        ends[1::2][ends[1::2] >= top] = np.inf
        known.add(tuple(ends))
    assert {tuple(point) for point in asked[10:]} <= known


def test_a_box_is_raised_along_all_that_cover_it() -> None:
    setting = CoveringSetting(3, 1, bits=6)
    inner, middle, outer = np.array([[-20.0, 22.0], [-18.0, 24.0], [-10.0, 30.0]])
    roots = on_curve(CoveringData(setting, np.array([inner, middle, outer]), np.zeros((0, 2))))
    assert raised(np.array([[-20.0, 21.0], [-40.0, 41.0]]), roots).tolist() == [[-9.0, 31.0], [-39.0, 42.0]]


@pytest.mark.parametrize("coverage", [1.0, 0.99, 0.9, 0.5])
def test_probes_are_foretold(coverage: float) -> None:
    setting = CoveringSetting(40, 2, sides=LARGE, bits=5)
    asked = regions(setting, 3, 1, 6)
    roots = on_curve(sparse(setting, asked))
    search = Greedy(roots, 1.0 - coverage)
    for each, lengths in zip(asked, lengths_of(asked, roots), strict=True):
        before = search.cost
        assert search.find(each[None])[0] == NONE
        # Rounding may ask for one cube more, never for one less.
        assert n_probes(lengths, coverage) <= search.cost - before <= n_probes(lengths, coverage) + 1
        assert n_probes(lengths, 1.0) == sum(n_cubes(lengths))


def test_a_limited_search_gives_up() -> None:
    data = draw(CoveringSetting(60, 2, sides=LARGE, bits=5), 10)
    roots = on_curve(data)
    patient, hasty = Limited(roots, 0.3, 10**6), Limited(roots, 0.3, 1)
    assert np.array_equal(patient.find(data.others), Greedy(roots, 0.3).find(data.others))
    assert (patient.n_searches, patient.n_given_up) == (10, 0)
    found = hasty.find(data.others)
    assert hasty.n_given_up > 0
    assert hasty.cost == 10
    assert (found >= NONE).all()


def test_sparse_subscriptions_cover_no_query() -> None:
    setting = CoveringSetting(30, 2, sides=LARGE, bits=6)
    # Most subscriptions cover one of these, so that more than twice as many have to be drawn.
    asked = np.array([[-x, x, -y, y] for x in (15.0, 31.0, 47.0) for y in (15.0, 31.0, 47.0)])
    data = sparse(setting, asked)
    assert len(data.points) == 30
    assert not covered(data, asked).any()


def test_regions_have_the_sides_that_were_asked_for() -> None:
    setting = CoveringSetting(5, 2, bits=6)
    for aspect in (0, 1):
        lengths = lengths_of(regions(setting, 4, aspect, 30), Roots(setting.domains, 6))
        assert (lengths.min(axis=1) == 4).all()
        assert lengths.max() < 8 << aspect


def test_a_longest_side_is_held_by_shorter_ones() -> None:
    plan = SpeedupPlan(2, (16,), (0, 1, 2), 2, 20, 3, longest=(64,))
    held = [case for case in plan.cases() if case.held == "longest"]
    assert [(case.side, case.aspect, case.held_side) for case in held] == [(64, 0, 64), (32, 1, 64), (16, 2, 64)]
    assert held[1].label == "longest side 64, aspect ratio 1"
    for case in held:
        setting = CoveringSetting(5, 2, bits=plan.bits(case.side))
        lengths = lengths_of(regions(setting, case.side, case.aspect, 30), Roots(setting.domains, setting.bits))
        assert 64 <= lengths.max() < 128


def test_speed_ups_grow_with_the_aspect_ratio_only_where_regions_do() -> None:
    """In probes, which are foretold: the paper's fall, as do ours with the longest side held."""
    plan = SpeedupPlan(2, (16,), (0, 1, 2), 20, 0, 0, longest=(64,))
    speed_ups: dict[str, list[float]] = {"shortest": [], "longest": []}
    for case in plan.cases():
        setting = CoveringSetting(5, 2, bits=plan.bits(case.side))
        asked = lengths_of(regions(setting, case.side, case.aspect, 20), Roots(setting.domains, setting.bits))
        speed_ups[case.held].append(foretell(asked, 0.9)["fewer"])
    assert speed_ups["shortest"] == sorted(speed_ups["shortest"])
    assert speed_ups["longest"] == sorted(speed_ups["longest"], reverse=True)


def test_wrong_answers_are_not_timed() -> None:
    built = build(CoveringSetting(60, 2, sides=LARGE, bits=5), EFFORT)
    all_of_them = np.arange(len(built.asked))
    check(built, built.found, all_of_them)
    nothing = np.full(len(built.asked), NONE)
    check(built, nothing, all_of_them, exact=False)
    with pytest.raises(WrongAnswer, match="answers are wrong"):
        check(built, nothing, all_of_them)
    with pytest.raises(WrongAnswer):
        check(built, np.zeros_like(nothing), all_of_them, exact=False)


def test_queries_that_need_too_many_probes_are_left_out() -> None:
    setting = CoveringSetting(60, 2, sides=LARGE, bits=5)
    built = build(setting, EFFORT)
    lengths = lengths_of(built.asked, built.z.roots)
    for in_all in (500, 1):
        chosen, reason = feasible(built, 0.5, EFFORT._replace(in_all=in_all))
        assert reason is None
        assert sum(n_probes(lengths[i], 0.5) for i in chosen) <= in_all or len(chosen) == LEAST
    rows = list(compare(setting, EFFORT._replace(most=0, in_all=0), silent))
    assert [row["algorithm"] for row in rows] == ["corners", "corners, Z curve", "greedy 50%", "jumps", "scan"]
    assert [row["skipped"] is None for row in rows] == [True, True, False, True, True]
    assert rows[2]["skipped"].startswith("Skipped: 0 of 8 queries need at most 0 probes, the easiest ")


def test_a_region_of_too_many_cubes_is_not_searched_but_its_probes_are_foretold() -> None:
    plan = SpeedupPlan(2, (4,), (1,), 2, 20, 3, (0.9, 0.5), 1)
    row, *counted = speed_up(plan, RegionCase(4, 1), silent)
    assert row["skipped"].endswith("and 3 are allowed.")
    searched = {each["algorithm"]: each for each in speed_up(plan._replace(most=10_000), RegionCase(4, 1), silent)}
    assert [each["algorithm"] for each in counted] == ["greedy 90%", "greedy 50%"]
    for each in counted:
        assert each["latencies"] == []
        assert each["measures"]["fewer"] == searched[each["algorithm"]]["measures"]["fewer"] > 1.0
        assert each["measures"]["steps"] == pytest.approx(searched[each["algorithm"]]["measures"]["steps"], abs=1)


def test_too_many_subscriptions_for_the_memory_are_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "free_memory", lambda: 10)
    rows = BENCHMARKS["covering"].run("toy", silent)
    assert all("would be needed" in row["skipped"] for row in rows)
    assert BENCHMARKS["covering"].table(rows)[1][0][0] == "60"


def test_a_table_that_takes_too_long_is_left_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(covering_recall, "AT_ONCE", 5)
    data = draw(CoveringSetting(40, 2, sides=LARGE, bits=5), 0)
    roots = covering_recall.empty(data)
    table = covering_recall.placed(Limited(roots, 0.5, 50), roots.descending(np.arange(40)), 0.0)
    assert len(table.stayed) == 5
    assert table.roots.curve.size == table.stayed.sum()


@pytest.mark.toy("covering-figure2", "covering-figure5")
def test_figures_of_the_paper_hold_at_any_size(runs: dict[str, list[Row]]) -> None:
    squares = {(row["algorithm"], row["parameters"]["side"]): row["measures"] for row in runs["covering-figure2"]}
    assert squares["Z", 16]["runs"] == squares["Hilbert", 16]["runs"] == 1
    assert all(measures["ratio"] <= 1 for measures in squares.values())
    region, *parts = (row["measures"] for row in runs["covering-figure5"])
    assert sum(part["cells"] for part in parts) == region["cells"] == 35
    assert sum(part["cubes"] for part in parts) == region["cubes"]


@pytest.mark.parametrize("name", toys("covering-figure7", "covering-figure8", "covering-figure9"))
def test_less_coverage_takes_fewer_probes(name: str, runs: dict[str, list[Row]]) -> None:
    for contest in {row["contest"] for row in runs[name]}:
        rows = [row for row in runs[name] if row["contest"] == contest]
        shares = [row["measures"] for row in rows if "coverage" in row["parameters"]]
        assert [share["fewer"] for share in shares] == sorted(share["fewer"] for share in shares)
        for share in shares:
            assert share["steps"] * share["fewer"] == pytest.approx(shares[0]["steps"], rel=0.3)
        assert [row["algorithm"] for row in rows[-2:]] == ["corners", "jumps"]


@pytest.mark.toy("covering")
def test_nothing_is_found_that_is_not_covered(runs: dict[str, list[Row]]) -> None:
    for row in runs["covering"]:
        assert row["measures"]["found"] <= row["measures"]["covered"]


@pytest.mark.toy("covering-recall")
def test_nothing_finds_more_than_exact_search(runs: dict[str, list[Row]]) -> None:
    exact, *others = (row["measures"] for row in runs["covering-recall"])
    assert (exact["recall"], exact["recall_roots"], exact["longer"]) == (1, 1, 1)
    for other in others:
        assert other["recall_roots"] <= 1 <= other["longer"]
        # Whoever needs more probes than are allowed may still find something before.
        assert other["within"] <= 1 - other["given_up"]


def test_subscriptions_are_the_same_in_every_run() -> None:
    setting = CoveringSetting(30, 2)
    assert np.array_equal(draw(setting, 5).points, draw(setting, 5).points)
    assert setting.parameters["seed"] == covering_data.SEED
