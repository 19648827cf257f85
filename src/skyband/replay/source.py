"""The two files of a run, read, told apart by family, checked and made ready to be cut into batches."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.contract.checked import Checked, check
from skyband.contract.family import FAMILIES, infer_family, published_families
from skyband.contract.intake import Intake
from skyband.replay.retraction import NO_RETRACTIONS, Piece, Retractions, pieces, retracted_by, retractions_of
from skyband.table import (
    MissingColumn,
    OnError,
    Reading,
    Reject,
    Rejected,
    Settings,
    Source,
    UnreadableFile,
    read_table,
)
from skyband.table.scalar import texts
from skyband.table.sieve import Sieve
from skyband.table.vector import vectors, words
from skyband.table.words import Words, tokenise


class Opened(NamedTuple):
    """A source as it was read, before its family is known; `name` is its path, or what it holds."""

    noun: str
    name: str
    reading: Reading

    @property
    def table(self) -> pa.Table:
        """The rows that could be read."""
        return self.reading.table

    def filled(self, names: list[str]) -> "Opened":
        """The source with nulls in columns that it does not have, for rows that need nothing in them."""
        table = self.table
        for name in names:
            if name not in table.column_names:
                table = table.append_column(name, pa.nulls(len(table)))
        return self._replace(reading=Reading(table, self.reading.rejects, self.reading.row_numbers))


class Loaded(NamedTuple):
    """The good rows of a source, checked once for all that follows, and the rows that were rejected."""

    noun: str
    name: str
    checked: Checked
    rejects: list[Reject]
    retractions: Retractions = NO_RETRACTIONS

    @property
    def n_rows(self) -> int:
        """How many rows take part, retractions among them."""
        return len(self.checked) + len(self.retractions.places)

    @property
    def rows(self) -> Any:
        """The good rows as arrays."""
        return self.checked.rows

    @property
    def table(self) -> pa.Table:
        """The good rows with the columns that their family knows."""
        family, table = self.checked.family, self.checked.table()
        schema = getattr(FAMILIES[family], self.noun)
        table = table.select([name for name in table.column_names if name in schema.names])
        return _with_weights(table, self.rows) if FAMILIES[family].has_words else table

    def until(self, at: int) -> "Loaded":
        """Those that were published by then, and those that were retracted."""
        rows, retractions = self.rows, self.retractions
        if len(retractions.places):
            retractions = retracted_by(at, retractions, self.checked.places, rows.ids, rows.ts)
        return self._replace(checked=self.checked.take(np.flatnonzero(rows.ts <= at)), retractions=retractions)

    def pieces(self, batch: int) -> Iterator[Piece]:
        """What a run takes in turn: batches of publications of at most this length, and runs of retractions."""
        return pieces(self.checked.places, self.retractions.places, batch)

    def give(
        self, verb: Callable[[Checked], pa.Table], taker: Intake, start: int = 0, length: int | None = None
    ) -> pa.Table:
        """Give some rows to whoever takes them; what is rejected there is added to the rejects, or raised by name."""
        before = len(taker.rejects)
        try:
            answer = verb(self.checked.slice(start, length))
        except Rejected as error:
            raise Rejected(error.rejects, self.name) from None
        self.rejects.extend(taker.rejects[before:])
        return answer


def open_source(source: Source, noun: str) -> Opened:
    """Read a source; one without rows and columns cannot be told from a mistake."""
    named = isinstance(source, str) or hasattr(source, "__fspath__")
    opened = Opened(noun, str(source) if named else noun, read_table(source))
    if not opened.table.num_columns and not opened.reading.rejects:
        raise UnreadableFile(f"{opened.name} is empty: there are no {noun} in it.")
    return opened


def family_of(publications: Opened, subscriptions: Opened) -> str:
    """The family that the columns of both tell, or of one alone: the other then lacks a column, and can be told so."""
    for opened in (publications, subscriptions):
        if not opened.table.num_columns:
            raise Rejected(opened.reading.rejects, opened.name)
    published, subscribed = publications.table.column_names, subscriptions.table.column_names
    try:
        return infer_family(published, subscribed)
    except ValueError:
        told = {_inferred([], subscribed), _inferred(published, [])} & set(published_families())
        if len(told) != 1:
            raise
        return str(told.pop())


def family_told(subscriptions: Opened) -> str | None:
    """The family that the columns of the subscriptions alone tell, or None."""
    if not subscriptions.table.num_columns:
        raise Rejected(subscriptions.reading.rejects, subscriptions.name)
    told = _inferred([], subscriptions.table.column_names)
    return told if told in published_families() else None


def _inferred(published: list[str], subscribed: list[str]) -> str | None:
    try:
        return infer_family(published, subscribed)
    except ValueError:
        return None


def load(opened: Opened, family: str, settings: Settings, on_error: OnError) -> Loaded:
    """The good rows of a source, or `Rejected` with all the bad ones."""
    try:
        checked = check(family, opened.noun, opened.reading, settings)
    except MissingColumn as error:
        raise UnreadableFile(f"{opened.name}: {error}") from None
    retractions, far = retractions_of(checked)
    rejects = sorted([*checked.rejects, *far])
    if rejects and on_error == "raise":
        raise Rejected(rejects, opened.name)
    return Loaded(opened.noun, opened.name, checked.slice(0), rejects, retractions)


def _with_weights(table: pa.Table, rows: Any) -> pa.Table:
    """The table with the words as they were weighed, so that no batch is weighed again."""
    offsets = pa.array(rows.offsets, pa.int32())
    table = table.select([name for name in table.column_names if name not in ("terms", "weights", "text")])
    table = table.append_column("terms", pa.ListArray.from_arrays(offsets, rows.terms))
    return table.append_column("weights", pa.ListArray.from_arrays(offsets, pa.array(rows.weights)))


def lacks_weights(table: pa.Table) -> bool:
    """Whether the words of any row have to be weighed."""
    return "weights" not in table.column_names or table.column("weights").null_count > 0


def fit_words(publications: pa.Table, family: str) -> Words:
    """How often each word occurs in the terms of the publications, or in their texts where there are none."""
    return Words.fit(_documents(Sieve(publications, f"{family} publications")))


def _documents(sieve: Sieve) -> Iterator[list[str]]:
    terms, text = words(sieve, "terms"), texts(sieve, "text")
    values, edges = terms.values.to_pylist(), terms.offsets.tolist()
    for row, said in enumerate(text.to_pylist()):
        if not terms.null[row]:
            yield values[edges[row] : edges[row + 1]]
        elif said is not None:
            yield tokenise(said)


def dims_told(publications: pa.Table, family: str) -> int | None:
    """How many dimensions the first event has, which sparse subscriptions do not tell; None if there is none."""
    point = vectors(Sieve(publications.slice(0, 1), f"{family} publications"), "point")
    return int(point.lengths[0]) if len(publications) and not point.null[0] else None


def dims_of(rows: Any) -> int | None:
    """How many numbers the vectors of these subscriptions have; None where that is not known or not asked."""
    if "dims" in rows._fields:
        return rows.dims or None
    vectors = next((getattr(rows, name) for name in ("points", "lo") if name in rows._fields), None)
    return int(vectors.shape[1]) if vectors is not None and len(vectors) else None


def tells_time(table: pa.Table, name: str = "ts") -> bool:
    """Whether a column is given as times rather than as integers."""
    if name not in table.column_names:
        return False
    column = table.column(name)
    if pa.types.is_timestamp(column.type) or pa.types.is_date(column.type):
        return True
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return False
    # Cells of CSV, and of columns that mix types, are text still.
    given = column.drop_null()
    return bool(len(given)) and not bool(pc.match_substring_regex(given[0], r"^-?[0-9]+$").as_py())
