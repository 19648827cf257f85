"""Connections that can be broken off: one whose reader takes nothing would be waited for when it is closed."""

from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

ABORT = "skyband.abort"
"""Where the application finds what breaks a connection off."""


class HttpConnection(HttpToolsProtocol):
    """A connection over which HTTP is spoken."""

    def on_message_begin(self) -> None:
        """Begin a request."""
        super().on_message_begin()
        scope: Any = self.scope
        scope[ABORT] = self.transport.abort


class WebSocketConnection(WebSocketsSansIOProtocol):
    """A connection that has become a WebSocket."""

    def handle_connect(self, event: Any) -> None:
        """Begin the handshake."""
        super().handle_connect(event)
        # There is no scope where the handshake was refused.
        if hasattr(self, "scope"):
            scope: Any = self.scope
            scope[ABORT] = self.transport.abort
