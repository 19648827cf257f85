"""The evaluation of the top-k/w paper: rows as promised, and what they say agrees with theory and with brute force."""

import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import skyband
from skyband.bench import BENCHMARKS, Row, real, window_contest, window_run
from skyband.bench.row import average
from skyband.bench.runner import WrongAnswer
from skyband.bench.suite import window
from skyband.bench.window_run import Group, WindowScale, WindowSetting, setting_of
from skyband.topk.chance import chance
from skyband.workload.clock import MINUTE

TOY = window_run.SCALES["toy"]


def quiet(said: str) -> None:
    pass


def by(rows: list[Row], measure: str, *parameters: str) -> dict[tuple[object, ...], float]:
    return {tuple(row["parameters"][name] for name in parameters): row["measures"][measure] for row in rows}


def test_the_full_scale_is_table_1() -> None:
    scale = window_run.SCALES["full"]
    setting = setting_of(scale, "uniform", scale.window)
    assert setting == WindowSetting("uniform", 1000, 40, 1_000_000, 400, 1000)
    assert (setting.n_live, scale.k, scale.b, scale.threshold) == (40_000, 9, 2000, 0.09)
    assert scale.rates == (250, 500, 1000, 2000, 4000)
    assert scale.thresholds == (0.03, 0.06, 0.09, 0.12, 0.15)
    assert (setting.options.dims, setting.options.variance, setting.options.n_clusters) == (4, 0.1, 2)
    for each in window_run.SCALES.values():
        assert all(rate * each.minutes % each.batch == 0 for rate in each.rates), "the last batch must be whole"
        assert each.threshold == pytest.approx(0.09 * (1000 / each.rate) ** 0.25, rel=0.05)


@pytest.mark.toy("window-figure15")
def test_figure_15_has_every_k_and_window(runs: dict[str, list[Row]]) -> None:
    for data in TOY.data:
        rows = [row for row in runs["window-figure15"] if row["parameters"]["data"] == data]
        score = by(rows, "kth_score", "k", "window")
        assert set(score) == {(k, minutes) for k in TOY.ks for minutes in TOY.windows}
        assert all(score[1, minutes] < score[3, minutes] < score[9, minutes] for minutes in TOY.windows)
        assert all(score[k, 8] < score[k, 4] for k in TOY.ks)


