"""The workload of the top-k/w paper (section 5.1, Table 1): points in the unit box, asked for by score.

Publications and subscriptions come from the same distribution, as in the paper. A Boolean subscription
has a threshold and no k.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa

from skyband.kernels.array import Floats
from skyband.workload.clock import MINUTE, Clock
from skyband.workload.cluster import clusters
from skyband.workload.option import Timed, option
from skyband.workload.recipe import Columns, Recipe
from skyband.workload.seed import CHUNK, Purpose, chunks, generator, part_of
from skyband.workload.table import Workload, batches, ids, lists, repeated, where, workload

SCORES = ("euclidean", "chebyshev", "sum", "cosine")


@dataclass(frozen=True)
class Options(Timed):
    """Table 1 of the top-k/w paper."""

    n_publications: int = option(1_000_000, "The number of publications.", "P, Table 1", low=0)
    n_subscriptions: int = option(400, "The number of subscriptions.", "S, Table 1", low=0)
    rate: float = option(1000.0, "Publications per minute.", "lambda, Table 1", low=1e-6, high=1e9)
    window_us: int = option(40 * MINUTE, "The length of the window in microseconds.", "w, Table 1", low=1)
    window_n: int = option(
        0, "A window of this many publications in place of a length of time; 0 for none.", "section 2", low=0
    )
    k: int = option(9, "How many publications a subscription asks for.", "k, Table 1", low=1, high=1_000_000)
    dims: int = option(4, "The number of dimensions.", "d, Table 1", low=1)
    score: Literal["euclidean", "chebyshev", "sum", "cosine", "mixed"] = option(
        "euclidean", "The score, or all four in turn.", "u_s, section 5.1"
    )
    data: Literal["uniform", "clustered"] = option("uniform", "How the points lie.", "section 5.1")
    n_clusters: int = option(2, "The number of clusters of clustered points.", "section 5.1", low=1)
    variance: float = option(0.1, "The variance of a cluster in every dimension.", "section 5.1", low=0.0, high=10.0)
    boolean_share: float = option(0.0, "The share of subscriptions that are Boolean.", "Theorem 2.1", low=0.0, high=1.0)
    threshold: float = option(
        0.09, "The threshold of Boolean subscriptions, on the scale of their score.", "th, section 5.1.2"
    )


def generate(options: Options) -> Workload:
    """The whole workload in memory."""
    publications = pa.concat_tables(_publications(options))
    return workload("window", options, subscriptions(options), publications)


def stream(options: Options, batch: int) -> Iterator[pa.Table]:
    """The publications in batches; together they are those of `generate`, whatever the size."""
    return batches(_publications(options), batch)


def subscriptions(options: Options) -> pa.Table:
    """The subscriptions, with only the columns their scores use."""
    n_rows, dims = options.n_subscriptions, options.dims
    random = generator(options.seed, Purpose.SUBSCRIPTIONS)
    points, weights = _points(options)(random, n_rows), random.random((n_rows, dims))
    boolean = random.random(n_rows) < options.boolean_share
    named = np.arange(n_rows) % len(SCORES) if options.score == "mixed" else SCORES.index(options.score)
    scores = np.broadcast_to(named, n_rows)
    columns = {
        "id": ids(options, "s", np.arange(n_rows)),
        "k": where(~boolean, repeated(options.k, n_rows)),
        "score": pa.array(np.array(SCORES)[scores].tolist(), pa.string()),
    }
    if options.score not in ("sum", "cosine"):
        columns["point"] = where(scores < SCORES.index("sum"), lists(points))
    if options.score != "euclidean":
        columns["weights"] = where(scores > SCORES.index("euclidean"), lists(weights))
    name = "window_n" if options.window_n else "window_us"
    columns[name] = repeated(options.window_n or options.window_us, n_rows)
    if options.boolean_share > 0.0:
        columns["threshold"] = where(boolean, pa.array(np.full(n_rows, float(options.threshold))))
    return pa.table(columns)


def _publications(options: Options) -> Iterator[pa.Table]:
    clock, points = Clock(options), _points(options)
    for chunk in chunks(options.n_publications):
        random = generator(options.seed, Purpose.PUBLICATIONS, chunk.number)
        numbers = np.arange(chunk.start, chunk.start + chunk.size)
        columns = {
            "id": ids(options, "p", numbers),
            "ts": pa.array(clock.tick(chunk)),
            "point": lists(points(random, chunk.size)),
        }
        yield pa.table(columns)


def _points(options: Options) -> Callable[[np.random.Generator, int], Floats]:
    """What draws points: given a stream and how many."""
    if options.data == "uniform":
        return lambda random, n_rows: random.random((n_rows, options.dims))
    random = generator(options.seed, Purpose.CENTRES)
    return clusters(random, options.n_clusters, options.dims, float(np.sqrt(options.variance)), 0.0).draw


def chunk(options: Options, noun: str, number: int) -> Columns:
    """What the rows of one chunk hold; of one score."""
    points = lists(_points(options)(generator(options.seed, part_of(noun), number), CHUNK))
    if noun == "publications":
        return {"point": points}
    vector = "point" if options.score in ("euclidean", "chebyshev") else "weights"
    # A window of publications goes before one of time.
    name = "window_n" if options.window_n else "window_us"
    asked = {"score": pa.array([options.score] * CHUNK), vector: points}
    return asked | {name: repeated(options.window_n or options.window_us, CHUNK)}


RECIPE = Recipe(
    options=Options,
    generate=generate,
    help="Points in a box and top-k subscriptions over sliding windows (the top-k/w paper).",
    subscriptions=subscriptions,
    stream=stream,
    chunk=chunk,
)
