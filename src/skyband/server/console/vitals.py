"""Vitals: how a server is at a moment, as the console shows it, of what the caller may see."""

import time
from typing import Any

from skyband import __version__
from skyband.server.access.token import Caller
from skyband.server.console.covering import has_boxes
from skyband.server.service import Service
from skyband.server.stream.served import ServedStream

BEGAN = time.time()
MOST_BUDGETS = 300
"""Of so many subscriptions, the first by id, it is told what is left of their budgets."""


async def vitals(service: Service, caller: Caller, stream: str | None) -> dict[str, Any]:
    """All streams of the tenant in short, and what the engine of one of them has counted."""
    streams = service.streams.of(caller.tenant)
    watched = next((its for its in streams if its.name == stream), None)
    engine = None if watched is None else await service.worker.ask(lambda _: _engine(watched, caller.prefix))
    return {
        "at": time.time(),
        "up": time.time() - BEGAN,
        "version": __version__,
        "streams": [_in_short(service, its) for its in streams],
        "engine": engine,
        "connections": service.hub.count(caller.tenant),
        "pushed": service.hub.n_events,
        "waiting": service.worker.waiting,
        "stopping": service.stopping,
    }


def _in_short(service: Service, stream: ServedStream) -> dict[str, Any]:
    return {
        "name": stream.name,
        "family": stream.spec.family,
        "engine": stream.spec.engine,
        "window": stream.spec.window,
        "bounds": stream.spec.bounds,
        "step": str(stream.last),
        "now": stream.engine.now,
        "subscriptions": len(stream.registry),
        "published": service.recent.n_rows.get(stream.key, 0),
        "stands": stream.family.answers_stand,
        "objects": stream.family.has_objects,
        "boxes": has_boxes(stream),
        "damaged": stream.damaged,
    }


def _engine(stream: ServedStream, prefix: str) -> dict[str, Any]:
    # Only some families have budgets.
    engine: Any = stream.engine
    found = {"stream": stream.name, "counters": engine.counters, "memory": engine.memory(), "taken": engine.taken}
    if stream.family.has_budgets:
        ids = [id for id, _ in stream.registry.page(None, MOST_BUDGETS, prefix)]
        left = engine.budgets(ids).to_pylist() if ids else []
        found["budgets"] = {str(row["id"]): row["budget"] for row in left if row["budget"] is not None}
    return found
