"""Rows: reading and checking tables, columns, ids, times and vectors, what is wrong with which row, and writing."""

from skyband.table.change import (
    Op,
    change_schema,
    empty_table,
    gate_schema,
    match_schema,
    ranking_schema,
    staircase_schema,
)
from skyband.table.read import Reading, Source, read_table, to_table, write_table
from skyband.table.reject import MissingColumn, OnError, Reject, Rejected, UnreadableFile, rejects_table, shorten
from skyband.table.settings import UNBOUNDED, Bounds, Settings, Window, WindowKind, WindowLike, Windows, WordModel
from skyband.table.show import aligned, show
from skyband.table.sieve import Parsed
from skyband.table.subscription import LARGEST_K

__all__ = [
    "LARGEST_K",
    "UNBOUNDED",
    "Bounds",
    "MissingColumn",
    "OnError",
    "Op",
    "Parsed",
    "Reading",
    "Reject",
    "Rejected",
    "Settings",
    "Source",
    "UnreadableFile",
    "Window",
    "WindowKind",
    "WindowLike",
    "Windows",
    "WordModel",
    "aligned",
    "change_schema",
    "empty_table",
    "gate_schema",
    "match_schema",
    "ranking_schema",
    "read_table",
    "rejects_table",
    "shorten",
    "show",
    "staircase_schema",
    "to_table",
    "write_table",
]
