"""Following a stream from a thread: events one after the other, or a function that is called with each."""

import contextlib
import threading
from collections.abc import Callable, Generator, Iterator
from types import TracebackType
from typing import Self

from skyband.client.problem import StreamOver, Unreachable
from skyband.client.resuming import Resuming
from skyband.client.stream_event import StreamEvent
from skyband.client.transport import OpenStream, Transport


class StreamFollower:
    """The events of a stream, one after the other, until it is closed or the stream is over.

    It waits for the server where it cannot be reached, however long that is. `last` is the id to go on from.
    """

    def __init__(self, transport: Transport, state: Resuming) -> None:
        self._transport = transport
        self._state = state
        self._open: OpenStream | None = None
        self._closed = threading.Event()
        self._events = self._follow()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __iter__(self) -> Iterator[StreamEvent]:
        return self

    def __next__(self) -> StreamEvent:
        return next(self._events)

    @property
    def last(self) -> str | None:
        """The id that everything is known up to."""
        return self._state.last

    def close(self) -> None:
        """End it, from any thread: whoever waits for an event is told that there are no more."""
        self._closed.set()
        if (place := self._open) is not None:
            place.abort()
        # Another thread may be within it: it then ends by itself.
        with contextlib.suppress(ValueError):
            self._events.close()

    def _follow(self) -> Generator[StreamEvent, None, None]:
        while not self._closed.is_set():
            with contextlib.suppress(Unreachable):
                yield from self._connected()
            if not self._closed.is_set():
                self._closed.wait(self._state.pause())

    def _connected(self) -> Generator[StreamEvent, None, None]:
        state = self._state
        with self._transport.stream(state.call()) as place:
            if place.status != 200:
                state.refused(place.whole())
                return
            self._open = place
            yield from state.opened()
            # Closed before it was open: nobody else breaks it off.
            for chunk in () if self._closed.is_set() else place.chunks():
                yield from state.take(chunk)


class CallingBack:
    """A function that is called with each event, on a thread of its own."""

    def __init__(self, events: StreamFollower, heard: Callable[[StreamEvent], None]) -> None:
        self._events = events
        self._heard = heard
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="skyband-events", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def last(self) -> str | None:
        """The id that everything is known up to."""
        return self._events.last

    def stop(self) -> None:
        """End it, and raise what has ended it before, if anything has; not from within the function."""
        self._events.close()
        self.join()

    def join(self) -> None:
        """Wait until the stream is over, and raise what has ended it, if anything has."""
        self._thread.join()
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        try:
            for event in self._events:
                self._heard(event)
        except StreamOver:
            return
        except BaseException as error:
            self._error = error
