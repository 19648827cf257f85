"""The experiments that belong to no paper: brute force for every family, the length of its rows, and single parts."""

import statistics

from skyband.bench.changes import ChangesPlan, change_rows
from skyband.bench.choice import ChoicePlan, compare_choices
from skyband.bench.contest import bytes_each
from skyband.bench.experiment import AnyExperiment, Experiment, whole
from skyband.bench.latency import LatencyPlan, latency_rows
from skyband.bench.parts import PartsScale, readers, structures
from skyband.bench.row import Row, ns_per_operation, number
from skyband.bench.scan import Lengths, ScanPlan, compare_lengths, scan_rows
from skyband.bench.startup import StartupPlan, start_engines
from skyband.bench.threads import ThreadPlan, thread_rows
from skyband.bench.view import (
    RATIO,
    SUBSCRIPTIONS,
    ViewColumn,
    algorithm,
    computed,
    count_given,
    described,
    each_second,
    given,
    plot,
    shown,
    whole_number,
)


def _is_publishing(row: Row) -> bool:
    return bool(row["parameters"]["operation"] == "publish")


def _is_swept(row: Row) -> bool:
    return _is_publishing(row) and "against" not in row["parameters"]


def _per_second(row: Row) -> float:
    return each_second(row) / (row["parameters"]["n_subscriptions"] if _is_publishing(row) else 1)


def _each(header: str, counter: str) -> ViewColumn:
    def text(row: Row) -> str:
        counted = row["measures"].get(counter)
        return "" if counted is None else number(counted / row["parameters"]["batch"])

    return described(header, text)


def _us_each(row: Row) -> float:
    return float(statistics.median(row["latencies"])) / float(row["parameters"]["batch"]) / 1e3


def _granularity_line(row: Row) -> str:
    return f"{row['parameters']['label']}, by {row['parameters']['granularity']}"


def _call_line(row: Row) -> str:
    return f"{row['parameters']['label']}, {row['algorithm']}"


def _is_one_publication(row: Row) -> bool:
    return bool(row["parameters"].get("operation") == "publish" and row["parameters"]["n_rows"] == 1)


def _part_line(row: Row) -> str:
    return f"{row['parameters']['label']}, {row['parameters']['ids']}: {row['algorithm']}"


def _is_by_one(row: Row) -> bool:
    return bool(row["parameters"].get("batch") == 1)


def _structure_line(row: Row) -> str:
    return f"{row['parameters']['structure']}, {row['parameters']['operation']}: {row['algorithm']}"


def _bytes_an_entry(row: Row) -> str:
    return number(row["measures"]["bytes"] / row["parameters"]["n"]) if "bytes" in row["measures"] else ""


