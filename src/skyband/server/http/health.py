"""Routes of health: whether the server lives, whether it can work, and what it has counted."""

import shutil
from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from skyband.server.http.scoped import OPERATOR, TheCaller, TheService, reply, route
from skyband.server.meter import gauges, labelled
from skyband.server.service import Service

router = APIRouter(tags=["health"])
OPEN = "open"
"""The scope of what needs no token."""
LEAST_FREE = 64 * 2**20


@router.get("/healthz", openapi_extra={"x-scope": OPEN})
async def live() -> Any:
    """Whether the server answers at all."""
    return reply({"status": "ok"})


@router.get("/readyz", openapi_extra={"x-scope": OPEN})
async def ready(service: TheService) -> Any:
    """Whether verbs are taken and written: the thread of the streams answers, and what lasts can be reached."""
    troubles = await _troubles(service)
    return reply({"status": "not ready" if troubles else "ready", "troubles": troubles}, 503 if troubles else 200)


@route(router, "GET", "/metrics", OPERATOR)
async def metrics(service: TheService, caller: TheCaller) -> Any:
    """Everything that is counted, as Prometheus reads it."""
    counted = await service.worker.ask(lambda streams: [(stream.key, stream.engine.counters) for stream in streams])
    lines = service.meters.lines() + gauges(_gauges(service))
    messages = await service.webhooks.counts()
    lines += gauges(("skyband_webhook_messages", labelled({"state": state}), n) for state, n in messages.items())
    lines += gauges(
        ("skyband_engine", labelled({"tenant": key[0], "stream": key[1], "counter": name}), n)
        for key, counters in counted
        for name, n in counters.items()
    )
    return Response("\n".join(lines) + "\n", media_type="text/plain; version=0.0.4")


def _gauges(service: Service) -> list[tuple[str, str, float]]:
    worker = service.worker
    found: list[tuple[str, str, float]] = [
        ("skyband_connections", "", len(service.hub)),
        ("skyband_events_pushed", "", service.hub.n_events),
        ("skyband_log_records", "", worker.journal.n_records),
        ("skyband_log_groups", "", worker.journal.n_groups),
        ("skyband_log_largest_group", "", worker.largest_group),
        ("skyband_waiting_verbs", "", worker.waiting),
    ]
    for stream in service.streams:
        labels = labelled({"tenant": stream.tenant, "stream": stream.name})
        found += [("skyband_subscriptions", labels, len(stream.registry)), ("skyband_steps", labels, stream.step)]
    return sorted(found)


async def _troubles(service: Service) -> list[str]:
    troubles = []
    if service.stopping:
        troubles.append("The server is being stopped.")
    if not service.worker.alive:
        troubles.append("The thread of the streams has ended.")
    else:
        await service.worker.ask(len)
    try:
        service.metadata.check()
    except Exception:
        troubles.append("The metadata cannot be read.")
    if shutil.disk_usage(service.config.data).free < LEAST_FREE:
        troubles.append("The disk is nearly full.")
    if any(stream.damaged for stream in service.streams):
        troubles.append("A stream is damaged.")
    return troubles
