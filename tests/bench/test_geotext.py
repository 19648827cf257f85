"""The evaluation of the Skype paper: rows as promised, and costs that no machine changes as the paper has them."""

from pathlib import Path
from typing import Any

import pytest

from skyband.bench import BENCHMARKS, Row, runner
from skyband.bench.geotext_contest import GeotextSetting, contest, heat
from skyband.bench.row import measured
from skyband.bench.suite import geotext
from skyband.bench.suite.geotext import SCALES, GeotextScale
from skyband.bench.view import Plot, draw_plot

TOY = SCALES["toy"]


def quiet(said: str) -> None:
    pass


def named(rows: list[Row]) -> list[tuple[Any, ...]]:
    return [(row["parameters"]["data"], row["algorithm"]) for row in rows]


def run(name: str) -> list[Row]:
    return BENCHMARKS[name].run("toy", quiet)


def test_the_full_scale_is_that_of_section_7() -> None:
    scale = SCALES["full"]
    setting = scale.setting("tweets")
    assert setting[1:3] == (1_000_000, 1_000_000)
    assert (setting.batch * setting.n_rounds, setting.k, setting.n_keywords) == (100_000, 20, 0)
    assert setting.granularities == ("publication",)
    assert scale.ks == (10, 20, 30, 40, 50, 60)
    assert [n * scale.k for n in geotext.MULTIPLES] == [20, 40, 60, 80, 100, 120]
    assert (scale.groups, scale.keywords, scale.multiples) == ((5, 10, 20, 40), (1, 2, 3, 4, 5), (1, 2, 3, 4, 5))
    assert set(scale.data) == {"tweets", "places", "reviews", "geonames", "quakes", "listings"}


@pytest.mark.toy("geotext-figure6")
def test_figure_6_has_every_kmax_and_ratio_beside_one_cskyband(runs: dict[str, list[Row]]) -> None:
    rows = runs["geotext-figure6"]
    assert [row["algorithm"] for row in rows] == ["cskyband"] + ["kmax"] * 6 + ["skyband"] * 6
    assert [row["parameters"]["kmax"] for row in rows[1:7]] == [3, 6, 9, 12, 15, 18]
    assert [row["parameters"]["ratio"] for row in rows[7:]] == list(geotext.RATIOS)
    # A larger buffer holds more and is searched for less often.
    for some in (rows[1:7], rows[7:]):
        lengths = [row["measures"]["row_length"] for row in some]
        assert lengths[0] < lengths[-1]
        assert some[0]["measures"]["reevaluated"] > some[-1]["measures"]["reevaluated"]
    _, cells = BENCHMARKS["geotext-figure6"].table(rows)
    assert [row[2] for row in cells[:2]] == ["", "kmax = 3"]
    assert cells[-1][2] == "θ = 0.75 kScore"


@pytest.mark.toy("geotext-figure7")
def test_figure_7_has_the_default_first(runs: dict[str, list[Row]]) -> None:
    rows = runs["geotext-figure7"]
    assert [row["parameters"]["groups"] for row in rows] == [geotext.N_GROUPS, 2] * len(TOY.data)


@pytest.mark.toy("geotext-figure8")
def test_figure_8_has_every_pruning_switched_off(runs: dict[str, list[Row]]) -> None:
    rows = runs["geotext-figure8"]
    entrants = [entrant.label for entrant in geotext.PRUNED]
    assert named(rows) == [(data, label) for data in TOY.data for label in entrants]
    for some in (rows[: len(entrants)], rows[len(entrants) :]):
        found = {row["algorithm"]: row["measures"] for row in some}
        assert len({measures["index.accepted"] for measures in found.values()}) == 1, "bounds may only save work"
        # What the first engine of a contest sees differs from heat to heat only for itself.
        assert found["igpt"]["index.entries"] <= found["ipt"]["index.entries"]
        assert found["without termination"]["index.entries"] <= found["ipt"]["index.entries"]
        assert found["ipt"]["index.groups"] == found["without groups"]["index.groups"] == 0
        assert found["igpt"]["index.verified"] <= found["without unseen"]["index.verified"]


@pytest.mark.toy("geotext-figure9", "geotext-figure11")
def test_figures_9_and_11_have_every_data_set(runs: dict[str, list[Row]]) -> None:
    rows = runs["geotext-figure9"]
    assert named(rows) == [(data, name) for data in TOY.data for name in ("igpt", "ciq", "blocks")]
    assert all(row["measures"]["bytes.index"] > 0 for row in rows)
    # With the same buffers the same pairs are within their bounds, whatever the index.
    for igpt, ciq, _ in zip(*[iter(rows)] * 3, strict=True):
        assert igpt["measures"]["index.accepted"] == ciq["measures"]["index.accepted"]
    rows = runs["geotext-figure11"]
    assert named(rows) == [(data, name) for data in TOY.data for name in ("skype", "ciq-kmax", "blocks")]


@pytest.mark.toy("geotext-table2")
def test_table_2_is_made_of_the_runs_of_figure_10(runs: dict[str, list[Row]]) -> None:
    rows = runs["geotext-table2"]
    entrants = [entrant.label for entrant in geotext.POLICIES]
    assert named(rows) == [(data, label) for data in TOY.data for label in entrants]
    table2, figure10 = (list(BENCHMARKS[f"geotext-{name}"].sweep(TOY)) for name in ("table2", "figure10"))
    assert table2 == figure10
    # When the paper measures, a window later, and in the end.
    _, cells = BENCHMARKS["geotext-table2"].table(rows)
    assert all(all(row[2:5]) for row in cells)


