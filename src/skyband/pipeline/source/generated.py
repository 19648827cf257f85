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

from skyband.kernels.array import Int64s
from skyband.pipeline.source.file_rows import RAW
from skyband.table.json_object import json_objects
from skyband.workload import recipe_of, recipes
from skyband.workload.clock import MINUTE
from skyband.workload.seed import CHUNK
from skyband.workload.table import ids, repeated

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
    made_in_chunks = sorted(name for name, recipe in recipes().items() if recipe.chunk is not None)
    if family not in made_in_chunks:
        raise ValueError(f"generator.family is one of {', '.join(made_in_chunks)}, not {family!r}.")
    kind = recipe_of(family).options
    gap = options.pop("gap_us", None)
    known = known_options(family)
    for name in options:
        if name not in known:
            raise ValueError(f"generator has no option {name!r} for {family}; it has {', '.join(known)}.")
    if gap is None:
        gap = round(MINUTE / kind().rate)
    if isinstance(gap, bool) or not isinstance(gap, int) or gap < 0:
        raise ValueError(f"generator.gap_us is a number of microseconds from 0 up, not {gap!r}.")
    options = {name: tuple(value) if isinstance(value, list) else value for name, value in options.items()}
    try:
        made = kind(**options)
    except ValueError as error:
        raise ValueError(f"generator: {error}") from None
    if getattr(made, "score", None) == "mixed":
        raise ValueError("generator.score is one score here, not mixed.")
    return Maker(family, made, gap)


def known_options(family: str) -> list[str]:
    """The names of the options that `make_maker` takes for a family."""
    fields = [field.name for field in dataclasses.fields(recipe_of(family).options)]
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
    make = recipe_of(maker.family).chunk
    assert make is not None
    content = make(maker.options, noun, number)
    if noun == "subscriptions":
        columns = {"id": ids(maker.options, "s", rows), "k": repeated(maker.options.k, CHUNK)}
    else:
        columns = {"id": ids(maker.options, "p", rows), "ts": pa.array(maker.options.start + rows * maker.gap_us)}
    return json_objects(pa.table(columns | content))
