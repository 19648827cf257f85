"""Table 3 of the top-k/w paper, counted: messages of running brokers, by column, beside the paper's formulas.

Subscriptions are activated, and then publications come, uniform in the unit cube of four dimensions, at random brokers:
the scenario of the paper's sections 5.1 and 5.2. The formulas are evaluated for the parameters of the run, with M and U
as they were counted; L is the logarithm of N to the base of the paper's degree.
"""

import math
from collections.abc import Iterable, Iterator
from functools import lru_cache
from time import process_time
from typing import Any, NamedTuple

import numpy as np

import skyband
from skyband.bench.experiment import Progress, Size
from skyband.bench.row import Row, measured
from skyband.bench.runner import WrongAnswer
from skyband.overlay.broker.chart import CHARTS, Chart
from skyband.overlay.broker.event import Offered, Subscribed
from skyband.overlay.broker.frame import COLUMNS, DELIVERING, PUBLISHING, SUBSCRIBING, UPDATING, UPKEEP
from skyband.overlay.broker.options import BrokerOptions
from skyband.overlay.broker.zone_map import ZoneMap
from skyband.overlay.simulate.property import check_tops
from skyband.overlay.simulate.scenario import Request, Scenario, Weather
from skyband.overlay.simulate.world import BrokerWorld
from skyband.overlay.strategy import strategy_named
from skyband.table import Window
from skyband.workload.clock import MINUTE

DIMS, DEGREE, SEED = 4, 3, 1
COVERED, SPREAD = 0.5, 0.1
STEADY = Weather(least_delay=1_000, most_delay=1_000, sync_delay=100)
FLOODS = ("publication-flooding", "basic-gossiping", "informed-gossiping")


class TableScale(NamedTuple):
    """How much of Table 2 is taken. What passes everybody gets `n_flooded` publications, the rest all of them."""

    n_brokers: int = 256
    n_subscriptions: int = 400
    n_publications: int = 1_000_000
    n_flooded: int = 20_000
    k: int = 9
    rate: int = 1000
    window: int = 40
    chart: str = "tree"


SCALES: dict[Size, TableScale] = {
    "toy": TableScale(8, 4, 120, 60, 2, 20, 4),
    "small": TableScale(64, 40, 10_000, 1_000, 9, 100, 40),
    "full": TableScale(),
}


class Entry(NamedTuple):
    """A line of the table: a strategy, for Boolean or top-k/w subscriptions by some rule of gates."""

    strategy: str
    kind: str
    updates: str = "every"

    @property
    def gates(self) -> str:
        """The rule of gates."""
        return "chance" if self.kind == "top-k/w, PA" else "staircase"


PAPER = (
    "publication-flooding",
    "subscription-flooding",
    "covering",
    "rendezvous",
    "basic-gossiping",
    "informed-gossiping",
)
ENTRIES = (
    *(Entry(strategy, "Boolean") for strategy in PAPER),
    *(Entry(strategy, "top-k/w, PA", "cells") for strategy in PAPER),
    *(Entry(strategy, "top-k/w, staircase") for strategy in ("subscription-flooding", "covering")),
    Entry("zone-leases", "Boolean"),
    Entry("zone-leases", "top-k/w, staircase"),
)


class TablePoint(NamedTuple):
    """One line of the table at a scale, with as many publications."""

    scale: TableScale
    entry: Entry
    n_publications: int

    @property
    def minutes(self) -> int:
        """How long they take, and a minute more for what is on its way."""
        return self.n_publications // self.scale.rate + 2


def points(scale: TableScale) -> Iterator[TablePoint]:
    """All lines of the table."""
    for entry in ENTRIES:
        yield TablePoint(scale, entry, scale.n_flooded if entry.strategy in FLOODS else scale.n_publications)


def requests_of(point: TablePoint) -> Iterator[Request]:
    """Subscriptions first, and after a minute publications, evenly over time."""
    scale, random = point.scale, np.random.default_rng(SEED)
    homes, centres = (
        random.integers(0, scale.n_brokers, scale.n_subscriptions),
        random.random((scale.n_subscriptions, 4)),
    )
    threshold = round(0.09 * math.sqrt(math.sqrt(1000 / scale.rate)), 4)
    for id, (home, centre) in enumerate(zip(homes.tolist(), centres.tolist(), strict=True)):
        row = {"id": id, "score": "euclidean", "point": centre, "window_us": scale.window * MINUTE}
        row |= {"k": 1, "threshold": threshold} if point.entry.kind == "Boolean" else {"k": scale.k}
        yield Request(id * 1_000, home, Subscribed(row))
    for id in range(point.n_publications):
        at = MINUTE + id * MINUTE // scale.rate
        place = random.random(DIMS).tolist()
        yield Request(at, int(random.integers(scale.n_brokers)), Offered({"id": id, "point": place}))


