"""Table 3 of the top-k/w paper, counted: messages of running brokers, by column, beside the paper's formulas.

A message is what the paper counts: one subscription, threshold, publication or delivery sent from one broker to another
one, once. What was really sent has acknowledgements and repeats besides. The formulas are evaluated for the parameters
of the run, with M and U as they were counted; L is the logarithm of N to the base of the paper's degree.
"""

import math
from collections.abc import Iterable, Iterator
from time import process_time
from typing import Any

from skyband.bench.experiment import Progress, Size
from skyband.bench.overlay_workload import (
    SEED,
    SPREAD,
    Delivery,
    Entry,
    TablePoint,
    TableScale,
    live_at_end,
    requests_of,
    scenario_of,
    wanted,
)
from skyband.bench.row import Row, measured
from skyband.bench.runner import WrongAnswer
from skyband.overlay.broker.chart import Chart
from skyband.overlay.broker.event import Offered
from skyband.overlay.broker.frame import COLUMNS, DELIVERING, PUBLISHING, SUBSCRIBING, UPDATING, UPKEEP
from skyband.overlay.simulate.property import check_tops
from skyband.overlay.simulate.scenario import Request
from skyband.overlay.simulate.world import BrokerWorld
from skyband.overlay.strategy import strategy_named

N_TOLD = 20
DEGREE = 3
COVERED = 0.5
FLOODS = ("publication-flooding", "basic-gossiping", "informed-gossiping")

SCALES: dict[Size, TableScale] = {
    "toy": TableScale(8, 4, 120, 60, 2, 20, 4),
    "small": TableScale(n_publications=10_000, n_flooded=1_000, rate=100),
    "full": TableScale(),
}

PAPER = (
    "publication-flooding",
    "subscription-flooding",
    "covering",
    "rendezvous",
    "basic-gossiping",
    "informed-gossiping",
)
# Those of the paper whose brokers hear of thresholds; the others do the same whatever the rule of gates.
INFORMED = ("subscription-flooding", "covering", "rendezvous", "informed-gossiping")
EXACT = (Entry("covering", "top-k/w, staircase"), Entry("zone-leases", "top-k/w, staircase"))
ENTRIES = (
    *(Entry(strategy, "Boolean") for strategy in PAPER),
    *(Entry(strategy, "top-k/w, PA", "cells") for strategy in PAPER),
    *(Entry(strategy, "top-k/w, SASF", "cells") for strategy in INFORMED),
    Entry("subscription-flooding", "top-k/w, staircase"),
    EXACT[0],
    Entry("zone-leases", "Boolean"),
    EXACT[1],
)

CHART_NAMES = ("tree", "regular", "internet")
GROWTH: dict[str, tuple[int, ...]] = {
    "n_brokers": (16, 64, 256),
    "n_subscriptions": (100, 200, 400),
    "k": (1, 9, 20),
    "window": (10, 20, 40),
}
GROWTH_SCALES: dict[Size, TableScale] = {
    "toy": SCALES["toy"],
    "small": TableScale(n_brokers=64, n_subscriptions=100, n_publications=6_000, n_flooded=1_000, rate=100),
    "full": TableScale(n_publications=100_000),
}


def points(scale: TableScale) -> Iterator[TablePoint]:
    """All lines of the table."""
    return (_point(scale, entry) for entry in ENTRIES)


def chart_points(scale: TableScale) -> Iterator[TablePoint]:
    """All lines, on charts of each kind."""
    return (_point(scale._replace(chart=chart), entry) for chart in CHART_NAMES for entry in ENTRIES)


