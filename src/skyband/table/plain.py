"""Plain rows: few rows of Python values that are good as they stand, read without a table in between.

A table of one row costs as much to make and to check as one of a thousand. So a few rows are looked at as they are: if
every value is of the very type that its column holds, and nothing is missing or unknown, they are read here. At the
least doubt `Doubtful` is raised. Then the rows become a table, and the rules of tables decide, which alone know what to
make of a value and what is wrong with it. So there is one set of rules: what is read here is what they would read.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from skyband.kernels.array import Floats, Int64s
from skyband.kernels.id_list import IdList
from skyband.table.instant import FARTHEST
from skyband.table.scalar import EXACT, LARGEST

# Measured: so many are read in half to four fifths of the time that a table of them takes, one alone in a thirtieth.
FEW = 512
NUMBERS, TEXTS = {int, float}, {str}

Row = dict[str, Any]


class Doubtful(Exception):
    """A row may be good or not; its table can tell."""


def few_rows(source: object) -> list[Row] | None:
    """A row, or a list of few, as they were given; None for any other source."""
    if type(source) is dict:
        return [source] if type(source.get("id")) in (int, str) else None
    if type(source) is list and 0 < len(source) <= FEW and set(map(type, source)) == {dict}:
        return source
    return None


class PlainRows:
    """Rows that have all columns that are `needed`, and no others but those they `may` have."""

    def __init__(self, rows: list[Row], needed: frozenset[str], may: frozenset[str] = frozenset()) -> None:
        self.rows = [_without_nulls(row) for row in rows]
        for row in self.rows:
            if not needed <= row.keys() or (len(row) > len(needed) and not row.keys() - needed <= may):
                raise Doubtful

    def __len__(self) -> int:
        return len(self.rows)

    def column(self, name: str) -> list[Any]:
        """The values of a column."""
        return [row[name] for row in self.rows]

    def has(self, name: str) -> bool:
        """Whether the rows have a column; all of them, or none."""
        has = name in self.rows[0]
        if len(self.rows) > 1 and any((name in row) != has for row in self.rows):
            raise Doubtful
        return has

    def ids(self, name: str = "id", unique: bool = True) -> IdList:
        """A column of ids: all integers or all texts, and none twice unless they need not be `unique`."""
        return plain_ids(self.column(name), unique)

    def times(self) -> Int64s:
        """The column of times."""
        return self.integers("ts", -FARTHEST, FARTHEST)

    def integers(self, name: str, low: int = -(2**63), high: int = 2**63 - 1) -> Int64s:
        """A column of integers within these limits."""
        values = self.column(name)
        for value in values:
            if type(value) is not int or not low <= value <= high:
                raise Doubtful
        return np.array(values, np.int64)

    def numbers(self, name: str, low: float = -LARGEST, high: float = LARGEST) -> Floats:
        """A column of numbers within these limits."""
        values = self.column(name)
        exact = _exact(values)
        if not _lies_within(values, low, high):
            raise Doubtful
        return exact

    def pairs(self, limits: Mapping[str, tuple[float, float]]) -> Floats:
        """Two columns of numbers, each within its limits, side by side."""
        columns = [self.column(name) for name in limits]
        for values, (low, high) in zip(columns, limits.values(), strict=True):
            if not _are_exact(values) or not _lies_within(values, low, high):
                raise Doubtful
        if len(self.rows) == 1:
            return np.array([[values[0] for values in columns]], np.float64)
        return np.array(list(zip(*columns, strict=True)), np.float64)

    def vectors(self, name: str, dims: int | None) -> Floats:
        """A column of lists of as many finite numbers; if it is not known how many, the first tells."""
        lists = self.column(name)
        dims = _lengths(lists, dims)
        flat = lists[0] if len(lists) == 1 else list(chain.from_iterable(lists))
        values = _exact(flat)
        if not _lies_within(flat, -LARGEST, LARGEST):
            raise Doubtful
        return values.reshape(len(lists), dims)


def _without_nulls(row: Row) -> Row:
    """A row without the columns that are null in it, which is all that it has of them."""
    return {name: value for name, value in row.items() if value is not None}


def _lengths(lists: list[Any], dims: int | None) -> int:
    """How many elements each of the lists has, as many as are expected, and at least one."""
    found = dims
    for each in lists:
        if type(each) is not list:
            raise Doubtful
        found = len(each) if found is None else found
        if len(each) != found or found == 0:
            raise Doubtful
    assert found is not None
    return found


def _exact(values: Sequence[Any]) -> Floats:
    """Numbers as doubles that are the same numbers."""
    if not _are_exact(values):
        raise Doubtful
    return np.array(values, np.float64)


def _are_exact(values: Sequence[Any]) -> bool:
    """Whether all are numbers that doubles can hold."""
    kinds = set(map(type, values))
    if int not in kinds:
        return kinds <= NUMBERS
    return kinds <= NUMBERS and all(type(value) is float or -EXACT <= value <= EXACT for value in values)


def _lies_within(values: Sequence[Any], low: float, high: float) -> bool:
    """Whether all numbers lie within these limits; NaN does not."""
    # A sum that is no number has one in it that is none, which may hide what is least and greatest.
    return low <= min(values) and max(values) <= high and not math.isnan(sum(values))


def words(terms: Sequence[list[str]]) -> IdList:
    """Lists of words laid end to end; a list may not have the same word twice."""
    flat = terms[0] if len(terms) == 1 else list(chain.from_iterable(terms))
    if not set(map(type, flat)) <= TEXTS:
        raise Doubtful
    for row in terms:
        if len(set(row)) < len(row):
            raise Doubtful
    return _texts(flat)


def plain_ids(values: Sequence[Any], unique: bool = True) -> IdList:
    """Ids as bytes: all integers or all texts, and none twice unless they need not be `unique`; or `Doubtful`."""
    kind = type(values[0])
    if kind not in (int, str):
        raise Doubtful
    if len(values) > 1 and (set(map(type, values)) != {kind} or (unique and len(set(values)) < len(values))):
        raise Doubtful
    return _texts(values) if kind is str else _integers(values)


def _integers(values: Sequence[int]) -> IdList:
    try:
        return IdList.of_integers(values)
    except OverflowError:
        raise Doubtful from None


def _texts(values: Sequence[str]) -> IdList:
    try:
        return IdList.of_texts(values)
    except UnicodeError:
        raise Doubtful from None
