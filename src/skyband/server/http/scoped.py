"""Routes with a scope each: what a token must allow is part of every route, and of the OpenAPI document."""

from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import Response

from skyband.server.access.doorway import NotAllowed, require
from skyband.server.access.token import Caller
from skyband.server.push.push_event import dumps
from skyband.server.service import Service

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])
OPERATOR = "operator"
"""The scope admin, of the first tenant."""
ROWS = {
    "required": True,
    "content": {
        "application/json": {"schema": {"type": "array", "items": {"type": "object"}}},
        "application/x-ndjson": {"schema": {"type": "string"}},
        "application/vnd.apache.arrow.stream": {"schema": {"type": "string", "format": "binary"}},
    },
}
SAID = {"description": "A problem, as RFC 9457 has it.", "content": {"application/problem+json": {}}}


def route(
    router: APIRouter, method: str, path: str, scope: str, *, rows: bool = False, status: int = 200
) -> Callable[[Endpoint], Endpoint]:
    """Add an endpoint that takes a scope, and rows in its body if it says so."""
    extra: dict[str, Any] = {"x-scope": scope} | ({"requestBody": ROWS} if rows else {})
    return router.api_route(
        path,
        methods=[method],
        dependencies=[Depends(_need(scope))],
        openapi_extra=extra,
        status_code=status,
        responses={"default": SAID},
    )


def reply(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A value as JSON."""
    return Response(dumps(value), status, headers, "application/json")


def _service(request: Request) -> Service:
    service: Service = request.scope["skyband.service"]
    return service


def _caller(request: Request) -> Caller:
    caller: Caller = request.scope["skyband.caller"]
    return caller


def _need(scope: str) -> Callable[[Request], None]:
    def needs(request: Request) -> None:
        caller = _caller(request)
        if scope == OPERATOR and not caller.is_operator:
            raise NotAllowed("Only an admin of the first tenant may do that.")
        if scope != OPERATOR:
            require(caller, scope)

    return needs


TheService = Annotated[Service, Depends(_service)]
TheCaller = Annotated[Caller, Depends(_caller)]
