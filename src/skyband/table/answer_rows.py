"""Answers as columns of arrays, which become an Arrow table when one is asked for.

A table of few rows takes as long to make as one of a thousand, and whoever publishes one row at a time often looks at
nothing but how many answers changed. So what is given as rows of Python is answered with rows.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from skyband.kernels.array import Bytes, Int8s, Int32s, Int64s
from skyband.kernels.byte_copy import WORD
from skyband.kernels.id_list import INTEGERS, TEXTS, IdList, arrow_numbers
from skyband.kernels.spelling import spell
from skyband.table.change import AnyRow, empty_table, row_type


class AnswerColumn(Protocol):
    """One column of an answer."""

    def to_pylist(self) -> list[Any]:
        """The values as Python has them."""

    def to_arrow(self) -> pa.Array:
        """The values as an Arrow array."""


class Numbers(NamedTuple):
    """A column of numbers, or of yes and no."""

    values: npt.NDArray[Any]

    def to_pylist(self) -> list[Any]:
        """The values as Python has them."""
        plain: list[Any] = self.values.tolist()
        return plain

    def to_arrow(self) -> pa.Array:
        """The values as an Arrow array."""
        return arrow_numbers(self.values)


class Coded(NamedTuple):
    """A column of few different words."""

    codes: Int8s
    words: Sequence[str]

    def to_pylist(self) -> list[Any]:
        """The values as Python has them."""
        return [self.words[code] for code in self.codes.tolist()]

    def to_arrow(self) -> pa.Array:
        """The values as an Arrow array."""
        spelt, n = _spelt(tuple(self.words)), len(self.codes)
        ends, data = np.empty(n + 1, np.int32), np.empty(n * spelt.longest + WORD, np.uint8)
        spell(self.codes, spelt.letters, spelt.starts, ends, data)
        return pa.Array.from_buffers(TEXTS, n, [None, pa.py_buffer(ends), pa.py_buffer(data)])


class Ranks(NamedTuple):
    """A column of ranks, where 0 stands for null."""

    ranks: Int32s

    def to_pylist(self) -> list[Any]:
        """The values as Python has them."""
        return [rank or None for rank in self.ranks.tolist()]

    def to_arrow(self) -> pa.Array:
        """The values as an Arrow array."""
        return arrow_numbers(self.ranks, self.ranks != 0)


class Owned(NamedTuple):
    """A column of ids, each of the owner with that place among some ids."""

    ids: IdList | Any
    places: Int64s

    def to_pylist(self) -> list[Any]:
        """The values as Python has them."""
        plain = self.ids.to_pylist()
        return [plain[place] for place in self.places.tolist()]

    def to_arrow(self) -> pa.Array:
        """The values as an Arrow array."""
        array = self.ids.to_arrow() if isinstance(self.ids, IdList) else self.ids
        return array.take(pa.array(self.places))


class SpeltWords(NamedTuple):
    """The UTF-8 of words, laid end to end with WORD bytes to spare, and the bytes of the longest."""

    letters: Bytes
    starts: Int32s
    longest: int


@lru_cache(maxsize=16)
def _spelt(words: tuple[str, ...]) -> SpeltWords:
    raw = [word.encode() for word in words]
    starts = np.array([0, *accumulate(map(len, raw))], np.int32)
    return SpeltWords(np.array([*b"".join(raw), *bytes(WORD)], np.uint8), starts, max(map(len, raw)))


class AnswerShape(NamedTuple):
    """What all answers of a kind have in common: the schema of the table, and the named tuple of a row."""

    schema: pa.Schema
    row: type[Any]


def shape_of(schema: pa.Schema) -> AnswerShape:
    """The shape of answers with this schema."""
    return AnswerShape(schema, row_type(tuple(schema.names)))


def answer_shape(make: Callable[[Any, Any], pa.Schema], first: pa.DataType, second: pa.DataType) -> AnswerShape:
    """The shape of answers whose schema is made of the types of two columns of ids."""
    return _shape(make, first == INTEGERS, second == INTEGERS)


# Arrow takes long to hash a type, and longer for a schema.
@lru_cache(maxsize=16)
def _shape(make: Callable[[Any, Any], pa.Schema], is_first: bool, is_second: bool) -> AnswerShape:
    return shape_of(make(*(INTEGERS if is_integer else TEXTS for is_integer in (is_first, is_second))))


class AnswerRows:
    """Rows that can be gone through, and used like an Arrow table: the table is made when it is first needed.

    >>> import skyband
    >>> engine = skyband.open("window", "scan")
    >>> _ = engine.subscribe({"id": "ann", "k": 1, "score": "sum", "weights": [1.0]})
    >>> for change in engine.publish({"id": 7, "ts": 0, "point": [2.5]}):
    ...     print(change.subscription, change.publication, change.op, change.score)
    ann 7 enter 2.5
    """

    __slots__ = ("_columns", "_n", "_shape", "_table")

    def __init__(self, shape: AnswerShape, columns: Sequence[AnswerColumn], n: int, table: pa.Table = None) -> None:
        self._shape = shape
        self._columns = columns
        self._n = n
        self._table = table

    @classmethod
    def of(cls, table: pa.Table) -> "AnswerRows":
        """The rows of a table that there is already."""
        return cls(shape_of(table.schema), table.columns, table.num_rows, table)

    @classmethod
    def none(cls, shape: AnswerShape) -> "AnswerRows":
        """No rows; most publications change nobody's top."""
        return cls(shape, (), 0)

    def table(self) -> pa.Table:
        """The rows as an Arrow table, made once."""
        if self._table is None:
            arrays = [column.to_arrow() for column in self._columns]
            schema = self._shape.schema
            self._table = pa.Table.from_arrays(arrays, schema=schema) if self._n else empty_table(schema)
        return self._table

    @property
    def schema(self) -> pa.Schema:
        """The names and types of the columns."""
        return self._shape.schema

    @property
    def rows(self) -> list[AnyRow]:
        """Each row as a named tuple."""
        make = self._shape.row._make
        return [make(values) for values in zip(*(column.to_pylist() for column in self._columns), strict=True)]

    def __iter__(self) -> Iterator[AnyRow]:
        return iter(self.rows)

    def __reversed__(self) -> Iterator[AnyRow]:
        return reversed(self.rows)

    def __len__(self) -> int:
        return self._n

    @property
    def num_rows(self) -> int:
        """How many rows there are."""
        return self._n

    @property
    def column_names(self) -> list[str]:
        """The names of the columns."""
        return list(self._shape.row._fields)

    def to_pylist(self) -> list[dict[str, Any]]:
        """Each row as a mapping."""
        return [row._asdict() for row in self.rows]

    def equals(self, other: Any, **options: Any) -> bool:
        """Whether another answer, or a table, has the same rows."""
        same: bool = self.table().equals(table_of_answer(other), **options)
        return same

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AnswerRows | pa.Table) and self.equals(other)

    __hash__ = None  # type: ignore[assignment]  # as an Arrow table

    def __getitem__(self, key: Any) -> Any:
        """The column of a name; the row at a place, or a list of them for a slice."""
        return self.table()[key] if isinstance(key, str) else self.rows[key]

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.table().__arrow_c_stream__(requested_schema)

    def __reduce__(self) -> Any:
        return AnswerRows.of, (self.table(),)

    def __repr__(self) -> str:
        return repr(self.table())

    def __getattr__(self, name: str) -> Any:
        # Whatever copies or pickles asks for names that nobody has, also before there is anything.
        if name.startswith("_") or not hasattr(pa.Table, name):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.table(), name)


def table_of_answer(answer: Any) -> Any:
    """An answer as an Arrow table; anything else as it is."""
    return answer.table() if isinstance(answer, AnswerRows) else answer


def rows_of_answer(answer: Any) -> AnswerRows:
    """An answer as rows, whatever it is."""
    return answer if isinstance(answer, AnswerRows) else AnswerRows.of(answer)
