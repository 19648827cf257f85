"""Publications and subscriptions of a family, read from any source: a table of the good rows, arrays, and rejects."""

from typing import Any, NamedTuple

import pyarrow as pa

from skyband.contract.family import FAMILIES, Family, Parse
from skyband.table.argument import check_choice
from skyband.table.read import Source, read_table, source_name
from skyband.table.reject import MissingColumn, OnError, Reject, Rejected, UnreadableFile
from skyband.table.settings import Settings
from skyband.table.sieve import Parsed
from skyband.table.typed import typed

DEFAULTS = Settings()


class FileLacksColumn(UnreadableFile, MissingColumn):
    """A file lacks a column that its family needs."""


class Rows(NamedTuple):
    """The good rows of a source as a table with its own columns and as arrays, and the rejects."""

    table: pa.Table
    parsed: Parsed[Any]
    rejects: list[Reject]


def read_publications(
    family: str, source: "Source", settings: Settings = DEFAULTS, on_error: OnError = "raise"
) -> Rows:
    """The publications of a source; bad rows raise `Rejected`, or are collected beside the good ones."""
    chosen = _family(family)
    parse, schema = chosen.parse_publications, chosen.publications
    if parse is None:
        raise ValueError(f"The family {family} has no publications.")
    return _read(source, "publications", parse, schema, settings, on_error)


def read_subscriptions(
    family: str, source: "Source", settings: Settings = DEFAULTS, on_error: OnError = "raise"
) -> Rows:
    """The subscriptions of a source; bad rows raise `Rejected`, or are collected beside the good ones."""
    chosen = _family(family)
    parse, schema = chosen.parse_subscriptions, chosen.subscriptions
    return _read(source, "subscriptions", parse, schema, settings, on_error)


def _family(name: str) -> Family:
    check_choice("family", name, FAMILIES)
    return FAMILIES[name]


def _read(source: "Source", noun: str, parse: Parse, schema: pa.Schema, settings: Settings, on_error: OnError) -> Rows:
    check_choice("on_error", on_error, OnError)
    name, reading = source_name(source), read_table(source)
    try:
        parsed = parse(reading.table, settings)
    except MissingColumn as error:
        if name is None:
            raise
        raise FileLacksColumn(f"{name}: {error}") from None
    numbers = reading.row_numbers.tolist()
    rejects = [reject._replace(row=numbers[reject.row - 1]) for reject in parsed.rejects]
    rejects = sorted(reading.rejects + rejects)
    if rejects and on_error == "raise":
        raise Rejected(rejects, name or noun)
    return Rows(typed(reading.table, parsed, schema), parsed, rejects)
