"""The door: every request comes in here, and is let in, led to its place, and answered with the same headers.

Streams of events are written from here directly; everything else goes to the routes.
"""

import logging
import re
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import unquote

from skyband.server.access.doorway import QuotaReached
from skyband.server.access.token import Caller
from skyband.server.console.feed import FEED, feed_request, send_feed
from skyband.server.console.static_file import send_static, static_files
from skyband.server.http.body import BoundedBody
from skyband.server.http.connection import ABORT
from skyband.server.http.problem import MEDIA_TYPE, Problem, problem_of
from skyband.server.http.static import MODULE
from skyband.server.log_line import FACTS
from skyband.server.push.asking import push_request, read_query
from skyband.server.push.server_sent import Receive, Send, Stalled, send_events
from skyband.server.push.websocket import send_messages
from skyband.server.service import Service

LOG = logging.getLogger("skyband.server.requests")
Scope = MutableMapping[str, Any]
Routes = Callable[[Scope, Receive, Send], Awaitable[None]]

SPOKEN = ("http", "websocket")
EVENTS = re.compile(r"/v1/streams/([^/]+)/(events|ws)")
OPEN = ("/healthz", "/readyz", MODULE)
SECURITY = [
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
]
STRICT_TRANSPORT = (b"strict-transport-security", b"max-age=31536000")


class Door:
    """The ASGI application of a server."""

    def __init__(self, service: Service, routes: Routes) -> None:
        self.service = service
        self.routes = routes
        secure = service.config.certificate is not None
        self._headers = SECURITY + ([STRICT_TRANSPORT] if secure else [])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in SPOKEN:
            raise ValueError(f"The server does not speak {scope['type']}.")
        answered = SentBack(send, [*self._headers, *self._for_origin(scope)])
        if scope["type"] == "websocket" or scope["path"] == FEED or EVENTS.fullmatch(scope["path"]):
            # It may last for days, and what happens in it is not its doing.
            await self._let_in(scope, receive, answered)
            return
        with self.service.traces.span(
            scope["method"], _headers_of(scope), http__request__method=scope["method"]
        ) as span:
            await self._let_in(scope, receive, answered)
            route = _route_of(scope)
            span.name(f"{scope['method']} {route}")
            span.note(http__route=route, http__response__status_code=answered.status)
            if answered.status >= 500:
                span.failed(str(answered.status))

    async def _let_in(self, scope: Scope, receive: Receive, answered: "SentBack") -> None:
        began = time.monotonic()
        try:
            await self._answer(scope, receive, answered)
        except Exception as error:
            problem = problem_of(error)
            if problem.status == 500:
                LOG.exception("A request has failed unforeseen.")
            if not answered.begun:
                await _refuse(scope["type"], problem, answered)
        finally:
            self._count(scope, answered.status, time.monotonic() - began)

    async def _answer(self, scope: Scope, receive: Receive, send: "SentBack") -> None:
        service, doorway = self.service, self.service.doorway
        headers = _headers_of(scope)
        if scope["type"] == "http" and scope["path"] in OPEN:
            await self._route(scope, Caller(scopes=frozenset()), receive, send)
            return
        if scope["type"] == "http" and await send_static(scope["path"], scope["method"], headers, send):
            return
        doorway.check_origin(headers)
        if scope["type"] == "http" and scope["method"] == "OPTIONS" and "origin" in headers:
            await send({"type": "http.response.start", "status": 204, "headers": []})
            await send({"type": "http.response.body", "body": b""})
            return
        found = EVENTS.fullmatch(scope["path"])
        query = read_query(scope["query_string"]) if found else {}
        caller = doorway.caller(headers, query.get("ticket", [None])[-1])
        doorway.take_request(caller)
        if scope["type"] == "http" and (scope["path"], scope["method"]) == (FEED, "GET"):
            asked = feed_request(caller, scope["query_string"], headers)
            try:
                await send_feed(service, caller, asked, receive, send)
            except Stalled:
                scope[ABORT]()
            return
        if found is None or (scope["type"] == "http" and (scope["method"] != "GET" or found[2] == "ws")):
            await self._route(scope, caller, receive, send)
            return
        if service.hub.count(caller.tenant) >= doorway.limits_of(caller.tenant).connections:
            raise QuotaReached("The tenant has as many open connections as it may have.")
        request = push_request(caller, unquote(found[1]), query, headers)
        if scope["type"] == "websocket":
            await receive()
        listener = await service.hub.listen(request)
        try:
            if scope["type"] == "websocket":
                await send({"type": "websocket.accept"})
                await send_messages(listener, receive, send, service.config.stall)
            else:
                await send_events(listener, receive, send, service.config.stall)
        except Stalled:
            scope[ABORT]()
        finally:
            service.hub.leave(listener)

    async def _route(self, scope: Scope, caller: Caller, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            raise ValueError("There is no WebSocket at this address.")
        scope["skyband.service"], scope["skyband.caller"] = self.service, caller
        body = BoundedBody(receive, _headers_of(scope), self.service.config.limits.body)
        await self.routes(scope, body, send)

    def _for_origin(self, scope: Scope) -> list[tuple[bytes, bytes]]:
        """What lets the pages of a site that is named read answers."""
        origin = next((value for name, value in scope["headers"] if name == b"origin"), b"")
        if origin.decode("latin-1") not in self.service.config.origins:
            return []
        return [
            (b"access-control-allow-origin", origin),
            (b"access-control-allow-methods", b"GET, POST, PUT, PATCH, DELETE"),
            (
                b"access-control-allow-headers",
                b"authorization, content-type, idempotency-key, if-match, if-none-match, last-event-id",
            ),
            (b"access-control-expose-headers", b"etag, location, retry-after"),
            (b"vary", b"origin"),
        ]

    def _count(self, scope: Scope, status: int, seconds: float) -> None:
        """Count a request by the template of its address, which names nobody and has no secrets in it."""
        route = _route_of(scope)
        method = scope.get("method", "WEBSOCKET")
        self.service.meters.count("skyband_requests_total", method=method, route=route, status=status)
        if route not in ("events", FEED):
            self.service.meters.time("skyband_request_seconds", seconds, route=route)
        facts = {"method": method, "route": route, "status": status, "ms": round(1000 * seconds, 1)}
        LOG.info("%s %s %s %.1f ms", *facts.values(), extra={FACTS: facts})


def _headers_of(scope: Scope) -> dict[str, str]:
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}


