"""Following a stream across lost connections: what to ask for next, and when, without a connection of its own.

A connection that ends is opened again with the id of the last event, so that nothing is missed and nothing is told
twice. One that was lost while the first tops were told is begun anew, after a `ResetEvent`.
"""

from collections.abc import Iterator
from typing import NamedTuple

from skyband.client.api_call import ApiCall, HttpReply
from skyband.client.asking import PASSING, address_of, backoff, wished_pause
from skyband.client.problem import StreamOver, problem_in
from skyband.client.stream_event import (
    ClosingEvent,
    EventReader,
    ReadyEvent,
    ResetEvent,
    SnapshotEvent,
    StreamEvent,
)
from skyband.contract.tops import Id

LOST = ResetEvent("The connection was lost before all tops were told.")


class Followed(NamedTuple):
    """What is followed: a stream, which of its subscriptions (all if none is named), and how."""

    stream: str
    ids: tuple[Id, ...] = ()
    mode: str = "every"
    rate: float | None = None


class Resuming:
    """Where one who follows a stream is."""

    def __init__(self, followed: Followed, last: str | None = None) -> None:
        self.followed = followed
        self._reader = EventReader(last)
        self._n_failures = 0
        self._halfway = False
        self._wished = 0.0
        self._over: ClosingEvent | None = None

    @property
    def last(self) -> str | None:
        """The id that everything is known up to; a program may keep it, and go on from it when it runs again."""
        return self._reader.last

    def call(self) -> ApiCall:
        """What opens the next connection."""
        wanted = self.followed
        query = [("subscription", str(id)) for id in wanted.ids] + [("mode", wanted.mode)]
        query += [("rate", f"{wanted.rate:g}")] if wanted.rate is not None else []
        headers = {"accept": "text/event-stream"} | ({"last-event-id": self.last} if self.last else {})
        return ApiCall("GET", address_of(wanted.stream, "events"), tuple(query), None, headers)

    def opened(self) -> Iterator[StreamEvent]:
        """The connection is open."""
        self._reader.begin_again()
        if self._halfway and self.last is None:
            yield LOST
        self._halfway = False

    def refused(self, reply: HttpReply) -> None:
        """The connection was refused: raise what was told, unless that will pass."""
        if reply.status not in PASSING:
            raise problem_in(reply)
        self._wished = wished_pause(reply)

    def take(self, chunk: bytes) -> Iterator[StreamEvent]:
        """The events in what has come."""
        for event in self._reader.read(chunk):
            self._n_failures = 0
            if isinstance(event, SnapshotEvent | ReadyEvent):
                self._halfway = isinstance(event, SnapshotEvent)
            if isinstance(event, ClosingEvent) and not event.resumable:
                self._over = event
            yield event

    def pause(self) -> float:
        """How many seconds to wait before the next connection; `StreamOver` where there will be none."""
        if self._over is not None:
            raise StreamOver(self._over.detail)
        wished, self._wished = self._wished, 0.0
        self._n_failures += 1
        return max(wished, backoff(self._n_failures - 1))
