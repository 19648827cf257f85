"""Every benchmark runs at toy size, keeps its promises in every row, and is drawn from what was stored."""

import ast
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from skyband.bench import BENCHMARKS, NoMatplotlib, Row, discovery, draw, load, rows_of, store
from skyband.bench import suite as modules
from skyband.bench.contest import fill, steady_case
from skyband.bench.discovery import discover
from skyband.bench.experiment import AnyExperiment, Experiment, Progress
from skyband.bench.row import ns_per_operation, skipped
from skyband.bench.runner import race
from skyband.bench.suite import basics
from skyband.bench.view import RATIO, algorithm, given, plot
from tests.bench.chosen import CHOSEN, compiles_much, starts_spark, toys

# What is always run, what is run where it changed without Spark, and on Spark.
SPARK = frozenset(name for name in CHOSEN if starts_spark(name))
MUCH = frozenset(name for name in CHOSEN if compiles_much(name))
HERE = CHOSEN - SPARK - MUCH
FIELDS = {
    "benchmark", "size", "at", "commit", "machine", "versions", "contest", "algorithm", "parameters", "latencies",
    "n_operations", "measures", "skipped",
}  # fmt: skip


def tables() -> list[tuple[AnyExperiment, ...]]:
    """The tables of all modules of the suite."""
    stems = {path.stem for path in Path(modules.__file__).parent.glob("*.py")} - {"__init__"}
    return [importlib.import_module(f"{modules.__name__}.{stem}").EXPERIMENTS for stem in stems]


def test_every_entry_of_the_suite_is_a_benchmark() -> None:
    found = [experiment.name for table in tables() for experiment in table]
    assert sorted(found) == list(BENCHMARKS)
    assert {"kernels", "parse", "scan"} <= set(found)
    assert all(tables())


def _squares(n: int, progress: Progress) -> list[Row]:
    progress(f"{n} squared")
    return race(f"{n}", {"square": lambda turn: n * n}, 2, 1, {"n": n}, lambda name, taken: {"y": float(n * n)})


def toy_figure(name: str = "toy-figure") -> AnyExperiment:
    """A figure that a maintainer would add: one entry."""
    return Experiment(
        name=name,
        summary="Squares.",
        scales={"toy": (1, 2), "small": (10, 20), "full": (100, 200)},
        sweep=iter,
        measure=_squares,
        columns=(given("n"), algorithm("how"), RATIO),
        plots=(plot("y", "Squares", "n", "y", "squares"),),
    )


