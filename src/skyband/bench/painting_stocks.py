"""Stocks as objects of the ranges paper: asked for by dividend yield, ranked by price-to-earnings ratio, day by day.

The file holds a row for each stock and day (companies of the S&P 500, ODC-PDDL 1.0) and is not part of the project. The
folder it lies in is named by an environment variable; where there is none, whatever needs the file is skipped and says
so. The paper has a trace of its own, of 2,031 stocks by recommendation.
"""

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq

from skyband.bench.benchmark import Progress, Size
from skyband.bench.painting import DENSE, RELAX, SEED, SPARSE, UNICAST, Setting, World, loosened
from skyband.bench.painting_traffic import carried
from skyband.bench.painting_view import SCALES, Scale
from skyband.bench.real import find, why_missing
from skyband.bench.row import Row, skipped
from skyband.kernels.array import Floats
from skyband.ranges.kernels.message import points_of
from skyband.ranges.kernels.range_scan import ObjectChanges
from skyband.ranges.placement import draw_boxes
from skyband.workload.seed import Part, generator

FILE = "stocks_sp500_daily.parquet"
M = 400_000
APPROACHES = (UNICAST, DENSE, SPARSE, loosened(SPARSE, 1.0), RELAX)


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
    random = generator(SEED, Part.OBJECTS)
    steps = 0.1 * random.standard_normal((n_days, n_stocks))
    return Market(random.random(n_stocks), 20.0 * np.exp(np.cumsum(steps, axis=0)))


def world_of(market: Market, m: int) -> World:
    """The first day as it begins, all changes of later days in order, and uniform subscriptions over all yields."""
    before, now = market.y[:-1], market.y[1:]
    day, stock = np.nonzero((before != now) & ~(np.isnan(before) & np.isnan(now)))
    x, y = market.x[:, np.newaxis], now[day, stock]
    alive = ~np.isnan(y)
    changes = ObjectChanges(stock, x[stock], np.where(alive, y, 0.0), alive, np.array([len(y)]))
    low, high = draw_boxes(generator(SEED, Part.SUBSCRIPTIONS), m, "uniform", x, 0.1)
    span = x.max() - x.min()
    points = points_of(x.min() + low * span, x.min() + high * span)
    return World(x, np.nan_to_num(market.y[0]), ~np.isnan(market.y[0]), points, changes)


def measure(size: Size, progress: Progress) -> Iterator[Row]:
    """Every approach for each k on the real trace; at size toy on a made-up one, which is the same everywhere."""
    scale, path = SCALES[size], find(FILE)
    setting = scale.setting._replace(n_subscriptions=min(M, scale.setting.n_subscriptions), data="stocks")
    if size != "toy" and path is None:
        yield from _skipped(setting, scale)
        return
    market = read(path) if size != "toy" and path is not None else made_up(scale.setting.n_objects, 3)
    world = world_of(market, setting.n_subscriptions)
    n_events = len(world.changes.object) - setting.n_warm
    setting = setting._replace(n_objects=len(market.x), n_events=n_events - n_events % setting.batch)
    yield from carried(world, setting, scale, APPROACHES, progress)


def _skipped(setting: Setting, scale: Scale) -> Iterator[Row]:
    reason = why_missing(FILE)
    for k in scale.ks:
        for approach in APPROACHES:
            yield skipped(f"k = {k}", approach.label, setting._asdict() | {"k": k}, reason)
