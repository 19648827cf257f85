"""Checked batches: rows that were read and parsed once, so that the next step need not do it again.

Whoever takes rows of a family takes a checked batch too. If the rows would be the same with the settings of the taker,
they are taken as they are; otherwise the good ones are checked again. What depends on the state of the taker, such as
which ids are registered, it checks in any case.
"""

from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from skyband.contract.family import FAMILIES, Parse
from skyband.contract.rows import take
from skyband.kernels.array import Int64s
from skyband.table.argument import check_choice
from skyband.table.read import Source
from skyband.table.reject import Reject
from skyband.table.settings import Settings
from skyband.table.sieve import Parsed
from skyband.table.text_file import Reading
from skyband.table.typed import typed

DEFAULTS = Settings()


@dataclass(frozen=True, eq=False)
class Checked:
    """Rows of a family that were checked against some settings.

    `parsed` is of all that was read, and `chosen` are the places of these rows among its good ones. `rejects` are of
    the whole source, and so are the places of what is `left_out` because it retracts; a part of the rows has neither:
    whoever cuts a batch into parts has seen to them already.
    """

    family: str
    noun: str
    settings: Settings
    reading: Reading
    parsed: Parsed[Any]
    chosen: Int64s
    rejects: list[Reject] = field(default_factory=list)
    left_out: Int64s = field(default_factory=lambda: np.zeros(0, np.int64))

    def __len__(self) -> int:
        return len(self.chosen)

    @property
    def numbers(self) -> Int64s:
        """The row in the source of each row, from 1."""
        numbers: Int64s = self.reading.row_numbers[self.places]
        return numbers

    @property
    def rows(self) -> Any:
        """The rows as arrays, which may be shared and are not to be written to."""
        return self.parsed.rows if self._is_whole else take(self.parsed.rows, self.chosen)

    def table(self) -> pa.Table:
        """The rows with the columns of the source, of proper types."""
        return self._table(self.rows)

    def take(self, places: Int64s) -> "Checked":
        """Some of these rows, without rejects; nothing is parsed."""
        return replace(self, chosen=self.chosen[places], rejects=[], left_out=self.left_out[:0])

    def slice(self, start: int, length: int | None = None) -> "Checked":
        """Consecutive rows, without rejects; nothing is parsed."""
        stop = None if length is None else start + length
        return replace(self, chosen=self.chosen[start:stop], rejects=[], left_out=self.left_out[:0])

    def parsed_for(self, parse: Parse, settings: Settings) -> Parsed[Any]:
        """What `parse` makes of these rows with these settings, numbered as in the source; the arrays are a copy."""
        if parse is not parse_of(self.family, self.noun):
            raise ValueError(f"These are checked {self.family} {self.noun}, and something else is wanted here.")
        rows = take(self.parsed.rows, self.chosen)
        if self._agrees(rows, settings):
            return Parsed(rows, self.numbers, list(self.rejects), self.reading.row_numbers[self.left_out])
        again = parse(self._table(rows), settings)
        found = numbered(Reading(self.reading.table, self.rejects, self.numbers), again)
        return found._replace(left_out=self.reading.row_numbers[self.left_out])

    @property
    def _is_whole(self) -> bool:
        """Whether these are all good rows, in the order of the source."""
        return len(self) == len(self.parsed.kept) and bool((np.diff(self.chosen) == 1).all())

    @property
    def places(self) -> Int64s:
        """The place of each row in the table that was read, from 0."""
        return self.parsed.kept[self.chosen]

    def _table(self, rows: Any) -> pa.Table:
        table, schema = self.reading.table, getattr(FAMILIES[self.family], self.noun)
        if not (self._is_whole and len(self) == table.num_rows):
            table = table.take(pa.array(self.places))
        # Ids have the type that the whole source gave them.
        return typed(table, Parsed(rows, np.arange(len(self)), []), schema)

    def _agrees(self, rows: Any, settings: Settings) -> bool:
        """Whether these rows would be the same, had they been parsed with other settings."""
        own = self.settings
        if own.bounds != settings.bounds or own.words != settings.words:
            return False
        if not (self._is_whole and own.dims == settings.dims) and not _has_dims(rows, settings.dims):
            return False
        return own.window == settings.window or not _defaulted(rows, own)


# What is given to whoever takes rows: a source to parse, or rows that were.
Given: TypeAlias = "Source | Checked"


def check(family: str, noun: str, reading: Reading, settings: Settings = DEFAULTS) -> Checked:
    """The publications or subscriptions that were read, checked; the bad ones are its rejects."""
    parsed = parse_of(family, noun)(reading.table, settings)
    rejects = sorted(numbered(reading, parsed).rejects)
    return Checked(family, noun, settings, reading, parsed, np.arange(len(parsed.kept)), rejects, parsed.left_out)


def numbered(reading: Reading, parsed: Parsed[Any]) -> Parsed[Any]:
    """What was parsed, with rows counted as the source counts them, and the rejects of its reading."""
    numbers = reading.row_numbers
    rejects = [reject._replace(row=int(numbers[reject.row - 1])) for reject in parsed.rejects]
    return Parsed(parsed.rows, numbers[parsed.kept], [*reading.rejects, *rejects], numbers[parsed.left_out])


def parse_of(family: str, noun: str) -> Parse:
    """What parses the publications or the subscriptions of a family; a ValueError if it has none."""
    check_choice("family", family, FAMILIES)
    chosen = FAMILIES[family]
    parse = chosen.parse_publications if noun == "publications" else chosen.parse_subscriptions
    if parse is None:
        raise ValueError(f"The family {family} has no {noun}.")
    return parse


def _has_dims(rows: Any, dims: int | None) -> bool:
    """Whether the rows have so many dimensions; if that is not known yet, whether they tell how many there are."""
    if "dims" in rows._fields:
        # Rows that list their dimensions do not tell how many there are.
        return bool(rows.dims == dims)
    vectors = next((getattr(rows, name) for name in ("points", "x", "lo") if name in rows._fields), None)
    return vectors is None or vectors.shape[1] == dims or (dims is None and not bool(np.isnan(vectors).all()))


def _defaulted(rows: Any, settings: Settings) -> bool:
    """Whether a row may have its window from the settings."""
    if "window" not in rows._fields:
        return False
    kind, size = settings.window
    return bool(((rows.window.kind == kind) & (rows.window.size == size)).any())
