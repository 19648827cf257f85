"""The experiments of the top-k/w paper (section 5), and every policy and index of the family beside Scan."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from skyband.bench.contest import bytes_each
from skyband.bench.experiment import AnyExperiment, Experiment, Size, whole
from skyband.bench.row import Row, ns_per_operation, number
from skyband.bench.view import (
    Plot,
    ViewColumn,
    algorithm,
    computed,
    described,
    each_second,
    given,
    only,
    plot,
    relative,
    shown,
    where,
    whole_number,
)
from skyband.bench.window_contest import SweepStep, WindowPlan, compare
from skyband.bench.window_run import (
    SCALES,
    Group,
    Moving,
    Run,
    WindowScale,
    count_updates,
    expected_deliveries,
    expected_kth_score,
    run_groups,
    setting_of,
)

PLANS: dict[Size, WindowPlan] = {
    "toy": WindowPlan(steps=(SweepStep(10, 10, 4), SweepStep(20, 10, 4)), n_live=20, batch=5, n_rounds=2),
    "small": WindowPlan(
        steps=(SweepStep(1000, 20_000, 1000), SweepStep(10_000, 10_000, 200), SweepStep(100_000, 10_000, 100)),
        n_rounds=5,
        patience=2.0,
        budget=20.0,
    ),
    "full": WindowPlan(
        steps=(
            SweepStep(1000, 80_000, 1000),
            SweepStep(10_000, 80_000, 1000),
            SweepStep(100_000, 80_000, 100),
            SweepStep(1_000_000, 40_000, 100),
        ),
        patience=60.0,
        budget=600.0,
    ),
}
# SASF searches its buffer so often that 400 subscriptions would take hours: fewer are run, and counts are scaled up.
# Short batches: whenever the threshold of SASF rises, it looks through the rest of the batch again.
MOVING: dict[Size, WindowScale] = {
    "toy": SCALES["toy"]._replace(n_subscriptions=4, batch=20),
    "small": SCALES["small"]._replace(n_subscriptions=10, batch=100),
    "full": SCALES["full"]._replace(n_subscriptions=40, batch=100),
}
N_SHOWN = 400

SPEED = computed("publications a second", each_second)
DELIVERIES = shown("deliveries", "deliveries")
IN_A_WINDOW = shown("in a window, once one is full", "deliveries_window")
WINDOW = given("window in minutes", "window")


def _ratio(row: Row) -> str:
    """How many times as long as Scan beside it."""
    return f"{ns_per_operation(row) / row['measures'].get('scan_ns', ns_per_operation(row)):.3g}"


def _each(header: str, *counters: str) -> ViewColumn:
    """The sum of counters for a publication, where an engine has them."""

    def text(row: Row) -> str:
        counted = [row["measures"][counter] for counter in counters if counter in row["measures"]]
        return number(sum(counted) / row["parameters"]["batch"]) if counted else ""

    return described(header, text)


def _differs(row: Row) -> str:
    return f"{row['measures']['differs']:.1%}" if row["measures"].get("differs") else ""


def _expected_score(row: Row) -> str:
    found = row["parameters"]
    return number(expected_kth_score(found["k"], found["n_live"])) if found["data"] == "uniform" else ""


def _expected_deliveries(row: Row) -> str:
    found = row["parameters"]
    if "k" not in found:
        return ""
    return number(expected_deliveries(found["k"], found["n_live"], found["n_publications"]))


def _asked(row: Row) -> str:
    found = row["parameters"]
    return f"k = {found['k']}" if "k" in found else f"within {found['threshold']}"


def _window_of_tops(row: Row) -> str:
    return str(row["parameters"]["window"]) if row["algorithm"] == "top-k/w" else ""


def _windows(row: Row) -> str:
    """A line for each window, named so that they sort by length."""
    return f"w = {row['parameters']['window']:>3} min"


def _scaled(counter: str) -> Callable[[Row], float]:
    """A counter as if there were as many subscriptions as in the paper."""
    return lambda row: float(row["measures"][counter]) * N_SHOWN / int(row["parameters"]["n_subscriptions"])


def _tops(scale: WindowScale, label: str = "") -> Iterator[Run]:
    """A run for each data set and window, with all k in one engine."""
    groups = [Group(k) for k in scale.ks]
    for data in scale.data:
        for minutes in scale.windows:
            said = f"{label}{data}, a window of {minutes} minutes"
            yield Run(setting_of(scale, data, minutes), groups, f"{label}{data}, {minutes} min", said)


def _rates(scale: WindowScale) -> Iterator[Run]:
    """A run of the same length of time for each λ, with both kinds of subscriptions in one engine."""
    groups = [Group(k=scale.k), Group(threshold=scale.threshold)]
    for rate in scale.rates:
        setting = setting_of(scale, "uniform", scale.window, rate)
        yield Run(setting, groups, f"{rate} a minute", f"{rate:,} publications a minute")


def _tops_and_thresholds(scale: WindowScale) -> Iterator[Run]:
    """The runs with all k, and one for each data set with all thresholds."""
    yield from _tops(scale, "top-k/w, ")
    within = [Group(threshold=threshold) for threshold in scale.thresholds]
    for data in scale.data:
        yield Run(setting_of(scale, data, scale.window), within, f"Boolean, {data}", f"Boolean, {data}")


def _entry(
    figure: int, what: str, sweep: Callable[[WindowScale], Iterable[Any]], columns: tuple[ViewColumn, ...], *plots: Plot
) -> AnyExperiment:
    summary = f"Figure {figure} of the top-k/w paper: {what}."
    return Experiment(f"window-figure{figure}", summary, SCALES, sweep, run_groups, columns, plots)


EXPERIMENTS: tuple[AnyExperiment, ...] = (
    Experiment(
        name="window",
        summary="Every policy and index for the window family beside Scan, over growing numbers of subscriptions.",
        scales=PLANS,
        sweep=whole,
        measure=compare,
        columns=(
            described(
                "subscriptions", lambda row: f"{row['parameters']['n_subscriptions']:,} {row['parameters']['data']}"
            ),
            algorithm("engine"),
            SPEED,
            described("ratio", _ratio),
            _each("candidates each", "candidates"),
            _each("scored each", "scored"),
            _each("searches each", "reevaluated", "refilled"),
            _each("changes each", "changes"),
            whole_number("warmed up by", "warmed"),
            computed("bytes for a subscription", bytes_each),
            described("answers that differ", _differs),
        ),
        plots=tuple(
            plot(
                f"{name}-{data}",
                f"{what[0].upper()}{what[1:]}, {data} data",
                "n_subscriptions",
                y,
                what,
                of=where(data=data),
            )
            for data in ("uniform", "clustered")
            for name, what, y in (
                ("rate", "publications a second", each_second),
                ("memory", "bytes for a subscription", bytes_each),
            )
        ),
    ),
    _entry(
        15,
        "the average k-th score by k, window and data set",
        _tops,
        (
            given("data set", "data"),
            WINDOW,
            given("k"),
            shown("k-th score", "kth_score"),
            described("without edges", _expected_score),
            relative("ratio", "kth_score"),
            SPEED,
        ),
        *(
            plot(
                letter,
                f"Figure 15({letter}): average k-th score, {data} data set",
                "k",
                "kth_score",
                "score of the k-th publication",
                series=_windows,
                of=where(data=data),
            )
            for letter, data in (("a", "uniform"), ("b", "clustered"), ("c", "real"))
        ),
    ),
    _entry(
        16,
        "deliveries to a top-k/w and to a Boolean subscription by intensity",
        _rates,
        (
            given("publications a minute", "rate"),
            algorithm("model"),
            described("asks for", _asked),
            given("publications", "n_publications"),
            DELIVERIES,
            described("expected", _expected_deliveries),
            relative("ratio", "deliveries"),
            IN_A_WINDOW,
            SPEED,
        ),
        plot(
            "deliveries",
            "Figure 16: matching publications for a subscription",
            "rate",
            "deliveries",
            "publications delivered",
            x_label="publications a minute",
        ),
    ),
    _entry(
        17,
        "deliveries by k and window, and by threshold, for each data set",
        _tops_and_thresholds,
        (
            algorithm("model"),
            given("data set", "data"),
            described("window in minutes", _window_of_tops),
            given("k"),
            given("threshold"),
            DELIVERIES,
            described("expected", _expected_deliveries),
            relative("ratio", "deliveries"),
            IN_A_WINDOW,
            SPEED,
        ),
        plot(
            "a",
            "Figure 17(a): matching publications for a top-k/w subscription",
            "k",
            "deliveries",
            "publications delivered",
            series=lambda row: f"{row['parameters']['data']}, {_windows(row)}",
            of=only("top-k/w"),
        ),
        plot(
            "b",
            "Figure 17(b): matching publications for a Boolean subscription",
            "threshold",
            "deliveries",
            "publications delivered",
            series=lambda row: str(row["parameters"]["data"]),
            of=only("Boolean"),
        ),
    ),
    Experiment(
        name="window-figure18",
        summary="Figure 18 of the top-k/w paper: threshold and cell updates of PA and SASF, for 400 subscriptions.",
        scales=MOVING,
        sweep=lambda scale: (
            Moving(setting_of(scale, "uniform", minutes), k, scale.b) for k in scale.ks for minutes in scale.windows
        ),
        measure=count_updates,
        columns=(
            given("k"),
            WINDOW,
            described("algorithm", lambda row: row["algorithm"].upper()),
            computed("threshold updates", _scaled("threshold_updates")),
            relative("ratio", "threshold_updates"),
            computed("cell updates", _scaled("cell_updates")),
            DELIVERIES,
            SPEED,
        ),
        plots=tuple(
            plot(
                letter,
                f"Figure 18({letter}): {what} updates, {name.upper()}",
                "k",
                _scaled(f"{what}_updates"),
                f"{what} updates for {N_SHOWN} subscriptions",
                series=_windows,
                of=only(name),
            )
            for letter, name, what in (
                ("a", "pa", "threshold"),
                ("b", "sasf", "threshold"),
                ("c", "pa", "cell"),
                ("d", "sasf", "cell"),
            )
        ),
    ),
)
