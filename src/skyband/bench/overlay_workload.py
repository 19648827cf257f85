"""The scenario of the top-k/w paper's sections 5.1 and 5.2 for running brokers: what is asked for and published.

Subscriptions are activated, and then publications come, uniform in the unit cube of four dimensions, at random brokers.
They are drawn as they are needed, so that a million of them take no room.
"""

import math
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

import skyband
from skyband.overlay.broker.chart import CHARTS, Chart
from skyband.overlay.broker.event import Offered, Subscribed
from skyband.overlay.broker.options import BrokerOptions, GateRule, UpdateRule
from skyband.overlay.broker.zone_map import ZoneMap
from skyband.overlay.simulate.scenario import Request, Scenario, Weather
from skyband.table import Window
from skyband.workload.clock import MINUTE

DIMS, SEED = 4, 1
SPREAD = 0.1
# SASF's buffer of recent publications has room for so many (Table 1 of the paper).
RECENT = 2000
STEADY = Weather(least_delay=1_000, most_delay=1_000, sync_delay=100)
BATCH = 1000

Delivery = tuple[Any, Any]


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


class Entry(NamedTuple):
    """A line of the table: a strategy, for Boolean or top-k/w subscriptions by some rule of gates."""

    strategy: str
    kind: str
    updates: UpdateRule = "every"

    @property
    def gates(self) -> GateRule:
        """The rule of gates."""
        rules: dict[str, GateRule] = {"top-k/w, PA": "chance", "top-k/w, SASF": "recent"}
        return rules.get(self.kind, "staircase")

    @property
    def engine(self) -> str:
        """The engine of homes, which is the one that the rule belongs to."""
        return {"chance": "pa", "recent": "sasf"}.get(self.gates, "skyband")


class TablePoint(NamedTuple):
    """One line of the table at a scale, with as many publications; `grows` names what is smaller or larger in it."""

    scale: TableScale
    entry: Entry
    n_publications: int
    grows: str = ""

    @property
    def minutes(self) -> int:
        """How long they take, and a minute more for what is on its way."""
        return self.n_publications // self.scale.rate + 2


def requests_of(point: TablePoint) -> Iterator[Request]:
    """Subscriptions first, and after a minute publications, evenly over time."""
    scale, random = point.scale, np.random.default_rng(SEED)
    homes, centres = (
        random.integers(0, scale.n_brokers, scale.n_subscriptions),
        random.random((scale.n_subscriptions, DIMS)),
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


def published(point: TablePoint) -> Iterator[dict[str, Any]]:
    """The publications as rows with their times."""
    for request in requests_of(point):
        if isinstance(request.what, Offered):
            yield request.what.row | {"ts": request.at}


def live_at_end(point: TablePoint) -> list[dict[str, Any]]:
    """Those that are as young as the window at the end, or younger."""
    n_live = point.scale.rate * (point.scale.window + 1)
    return list(islice(published(point), max(point.n_publications - n_live, 0), None))


def scenario_of(point: TablePoint) -> Scenario:
    """The run of a line, in calm weather; what clients do is drawn by `requests_of`."""
    scale, entry = point.scale, point.entry
    chart = CHARTS[scale.chart](scale.n_brokers, SEED)
    sample = np.random.default_rng(SEED + 1).random((16 * scale.n_brokers, DIMS))
    options = BrokerOptions(
        chart=chart,
        strategy=entry.strategy,
        mode="eager",
        tick=MINUTE,
        # Nothing is lost, so that acknowledgements can wait, and queues be long.
        beat=MINUTE // 2,
        credit=1 << 20,
        horizon=scale.window * MINUTE,
        gates=entry.gates,
        recent=RECENT * MINUTE // scale.rate,
        updates=entry.updates,
        engine=entry.engine,
        engine_options={"b": RECENT} if entry.engine == "sasf" else {},
        rounds=gossip_rounds(chart),
        fan_out=1,
        seed=SEED,
        zones=ZoneMap(sample, scale.n_brokers),
    )
    end = point.minutes * MINUTE
    # What the last tick brings about has until the next one to come to rest.
    return Scenario(options, SEED, (), STEADY, (), end, end + MINUTE)


def gossip_rounds(chart: Chart) -> int:
    """As many rounds as reach the share of brokers that the paper assumes, one by one."""
    return max(1, round(SPREAD * chart.n_brokers))


@lru_cache(maxsize=8)
def wanted(scale: TableScale, is_boolean: bool, n_publications: int) -> frozenset[Delivery]:
    """What one engine delivers that gets everything, one publication after the other."""
    entry = Entry("publication-flooding", "Boolean" if is_boolean else "top-k/w, staircase")
    point = TablePoint(scale, entry, n_publications)
    window = Window.time(scale.window * MINUTE)
    engine = skyband.open("window", "skyband", window=window, granularity="publication", threads=1)
    asked = [request.what for request in islice(requests_of(point), scale.n_subscriptions)]
    engine.subscribe([what.row for what in asked if isinstance(what, Subscribed)])
    rows, found = published(point), set[Delivery]()
    while batch := list(islice(rows, BATCH)):
        changes = engine.publish(batch)
        first = changes.filter(changes["first"])
        found |= set(zip(first["subscription"].to_pylist(), first["publication"].to_pylist(), strict=True))
    return frozenset(found)
