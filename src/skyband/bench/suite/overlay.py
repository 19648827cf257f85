"""The experiments of the overlay: the messages of running brokers."""

from skyband.bench.experiment import AnyExperiment, Experiment
from skyband.bench.overlay_table3 import SCALES, points, run_point
from skyband.bench.row import Row, number
from skyband.bench.view import RATIO, ViewColumn, algorithm, count_given, described, given, plot, share, whole_number
from skyband.overlay.broker.frame import DELIVERING, PUBLISHING, RECALLING, SUBSCRIBING, UPDATING, UPKEEP


def _beside(column: str) -> ViewColumn:
    """A column of the table: what was counted, and in brackets what the formula says where it says anything."""

    def text(row: Row) -> str:
        counted = f"{row['measures'][column]:,.0f}"
        formula = row["measures"].get(f"formula_{column}")
        return counted if formula is None else f"{counted} ({formula:,.0f})"

    return described(column, text)


def _each(row: Row) -> float:
    return float(row["measures"]["total"] / row["parameters"]["n_publications"])


EXPERIMENTS: tuple[AnyExperiment, ...] = (
    Experiment(
        name="overlay-table3",
        summary="Table 3 of the top-k/w paper, counted: messages of running brokers, with the formula in brackets.",
        scales=SCALES,
        sweep=points,
        measure=run_point,
        columns=(
            algorithm("strategy"),
            given("subscriptions", "kind"),
            count_given("publications", "n_publications"),
            _beside(SUBSCRIBING),
            _beside(PUBLISHING),
            _beside(DELIVERING),
            _beside(UPDATING),
            _beside(RECALLING),
            _beside("total"),
            share("recall", "recall"),
            whole_number("upkeep", UPKEEP),
            described("events a second", lambda row: number(row["measures"]["events"] / row["measures"]["seconds"])),
            RATIO,
        ),
        plots=(
            plot(
                "each",
                "Messages for a publication, subscriptions and updates included",
                "n_brokers",
                _each,
                "messages",
                series=lambda row: f"{row['algorithm']}, {row['parameters']['kind']}",
                x_label="brokers",
            ),
        ),
    ),
)