def growth_points(scale: TableScale) -> Iterator[TablePoint]:
    """The exact lines, with one of N, S, k and w after another made smaller or larger."""
    for name, values in GROWTH.items():
        most = max(values)
        for value in values:
            given = getattr(scale, name)
            # At other scales than the paper's the values are in the same proportion.
            size: dict[str, Any] = {name: value if name == "k" else max(1, given * value // most)}
            grown = scale._replace(**size)
            yield from (_point(grown, entry)._replace(grows=name) for entry in EXACT)


def _point(scale: TableScale, entry: Entry) -> TablePoint:
    return TablePoint(scale, entry, scale.n_flooded if entry.strategy in FLOODS else scale.n_publications)


def label_of(point: TablePoint) -> str:
    """The name of a line, of which there is one on each chart and for each number that grows."""
    scale, entry = point.scale, point.entry
    grown = f"{point.grows} {getattr(scale, point.grows)}, " if point.grows else ""
    return f"{scale.chart}, {grown}{entry.strategy}, {entry.kind}"


def run_point(point: TablePoint, progress: Progress) -> Iterable[Row]:
    """Run a line of the table, and count."""
    entry = point.entry
    progress(f"{label_of(point)}: {point.n_publications:,} publications")
    since = process_time()
    world = BrokerWorld(scenario_of(point), digests=False)
    world.run(_told(point, world, progress, since))
    seconds = process_time() - since
    if strategy_named(entry.strategy).exact and entry.gates == "staircase":
        for wrong in check_tops(world, live_at_end(point)):
            raise WrongAnswer(wrong)
    measures = counted(world) | {"events": world.n_events, "seconds": seconds}
    found, right = delivered(world), wanted(point.scale, entry.kind == "Boolean", point.n_publications)
    measures |= {"deliveries": float(len(found)), "lost": float(len(right - found))}
    measures |= {"recall": len(found & right) / max(len(right), 1)}
    measures |= formulas(point, measures[UPDATING], measures["deliveries"])
    measures["mean_degree"], measures["mean_distance"] = chart_measures(world.scenario.options.chart)
    parameters = point.scale._asdict() | {"kind": entry.kind, "updates": entry.updates, "seed": SEED}
    parameters |= {"n_publications": point.n_publications, "grows": point.grows}
    yield measured("table 3", entry.strategy, parameters, [int(seconds * 1e9)], world.n_events, measures)


def _told(point: TablePoint, world: BrokerWorld, progress: Progress, since: float) -> Iterator[Request]:
    """What clients do; how far that is, is told a few times."""
    n, step = 0, max(1, point.n_publications // N_TOLD)
    for request in requests_of(point):
        yield request
        if isinstance(request.what, Offered):
            n += 1
            if n % step == 0:
                minutes = (process_time() - since) / 60
                progress(f"  {n:,} publications, {world.tally.total:,} messages, {minutes:.1f} minutes")


def counted(world: BrokerWorld) -> dict[str, float]:
    """Messages by column with their bytes, the total that the paper counts, and what was really sent."""
    columns = world.tally.columns()
    found = {name: float(sent.messages) for name, sent in columns.items()}
    found["total"] = sum(found[column] for column in COLUMNS if column != UPKEEP)
    found["sent"] = found["total"] + found[UPKEEP]
    return found | {f"bytes_{name}": float(sent.n_bytes) for name, sent in columns.items()}


def chart_measures(chart: Chart) -> tuple[float, float]:
    """The mean degree, and the mean length of the shortest ways."""
    return chart.mean_degree, chart.mean_distance()


def delivered(world: BrokerWorld) -> set[Delivery]:
    """Which publications entered which tops for the first time, over all homes."""
    return {(row[0], row[1]) for audience in world.audiences for _, row in audience.changes if row[-1]}


def formulas(point: TablePoint, n_updates: float, n_deliveries: float) -> dict[str, float]:
    """What the paper's formulas say for these parameters; nothing for strategies that are not the paper's."""
    scale, strategy = point.scale, point.entry.strategy
    n, s, p = scale.n_brokers, scale.n_subscriptions, point.n_publications
    hops = math.log(n, DEGREE)
    u = n_updates if point.entry.kind != "Boolean" else 0.0
    # U counts changes of thresholds, of which each is sent to as many brokers as the formula says.
    rows: dict[str, dict[str, float]] = {
        "publication-flooding": {PUBLISHING: (n - 1) * p},
        "subscription-flooding": {SUBSCRIBING: s * (n - 1), DELIVERING: n_deliveries, UPDATING: u},
        "covering": {
            SUBSCRIBING: (1 - COVERED) * s * (n - 1),
            DELIVERING: n_deliveries * hops,
            UPDATING: (1 - COVERED) * u,
        },
        "rendezvous": {SUBSCRIBING: s * hops, PUBLISHING: p * hops, DELIVERING: n_deliveries, UPDATING: u},
        "basic-gossiping": {PUBLISHING: SPREAD * n * p},
        "informed-gossiping": {SUBSCRIBING: DEGREE * s, PUBLISHING: SPREAD * n * p, UPDATING: u},
    }
    found: dict[str, Any] = {f"formula_{column}": value for column, value in rows.get(strategy, {}).items()}
    if found:
        found["formula_total"] = sum(found.values())
    return found