def test_millions_are_compared_in_one_heat_where_the_memory_holds_all() -> None:
    assert [heat(3, 10, free) for free in (30, 29, 20, 19)] == [3, 2, 2, None]
    assert [heat(1, 10, free) for free in (10, 9)] == [2, None]
    rows = run("geotext-million")
    assert [row["algorithm"] for row in rows] == ["blocks", "skype", "ciq-kmax", "blocks"]
    assert len({row["measures"]["first.all_us"] for row in rows[:3]}) == 1


@pytest.mark.jit_only
def test_cskyband_keeps_less_than_kmax() -> None:
    setting = GeotextSetting(TOY.setting("tweets").corpus, 100, 1000, 500, 100, 5, k=20)
    rows = list(contest(setting, geotext.POLICIES[:2], 2, "c", quiet))
    cskyband, kmax = (row["measures"]["row_length"] for row in rows)
    assert 20 < cskyband < kmax <= 60


@pytest.mark.parametrize(
    ("name", "parameter", "values"),
    [
        pytest.param(f"geotext-{figure}", *swept, marks=pytest.mark.toy(f"geotext-{figure}"))
        for figure, *swept in (
            ("figure12", "n_keywords", list(TOY.keywords)),
            ("figure13", "k", list(TOY.ks)),
            ("figure14", "n_subscriptions", [TOY.n_subscriptions, 2 * TOY.n_subscriptions]),
            ("figure15", "n_live", [TOY.n_live, 2 * TOY.n_live]),
        )
    ],
)
def test_sweeps_have_three_engines_at_every_value(
    name: str, parameter: str, values: list[int], runs: dict[str, list[Row]]
) -> None:
    rows = runs[name]
    assert [(*one, row["parameters"][parameter]) for one, row in zip(named(rows), rows, strict=True)] == [
        (data, engine, value) for data in TOY.two for value in values for engine in ("skype", "ciq-kmax", "blocks")
    ]
    others = {"n_keywords": 0, "k": TOY.k, "n_subscriptions": TOY.n_subscriptions, "n_live": TOY.n_live}
    del others[parameter]
    assert all(row["parameters"][other] == value for row in rows for other, value in others.items())


def test_a_sweep_stops_where_memory_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "free_memory", lambda: 0)
    monkeypatch.setitem(SCALES, "toy", TOY._replace(two=("tweets",), multiples=(1, 2, 3)))
    rows = run("geotext-figure14")
    assert [row["skipped"] is None for row in rows] == [True] * 6 + [False] * 3
    assert "0.0 GB are free" in rows[-1]["skipped"]
    assert BENCHMARKS["geotext-figure14"].table(rows)[1][-1][:2] == ["72", "tweets, blocks"]


@pytest.mark.toy("geotext")
def test_growth_has_every_engine_by_batch_and_by_publication(runs: dict[str, list[Row]]) -> None:
    rows = runs["geotext"]
    engines = ("scan", "ciq-kmax", "skype", "blocks")
    assert [
        (row["parameters"]["n_subscriptions"], row["algorithm"], row["parameters"]["granularity"]) for row in rows
    ] == [
        (n, engine, by) for n, _ in geotext.PLANS["toy"].sizes for engine in engines for by in ("batch", "publication")
    ]
    for at in range(0, len(rows), 8):
        some = rows[at : at + 8]
        assert len({row["measures"]["changes"] for row in some[::2]}) == 1, "engines tell the same by batch"
        assert len({row["measures"]["changes"] for row in some[1::2]}) == 1
        assert some[4]["measures"]["skype.all_us"] == some[4]["measures"]["all_us"]
        assert some[1]["measures"]["skype.all_us"] == some[5]["measures"]["all_us"]
    headers, cells = BENCHMARKS["geotext"].table(rows)
    assert cells[4][headers.index("ratio to skype")] == "1"
    assert "pruned a message" in headers
    assert {"index.groups", "index.prefix"} <= set(rows[-4]["measures"])
    assert cells[0][headers.index("verified for a candidate")] == ""


def test_an_engine_that_would_take_too_long_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = tuple((n, (geotext.OURS,)) for n in (4, 5, 6))
    monkeypatch.setitem(geotext.PLANS, "toy", geotext.PLANS["toy"]._replace(sizes=sizes, budget=0.0))
    rows = run("geotext")
    assert [row["skipped"] is None for row in rows] == [True] * 4 + [False]
    assert "0 s are allowed" in rows[-1]["skipped"]
    headers, cells = BENCHMARKS["geotext"].table(rows)
    assert cells[-1][:2] == ["6", "blocks"]
    assert cells[0][headers.index("ratio to skype")] == ""


def test_levels_and_bars_are_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    rows = [measured("c", "a", {"n": 1}, [1], 1, {"y": 2.0}), measured("c", "b", {}, [1], 1, {"y": 3.0})]
    plot = Plot("p", "title", "n", "n", lambda row: row["measures"]["y"], "y", lambda row: row["algorithm"])
    assert draw_plot(plot, "b", rows, tmp_path).exists()
    bars = [measured("c", name, {"n": data}, [1], 1, {"y": 2.0}) for name in "ab" for data in ("x", "y", "z")]
    assert draw_plot(plot, "bars", bars, tmp_path).exists()


def test_scales_are_whole() -> None:
    for scale in (*SCALES.values(), GeotextScale()):
        assert scale.n_warm % scale.batch == scale.n_settled % scale.batch == 0
        assert scale.setting("tweets", settled=True).n_warm == scale.n_settled >= scale.n_live
        assert scale.at_once >= 2