def test_a_new_figure_is_one_entry(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(basics, "EXPERIMENTS", (*basics.EXPERIMENTS, toy_figure()))
    found = discover()
    assert set(found) - set(BENCHMARKS) == {"toy-figure"}
    rows = found["toy-figure"].run("toy", lambda said: None)
    assert [(row["parameters"], row["measures"]) for row in rows] == [({"n": 1}, {"y": 1}), ({"n": 2}, {"y": 4})]
    assert found["toy-figure"].table(rows) == (
        ["n", "how", "ratio", "note"],
        [["1", "square", "1", ""], ["2", "square", "1", ""]],
    )
    store(rows, tmp_path / "rows")
    assert "## toy-figure" in discovery.tables(tmp_path / "rows")
    pytest.importorskip("matplotlib")
    assert [path.name for path in draw(tmp_path / "rows", tmp_path / "out")] == ["toy-figure-y.png"]


def test_two_entries_do_not_share_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(basics, "EXPERIMENTS", (toy_figure("scan"), *basics.EXPERIMENTS))
    with pytest.raises(ValueError, match="a benchmark scan already"):
        discover()


def test_every_paper_and_room_has_a_benchmark_that_is_always_run() -> None:
    assert set(BENCHMARKS) >= CHOSEN
    for table in tables():
        assert CHOSEN & {experiment.name for experiment in table}


def test_every_benchmark_says_what_it_measures() -> None:
    for name, benchmark in BENCHMARKS.items():
        assert benchmark.name == name
        assert benchmark.summary.endswith(".")


@pytest.fixture(scope="module", params=toys(*sorted(BENCHMARKS)))
def name(request: pytest.FixtureRequest) -> str:
    """Of the module, so that all tests of a benchmark follow each other, in one process."""
    return str(request.param)


def test_rows_keep_their_promises(name: str, runs: dict[str, list[Row]]) -> None:
    rows = runs[name]
    assert rows
    for row in rows:
        assert set(row) == FIELDS
        assert (row["benchmark"], row["size"], row["skipped"]) == (name, "toy", None)
        assert row["latencies"]
        assert all(type(ns) is int and ns > 0 for ns in row["latencies"])
        assert row["n_operations"] > 0
        assert ns_per_operation(row) > 0


def test_tables_have_a_cell_for_every_header(name: str, runs: dict[str, list[Row]]) -> None:
    headers, cells = BENCHMARKS[name].table(runs[name])
    assert len(cells) == len(runs[name])
    assert {len(row) for row in cells} == {len(headers)}
    # The first row of a contest is what the others are measured against.
    assert cells[0][headers.index("ratio")] == "1"


@pytest.mark.toy("scan")
def test_a_skipped_row_shows_its_reason(runs: dict[str, list[Row]]) -> None:
    row = runs["scan"][2] | {"skipped": "Skipped: too long.", "latencies": [], "n_operations": 0, "measures": {}}
    _, cells = BENCHMARKS["scan"].table([row])
    assert cells[0][0] == "window uniform"
    assert cells[0][-1] == "Skipped: too long."


@pytest.mark.toy("scan")
def test_publishing_costs_what_brute_force_costs(runs: dict[str, list[Row]]) -> None:
    swept = [row for row in runs["scan"] if "operation" in row["parameters"] and row["algorithm"] == "scan"]
    swept = [row for row in swept if row["parameters"]["operation"] == "publish"]
    continuous = [row for row in swept if row["parameters"]["family"] in ("window", "geotext")]
    assert {row["parameters"]["granularity"] for row in continuous} == {"batch", "publication"}
    for row in continuous:
        measures, live = row["measures"], row["parameters"]["n_live"]
        least = row["n_operations"]
        assert least <= measures["scored"] <= least + measures["refilled"] * 2 * live
        if not measures["refilled"]:
            assert measures["scored"] == least


@pytest.mark.jit_only
def test_a_window_that_has_slid_on_sees_refills() -> None:
    n, case = 200, steady_case(200)
    made = case.generate(n, 2 * case.n_live)
    engine = case.open("scan")
    fill(engine, made.subscriptions, made.publications.slice(0, case.n_before), case.fill_batch)
    before = engine.counters
    fill(engine, made.subscriptions.slice(0, 0), made.publications.slice(case.n_before), case.fill_batch)
    by_arrivals = 2 * case.n_live * n
    by_refills = engine.counters["scored"] - before["scored"] - by_arrivals
    assert engine.counters["refilled"] > before["refilled"]
    assert 0.05 < by_refills / by_arrivals < 0.5


@pytest.mark.toy("scan")
def test_subscribing_to_a_full_window_scores_all_of_it(runs: dict[str, list[Row]]) -> None:
    rows = [row for row in runs["scan"] if row["parameters"]["operation"] == "subscribe"]
    for row in rows:
        if row["parameters"]["family"] in ("window", "geotext"):
            assert row["measures"]["scored"] == row["parameters"]["n_live"] * row["n_operations"]


@pytest.mark.toy("scan", "kernels")
def test_bytes_are_counted(runs: dict[str, list[Row]]) -> None:
    scans = [row for row in runs["scan"] if row["algorithm"] == "scan" and row["parameters"]["operation"] == "publish"]
    assert all(any(name.startswith("bytes.") for name in row["measures"]) for row in scans)
    added = [row for row in runs["kernels"] if row["parameters"]["operation"] == "add"]
    assert all(row["measures"]["bytes"] > 0 for row in added)


@pytest.mark.parametrize(
    "names",
    [pytest.param(some, marks=pytest.mark.toy(*some)) for some in (HERE, MUCH, SPARK, set(BENCHMARKS))],
    ids=["always", "much", "spark", "all"],
)
def test_figures_are_drawn_from_stored_rows_alone(names: set[str], runs: dict[str, list[Row]], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    for name in names:
        path = store(runs[name], tmp_path / "rows")
        assert path.name.startswith(f"{name}-")
    assert rows_of(load(tmp_path / "rows").slice(0, 1))[0]["latencies"]
    drawn = draw(tmp_path / "rows", tmp_path / "figures")
    expected = {f"{name}-{plot.name}.png" for name in names for plot in BENCHMARKS[name].plots}
    assert {path.name for path in drawn} == expected
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in drawn)


@pytest.mark.toy("parse")
def test_without_matplotlib_one_sentence_says_what_to_install(
    runs: dict[str, list[Row]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(NoMatplotlib, match=r"skyband\[plot\]"):
        BENCHMARKS["parse"].figures(runs["parse"], tmp_path)


def test_pandas_is_left_out_where_it_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    find = importlib.util.find_spec

    def hide(name: str, *args: Any) -> Any:
        return None if name == "pandas" else find(name, *args)

    monkeypatch.setattr(importlib.util, "find_spec", hide)
    rows = BENCHMARKS["parse"].run("toy", lambda said: None)
    assert [row["skipped"] for row in rows if row["algorithm"] == "pandas"] == ["Skipped: pandas is not installed."]


def test_no_benchmark_reads_the_clock_of_the_day() -> None:
    # Rows say when they were made, and two processes have no other clock in common.
    allowed = {"machine.py", "pipeline_process.py"}
    for path in Path(modules.__file__).parent.parent.rglob("*.py"):
        nodes = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Attribute)]
        names = {f"{node.value.id}.{node.attr}" for node in nodes if isinstance(node.value, ast.Name)}
        read = names & {"time.time", "datetime.now", "datetime.today", "date.today"}
        assert path.name in allowed or not read, f"{path.name} must be seeded and timed by perf_counter alone"


def test_an_interrupted_run_keeps_its_rows() -> None:
    said: list[str] = []

    def measure(n: int, progress: Progress) -> Iterator[Row]:
        for _ in range(n):
            yield skipped("here", "one", {}, "for no reason")
        raise KeyboardInterrupt

    rows = Experiment("some", "", {"toy": [1]}, iter, measure, ()).run("toy", said.append)
    assert [row["algorithm"] for row in rows] == ["one"]
    assert said == ["Interrupted: what was measured by now is kept."]
    with pytest.raises(KeyboardInterrupt):
        Experiment("none", "", {"toy": [0]}, iter, measure, ()).run("toy", said.append)