def _route_of(scope: Scope) -> str:
    """The template of an address, which the framework has found, or one that it does not know."""
    path = scope["path"]
    if (known := getattr(scope.get("route"), "path", None)) is not None:
        return str(known)
    if path in static_files():
        return "/console"
    return "events" if EVENTS.fullmatch(path) else FEED if path == FEED else "none"


class SentBack:
    """What is sent back, with headers added; notes the status, and whether anything was sent."""

    def __init__(self, send: Send, headers: list[tuple[bytes, bytes]]) -> None:
        self._send = send
        self._headers = headers
        self.begun = False
        self.status = 0

    async def __call__(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] in ("http.response.start", "websocket.http.response.start", "websocket.accept"):
            self.begun = True
            self.status = message.get("status", 101)
            own = list(message.get("headers", []))
            named = {name for name, _ in own}
            message["headers"] = own + [header for header in self._headers if header[0] not in named]
        await self._send(message)


async def _refuse(kind: str, problem: Problem, send: SentBack) -> None:
    send.status = problem.status
    headers = [(b"content-type", MEDIA_TYPE.encode())]
    headers += [(name.encode(), value.encode()) for name, value in problem.headers.items()]
    # A WebSocket is refused before it is one, with the same answer.
    start = "websocket.http.response" if kind == "websocket" else "http.response"
    await send({"type": f"{start}.start", "status": problem.status, "headers": headers})
    await send({"type": f"{start}.body", "body": problem.body()})