def scenario_of(point: TablePoint) -> Scenario:
    """The run of a line, in calm weather."""
    scale, entry = point.scale, point.entry
    chart = CHARTS[scale.chart](scale.n_brokers, SEED)
    sample = np.random.default_rng(SEED + 1).random((16 * scale.n_brokers, DIMS))
    options = BrokerOptions(
        chart=chart,
        strategy=entry.strategy,
        mode="eager",
        tick=MINUTE,
        beat=MINUTE // 60,
        horizon=scale.window * MINUTE,
        gates=entry.gates,  # type: ignore[arg-type]
        updates=entry.updates,  # type: ignore[arg-type]
        engine="pa" if entry.gates == "chance" else "skyband",
        rounds=gossip_rounds(chart),
        fan_out=1,
        seed=SEED,
        zones=ZoneMap(sample, scale.n_brokers),
    )
    end = point.minutes * MINUTE
    return Scenario(options, SEED, tuple(requests_of(point)), STEADY, (), end, end)


def gossip_rounds(chart: Chart) -> int:
    """As many rounds as reach the share of brokers that the paper assumes, one by one."""
    return max(1, round(SPREAD * chart.n_brokers))


def run_point(point: TablePoint, progress: Progress) -> Iterable[Row]:
    """Run a line of the table, and count."""
    entry = point.entry
    progress(f"{entry.strategy}, {entry.kind}: {point.n_publications:,} publications")
    since = process_time()
    world = BrokerWorld(scenario_of(point), digests=False).run()
    seconds = process_time() - since
    if strategy_named(entry.strategy).exact and entry.gates == "staircase":
        for wrong in check_tops(world):
            raise WrongAnswer(wrong)
    counted = {name: float(sent.messages) for name, sent in world.tally.columns().items()}
    sizes = {f"bytes_{name}": float(sent.n_bytes) for name, sent in world.tally.columns().items()}
    found, right = delivered(world), wanted(point.scale, entry.kind, point.n_publications)
    deliveries = float(len(found))
    formula = formulas(point, counted[UPDATING], deliveries)
    total = sum(counted[column] for column in COLUMNS if column != UPKEEP)
    measures = counted | sizes | formula
    measures |= {"recall": len(found & right) / max(len(right), 1), "lost": float(len(right - found))}
    measures |= {"total": total, "deliveries": deliveries, "events": world.n_events, "seconds": seconds}
    measures["mean_degree"], measures["mean_distance"] = chart_measures(world.scenario.options.chart)
    parameters = point.scale._asdict() | {"kind": entry.kind, "updates": entry.updates, "seed": SEED}
    parameters |= {"n_publications": point.n_publications}
    yield measured("table 3", entry.strategy, parameters, [int(seconds * 1e9)], world.n_events, measures)


def chart_measures(chart: Chart) -> tuple[float, float]:
    """The mean degree, and the mean length of the shortest ways."""
    return chart.mean_degree, chart.mean_distance()


def delivered(world: BrokerWorld) -> set[tuple[Any, Any]]:
    """Which publications entered which tops for the first time, over all homes."""
    return {(row[0], row[1]) for audience in world.audiences for _, row in audience.changes if row[-1]}


@lru_cache(maxsize=8)
def wanted(scale: TableScale, kind: str, n_publications: int) -> frozenset[tuple[Any, Any]]:
    """What one engine delivers that gets everything, one publication after the other."""
    point = TablePoint(scale, next(entry for entry in ENTRIES if entry.kind == kind), n_publications)
    window = Window.time(scale.window * MINUTE)
    engine = skyband.open("window", "skyband", window=window, granularity="publication")
    requests = list(requests_of(point))
    engine.subscribe([request.what.row for request in requests if isinstance(request.what, Subscribed)])
    rows = [request.what.row | {"ts": request.at} for request in requests if isinstance(request.what, Offered)]
    found: set[tuple[Any, Any]] = set()
    for i in range(0, len(rows), 1000):
        changes = engine.publish(rows[i : i + 1000])
        first = changes.filter(changes["first"])
        found |= set(zip(first["subscription"].to_pylist(), first["publication"].to_pylist(), strict=True))
    return frozenset(found)


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
