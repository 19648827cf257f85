"""Calls and replies as plain values: what is sent and what comes back, whichever way they are carried."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

EMPTY: Mapping[str, str] = MappingProxyType({})


class ApiCall(NamedTuple):
    """A request; one that is `repeatable` leads to the same if it is made twice."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    content: bytes | None = None
    headers: Mapping[str, str] = EMPTY
    repeatable: bool = True


class HttpReply(NamedTuple):
    """What was answered; names of headers are in lower case."""

    status: int
    body: bytes
    headers: Mapping[str, str]