@pytest.mark.toy("window-figure16")
def test_figure_16_has_both_models_at_every_rate(runs: dict[str, list[Row]]) -> None:
    rows = runs["window-figure16"]
    assert [(row["parameters"]["rate"], row["algorithm"]) for row in rows] == [
        (rate, model) for rate in TOY.rates for model in ("top-k/w", "Boolean")
    ]
    assert {row["parameters"]["n_publications"] // row["parameters"]["rate"] for row in rows} == {TOY.minutes}
    matched = [row["measures"]["deliveries"] for row in rows if row["algorithm"] == "Boolean"]
    assert matched == sorted(matched)
    assert matched[-1] > 8 * matched[0] > 0


@pytest.mark.toy("window-figure17")
def test_figure_17_has_tops_and_thresholds(runs: dict[str, list[Row]]) -> None:
    for data in TOY.data:
        rows = [row for row in runs["window-figure17"] if row["parameters"]["data"] == data]
        told = by([row for row in rows if row["algorithm"] == "top-k/w"], "deliveries", "k", "window")
        assert all(told[1, minutes] < told[3, minutes] < told[9, minutes] for minutes in TOY.windows)
        assert all(told[k, 8] < told[k, 4] for k in TOY.ks)
        matched = by([row for row in rows if row["algorithm"] == "Boolean"], "deliveries", "threshold")
        assert [threshold for (threshold,) in matched] == list(TOY.thresholds)
        assert list(matched.values()) == sorted(matched.values())


@pytest.mark.toy("window-figure18")
def test_figure_18_counts_updates_of_both_algorithms(runs: dict[str, list[Row]]) -> None:
    rows = runs["window-figure18"]
    assert len(rows) == 2 * len(TOY.ks) * len(TOY.windows)
    for sasf, pa_row in zip(rows[::2], rows[1::2], strict=True):
        assert (sasf["algorithm"], pa_row["algorithm"]) == ("sasf", "pa")
        assert sasf["contest"] == pa_row["contest"]
        assert sasf["measures"]["threshold_updates"] > pa_row["measures"]["threshold_updates"]
        assert sasf["measures"]["cell_updates"] <= sasf["measures"]["threshold_updates"]
        assert pa_row["measures"]["deliveries"] == pytest.approx(sasf["measures"]["deliveries"], rel=0.05)


def test_figures_are_counted_as_the_oracle_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    setting = WindowSetting("clustered", 5, 4, 120, 3, 10)
    groups = [Group(1), Group(4), Group(threshold=0.4)]
    measures = [row["measures"] for row in window_run.run(setting, groups, "c")]
    monkeypatch.setattr(window_run, "ENGINE", "oracle")
    assert [row["measures"] for row in window_run.run(setting, groups, "c")] == measures


def test_a_ledger_is_what_single_publications_say() -> None:
    """Deliveries and k-th scores from scratch: each publication by itself, distances by numpy."""
    setting, k = WindowSetting("uniform", 5, 4, 120, 3, 10), 4
    (row,) = window_run.run(setting, [Group(k)], "c")
    asked = np.array(setting.subscriptions([Group(k)])["point"].to_pylist())
    batches = setting.publications()
    published = pa.concat_tables(batches)
    points, ts = np.array(published["point"].to_pylist()), published["ts"].to_numpy()
    first_full = window_run.first_full_turn(setting, batches)
    seen: list[set[int]] = [set() for _ in asked]
    scores: list[list[float]] = [[] for _ in asked]
    samples = set(np.linspace(first_full, len(batches) - 1, window_run.N_SAMPLES).astype(int).tolist())
    for i, now in enumerate(ts):
        live = np.flatnonzero(ts[: i + 1] > now - 4 * MINUTE)
        for s, point in enumerate(asked):
            far = np.linalg.norm(points[live] - point, axis=1)
            best = np.argsort(far)[:k]
            seen[s].update(live[best].tolist())
            if (i + 1) % setting.batch == 0 and i // setting.batch in samples:
                scores[s].append(far[best[-1]])
    assert row["measures"]["deliveries"] == np.mean([len(one) for one in seen])
    assert row["measures"]["kth_score"] == pytest.approx(np.mean([np.mean(one) for one in scores]))


@pytest.mark.parametrize("k", [1, 3, 9, 27, 81])
def test_deliveries_in_a_window_are_the_chances_of_all_ranks(k: int) -> None:
    """An arrival is as likely to find any number of better ones as any other."""
    assert window_run.deliveries_in_a_window(k) == pytest.approx(sum(chance(k, o, 0, 1.0) for o in range(8 * k + 60)))
    assert window_run.deliveries_in_a_window(k) == pytest.approx(k + 2 * math.sqrt(k / math.pi), rel=0.07)


def test_theory_agrees_with_what_is_counted_and_nearly_with_the_paper() -> None:
    # Counted are 379 to 380, and the paper has 385.
    assert window_run.expected_deliveries(9, 40_000, 1_000_000) == pytest.approx(380, abs=1)
    # The paper's 0.09 is of a box with edges.
    assert 0.08 < window_run.expected_kth_score(9, 40_000) < 0.09


@pytest.mark.jit_only
def test_table_1_scaled_down_agrees_with_theory() -> None:
    n_live, k = 2000, 9
    setting = WindowSetting("uniform", 100, 20, 40_000, 200, 500)
    (row,) = window_run.run(setting, [Group(k)], "c")
    found = row["measures"]
    random = np.random.default_rng(0)
    drawn = [np.linalg.norm(random.random((n_live, 4)) - random.random(4), axis=1) for _ in range(400)]
    assert found["kth_score"] == pytest.approx(np.mean([np.sort(far)[k - 1] for far in drawn]), rel=0.03)
    assert found["kth_score"] > window_run.expected_kth_score(k, n_live)
    assert found["deliveries_window"] == pytest.approx(window_run.deliveries_in_a_window(k), rel=0.03)
    assert found["deliveries"] == pytest.approx(window_run.expected_deliveries(k, n_live, 40_000), rel=0.03)


@pytest.mark.jit_only
def test_a_top_adapts_to_the_rate_and_a_threshold_does_not() -> None:
    scale = WindowScale(n_subscriptions=200, rate=100, minutes=200, batch=500)
    groups = [Group(9), Group(threshold=0.2)]
    rows = [window_run.run(setting_of(scale, "uniform", 10, rate), groups, "c") for rate in (50, 200)]
    (few, matched), (many, more_matched) = [[row["measures"] for row in pair] for pair in rows]
    error = math.hypot(few["deliveries_window_error"], many["deliveries_window_error"])
    assert abs(few["deliveries_window"] - many["deliveries_window"]) < 4 * error
    error = math.hypot(4 * matched["deliveries_error"], more_matched["deliveries_error"])
    assert abs(4 * matched["deliveries"] - more_matched["deliveries"]) < 4 * error


def readings(folder: Path, rows: int = 60) -> None:
    random = np.random.default_rng(3)
    columns = {name: random.normal(10.0 * i, 1.0 + i, rows) for i, name in enumerate(window_run.COLUMNS)}
    columns["o3"][:2] = np.nan
    table = pa.table(columns).append_column("station", pa.array(["a"] * rows))
    with_null = pa.array([None, *columns["temp_c"][1:].tolist()], pa.float32())
    pq.write_table(table.set_column(table.column_names.index("temp_c"), "temp_c", with_null), folder / window_run.FILE)


def test_real_points_fill_the_unit_box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    readings(tmp_path)
    monkeypatch.setenv(real.VARIABLE, str(tmp_path))
    assert real.find(window_run.FILE) is not None
    points = window_run.points(tmp_path / window_run.FILE)
    assert points.shape == (58, 4)
    assert points.min(axis=0).tolist() == [0.0] * 4
    assert points.max(axis=0).tolist() == [1.0] * 4
    whole = window_run.sample(np.random.default_rng(0), 58)
    assert sorted(map(tuple, whole)) == sorted(map(tuple, points))
    chosen = window_run.choices(np.random.default_rng(0), 200)
    assert {tuple(row) for row in chosen} <= {tuple(row) for row in points}


def test_a_column_that_never_changes_is_zero(tmp_path: Path) -> None:
    pq.write_table(pa.table({name: [5.0, 5.0] for name in window_run.COLUMNS}), tmp_path / "flat.parquet")
    assert not window_run.points(tmp_path / "flat.parquet").any()


def test_real_data_runs_where_it_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    readings(tmp_path)
    monkeypatch.setenv(real.VARIABLE, str(tmp_path))
    setting = WindowSetting("real", 5, 4, 100, 3, 10)
    (row,) = window_run.run(setting, [Group(2)], "c")
    assert row["skipped"] is None
    assert row["measures"]["deliveries"] > 2
    told = {tuple(point) for batch in setting.publications() for point in batch["point"].to_pylist()}
    assert told <= {tuple(point) for point in window_run.points(tmp_path / window_run.FILE).tolist()}
    assert setting.publications()[3].equals(setting.publications()[3])


@pytest.mark.parametrize("folder", [None, "", "nowhere"])
def test_without_real_data_the_rows_say_so(folder: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if folder is None:
        monkeypatch.delenv(real.VARIABLE, raising=False)
    else:
        monkeypatch.setenv(real.VARIABLE, folder)
    monkeypatch.setitem(window_run.SCALES, "toy", TOY._replace(data=("real",), windows=(4,)))
    for name in ("window-figure15", "window-figure17"):
        rows = BENCHMARKS[name].run("toy", quiet)
        assert rows
        assert all("SKYBAND_DATA does not name a folder" in row["skipped"] for row in rows)
        _, cells = BENCHMARKS[name].table(rows)
        assert cells[0][-1] == rows[0]["skipped"]
        assert "real" in cells[0][:2]
    with pytest.raises(FileNotFoundError, match="does not name a folder"):
        window_run.choices(np.random.default_rng(0), 1)


def test_one_subscription_has_no_standard_error() -> None:
    assert average("x", np.array([2.0])) == {"x": 2.0, "x_error": math.inf}
    assert average("x", np.zeros(0)) == {}


def test_every_engine_is_measured_beside_scan(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = window.PLANS["toy"]._replace(steps=window.PLANS["toy"].steps[1:])
    monkeypatch.setitem(window.PLANS, "toy", plan)
    rows = BENCHMARKS["window"].run("toy", quiet)
    names = ["scan", *map(str, plan.entrants)]
    assert [row["algorithm"] for row in rows] == names * len(plan.steps) * len(plan.data)
    assert {"sma, grid", "sma, blocks", "pa, grid", "blocks"} <= set(names)
    assert len({row["contest"] for row in rows}) == len(plan.steps) * len(plan.data)
    for row in rows:
        assert row["measures"]["warmed"] == plan.steps[0].n_warm
        assert row["measures"]["differs"] == 0.0 or row["parameters"]["engine"] == "pa"
        assert row["algorithm"] == "scan" or row["measures"]["scan_ns"] > 0
    changes = {row["algorithm"]: row["measures"]["changes"] for row in rows[1 : len(names)]}
    assert len({changes[name] for name in changes if not name.startswith("pa")}) == 1


def test_an_engine_that_would_take_too_long_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = tuple(window_contest.SweepStep(n, 0, 2) for n in (2, 3, 4))
    plan = window.PLANS["toy"]._replace(steps=steps, indexes=(), data=("uniform",), budget=0.0, patience=0.0)
    monkeypatch.setitem(window.PLANS, "toy", plan)
    rows = BENCHMARKS["window"].run("toy", quiet)
    assert [row["algorithm"] for row in rows] == ["scan", "blocks"] * 3
    assert [row["skipped"] is None for row in rows] == [True] * 5 + [False]
    assert "0 s are allowed" in rows[-1]["skipped"]
    assert BENCHMARKS["window"].table(rows)[1][-1][:2] == ["4 uniform", "blocks"]


def test_a_wrong_answer_is_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = window.PLANS["toy"]._replace(indexes=(), data=("uniform",))
    monkeypatch.setitem(window.PLANS, "toy", plan)
    monkeypatch.setattr(window_contest, "share_of_different", lambda tops, expected, n: 0.5)
    with pytest.raises(WrongAnswer, match=r"scan: 50\.0% of the answers differ"):
        BENCHMARKS["window"].run("toy", quiet)


def test_tops_are_compared_by_subscription() -> None:
    engine = skyband.open("window", window=skyband.Window.count(5))
    engine.subscribe(pa.table({"id": [0, 1], "k": [2, 2], "score": ["euclidean"] * 2, "point": [[0.0], [9.0]]}))
    engine.publish(pa.table({"id": [0, 1, 2], "ts": [1, 2, 3], "point": [[0.0], [1.0], [9.0]]}))
    tops = engine.top()
    assert window_contest.share_of_different(tops, tops, 2) == 0.0
    assert window_contest.share_of_different(tops.slice(1), tops, 2) == 0.5
    assert window_contest.share_of_different(tops.slice(0, 0), tops, 2) == 1.0
