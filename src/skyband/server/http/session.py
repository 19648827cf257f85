"""Routes of sessions: a browser shows its token once, and from then on a cookie that its pages cannot read."""

from typing import Any

from fastapi import APIRouter

from skyband import __version__
from skyband.server.access.token import Caller
from skyband.server.http.scoped import TheCaller, TheService, reply, route
from skyband.server.store.metadata import now_us

router = APIRouter(tags=["sessions"])
PATH = "/v1/session"


@route(router, "GET", PATH, "read")
async def get_session(caller: TheCaller) -> Any:
    """Who asks, and what they may do."""
    return reply(_who(caller))


@route(router, "POST", PATH, "read", status=201)
async def begin_session(service: TheService, caller: TheCaller) -> Any:
    """Begin a session with the token that is shown: the answer sets a cookie, which ends after twelve hours."""
    headers = {}
    if caller.token is not None:
        sessions, secure = service.doorway.sessions, service.config.certificate is not None
        headers["set-cookie"] = sessions.begin(caller.tenant, caller.token, now_us(), secure)
        service.note(caller, "log-in", caller.token, {})
    return reply(_who(caller), 201, headers)


@route(router, "DELETE", PATH, "read")
async def end_session(service: TheService, caller: TheCaller) -> Any:
    """End the session: the answer takes the cookie away."""
    ended = service.doorway.sessions.end(service.config.certificate is not None)
    return reply({"ended": caller.token is not None}, headers={"set-cookie": ended})


def _who(caller: Caller) -> dict[str, Any]:
    scopes = sorted(caller.scopes)
    return {"tenant": caller.tenant, "token": caller.token, "scopes": scopes, "prefix": caller.prefix} | {
        "operator": caller.is_operator,
        "version": __version__,
    }
