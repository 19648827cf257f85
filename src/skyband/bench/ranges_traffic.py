"""What the messages of the ranges paper's approaches cost in the broker network, counted by overlay and by IP links.

Objects are made up, or stocks that are asked for by dividend yield and ranked by price-to-earnings ratio, day by day.
The file of those holds a row for each stock and day (companies of the S&P 500, ODC-PDDL 1.0) and is not part of the
project; where it is not found, whatever needs it is skipped and says so. The paper has a trace of its own, of 2,031
stocks by recommendation.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq

from skyband.bench.experiment import Progress
from skyband.bench.ranges_data import DENSE, SEED, Approach, Crowd, RangesSetting, World, make_world, plant
from skyband.bench.ranges_trial import MESSAGE_BYTES, UNICAST_BYTES, Trial, contest
from skyband.bench.real import find, why_missing
from skyband.bench.row import Row, average, skipped
from skyband.kernels.array import Floats, Int64s
from skyband.overlay import Network, Zones, internet
from skyband.ranges.kernels.boxsearch import report
from skyband.ranges.kernels.message import Messages, points_of
from skyband.ranges.kernels.range_scan import ObjectChanges
from skyband.ranges.placement import draw_boxes
from skyband.ranges.wire import message_bytes
from skyband.workload.seed import Purpose, generator

FILE = "stocks_sp500_daily.parquet"
# What travels here is of one dimension.
SENT = message_bytes(1)


class Paths:
    """A network over zones of the subscriptions; changes begin at random brokers.

    `home` is the zone of each subscription. A message from the server to one zone alone takes what `direct` says if it
    goes from broker to broker. If the server knows the address of that broker it takes one link of the overlay, which
    passes no other broker, and `straight` IP hops.
    """

    def __init__(self, world: World, n_zones: int, n_nodes: int) -> None:
        zones, topology = Zones(world.points, n_zones), internet(n_nodes, SEED)
        self.network = Network(zones, topology, topology.choose(n_zones, SEED))
        self.home = zones.zone_of(world.points)
        self.direct = self.network.unicast(zones.numbers)
        self.straight = self.network.hops[zones.server].astype(np.int64)
        self.origins = generator(SEED, Purpose.CENTRES).integers(0, n_zones, len(world.changes.object))

    def to_server(self, at: slice) -> dict[str, float]:
        """What it takes to tell the server of a change; the way there is taken to be as long as that back."""
        links = {"way_overlay": self.direct.overlay_hops, "way_ip": self.direct.ip_hops}
        return {name: float(MESSAGE_BYTES * hops[self.origins[at]].mean()) for name, hops in links.items()}


class Carried(Trial):
    """A trial whose messages are sent through a network; those of Unicast follow from those of Paint-Dense."""

    def __init__(self, paths: Paths, world: World, crowd: Crowd, approach: Approach) -> None:
        super().__init__(world, crowd, approach)
        self.paths = paths
        self.overlay, self.ip = np.zeros((2, len(world.changes.object)))
        self.alone_overlay, self.alone_ip = np.zeros((2, len(world.changes.object)))
        self.straight_overlay, self.straight_ip = np.zeros((2, len(world.changes.object)))
        self._found = np.zeros(len(world.points) if approach == DENSE else 0, np.int64)

    def count(self, messages: Messages, changes: ObjectChanges, at: slice) -> None:
        """Enter messages into the ledger, and their links."""
        super().count(messages, changes, at)
        if self.approach.algorithm == "unicast":
            return
        origins = self.paths.origins[at] if self.approach.algorithm == "relax" else None
        traffic = self.paths.network.broadcast(messages, origins).per_event(messages.event, len(changes.object))
        self.overlay[at] += traffic.overlay_hops
        self.ip[at] += traffic.ip_hops
        if self.approach == DENSE:
            n = int(messages.length[0])
            for i in np.flatnonzero(messages.object[:n] == changes.object[messages.event[:n]]).tolist():
                self._tell_each(messages.low[i], messages.high[i], at.start + int(messages.event[i]))

    def _tell_each(self, low: Floats, high: Floats, change: int) -> None:
        n = report(self.crowd.points.trees, 0, low, high, self._found, 0)
        zones: Int64s = self.paths.home[self._found[:n]]
        self.alone_overlay[change] += self.paths.direct.overlay_hops[zones].sum()
        self.alone_ip[change] += self.paths.direct.ip_hops[zones].sum()
        self.straight_overlay[change] += np.count_nonzero(zones != self.paths.network.zones.server)
        self.straight_ip[change] += self.paths.straight[zones].sum()

    def measures(self, since: int) -> dict[str, float]:
        """What a change took on average; all but CN-Relax have to tell the server first, which is told apart."""
        at, told = slice(since, self.n_done), super().measures(since)
        if self.approach.algorithm != "relax":
            told |= self.paths.to_server(at)
        return told | _traffic(self.overlay[at], self.ip[at], MESSAGE_BYTES)

    def completed(self, dense: Trial, since: int) -> dict[str, float]:
        """The measures of Unicast over all changes that Paint-Dense has seen."""
        told, at = super().completed(dense, since), slice(since, dense.n_done)
        if isinstance(dense, Carried):
            told |= self.paths.to_server(at)
            told |= _traffic(dense.alone_overlay[at], dense.alone_ip[at], UNICAST_BYTES)
            told |= average("straight_overlay_bytes", UNICAST_BYTES * dense.straight_overlay[at])
            told |= average("straight_ip_bytes", UNICAST_BYTES * dense.straight_ip[at])
        return told


def _traffic(overlay: Floats, ip: Floats, unit: int) -> dict[str, float]:
    """Links as bytes, in the paper's unit and of messages as they are sent."""
    told = average("overlay_bytes", unit * overlay) | average("ip_bytes", unit * ip)
    return told | average("overlay_sent", SENT * overlay) | average("ip_sent", SENT * ip)


