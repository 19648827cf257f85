"""Schemas of what engines answer: changes, rankings, gates and matches, as functions of the id types."""

from collections import namedtuple
from enum import StrEnum
from functools import lru_cache
from typing import Any, NamedTuple

import pyarrow as pa


class Op(StrEnum):
    """What happened to a publication in a top; a move is a change of its own score."""

    ENTER = "enter"
    LEAVE = "leave"
    MOVE = "move"


class TopChange(NamedTuple):
    """A row of an answer that says how tops changed."""

    subscription: int | str
    publication: int | str
    op: str
    score: float
    rank: int | None
    at: int
    first: bool


class EventMatch(NamedTuple):
    """A row of an answer that says which subscriptions match an event best."""

    event: int | str
    subscription: int | str
    score: float
    rank: int


# A named tuple, whatever its fields.
AnyRow = Any


@lru_cache(maxsize=64)
def row_type(names: tuple[str, ...]) -> type[Any]:
    """The named tuple for a row with these columns."""
    known: dict[tuple[str, ...], type[Any]] = {kind._fields: kind for kind in (TopChange, EventMatch)}
    return known.get(names) or namedtuple("AnswerRow", names, rename=True)


def _needed(name: str, kind: pa.DataType) -> pa.Field:
    return pa.field(name, kind, nullable=False)


@lru_cache(maxsize=64)
def empty_table(schema: pa.Schema) -> pa.Table:
    """The table of a schema that has no rows; most publications change nobody's top."""
    return schema.empty_table()


@lru_cache(maxsize=16)
def change_schema(subscription_type: pa.DataType, publication_type: pa.DataType) -> pa.Schema:
    """How tops changed: `rank` counts from 1 and is null on leave, `at` is in microseconds.

    `first` marks the first entry of a publication into that top.
    """
    return pa.schema(
        [
            _needed("subscription", subscription_type),
            _needed("publication", publication_type),
            _needed("op", pa.string()),
            _needed("score", pa.float64()),
            pa.field("rank", pa.int32(), nullable=True),
            _needed("at", pa.int64()),
            _needed("first", pa.bool_()),
        ]
    )


@lru_cache(maxsize=16)
def ranking_schema(subscription_type: pa.DataType, publication_type: pa.DataType) -> pa.Schema:
    """Who has what at an instant, ranks from 1."""
    return pa.schema(
        [
            _needed("subscription", subscription_type),
            _needed("rank", pa.int32()),
            _needed("publication", publication_type),
            _needed("score", pa.float64()),
        ]
    )


@lru_cache(maxsize=16)
def gate_schema(subscription_type: pa.DataType) -> pa.Schema:
    """The worst score that passes the gate of each subscription; null for one that is no longer there."""
    return pa.schema([_needed("subscription", subscription_type), pa.field("gate", pa.float64(), nullable=True)])


@lru_cache(maxsize=16)
def staircase_schema(subscription_type: pa.DataType) -> pa.Schema:
    """From which time on, in microseconds, which gate holds; null while there is no time yet."""
    at, gate = pa.field("at", pa.int64(), nullable=True), _needed("gate", pa.float64())
    return pa.schema([_needed("subscription", subscription_type), at, gate])


@lru_cache(maxsize=16)
def match_schema(event_type: pa.DataType, subscription_type: pa.DataType) -> pa.Schema:
    """Which subscriptions match an event best, ranks from 1."""
    return pa.schema(
        [
            _needed("event", event_type),
            _needed("subscription", subscription_type),
            _needed("score", pa.float64()),
            _needed("rank", pa.int32()),
        ]
    )
