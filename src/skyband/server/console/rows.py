"""Routes of the console beside its feed: rows that were published before a page was opened."""

from typing import Annotated, Any

from fastapi import APIRouter, Query

from skyband.server.access.doorway import NotAllowed
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
