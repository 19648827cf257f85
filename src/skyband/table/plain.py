"""Plain rows: few rows of Python values that are good as they stand, read without a table in between.

A table of one row costs as much to make and to check as one of a thousand. So a few rows are looked at as they are: if
every value is of the very type that its column holds, and nothing is missing or unknown, they are read here. At the
least doubt `Doubtful` is raised. Then the rows become a table, and the rules of tables decide, which alone know what to
make of a value and what is wrong with it. So there is one set of rules: what is read here is what they would read.
"""

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from skyband.kernels.array import Floats, Int64s
from skyband.table.scalar import EXACT, LARGEST

# More rows are read sooner as a table.
FEW = 64
INTEGERS, NUMBERS, TEXTS = {int}, {int, float}, {str}

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
        n_with = sum(name in row for row in self.rows)
        if n_with not in (0, len(self.rows)):
            raise Doubtful
        return n_with > 0

    def ids(self, name: str = "id", unique: bool = True) -> pa.Array:
        """A column of ids: all integers or all texts, and none twice unless they need not be `unique`."""
        values = self.column(name)
        kinds = set(map(type, values))
        if kinds not in (INTEGERS, TEXTS) or (unique and len(values) > 1 and len(set(values)) < len(values)):
            raise Doubtful
        try:
            return pa.array(values, pa.int64() if kinds == INTEGERS else pa.string())
        except (pa.ArrowException, OverflowError, UnicodeError):
            raise Doubtful from None

    def integers(self, name: str, low: int = -(2**63), high: int = 2**63 - 1) -> Int64s:
        """A column of integers within these limits."""
        values = self.column(name)
        if set(map(type, values)) != INTEGERS or min(values) < low or max(values) > high:
            raise Doubtful
        return np.array(values, np.int64)

    def numbers(self, name: str, low: float = -LARGEST, high: float = LARGEST) -> Floats:
        """A column of numbers within these limits."""
        values = _exact(self.column(name))
        if not ((values >= low) & (values <= high)).all():
            raise Doubtful
        return values

    def vectors(self, name: str, dims: int | None) -> Floats:
        """A column of lists of as many finite numbers; if it is not known how many, the first tells."""
        lists = self.column(name)
        dims = _lengths(lists, dims)
        values = _exact(lists[0] if len(lists) == 1 else list(chain.from_iterable(lists)))
        if not (np.abs(values) <= LARGEST).all():
            raise Doubtful
        return values.reshape(len(lists), dims)


def _without_nulls(row: Row) -> Row:
    """A row without the columns that are null in it, which is all that it has of them."""
    return {name: value for name, value in row.items() if value is not None}


def _lengths(lists: list[Any], dims: int | None) -> int:
    """How many elements each of the lists has, as many as are expected, and at least one."""
    if set(map(type, lists)) != {list}:
        raise Doubtful
    found = len(lists[0]) if dims is None else dims
    if found == 0 or any(len(each) != found for each in lists):
        raise Doubtful
    return found


def _exact(values: Sequence[Any]) -> Floats:
    """Numbers as doubles that are the same numbers."""
    kinds = set(map(type, values))
    if not kinds <= NUMBERS:
        raise Doubtful
    if int in kinds and any(type(value) is int and not -EXACT <= value <= EXACT for value in values):
        raise Doubtful
    return np.array(values, np.float64)


def words(terms: Sequence[list[str]]) -> pa.Array:
    """Lists of words laid end to end; a list may not have the same word twice."""
    flat = list(chain.from_iterable(terms))
    if not set(map(type, flat)) <= TEXTS or any(len(set(row)) < len(row) for row in terms):
        raise Doubtful
    try:
        return pa.array(flat, pa.string())
    except (pa.ArrowException, UnicodeError):
        raise Doubtful from None
