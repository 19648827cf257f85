"""The application: all routes behind the door, and the document that describes them."""

from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from skyband import __version__
from skyband.server.console import rows
from skyband.server.console.feed import FEED
from skyband.server.http import (
    admin,
    explanations,
    health,
    publications,
    session,
    static,
    streams,
    subscriptions,
    webhooks,
)
from skyband.server.http.door import Door
from skyband.server.http.problem import MEDIA_TYPE, problem_of
from skyband.server.service import Service

SUMMARY = "Top-k publish/subscribe: standing questions, and exactly how their answers change."
_QUERY = [
    ("subscriptions", "The ids, separated by commas; all subscriptions if there is none."),
    ("subscription", "One id, which may have a comma in it; may be given several times."),
    ("mode", "Either every, for all steps, or latest, for the difference between the newest tops."),
    ("rate", "How many events come per second at most, for mode=latest."),
    ("last_event_id", "The id to resume from, where no header can be sent."),
    ("ticket", "A ticket in place of a token."),
]


def make_application(service: Service) -> Door:
    """The ASGI application of a service."""
    return Door(service, make_routes())


def make_routes() -> FastAPI:
    """All routes but those of events."""
    app = FastAPI(
        title="Skyband", version=__version__, description=SUMMARY, docs_url=None, redoc_url=None, openapi_url=None
    )
    parts = (health, static, streams, publications, subscriptions, explanations, webhooks, session, admin, rows)
    for part in parts:
        app.include_router(part.router)

    @app.get("/openapi.json", include_in_schema=False)
    async def openapi() -> dict[str, Any]:
        """The document that describes the routes."""
        return with_events(app.openapi())

    for kind in (RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, _told)
    return app


def with_events(document: dict[str, Any]) -> dict[str, Any]:
    """The document with the routes of events, which do not go through the framework."""
    parameters: list[dict[str, Any]] = [
        {"name": "stream", "in": "path", "required": True, "schema": {"type": "string"}},
        *({"name": name, "in": "query", "description": text, "schema": {"type": "string"}} for name, text in _QUERY),
    ]
    header = {"name": "Last-Event-ID", "in": "header", "schema": {"type": "string"}}
    of_events = {
        "tags": ["push"],
        "summary": "Server-sent events: snapshot, ready, changes, reset and closing.",
        "x-scope": "read",
        "parameters": [*parameters, header],
        "responses": {"200": {"description": "Events.", "content": {"text/event-stream": {}}}},
    }
    of_ws = {
        "tags": ["push"],
        "summary": "The same events as messages of a WebSocket.",
        "x-scope": "read",
        "parameters": parameters,
        "responses": {"101": {"description": "A WebSocket."}},
    }
    of_feed = {
        "tags": ["console"],
        "summary": "Server-sent events for the console: the events of a stream, vitals, and what was published.",
        "x-scope": "read",
        "parameters": [
            {"name": "stream", "in": "query", "schema": {"type": "string"}},
            {"name": "subscription", "in": "query", "schema": {"type": "array", "items": {"type": "string"}}},
            header,
        ],
        "responses": {"200": {"description": "Events.", "content": {"text/event-stream": {}}}},
    }
    paths = document["paths"] | {
        "/v1/streams/{stream}/events": {"get": of_events},
        "/v1/streams/{stream}/ws": {"get": of_ws},
        FEED: {"get": of_feed},
    }
    return document | {"paths": paths}


async def _told(_: Request, error: Exception) -> Response:
    problem = problem_of(error)
    return Response(problem.body(), problem.status, problem.headers, MEDIA_TYPE)
