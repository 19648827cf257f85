"""The workload of the ranked publish/subscribe paper (section 4, Table 1): weighted intervals and events.

A subscription is an interval of half-length l in every dimension about a point of the Zipfian generator,
with weight 1 - l; an event is such a point. Beyond the paper, subscriptions may speak of a few dimensions only and
have budgets, and events may be intervals; each draws its numbers last, so that the rest stays as it is without.
"""

import math
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from skyband.kernels.array import Floats, Int64s
from skyband.ranked.region import DataRegions, regions
from skyband.workload.clock import Clock
from skyband.workload.option import Timed, option
from skyband.workload.recipe import Recipe
from skyband.workload.seed import Purpose, chunks, generator
from skyband.workload.table import Workload, ids, integer_lists, lists, repeated, workload
from skyband.workload.zipf import Zipf

# Decimal digits: the cells of a region are counted in a double.
MOST_CELLS = 300


@dataclass(frozen=True)
class Options(Timed):
    """Table 1 of the ranked publish/subscribe paper."""

    n_publications: int = option(1000, "The number of events.", "n_queries, Table 1", low=0)
    n_subscriptions: int = option(1_000_000, "The number of subscriptions.", "n_intervals, Table 1", low=0)
    k: int = option(
        20,
        "How many subscriptions an event asks for; a hint, since it is set at query time.",
        "k, Table 1",
        low=1,
        high=1_000_000,
    )
    dims: int = option(1, "The number of dimensions.", "d, Table 1", low=1, high=1000)
    n_regions: int = option(10, "The number of regions that points come from.", "n_regions, Table 1", low=1)
    n_cells: int = option(100, "The number of cells per dimension.", "c_i, Table 1", low=1, high=1_000_000)
    region_min: float = option(
        0.05,
        "The least share of all cells that a region has.",
        "v_min = 100^d / 20, Table 1",
        low=1e-9,
        high=1.0,
    )
    region_max: float = option(
        0.05,
        "The greatest share of all cells that a region has.",
        "v_max = 100^d / 20, Table 1",
        low=1e-9,
        high=1.0,
    )
    skew_across: float = option(
        0.0, "The Zipfian parameter of points across regions.", "skew_across, Table 1", low=0.0, high=10.0
    )
    skew_within: float = option(
        1.0,
        "The Zipfian parameter of points within a region, densest in its middle.",
        "skew_within, Table 1",
        low=0.0,
        high=10.0,
    )
    skew_length: float = option(
        0.75,
        "The Zipfian parameter of lengths; a lower one gives longer intervals.",
        "skew_length, Table 1",
        low=0.0,
        high=10.0,
    )
    ties: bool = option(False, "Keep lengths to whole cells, so that many weights are equal.")
    missing_share: float = option(
        0.0, "The share of an event's dimensions that are missing.", "section 6", low=0.0, high=1.0
    )
    constrained: int = option(
        0, "How many dimensions a subscription speaks of, drawn for each; 0 for all.", "section 6", low=0, high=1000
    )
    budget: int = option(
        0, "The mean of the budgets of subscriptions, which are geometric; 0 for none.", low=0, high=1_000_000_000
    )
    interval_share: float = option(
        0.0, "The share of an event's dimensions that are intervals.", "section 6", low=0.0, high=1.0
    )
    interval_width: float = option(
        0.1, "The width of an event's intervals, which have the drawn point in their middle.", low=0.0, high=1.0
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.dims * math.log10(self.n_cells) > MOST_CELLS:
            raise ValueError(f"dims and n_cells must not make more than 1e{MOST_CELLS} cells.")
        if self.constrained > self.dims:
            raise ValueError("constrained must not be greater than dims.")
        if self.region_min > self.region_max:
            raise ValueError("region_min must not be greater than region_max.")


def generate(options: Options) -> Workload:
    """The whole workload in memory."""
    return workload("ranked", options, subscriptions(options), publications(options))


def subscriptions(options: Options) -> pa.Table:
    """The subscriptions."""
    places = _regions(options)
    tables = []
    for chunk in chunks(options.n_subscriptions):
        random = generator(options.seed, Purpose.SUBSCRIPTIONS, chunk.number)
        middles = places.draw(random, chunk.size)
        halves = _lengths(options, random, chunk.size)
        columns = {
            "id": ids(options, "s", np.arange(chunk.start, chunk.start + chunk.size)),
            "k": repeated(options.k, chunk.size),
        }
        more = {}
        if 0 < options.constrained < options.dims:
            chosen = _dimensions(options, random, chunk.size)
            middles, halves = (np.take_along_axis(numbers, chosen, axis=1) for numbers in (middles, halves))
            more["dims"] = integer_lists(chosen)
        if options.budget:
            more["budget"] = pa.array(random.geometric(1.0 / options.budget, chunk.size).astype(np.int64))
        columns |= {"lo": lists(middles - halves), "hi": lists(middles + halves), "weights": lists(1.0 - halves)}
        tables.append(pa.table(columns | more))
    return pa.concat_tables(tables)


def publications(options: Options) -> pa.Table:
    """The events."""
    clock, places = Clock(options), _regions(options)
    tables = []
    for chunk in chunks(options.n_publications):
        random = generator(options.seed, Purpose.PUBLICATIONS, chunk.number)
        points = places.draw(random, chunk.size)
        missing = random.random(points.shape) < options.missing_share
        columns = {
            "id": ids(options, "p", np.arange(chunk.start, chunk.start + chunk.size)),
            "ts": pa.array(clock.tick(chunk)),
        }
        more = {}
        if options.interval_share:
            wide = random.random(points.shape) < options.interval_share
            half = options.interval_width / 2
            more["upper"] = lists(points + half, missing | ~wide)
            points = np.where(wide, points - half, points)
        tables.append(pa.table(columns | {"point": lists(points, missing)} | more))
    return pa.concat_tables(tables)


def _dimensions(options: Options, random: np.random.Generator, n_rows: int) -> Int64s:
    """Distinct dimensions for each row, ascending."""
    order = np.argsort(random.random((n_rows, options.dims)), axis=1)
    return np.sort(order[:, : options.constrained], axis=1)


def _regions(options: Options) -> DataRegions:
    random = generator(options.seed, Purpose.CENTRES)
    shares = options.region_min + (options.region_max - options.region_min) * random.random(options.n_regions)
    return regions(random, shares, options.n_cells, options.dims, options.skew_across, options.skew_within)


def _lengths(options: Options, random: np.random.Generator, n_rows: int) -> Floats:
    """Half-lengths in (0, 1]: a Zipfian number of cells, the last one in part unless ties are wanted."""
    cells = Zipf(options.n_cells, options.skew_length).draw(random, n_rows * options.dims)
    last = 1.0 if options.ties else 1.0 - random.random(len(cells))
    return np.asarray((cells + last) / options.n_cells).reshape(n_rows, options.dims)


RECIPE = Recipe(
    options=Options,
    generate=generate,
    help="Events, and weighted interval subscriptions (the ranked publish/subscribe paper).",
)
