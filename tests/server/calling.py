"""Calls to a server under test, over plain HTTP, and a reader of its events."""

import contextlib
import http.client
import io
import json
import queue
import socket
import threading
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.ipc

WINDOW = {"family": "window", "engine": "scan", "window": "10m"}


class Reply(NamedTuple):
    """What was answered."""

    status: int
    body: Any
    headers: Mapping[str, str]


class PushedEvent(NamedTuple):
    """An event as a reader sees it."""

    kind: str
    data: Any
    id: str | None


def call(
    address: str,
    method: str,
    path: str,
    body: Any = None,
    headers: Mapping[str, str] | None = None,
    token: str | None = None,
) -> Reply:
    """Send a request; bytes go as they are, and anything else as JSON."""
    place = urlsplit(address)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=60)
    data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
    sent = {"content-type": "application/json"} if data is not None else {}
    sent |= {"authorization": f"Bearer {token}"} if token else {}
    try:
        connection.request(method, path, data, sent | dict(headers or {}))
        answer = connection.getresponse()
        text = answer.read()
        kind = answer.headers.get("content-type", "")
        found = json.loads(text) if "json" in kind and text else text.decode()
        return Reply(answer.status, found, {name.lower(): value for name, value in answer.headers.items()})
    finally:
        connection.close()


def ndjson(rows: list[dict[str, Any]]) -> bytes:
    """Rows as NDJSON."""
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def arrow(rows: list[dict[str, Any]], compression: str | None = None) -> bytes:
    """Rows as an Arrow stream."""
    table, sink = pa.Table.from_pylist(rows), io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return sink.getvalue()


class Reader:
    """Somebody who reads server-sent events on a thread of their own, until the connection ends."""

    def __init__(
        self,
        address: str,
        path: str,
        last: str | None = None,
        token: str | None = None,
        reads: bool = True,
        beats: bool = False,
    ) -> None:
        place = urlsplit(address)
        self._socket = socket.socket()
        if not reads:
            # The system takes megabytes for a reader that takes nothing.
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self._socket.settimeout(120)
        self._socket.connect((place.hostname, place.port))
        lines = [f"GET {path} HTTP/1.1", f"Host: {place.netloc}", "Accept: text/event-stream"]
        lines += [f"Last-Event-ID: {last}"] if last else []
        lines += [f"Authorization: Bearer {token}"] if token else []
        self._socket.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        self._file = http.client.HTTPResponse(self._socket)
        self._events: queue.Queue[PushedEvent | None] = queue.Queue()
        self.last: str | None = last
        self.status = 0
        self._beats = beats
        if reads:
            self._file.begin()
            self.status = self._file.status
            threading.Thread(target=self._read, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Go away without a word."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def next(self, timeout: float = 60) -> PushedEvent:
        """The next event; an EOFError when there are no more."""
        event = self._events.get(timeout=timeout)
        if event is None:
            self._events.put(None)
            raise EOFError
        self.last = event.id or self.last
        return event

    def until(self, kind: str, timeout: float = 60) -> list[PushedEvent]:
        """The events up to the first of a kind, which is the last of them."""
        found = [self.next(timeout)]
        while found[-1].kind != kind:
            found.append(self.next(timeout))
        return found

    def rest(self) -> Iterator[PushedEvent]:
        """The events until the connection ends."""
        try:
            while True:
                yield self.next()
        except EOFError:
            return

    def _read(self) -> None:
        kind, data, id = "", "", None
        try:
            for line in self._file:
                name, _, value = line.decode().rstrip("\n").partition(": ")
                if name == "event":
                    kind = value
                elif name == "data":
                    data = value
                elif name == "id":
                    id = value
                elif not name:
                    if kind:
                        self._events.put(PushedEvent(kind, json.loads(data), id))
                    elif id and self._beats:
                        self._events.put(PushedEvent("beat", None, id))
                    kind, data, id = "", "", None
        except (OSError, ValueError, http.client.HTTPException, AttributeError):
            pass
        self._file.close()
        self._socket.close()
        self._events.put(None)
