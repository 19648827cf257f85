"""The workload of the range top-k paper (section V, appendix D): objects whose y changes, asked for by x.

Every coordinate lies in [0, 1]. The first publications insert the objects, the rest are events. An event
that picks a deleted object inserts it again where it was.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa

from skyband.kernels.array import Floats, Int64s
from skyband.ranges.object_changes import EventDraws, Heights, LiveObjects, drift, jump
from skyband.ranges.placement import draw_boxes, place_objects, replace_objects
from skyband.workload.clock import Clock
from skyband.workload.option import Timed, option
from skyband.workload.recipe import Recipe
from skyband.workload.seed import Chunk, Purpose, chunks, generator
from skyband.workload.table import Workload, batches, coordinates, ids, repeated, workload


@dataclass(frozen=True)
class Options(Timed):
    """Section V of the range top-k paper."""

    n_objects: int = option(10_000, "The number of objects, inserted first.", "n, section V", low=1)
    n_events: int = option(10_000, "The number of events that follow.", "section V", low=0)
    n_subscriptions: int = option(
        100_000,
        "The number of subscriptions; the paper has 2,000,000, or 400,000 of dataset1 to 3.",
        "m, section V",
        low=0,
    )
    k: int = option(20, "How many objects a subscription asks for.", "k, 1 to 20, section V", low=1, high=1_000_000)
    dims: int = option(1, "The number of dimensions of x.", "section IV-C and appendix D", low=1, high=2)
    objects: Literal["uniform", "clustered"] = option("uniform", "How the objects lie.", "section V")
    data: Literal["uniform", "clustered", "correlated", "anti-correlated", "dataset1", "dataset2", "dataset3"] = option(
        "uniform",
        "How the subscriptions lie; correlated and anti-correlated follow the clusters of clustered "
        "objects, dataset1 to dataset3 are unbounded below in the second of two dimensions.",
        "section V and appendix D",
    )
    cluster_width: float = option(
        0.1,
        "The width of clusters of subscriptions; a quarter of it is their standard deviation.",
        "lambda, section V",
        low=0.0,
        high=2.0,
    )
    change: Literal["uniform", "gaussian"] = option(
        "uniform", "New y: anywhere on the side chosen by a coin, or the old plus a Gaussian.", "section V"
    )
    volatility: float = option(
        1.0,
        "The Gaussian change has an eighth of this as its standard deviation.",
        "c, Figure 15(b)",
        low=0.0,
        high=100.0,
    )
    delete_share: float = option(0.0, "The share of events that delete the object.", low=0.0, high=1.0)
    move_share: float = option(0.0, "The share of events that change x and not y.", low=0.0, high=1.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.data.startswith("dataset") and self.dims != 2:
            raise ValueError(f"data {self.data} needs dims 2, not {self.dims}.")
        if self.delete_share + self.move_share > 1.0:
            raise ValueError("delete_share and move_share must not add up to more than 1.")


def generate(options: Options) -> Workload:
    """The whole workload in memory."""
    publications = pa.concat_tables(_publications(options))
    return workload("ranges", options, subscriptions(options), publications)


def stream(options: Options, batch: int) -> Iterator[pa.Table]:
    """The publications in batches; together they are those of `generate`, whatever the size."""
    return batches(_publications(options), batch)


def subscriptions(options: Options) -> pa.Table:
    """The subscriptions: doubles in one dimension, lists in two."""
    n_rows = options.n_subscriptions
    places = place_objects(generator(options.seed, Purpose.OBJECTS), options.n_objects, options.dims, options.objects)
    low, high = draw_boxes(
        generator(options.seed, Purpose.SUBSCRIPTIONS), n_rows, options.data, places, options.cluster_width
    )
    columns = {"id": ids(options, "s", np.arange(n_rows)), "k": repeated(options.k, n_rows)}
    return pa.table(columns | {"lo": coordinates(low), "hi": coordinates(high)})


def _publications(options: Options) -> Iterator[pa.Table]:
    clock = Clock(options)
    random = generator(options.seed, Purpose.OBJECTS)
    places = place_objects(random, options.n_objects, options.dims, options.objects)
    heights: Heights = random.random(options.n_objects).tolist()
    inserts = list(chunks(options.n_objects))
    for chunk in inserts:
        rows = slice(chunk.start, chunk.start + chunk.size)
        yield _table(options, clock, chunk, np.arange(options.n_objects)[rows], places[rows], heights[rows])
    change = drift if options.change == "gaussian" else jump
    objects = LiveObjects(places, heights, options.delete_share, options.move_share, change)
    for chunk in chunks(options.n_events):
        draws = _draws(options, chunk)
        later = Chunk(len(inserts) + chunk.number, options.n_objects + chunk.start, chunk.size)
        yield _table(options, clock, later, draws.chosen, *objects.apply(draws))


def _draws(options: Options, chunk: Chunk) -> EventDraws:
    random, size = generator(options.seed, Purpose.PUBLICATIONS, chunk.number), chunk.size
    chosen = random.integers(0, options.n_objects, size)
    kinds, steps, fresh = random.random((3, size))
    if options.change == "gaussian":
        steps = random.standard_normal(size) * (options.volatility / 8.0)
    return EventDraws(chosen, kinds, steps, fresh, replace_objects(random, size, options.dims, options.objects))


def _table(options: Options, clock: Clock, chunk: Chunk, chosen: Int64s, x: Floats, y: Heights) -> pa.Table:
    columns = {
        "id": ids(options, "p", np.arange(chunk.start, chunk.start + chunk.size)),
        "ts": pa.array(clock.tick(chunk)),
        "object": ids(options, "o", chosen),
        "x": coordinates(x),
        "y": pa.array(y, pa.float64()),
    }
    return pa.table(columns)


RECIPE = Recipe(
    options=Options,
    generate=generate,
    help="Objects whose value changes, and range top-k subscriptions (the range top-k paper).",
    subscriptions=subscriptions,
    stream=stream,
)
