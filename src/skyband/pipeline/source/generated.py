"""Made-up rows for trials and benchmarks: row i is a function of the seed and of i alone.

They are drawn as those of `skyband.workload`. The same numbers give the same rows in any process and any order, so a
stream of them can be restarted anywhere.
"""

import dataclasses
import functools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from skyband.geotext import workload as geotext
from skyband.geotext.keyword import pick
from skyband.kernels.array import Floats, Int64s
from skyband.pipeline.source.file_rows import RAW
from skyband.table.json_object import json_objects
from skyband.window import workload as window
from skyband.workload.clock import MINUTE
from skyband.workload.cluster import clusters
from skyband.workload.seed import CHUNK, Part, generator
from skyband.workload.table import ids, lists, repeated

OPTIONS: dict[str, type[Any]] = {"geotext": geotext.Options, "window": window.Options}
# How many rows there are and when they come is said otherwise.
LEFT_OUT = ("n_publications", "n_subscriptions", "rate", "spacing", "boolean_share", "threshold")
# Chunks in the order they are asked for; a task meets few at once.
CHUNKS_KEPT = 8


class Maker(NamedTuple):
    """What makes rows: the family, the options of its workload, and the time between two publications."""

    family: str
    options: Any
    gap_us: int


def make_maker(given: Mapping[str, Any]) -> Maker:
    """What these options describe; a wrong one raises ValueError."""
    options = dict(given)
    family = options.pop("family", None)
    if family not in OPTIONS:
        raise ValueError(f"generator.family is one of {', '.join(OPTIONS)}, not {family!r}.")
    gap = options.pop("gap_us", None)
    known = known_options(family)
    for name in options:
        if name not in known:
            raise ValueError(f"generator has no option {name!r} for {family}; it has {', '.join(known)}.")
    if gap is None:
        gap = round(MINUTE / OPTIONS[family]().rate)
    if isinstance(gap, bool) or not isinstance(gap, int) or gap < 0:
        raise ValueError(f"generator.gap_us is a number of microseconds from 0 up, not {gap!r}.")
    options = {name: tuple(value) if isinstance(value, list) else value for name, value in options.items()}
    try:
        made = OPTIONS[family](**options)
    except ValueError as error:
        raise ValueError(f"generator: {error}") from None
    if getattr(made, "score", None) == "mixed":
        raise ValueError("generator.score is one score here, not mixed.")
    return Maker(family, made, gap)


def known_options(family: str) -> list[str]:
    """The names of the options that `make_maker` takes for a family."""
    fields = [field.name for field in dataclasses.fields(OPTIONS[family])]
    return ["family", "gap_us", *(name for name in fields if name not in LEFT_OUT)]


def make_rows(maker: Maker, noun: str, numbers: Int64s) -> pa.StringArray:
    """The rows of these numbers as JSON objects."""
    if not len(numbers):
        return pa.array([], pa.string())
    found, of_chunk = np.unique(numbers // CHUNK, return_inverse=True)
    texts = pa.concat_arrays([_chunk(maker, noun, int(number)) for number in found])
    return texts.take(pa.array(of_chunk * CHUNK + numbers % CHUNK))


def generate(batches: Iterable[pa.RecordBatch], noun: str, maker: Maker) -> Iterator[pa.RecordBatch]:
    """The raw rows with the numbers that the rows of some batches hold."""
    for batch in batches:
        numbers = batch.column(0)
        nouns, origins, forms = (pa.repeat(pa.scalar(text), batch.num_rows) for text in (noun, "rate", "json"))
        values = make_rows(maker, noun, numbers.to_numpy(zero_copy_only=False))
        yield pa.RecordBatch.from_arrays([nouns, origins, numbers, forms, values], schema=RAW)


@functools.lru_cache(CHUNKS_KEPT)
def _chunk(maker: Maker, noun: str, number: int) -> pa.StringArray:
    rows = np.arange(number * CHUNK, (number + 1) * CHUNK)
    make = _geotext if maker.family == "geotext" else _window
    content = make(maker.options, noun, number)
    if noun == "subscriptions":
        columns = {"id": ids(maker.options, "s", rows), "k": repeated(maker.options.k, CHUNK)}
    else:
        columns = {"id": ids(maker.options, "p", rows), "ts": pa.array(maker.options.start + rows * maker.gap_us)}
    return json_objects(pa.table(columns | content))


def _geotext(options: geotext.Options, noun: str, number: int) -> dict[str, pa.Array]:
    source = _source(options)
    random = generator(options.seed, _part(noun), number)
    messages = source.draw(random, CHUNK)
    keywords = messages.keywords
    if noun == "subscriptions":
        keywords = pick(keywords, random, geotext.MOST_KEYWORDS)
    x, y = np.ascontiguousarray(messages.places.T)
    terms, weights = source.vocabulary.columns(keywords)
    columns = {"x": pa.array(x), "y": pa.array(y), "terms": terms, "weights": weights}
    if noun == "subscriptions":
        columns |= {"alpha": pa.array(random.random(CHUNK))} | _windows(options)
    return columns


@functools.lru_cache(2)
def _source(options: geotext.Options) -> geotext.Source:
    return geotext.Source(options)


def _window(options: window.Options, noun: str, number: int) -> dict[str, pa.Array]:
    points = lists(_points(options, generator(options.seed, _part(noun), number)))
    if noun == "publications":
        return {"point": points}
    vector = "point" if options.score in ("euclidean", "chebyshev") else "weights"
    return {"score": pa.array([options.score] * CHUNK), vector: points} | _windows(options)


def _points(options: window.Options, random: np.random.Generator) -> Floats:
    if options.data == "uniform":
        return random.random((CHUNK, options.dims))
    centres = generator(options.seed, Part.CENTRES)
    drawn = clusters(centres, options.n_clusters, options.dims, float(np.sqrt(options.variance)), 0.0)
    return drawn.draw(random, CHUNK)


def _windows(options: geotext.Options | window.Options) -> dict[str, pa.Array]:
    # As in the workloads: a window of publications goes before one of time in one family, after it in the other.
    in_time = options.window_us and not (isinstance(options, window.Options) and options.window_n)
    if in_time:
        return {"window_us": repeated(options.window_us, CHUNK)}
    return {"window_n": repeated(options.window_n, CHUNK)} if options.window_n else {}


def _part(noun: str) -> Part:
    return Part.SUBSCRIPTIONS if noun == "subscriptions" else Part.PUBLICATIONS
