"""Random streams named by what they are for, so that no draw of one part can shift another's.

Every table is drawn in chunks of at most `CHUNK` rows, each with a stream of its own, which makes the
rows independent of the size of the batches they are asked for in. Three habits keep them independent of
the machine too: the bit generator is named, scale and shift are applied outside the generator (inside,
some compilers fuse them into one rounding), and sums that reach a table are taken in order.
"""

from collections.abc import Iterator
from enum import IntEnum
from typing import NamedTuple

import numpy as np

CHUNK = 16_384


class Purpose(IntEnum):
    """What a stream is for; the numbers are part of what a seed means and never change."""

    CENTRES = 0
    SUBSCRIPTIONS = 1
    PUBLICATIONS = 2
    CLOCK = 3
    OBJECTS = 4


class Chunk(NamedTuple):
    """A run of consecutive rows that is drawn at once."""

    number: int
    start: int
    size: int


def generator(seed: int, part: Purpose, chunk: int = 0) -> np.random.Generator:
    """The stream of one chunk of one part."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(int(part), chunk))))


def chunks(n_rows: int) -> Iterator[Chunk]:
    """The chunks of n rows; an empty table has one empty chunk, so that it still has its columns."""
    for number, start in enumerate(range(0, max(n_rows, 1), CHUNK)):
        yield Chunk(number, start, min(CHUNK, n_rows - start))


def part_of(noun: str) -> Purpose:
    """What subscriptions, or publications, are drawn by."""
    return Purpose.SUBSCRIPTIONS if noun == "subscriptions" else Purpose.PUBLICATIONS
