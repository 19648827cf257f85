"""Events of a stream as values with names, and the reader that makes them of the bytes of server-sent events."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from skyband.contract.tops import Id


class TopRow(NamedTuple):
    """A publication in a top."""

    rank: int
    publication: Id
    score: float


class SnapshotEvent(NamedTuple):
    """Whole tops, best first, of some of the subscriptions; the others follow before `ReadyEvent`."""

    step: str
    tops: dict[Id, list[TopRow]]


class ReadyEvent(NamedTuple):
    """All that was so before has been told: what follows is news."""

    step: str
    now: int | None


class ChangesEvent(NamedTuple):
    """What a step has changed, as rows of an answer, and the subscriptions that are no more.

    With `net`, the rows are the difference between the tops that were told last and the newest.
    """

    step: str
    changes: list[dict[str, Any]]
    ended: list[Id]
    net: bool


class ResetEvent(NamedTuple):
    """What was told before is to be forgotten: the tops follow anew."""

    reason: str


class ClosingEvent(NamedTuple):
    """The server ends the connection."""

    reason: str
    detail: str
    resumable: bool


StreamEvent = SnapshotEvent | ReadyEvent | ChangesEvent | ResetEvent | ClosingEvent


class EventReader:
    """Makes events of bytes, however they are cut; `last` is the id to resume from."""

    def __init__(self, last: str | None = None) -> None:
        self.last = last
        self._rest = b""
        self._fields: dict[str, str] = {}

    def begin_again(self) -> None:
        """Forget what a lost connection has left behind."""
        self._rest, self._fields = b"", {}

    def read(self, chunk: bytes) -> Iterator[StreamEvent]:
        """The events that a chunk completes; each is noted as seen when the next is asked for."""
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            if text := line.rstrip(b"\r").decode():
                name, _, value = text.partition(":")
                self._fields[name] = value.removeprefix(" ")
                continue
            fields, self._fields = self._fields, {}
            if "data" in fields:
                event = _event(fields.get("event", ""), json.loads(fields["data"]))
                if event is not None:
                    yield event
            self.last = fields.get("id") or self.last


def top_rows(rows: list[Mapping[str, Any]]) -> list[TopRow]:
    """The rows of a top as they come in JSON."""
    return [TopRow(row["rank"], row["publication"], float(row["score"])) for row in rows]


def _event(kind: str, data: dict[str, Any]) -> StreamEvent | None:
    """One that this version does not know is passed over."""
    match kind:
        case "snapshot":
            return SnapshotEvent(data["step"], {top["subscription"]: top_rows(top["top"]) for top in data["tops"]})
        case "ready":
            return ReadyEvent(data["step"], data["now"])
        case "changes":
            rows = [row | {"score": float(row["score"])} for row in data["changes"]]
            return ChangesEvent(data["step"], rows, data.get("ended", []), data.get("net", False))
        case "reset":
            return ResetEvent(data["reason"])
        case "closing":
            return ClosingEvent(data["reason"], data["detail"], data["resumable"])
    return None
