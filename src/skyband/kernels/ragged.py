"""Ragged arrays: lists of varying length whose entries lie in one array.

Laid end to end, list i takes the places from `offsets[i]` to `offsets[i + 1]`. Where lists lie anywhere, each has its
own start and length. Everything here runs over whole arrays and returns int64, for no lists and for empty ones too.
"""

import numpy as np
import numpy.typing as npt

from skyband.kernels.array import Int64s

Lengths = npt.NDArray[np.integer] | npt.NDArray[np.bool_]


def offsets_of(lengths: Lengths) -> Int64s:
    """Where lists of these lengths begin when they are laid end to end, and where the last one ends."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def starts_of(lengths: Lengths) -> Int64s:
    """Where lists of these lengths begin when they are laid end to end."""
    return offsets_of(lengths)[:-1]


def owners_of(lengths: Lengths) -> Int64s:
    """The list that each entry belongs to, list after list."""
    owners: Int64s = np.repeat(np.arange(len(lengths)), lengths)
    return owners


def ranks_of(lengths: Lengths) -> Int64s:
    """The place of each entry in its own list, counted from 0, list after list."""
    offsets = offsets_of(lengths)
    ranks: Int64s = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
    return ranks


def places_of(starts: npt.NDArray[np.integer], lengths: Lengths) -> Int64s:
    """Where the entries of lists lie that begin at `starts` and have these lengths, list after list."""
    offsets = offsets_of(lengths)
    places: Int64s = np.repeat(starts - offsets[:-1], lengths) + np.arange(offsets[-1])
    return places
