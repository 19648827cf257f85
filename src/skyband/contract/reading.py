"""Publications and subscriptions of a family, read from any source: a table of the good rows, arrays, and rejects."""

from typing import Any, NamedTuple

import pyarrow as pa

from skyband.contract.checked import DEFAULTS, check, parse_of
from skyband.table.argument import check_choice
from skyband.table.read import Source, read_table, source_name
from skyband.table.reject import MissingColumn, OnError, Reject, Rejected, UnreadableFile
from skyband.table.settings import Settings
from skyband.table.sieve import Parsed


class FileLacksColumn(UnreadableFile, MissingColumn):
    """A file lacks a column that its family needs."""


class ReadRows(NamedTuple):
    """The good rows of a source as a table with its own columns and as arrays, and the rejects."""

    table: pa.Table
    parsed: Parsed[Any]
    rejects: list[Reject]


def read_publications(
    family: str, source: "Source", settings: Settings = DEFAULTS, on_error: OnError = "raise"
) -> ReadRows:
    """The publications of a source; bad rows raise `Rejected`, or are collected beside the good ones."""
    return _read(family, "publications", source, settings, on_error)


def read_subscriptions(
    family: str, source: "Source", settings: Settings = DEFAULTS, on_error: OnError = "raise"
) -> ReadRows:
    """The subscriptions of a source; bad rows raise `Rejected`, or are collected beside the good ones."""
    return _read(family, "subscriptions", source, settings, on_error)


def _read(family: str, noun: str, source: "Source", settings: Settings, on_error: OnError) -> ReadRows:
    parse_of(family, noun)
    check_choice("on_error", on_error, OnError)
    name, reading = source_name(source), read_table(source)
    try:
        checked = check(family, noun, reading, settings)
    except MissingColumn as error:
        if name is None:
            raise
        raise FileLacksColumn(f"{name}: {error}") from None
    if checked.rejects and on_error == "raise":
        raise Rejected(checked.rejects, name or noun)
    return ReadRows(checked.table(), checked.parsed, checked.rejects)