EXPERIMENTS: tuple[AnyExperiment, ...] = (
    Experiment(
        name="scan",
        summary="Brute force in kernels over growing numbers of subscriptions, for every family, beside the oracle.",
        scales={
            "toy": ScanPlan((20, 40), (), 30, 10, 4, 2, 3, 12, 12, 200, 1e9),
            "small": ScanPlan((100, 1000, 10_000, 100_000), (), 40_000, 10_000, 100, 9, 20, 300, 200, 0, 30.0),
            "full": ScanPlan(
                (100, 1000, 10_000, 100_000, 1_000_000), (5_000_000,), 40_000, 10_000, 100, 11, 50, 1000, 200, 0, 110.0
            ),
        },
        sweep=whole,
        measure=scan_rows,
        columns=(
            given("case", "label"),
            SUBSCRIPTIONS,
            algorithm("engine"),
            given("operation"),
            given("granularity"),
            computed("a second", _per_second),
            described("ns a pair", lambda row: number(ns_per_operation(row)) if _is_publishing(row) else ""),
            RATIO,
            _each("changes each", "changes"),
            _each("refills each", "refilled"),
            described("bytes each", lambda row: number(bytes_each(row)) if bytes_each(row) else ""),
        ),
        plots=tuple(
            plot(name, f"Scan: {title}", "n_subscriptions", y, label, series=_granularity_line, of=_is_swept)
            for name, title, y, label in (
                ("rate", "publications a second", _per_second, "publications a second"),
                ("pair", "cost of a publication for one subscription", ns_per_operation, "ns for a pair"),
                ("memory", "memory", bytes_each, "bytes for a subscription"),
            )
        ),
    ),
    Experiment(
        name="auto",
        summary="Brute force beside the index of every family, and which of them is taken when none is named.",
        scales={
            "toy": ChoicePlan((5, 700), (2,), 30, 5, 2, 200),
            "small": ChoicePlan((1, 10, 100, 300, 1000, 3000, 10_000), (2, 8, 32), 10_000, 500, 7, 5000),
            "full": ChoicePlan((1, 10, 100, 300, 1000, 3000, 10_000, 30_000), (2, 4, 8, 16, 32), 40_000, 500, 9, 0),
        },
        sweep=whole,
        measure=compare_choices,
        columns=(
            given("case", "label"),
            SUBSCRIPTIONS,
            algorithm("engine"),
            computed("µs a publication", _us_each),
            RATIO,
            given("auto takes", "takes"),
        ),
        plots=(
            plot(
                "cost",
                "Brute force and the index",
                "n_subscriptions",
                _us_each,
                "µs a publication",
                series=lambda row: f"{row['parameters']['label']}, {row['algorithm']}",
            ),
        ),
    ),
    Experiment(
        name="latency",
        summary="One row, ten or a hundred at a time: as rows of Python and as tables, beside the kernels alone.",
        scales={
            "toy": LatencyPlan((20, 40), (1, 3), 30, 200, 5, 1e9),
            "small": LatencyPlan((10_000, 100_000), (1, 10, 100), 10_000, 0, 300, 300.0),
            "full": LatencyPlan((10_000, 100_000, 1_000_000), (1, 10, 100), 40_000, 0, 1000, 3000.0),
        },
        sweep=whole,
        measure=latency_rows,
        columns=(
            given("case", "label"),
            SUBSCRIPTIONS,
            given("operation"),
            given("rows", "n_rows"),
            algorithm("given as"),
            shown("p50 µs", "p50_us"),
            shown("p99 µs", "p99_us"),
            shown("p50 over the kernels, µs", "over_us"),
            RATIO,
            shown("rows answered", "answers"),
        ),
        plots=(
            plot(
                "one",
                "One publication",
                "n_subscriptions",
                "p50_us",
                "µs",
                series=_call_line,
                of=_is_one_publication,
            ),
        ),
    ),
    Experiment(
        name="threads",
        summary="One thread and two in turns: the index and Scan of window, geotext and ranked, every answer compared.",
        scales={
            "toy": ThreadPlan((600, 1200), (1, 2), 1200, 150, 100, 200, 3, 1e9),
            "small": ThreadPlan((10_000, 100_000), (1, 2), 10_000, 1000, 10_000, 0, 20, 300.0),
            "full": ThreadPlan((10_000, 100_000, 1_000_000), (1, 2), 100_000, 1000, 40_000, 0, 60, 3000.0),
        },
        sweep=whole,
        measure=thread_rows,
        columns=(
            given("case", "label"),
            SUBSCRIPTIONS,
            algorithm("threads"),
            computed("µs a publication", _us_each),
            RATIO,
            whole_number("bytes of threads", "bytes.threads"),
        ),
        plots=(
            plot(
                "each",
                "Threads",
                "n_subscriptions",
                _us_each,
                "µs a publication",
                series=lambda row: f"{row['parameters']['label']}, {row['algorithm']}",
            ),
        ),
    ),
    Experiment(
        name="changes",
        summary="What a change costs where many tops change: the change log and the table within the whole.",
        scales={
            "toy": ChangesPlan((20, 40), (1, 3), 30, 200, 4, 1e9),
            "small": ChangesPlan((10_000, 100_000), (1, 100), 10_000, 0, 100, 300.0),
            "full": ChangesPlan((10_000, 100_000, 1_000_000), (1, 100), 40_000, 0, 300, 3000.0),
        },
        sweep=whole,
        measure=change_rows,
        columns=(
            given("case", "label"),
            given("ids"),
            SUBSCRIPTIONS,
            given("publications", "batch"),
            algorithm("part"),
            shown("changes", "changes"),
            computed("ns a change", ns_per_operation),
            RATIO,
        ),
        plots=(
            plot(
                "one",
                "What a change costs, one publication at a time",
                "n_subscriptions",
                ns_per_operation,
                "ns a change",
                series=_part_line,
                of=_is_by_one,
            ),
        ),
    ),
    Experiment(
        name="startup",
        summary="From nothing to a first change in a new process, with nothing compiled yet and with everything.",
        scales={
            "toy": StartupPlan(1, "ranked", False),
            "small": StartupPlan(5),
            "full": StartupPlan(11),
        },
        sweep=whole,
        measure=start_engines,
        columns=(
            given("family"),
            given("before", "state"),
            algorithm("engine"),
            computed("seconds", lambda row: statistics.median(row["latencies"]) / 1e9),
            RATIO,
        ),
    ),
    Experiment(
        name="reserve",
        summary="The rows of Scan at different lengths: searches from scratch, scores, memory and time.",
        scales={
            "toy": Lengths(4, 20, 120, 1),
            "small": Lengths(256, 2000, 12_000, 3),
            "full": Lengths(10_000, 2000, 12_000, 3),
        },
        sweep=whole,
        measure=compare_lengths,
        columns=(
            algorithm("candidates in a row"),
            count_given("subscriptions", "n"),
            whole_number("refills after the first", "refilled"),
            described("scores for a pair", lambda row: f"{row['measures']['scored']:.2f}"),
            computed("bytes each", lambda row: row["measures"]["bytes"]),
            computed("ns a publication", ns_per_operation),
            RATIO,
        ),
        plots=(
            plot(
                "time",
                "Scan: time for a publication by the length of rows",
                "length",
                ns_per_operation,
                "ns a publication",
                series=lambda row: str(row["contest"]),
                x_label="candidates in a row",
            ),
        ),
    ),
    Experiment(
        name="kernels",
        summary="The id map, the heap and the slots alone, beside a dict, heapq, numpy and a list.",
        scales={
            "toy": PartsScale((100,), 2),
            "small": PartsScale((10_000, 100_000, 1_000_000), 5),
            "full": PartsScale((10_000, 100_000, 1_000_000, 5_000_000), 5),
        },
        sweep=whole,
        measure=structures,
        columns=(
            given("structure"),
            given("operation"),
            count_given("entries", "n"),
            algorithm("what"),
            computed("ns each", ns_per_operation),
            RATIO,
            described("bytes each", _bytes_an_entry),
        ),
        plots=(
            plot(
                "each",
                "Structures alone",
                "n",
                ns_per_operation,
                "ns for an entry",
                series=_structure_line,
                x_label="entries",
            ),
        ),
    ),
    Experiment(
        name="parse",
        summary="Readers of window publications: Arrow, Parquet, NDJSON, CSV and pandas.",
        scales={
            "toy": PartsScale((50,), 2),
            "small": PartsScale((1000, 10_000, 100_000), 5),
            "full": PartsScale((1000, 10_000, 100_000, 300_000), 5),
        },
        sweep=whole,
        measure=readers,
        columns=(
            algorithm("from"),
            count_given("rows", "n"),
            computed("rows a second", each_second),
            computed("ns a row", ns_per_operation),
            RATIO,
        ),
        plots=(plot("rate", "Readers: rows a second", "n", each_second, "rows a second", x_label="rows"),),
    ),
)
