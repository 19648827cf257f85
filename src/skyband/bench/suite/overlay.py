"""The experiments of the overlay: messages of brokers, their speed, brokers as processes, and the network of ranges."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from skyband.bench.experiment import AnyExperiment, Experiment, Size, whole
from skyband.bench.network import NetworkPlan, network_points, network_rows
from skyband.bench.overlay_events import SHAPES, event_points, run_events
from skyband.bench.overlay_ranges import run_network, run_stock_network
from skyband.bench.overlay_table3 import (
    GROWTH_SCALES,
    SCALES,
    chart_points,
    growth_points,
    points,
    run_point,
)
from skyband.bench.ranges_data import TOY, RangesSetting
from skyband.bench.ranges_paper import KS, SENT
from skyband.bench.ranges_traffic import Journey
from skyband.bench.row import Row, number
from skyband.bench.view import (
    RATIO,
    SUBSCRIPTIONS,
    K,
    Plot,
    ViewColumn,
    algorithm,
    count_given,
    described,
    given,
    plot,
    relative,
    share,
    shown,
    whole_number,
)
from skyband.overlay.broker.frame import DELIVERING, PUBLISHING, RECALLING, SUBSCRIBING, UPDATING


def _beside(column: str) -> ViewColumn:
    """A column of the table: what was counted, and in brackets what the formula says where it says anything."""

    def text(row: Row) -> str:
        counted = f"{row['measures'][column]:,.0f}"
        formula = row["measures"].get(f"formula_{column}")
        return counted if formula is None else f"{counted} ({formula:,.0f})"

    return described(column, text)


def _each(row: Row) -> float:
    return float(row["measures"]["total"] / row["parameters"]["n_publications"])


# The lists of all subscriptions are kept, so there are fewer than where messages are only counted.
JOURNEYS: Mapping[Size, Journey] = {
    "toy": Journey(TOY, (1, 3), SENT, 5, 30),
    "small": Journey(RangesSetting(20_000, 200, n_warm=0), (1, 5, 20), SENT, 100, 2_000),
    "full": Journey(RangesSetting(50_000, 500, n_warm=0), KS, SENT, 1_000, 20_000),
}


def _of_stocks(journey: Journey) -> Iterator[Journey]:
    """The trace of stocks, made up at size toy."""
    yield journey._replace(real=journey.setting != TOY)


def _network_entry(
    figure: int, what: str, sweep: Callable[[Journey], Any], measure: Callable[..., Any]
) -> AnyExperiment:
    return Experiment(
        name=f"overlay-figure{figure}",
        summary=f"Figure {figure} of the ranges paper by bytes that running brokers of zones have sent, {what}.",
        scales=JOURNEYS,
        sweep=sweep,
        measure=measure,
        columns=(
            K,
            algorithm("approach"),
            shown("overlay bytes", "overlay_sent"),
            relative("ratio", "overlay_sent"),
            shown("IP bytes", "ip_sent"),
            relative("ratio of IP bytes", "ip_sent"),
            shown("overlay bytes, paper's unit", "overlay_bytes"),
            shown("IP bytes, paper's unit", "ip_bytes"),
            shown("parcels over links", "parcels"),
            shown("messages over links", "messages"),
            shown("overlay bytes to the server", "way_overlay"),
            shown("IP bytes to the server", "way_ip"),
            SUBSCRIPTIONS,
            shown("changes counted", "events"),
        ),
        plots=tuple(
            plot(letter, f"Figure {figure}({letter}): {name} traffic for a change, as sent", "k", y, "bytes a change")
            for letter, name, y in (("a", "overlay", "overlay_sent"), ("b", "IP", "ip_sent"))
        ),
    )


def _series(row: Row) -> str:
    return f"{row['algorithm']}, {row['parameters']['kind']}"


COLUMNS = (
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
    whole_number("lost", "lost"),
    whole_number("really sent", "sent"),
    described("events a second", lambda row: number(row["measures"]["events"] / row["measures"]["seconds"])),
    RATIO,
)


def _growth(name: str, x_label: str) -> Plot:
    title = f"Messages for a publication, by {x_label}"

    def grows(row: Row) -> bool:
        return bool(row["parameters"]["grows"] == name)

    return plot(name, title, name, _each, "messages", series=_series, x_label=x_label, of=grows)


EXPERIMENTS: tuple[AnyExperiment, ...] = (
    Experiment(
        name="overlay-table3",
        summary="Table 3 of the top-k/w paper, counted: messages of running brokers, with the formula in brackets.",
        scales=SCALES,
        sweep=points,
        measure=run_point,
        columns=COLUMNS,
    ),
    Experiment(
        name="overlay-charts",
        summary="The same table on a tree, on a graph of degree three, and on one like the internet.",
        scales=SCALES,
        sweep=chart_points,
        measure=run_point,
        columns=(given("chart"), *COLUMNS),
    ),
    Experiment(
        name="overlay-growth",
        summary="The lines of the table that lose nothing, as brokers, subscriptions, k and windows grow.",
        scales=GROWTH_SCALES,
        sweep=growth_points,
        measure=run_point,
        columns=(
            given("brokers", "n_brokers"),
            given("registered", "n_subscriptions"),
            given("k"),
            given("window"),
            *COLUMNS,
        ),
        plots=(
            _growth("n_brokers", "brokers"),
            _growth("n_subscriptions", "subscriptions"),
            _growth("k", "k"),
            _growth("window", "minutes in the window"),
        ),
    ),
    Experiment(
        name="overlay-events",
        summary="How many events of a simulated network one core takes in a second, with engines and without.",
        scales=SHAPES,
        sweep=event_points,
        measure=run_events,
        columns=(
            algorithm("strategy"),
            described("checks", lambda row: "after every event" if row["parameters"]["checks"] else "none"),
            given("answers", "mode"),
            whole_number("events", "events"),
            whole_number("messages", "messages"),
            whole_number("events per second", "per_second"),
            share("engines take", "engine_share"),
            whole_number("without engines", "per_second_without_engines"),
            RATIO,
        ),
    ),
    Experiment(
        name="network",
        summary="Brokers as processes, in a chain: from publication to change 1, 2 and 4 hops away, rows and bytes.",
        scales={
            "toy": NetworkPlan((1,), ("eager",), 5, 5, 2, 20),
            "small": NetworkPlan((1, 2, 4), ("eager", "watermark"), 100, 200, 20, 500),
            "full": NetworkPlan((1, 2, 4), ("eager", "watermark"), 1_000, 1_000, 100, 500),
        },
        sweep=network_points,
        measure=network_rows,
        columns=(
            described("what", lambda row: str(row["contest"])),
            algorithm("over"),
            shown("p50 ms", "p50_ms"),
            shown("p99 ms", "p99_ms"),
            shown("rows per second", "rows_per_s"),
            shown("bytes per second", "bytes_per_s"),
            shown("bytes per row", "bytes_per_row"),
            RATIO,
        ),
    ),
    _network_entry(14, "by k", whole, run_network),
    _network_entry(17, "on stocks", _of_stocks, run_stock_network),
)
