"""Routes of streams: what there is, opening and dropping, and time that passes."""

import asyncio
import datetime
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict

from skyband.server.http.page import Limit, next_page
from skyband.server.http.scoped import TheCaller, TheService, reply, route
from skyband.server.stream.served import ServedStream
from skyband.server.stream.spec import StreamSpec
from skyband.table.instant import one_instant

router = APIRouter(tags=["streams"])


class StreamToOpen(BaseModel):
    """A stream: its name, its family, and how its engine is opened."""

    model_config = ConfigDict(extra="forbid")
    name: str
    family: str
    engine: str | None = None
    window: Any = None
    bounds: Any = None
    granularity: str | None = None
    options: dict[str, Any] | None = None
    clock: str | None = None
    words: dict[str, Any] | None = None


class TimeToPass(BaseModel):
    """A time in microseconds, or as ISO 8601 text."""

    model_config = ConfigDict(extra="forbid")
    now: int | str


@route(router, "GET", "/v1/streams", "read")
async def list_streams(service: TheService, caller: TheCaller, after: str = "", limit: Limit = 100) -> Any:
    """The streams of this tenant by name."""
    found = [stream for stream in service.streams.of(caller.tenant) if stream.name > after][: limit + 1]
    return reply(next_page("streams", [_told(stream) for stream in found], limit, "name"))


@route(router, "POST", "/v1/streams", "admin", status=201)
async def open_stream(service: TheService, caller: TheCaller, given: StreamToOpen) -> Any:
    """Open a stream."""
    # The first engine of a family may have to be compiled, while others are answered.
    spec = await asyncio.to_thread(StreamSpec.of, given.model_dump(exclude={"name"}))
    await service.open_stream(caller, given.name, spec)
    stream = service.streams.get(caller.tenant, given.name)
    return reply(_told(stream), 201, {"location": f"/v1/streams/{stream.name}"})


@route(router, "GET", "/v1/streams/{stream}", "read")
async def get_stream(service: TheService, caller: TheCaller, stream: str) -> Any:
    """A stream: how it was opened, where it is, and what its engine has counted."""
    its = service.streams.get(caller.tenant, stream)
    counted = await service.worker.ask(lambda _: (its.engine.counters, its.engine.memory(), its.engine.taken))
    return reply(_told(its) | dict(zip(("counters", "memory", "taken"), counted, strict=True)))


@route(router, "DELETE", "/v1/streams/{stream}", "admin", status=204)
async def drop_stream(service: TheService, caller: TheCaller, stream: str) -> None:
    """Drop a stream, with all that is in it; whoever listens is told."""
    await service.drop_stream(caller, stream)


@route(router, "POST", "/v1/streams/{stream}/time", "publish")
async def let_time_pass(service: TheService, caller: TheCaller, stream: str, given: TimeToPass) -> Any:
    """Let time pass without a publication; it never goes back."""
    now = given.now if isinstance(given.now, int) else one_instant(_instant(given.now))
    return reply((await service.verb(caller, "advance", stream, {"now": now})).answer)


def _instant(text: str) -> Any:
    try:
        return datetime.datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"now is a time in microseconds, or ISO 8601 text, not {text[:80]!r}.") from None


def _told(stream: ServedStream) -> dict[str, Any]:
    return {
        "name": stream.name,
        **stream.told,
        "step": str(stream.last),
        "now": stream.engine.now,
        "subscriptions": len(stream.registry),
        "damaged": stream.damaged,
    }
