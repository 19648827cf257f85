"""Routes of the console beside its feed: rows that were published before a page was opened, and who covers whom."""

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Query

from skyband.server.access.doorway import NotAllowed
from skyband.server.console.covering import MOST_MEMBERS, forest_of, has_boxes
from skyband.server.http.scoped import TheCaller, TheService, reply, route

router = APIRouter(tags=["console"])


@route(router, "GET", "/v1/console/streams/{stream}/publications", "read")
async def recent_publications(
    service: TheService, caller: TheCaller, stream: str, id: Annotated[list[str], Query(min_length=1, max_length=200)]
) -> Any:
    """Publications as they were sent, as far as they came lately; those that are no longer held are left out."""
    its = service.streams.get(caller.tenant, stream)
    if caller.prefix:
        raise NotAllowed("The token is for some subscriptions, and not for everything that is published.")
    return reply({"rows": service.recent.with_ids(its.key, id)})


@route(router, "GET", "/v1/console/streams/{stream}/covering", "read")
async def covering(service: TheService, caller: TheCaller, stream: str) -> Any:
    """Which subscriptions stand for others, as a forest of the boxes that they ask about."""
    its = service.streams.get(caller.tenant, stream)
    if not has_boxes(its):
        raise ValueError(f"Subscriptions of the family {its.family.name} are not boxes, so that none encloses another.")
    page, dims = await service.worker.ask(
        lambda _: (its.registry.page(None, MOST_MEMBERS + 1, caller.prefix), its.engine.settings.dims)
    )
    # What searches for coverings may have to be compiled, while others are answered.
    members = await asyncio.to_thread(forest_of, page[:MOST_MEMBERS], dims)
    return reply({"members": members, "more": len(page) > MOST_MEMBERS})
