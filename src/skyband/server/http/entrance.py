"""The entrance: what a server answers while its streams are recovered, which may take long, and the door after that.

Whoever asks whether the server lives is told so at once, and whether it is ready, that it is not. All others are to
come again.
"""

from typing import Any

from skyband.server.http.door import SECURITY, Door, Routes, Scope
from skyband.server.http.problem import MEDIA_TYPE, Problem
from skyband.server.push.push_event import dumps
from skyband.server.push.server_sent import Receive, Send

RECOVERING = "The streams are being recovered."
STARTING = Problem(503, "starting", "The server is being started", RECOVERING, {}, {"retry-after": "1"})


class Entrance:
    """The ASGI application of a server from its first moment on."""

    def __init__(self) -> None:
        self.door: Routes | None = None

    def open(self, door: Door) -> None:
        """Lead everybody to the door from now on."""
        self.door = door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.door is not None:
            await self.door(scope, receive, send)
            return
        kind = "websocket.http.response" if scope["type"] == "websocket" else "http.response"
        status, headers, body = _told(scope["path"])
        all_headers = [*((name.encode(), value.encode()) for name, value in headers.items()), *SECURITY]
        await send({"type": f"{kind}.start", "status": status, "headers": all_headers})
        await send({"type": f"{kind}.body", "body": body})


def _told(path: str) -> tuple[int, dict[str, str], bytes]:
    health: dict[str, tuple[int, Any]] = {
        "/healthz": (200, {"status": "ok"}),
        "/readyz": (503, {"status": "not ready", "troubles": [RECOVERING]}),
    }
    if path in health:
        status, value = health[path]
        return status, {"content-type": "application/json"}, dumps(value).encode()
    return STARTING.status, {"content-type": MEDIA_TYPE} | STARTING.headers, STARTING.body()
