"""The workload of the approximate covering paper (section 6): rectangles, and rectangles that may be covered.

Coordinates are integers below 2^bits, or real numbers in [0, 1); both are drawn as integers, the real
ones on a grid of 2^-52. The paper draws a query by the region of points that dominate it, which has two
sides for each attribute: the room below `lo` and the room above `hi`. Its aspect ratio is the difference
in bits between the longest side and the shortest.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa

from skyband.kernels.array import Floats, Int64s
from skyband.workload.cluster import clusters
from skyband.workload.option import Seeded, option
from skyband.workload.recipe import Recipe
from skyband.workload.seed import Purpose, generator
from skyband.workload.table import Workload, coordinates, ids, workload
from skyband.workload.zipf import Zipf

REAL_BITS = 52
ZIPF_CELLS = 1000


@dataclass(frozen=True)
class Options(Seeded):
    """Section 6 of the covering paper, and what it leaves open."""

    n_subscriptions: int = option(10_000, "The number of subscriptions.", "n, section 1.3", low=0)
    n_queries: int = option(50, "The number of query subscriptions.", "section 6", low=0)
    dims: int = option(
        4, "The number of attributes; the search has twice as many dimensions.", "beta, section 1.1", low=1
    )
    domain: Literal["integer", "real"] = option(
        "integer", "Integers below 2^bits, or real numbers in [0, 1).", "section 2"
    )
    bits: int = option(16, "The number of bits of an integer coordinate.", "k, section 2", low=1, high=52)
    data: Literal["uniform", "clustered", "zipfian"] = option("uniform", "How the middles of the rectangles lie.")
    n_clusters: int = option(10, "The number of clusters of clustered rectangles.", low=1)
    spread: float = option(0.05, "The standard deviation of a cluster, as a share of the domain.", low=0.0, high=3.0)
    skew: float = option(1.0, "The Zipfian parameter of zipfian middles, commonest near 0.", low=0.0, high=10.0)
    side_min: float = option(0.1, "The least shortest side, as a share of the domain.", low=0.0, high=1.0)
    side_max: float = option(0.5, "The greatest shortest side, as a share of the domain.", low=0.0, high=1.0)
    aspect: int = option(
        1, "The most bits by which a side is longer than the shortest.", "alpha, section 1.1", low=0, high=52
    )
    queries: Literal["regions", "rectangles"] = option(
        "regions",
        "Draw queries by their search region as the paper does, or like the subscriptions.",
        "section 6",
    )
    query_side: float = option(
        0.125,
        "The shortest side of a query's region or rectangle, as a share of the domain.",
        "l_d, section 6",
        low=0.0,
        high=0.5,
    )
    query_aspect: int = option(1, "The aspect ratio of a query.", "alpha = 0, 1, 2, section 6", low=0, high=52)
    covered_share: float = option(
        0.0,
        "The share of queries put inside a subscription; the paper studies those that are not covered.",
        "section 6",
        low=0.0,
        high=1.0,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.side_min > self.side_max:
            raise ValueError("side_min must not be greater than side_max.")


def generate(options: Options) -> Workload:
    """The subscriptions, and the query subscriptions as publications."""
    low, high = _subscriptions(options)
    queries = _queries(options, low, high)
    return workload("covering", options, _table(options, "s", low, high), _table(options, "q", *queries))


def subscriptions(options: Options) -> pa.Table:
    """The subscriptions alone."""
    return _table(options, "s", *_subscriptions(options))


def _table(options: Options, letter: str, low: Int64s, high: Int64s) -> pa.Table:
    unit = 1.0 if options.domain == "integer" else 2.0**-REAL_BITS
    columns = {"id": ids(options, letter, np.arange(len(low)))}
    return pa.table(
        columns
        | {
            "lo": coordinates(low.astype(np.float64) * unit),
            "hi": coordinates(high.astype(np.float64) * unit),
        }
    )


def _size(options: Options) -> int:
    """The number of coordinates of the domain."""
    return 1 << (options.bits if options.domain == "integer" else REAL_BITS)


def _subscriptions(options: Options) -> tuple[Int64s, Int64s]:
    random = generator(options.seed, Purpose.SUBSCRIPTIONS)
    shares = options.side_min + (options.side_max - options.side_min) * random.random(options.n_subscriptions)
    return _rectangles(options, random, shares, options.aspect)


def _queries(options: Options, low: Int64s, high: Int64s) -> tuple[Int64s, Int64s]:
    random = generator(options.seed, Purpose.PUBLICATIONS)
    if options.queries == "regions":
        found = _from_regions(options, random)
    else:
        found = _rectangles(options, random, np.full(options.n_queries, options.query_side), options.query_aspect)
    covered = np.flatnonzero(random.random(options.n_queries) < options.covered_share)
    if len(low) and len(covered):
        within = random.integers(0, len(low), len(covered))
        for corners, end in zip(found, _inside(random, low[within], high[within]), strict=True):
            corners[covered] = end
    return found


def _rectangles(options: Options, random: np.random.Generator, shares: Floats, aspect: int) -> tuple[Int64s, Int64s]:
    """Rectangles whose shortest sides are these shares of the domain, moved inside where they stick out."""
    size = _size(options)
    shortest = np.maximum(np.rint(shares * size), 1.0).astype(np.int64)
    sides = _sides(random, shortest, options.dims, aspect, size)
    middles = np.floor(_middles(options, random, len(shares)) * size).astype(np.int64)
    low = np.clip(middles - sides // 2, 0, size - sides)
    return low, low + sides - 1


def _from_regions(options: Options, random: np.random.Generator) -> tuple[Int64s, Int64s]:
    """Queries by the room they leave: at most half the domain on each side, so that lo <= hi."""
    size, n_rows = _size(options), options.n_queries
    shortest = np.full(n_rows, max(round(options.query_side * size), 1), dtype=np.int64)
    rooms = _sides(random, shortest, 2 * options.dims, options.query_aspect, size // 2)
    return rooms[:, : options.dims] - 1, size - rooms[:, options.dims :]


def _sides(random: np.random.Generator, shortest: Int64s, n_sides: int, aspect: int, most: int) -> Int64s:
    """Side lengths with at most `aspect` bits more than the shortest, which is any one of them."""
    bits = np.frexp(shortest.astype(np.float64))[1].astype(np.int64)
    longest = np.minimum((np.int64(1) << np.minimum(bits + aspect, 60)) - 1, most)
    shortest = np.minimum(shortest, most)
    sides = random.integers(shortest[:, None], np.maximum(longest, shortest)[:, None] + 1, (len(shortest), n_sides))
    sides[np.arange(len(shortest)), random.integers(0, n_sides, len(shortest))] = shortest
    return sides


def _middles(options: Options, random: np.random.Generator, n_rows: int) -> Floats:
    """Middles in [0, 1)."""
    shape = (n_rows, options.dims)
    if options.data == "uniform":
        return random.random(shape)
    if options.data == "clustered":
        centres = generator(options.seed, Purpose.CENTRES)
        return clusters(centres, options.n_clusters, options.dims, options.spread, 0.0).draw(random, n_rows)
    cells = Zipf(ZIPF_CELLS, options.skew).draw(random, n_rows * options.dims).reshape(shape)
    return np.asarray((cells + random.random(shape)) / ZIPF_CELLS)


def _inside(random: np.random.Generator, low: Int64s, high: Int64s) -> tuple[Int64s, Int64s]:
    """A rectangle within each of these."""
    one, other = random.integers(low, high + 1), random.integers(low, high + 1)
    return np.minimum(one, other), np.maximum(one, other)


RECIPE = Recipe(
    options=Options,
    generate=generate,
    help="Rectangles, and rectangles they may cover (the approximate covering paper).",
    second="queries",
)