class Journey(NamedTuple):
    """Approaches for each k whose messages are sent through one network; `real` objects are those of the file."""

    setting: RangesSetting
    ks: Sequence[int]
    approaches: Sequence[Approach]
    n_zones: int
    n_nodes: int
    real: bool = False


def send(journey: Journey, progress: Progress) -> Iterator[Row]:
    """A contest for each k on a workload of the paper."""
    progress(f"{journey.setting.n_subscriptions:,} subscriptions")
    yield from _carried(make_world(journey.setting), journey, progress)


def send_stocks(journey: Journey, progress: Progress) -> Iterator[Row]:
    """A contest for each k on the trace of stocks, or on a made-up one, which is the same everywhere."""
    if is_left_out(journey):
        yield from left_out(journey, why_missing(FILE))
    else:
        yield from _carried(*stock_world(journey), progress)


def is_left_out(journey: Journey) -> bool:
    """Whether a journey needs a file that is not there."""
    return journey.real and find(FILE) is None


def stock_world(journey: Journey) -> tuple[World, Journey]:
    """The stocks with all their changes, and the journey with as many of these as make whole batches."""
    setting, path = journey.setting, find(FILE)
    market = read(path) if journey.real and path is not None else made_up(setting.n_objects, 3)
    world = world_of(market, setting.n_subscriptions)
    n_events = len(world.changes.object) - setting.n_warm
    setting = setting._replace(n_objects=len(market.x), n_events=n_events - n_events % setting.batch)
    return world, journey._replace(setting=setting)


def _carried(world: World, journey: Journey, progress: Progress) -> Iterator[Row]:
    progress(f"{len(world.points):,} subscriptions: building {journey.n_zones:,} zones")
    tree, paths = plant(world), Paths(world, journey.n_zones, journey.n_nodes)

    def trial(world: World, crowd: Crowd, approach: Approach) -> Carried:
        return Carried(paths, world, crowd, approach)

    for k in journey.ks:
        about = f"{len(world.points):,} subscriptions, k = {k}"
        progress(about)
        yield from contest(world, Crowd(tree, k), journey.approaches, journey.setting, about, trial)


def left_out(journey: Journey, reason: str) -> Iterator[Row]:
    """A row with the reason for each approach and k."""
    for k in journey.ks:
        for approach in journey.approaches:
            yield skipped(f"k = {k}", approach.label, journey.setting._asdict() | {"k": k}, reason)


class Market(NamedTuple):
    """Each stock's dividend yield, and its ratio on each day, a row each; nan where there is none."""

    x: Floats
    y: Floats


@lru_cache(maxsize=1)
def read(path: Path) -> Market:
    """The stocks that pay a dividend, each with its first yield, since the paper's range attribute stays as it is."""
    table = pq.read_table(path, columns=["date", "ticker", "pe", "dividend_yield"]).sort_by("date")
    ticker, day = (pc.rank(table[name], tiebreaker="dense").to_numpy() - 1 for name in ("ticker", "date"))
    x, y = np.full(ticker.max() + 1, np.nan), np.full((day.max() + 1, ticker.max() + 1), np.nan)
    y[day, ticker] = pc.fill_null(table["pe"], np.nan).to_numpy()
    yields = pc.fill_null(table["dividend_yield"], np.nan).to_numpy()
    known = np.flatnonzero(yields > 0.0)
    first = np.unique(ticker[known], return_index=True)
    x[first[0]] = yields[known[first[1]]]
    # The paper has no two objects at one place, and what Unicast looks at is told from tiles only then.
    return Market(x[x > 0.0] + 1e-9 * np.arange(np.count_nonzero(x > 0.0)), y[:, x > 0.0])


def made_up(n_stocks: int, n_days: int) -> Market:
    """Stocks whose ratios wander a little each day."""
    random = generator(SEED, Purpose.OBJECTS)
    steps = 0.1 * random.standard_normal((n_days, n_stocks))
    return Market(random.random(n_stocks), 20.0 * np.exp(np.cumsum(steps, axis=0)))


def world_of(market: Market, m: int) -> World:
    """The first day as it begins, all changes of later days in order, and uniform subscriptions over all yields."""
    before, now = market.y[:-1], market.y[1:]
    day, stock = np.nonzero((before != now) & ~(np.isnan(before) & np.isnan(now)))
    x, y = market.x[:, np.newaxis], now[day, stock]
    alive = ~np.isnan(y)
    changes = ObjectChanges(stock, x[stock], np.where(alive, y, 0.0), alive, np.array([len(y)]))
    low, high = draw_boxes(generator(SEED, Purpose.SUBSCRIPTIONS), m, "uniform", x, 0.1)
    span = x.max() - x.min()
    points = points_of(x.min() + low * span, x.min() + high * span)
    return World(x, np.nan_to_num(market.y[0]), ~np.isnan(market.y[0]), points, changes)
