"""The experiments on what costs grow with, which belong to no paper."""

from skyband.bench.experiment import AnyExperiment, Experiment, Size, whole
from skyband.bench.first_answers import answer_first, count_bytes
from skyband.bench.growing_cost import CostPlan, begin, flood, straggle
from skyband.bench.row import Row, ns_per_operation
from skyband.bench.view import RATIO, SUBSCRIPTIONS, ViewColumn, algorithm, computed, given, plot, shown

SCALES: dict[Size, CostPlan] = {
    "toy": CostPlan((40,), 60, 20, 12, 1, 200),
    "small": CostPlan((1000, 10_000), 10_000, 1000, 100, 3, 5000),
    "full": CostPlan((1000, 10_000, 100_000), 100_000, 1000, 300, 3, 0),
}
ANSWER_SCALES: dict[Size, CostPlan] = {
    "toy": CostPlan((40,), 60, 20, 12, 1, 200),
    "small": CostPlan((1000, 10_000), 10_000, 1000, 1000, 3, 5000),
    "full": CostPlan((10_000, 100_000, 1_000_000), 100_000, 1000, 1000, 5, 0),
}
PARTS = ("rows", "index", "questions", "deliveries")
FAMILY, WINDOW = given("family"), given("window")


def _us(row: Row) -> float:
    return ns_per_operation(row) / 1e3


def _seconds(row: Row) -> float:
    return _us(row) * float(row["n_operations"]) / 1e6


def _line(row: Row) -> str:
    return ", ".join(str(row["parameters"][name]) for name in ("family", "window") if name in row["parameters"])


def _counted(of: str) -> tuple[ViewColumn, ...]:
    names = {"candidates": "candidates", "scores": "scored", "searches": "reevaluated"}
    return tuple(shown(f"{header} a {of}", name) for header, name in names.items())


EXPERIMENTS: tuple[AnyExperiment, ...] = (
    Experiment(
        name="straggling",
        summary="A publication that comes out of order beside one in order, over growing numbers of subscriptions.",
        scales=SCALES,
        sweep=whole,
        measure=straggle,
        columns=(
            given("windows", "window"),
            SUBSCRIPTIONS,
            algorithm("publications"),
            computed("µs each", _us),
            RATIO,
            *_counted("publication"),
        ),
        plots=(
            plot(
                "each",
                "Single publications, in order and not",
                "n_subscriptions",
                _us,
                "µs a publication",
                series=lambda row: f"{row['algorithm']}, windows {row['parameters']['window']}",
            ),
        ),
    ),
    Experiment(
        name="beginning",
        summary="From an empty engine to a full window: subscriptions first, or publications first.",
        scales=SCALES,
        sweep=whole,
        measure=begin,
        columns=(
            FAMILY,
            WINDOW,
            SUBSCRIPTIONS,
            algorithm("order"),
            computed("seconds", _seconds),
            RATIO,
            shown("ms for the first batch", "first_batch_ms"),
            shown("µs for a first answer", "answer_us"),
            *_counted("subscription"),
        ),
        plots=(
            plot(
                "seconds",
                "From an empty engine to a full window",
                "n_subscriptions",
                _seconds,
                "seconds",
                series=lambda row: f"{_line(row)}, {row['algorithm']}",
            ),
        ),
    ),
    Experiment(
        name="flood",
        summary="Batches as large as the window beside smaller ones.",
        scales=SCALES,
        sweep=whole,
        measure=flood,
        columns=(
            FAMILY,
            SUBSCRIPTIONS,
            algorithm("a batch is"),
            computed("µs a publication", _us),
            RATIO,
            *_counted("publication"),
        ),
        plots=(
            plot(
                "each",
                "Batches as large as the window",
                "n_subscriptions",
                _us,
                "µs a publication",
                series=lambda row: f"{_line(row)}, {row['algorithm']}",
            ),
        ),
    ),
    Experiment(
        name="subscribe",
        summary="First answers of many subscriptions at once, and of as many one by one, beside those that are there.",
        scales=ANSWER_SCALES,
        sweep=whole,
        measure=answer_first,
        columns=(
            FAMILY,
            SUBSCRIPTIONS,
            algorithm("subscribed"),
            computed("µs for a first answer", _us),
            RATIO,
            shown("scores a subscription", "scored"),
        ),
        plots=(
            plot(
                "each",
                "First answers",
                "n_subscriptions",
                _us,
                "µs for a first answer",
                series=lambda row: f"{row['parameters']['family']}, {row['algorithm']}",
            ),
        ),
    ),
    Experiment(
        name="memory",
        summary="The bytes of a subscription by part, once all are answered and once a window has slid over them.",
        scales=ANSWER_SCALES,
        sweep=whole,
        measure=count_bytes,
        columns=(FAMILY, SUBSCRIPTIONS, algorithm("when"), *(shown(part, f"bytes.{part}") for part in PARTS), RATIO),
        plots=(),
    ),
)
