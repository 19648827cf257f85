"""Connections that can be broken off: one whose reader takes nothing would be waited for when it is closed.

One that has sent no whole head of a request within a while, or a head without end, is broken off as well, before
anybody has asked who it is.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from skyband.server.http.problem import MEDIA_TYPE, Problem

ABORT = "skyband.abort"
"""Where the application finds what breaks a connection off."""
LONGEST_HEAD = 256 * 1024
HEAD_SECONDS = 30.0


class HttpConnection(HttpToolsProtocol):
    """A connection over which HTTP is spoken."""

    def connection_made(self, transport: Any) -> None:
        """Wait for the head of a request, for a while."""
        super().connection_made(transport)
        self._n_head = 0
        self._head_task: asyncio.TimerHandle | None = None
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._have_head()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on, unless what was read is the head of a request that has no end."""
        self._n_head += len(data)
        super().data_received(data)
        if self._head_task is not None and self._n_head > LONGEST_HEAD:
            self.transport.abort()

    def on_message_begin(self) -> None:
        """Begin a request."""
        super().on_message_begin()
        if self._head_task is None:
            self._await_head()
        scope: Any = self.scope
        scope[ABORT] = self.transport.abort

    def on_headers_complete(self) -> None:
        """Begin to answer."""
        self._have_head()
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        """Tell that a request cannot be read, as every other problem is told, and end the connection."""
        body = Problem(400, "http", "Bad Request", "The request is not HTTP that can be read.").body()
        head = f"HTTP/1.1 400 Bad Request\r\ncontent-type: {MEDIA_TYPE}\r\ncontent-length: {len(body)}\r\n"
        self.transport.write(head.encode() + b"connection: close\r\n\r\n" + body)
        self.transport.close()

    def _await_head(self) -> None:
        self._n_head = 0
        self._head_task = self.loop.call_later(HEAD_SECONDS, self.transport.abort)

    def _have_head(self) -> None:
        if self._head_task is not None:
            self._head_task.cancel()
            self._head_task = None


class WebSocketConnection(WebSocketsSansIOProtocol):
    """A connection that has become a WebSocket."""

    def handle_connect(self, event: Any) -> None:
        """Begin the handshake."""
        super().handle_connect(event)
        # There is no scope where the handshake was refused.
        if hasattr(self, "scope"):
            scope: Any = self.scope
            scope[ABORT] = self.transport.abort
