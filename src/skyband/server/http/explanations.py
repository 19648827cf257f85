"""The route of explanations: why a publication is in a top, or why not, and by how much it misses."""

from typing import Any

from fastapi import APIRouter

from skyband.server.access.doorway import NotAllowed, require_id
from skyband.server.http.scoped import TheCaller, TheService, reply, route
from skyband.server.service import Service
from skyband.server.stream.served import NotRegistered, ServedStream

router = APIRouter(tags=["subscriptions"])


@route(router, "GET", "/v1/streams/{stream}/explain", "read")
async def explain(service: TheService, caller: TheCaller, stream: str, subscription: str, publication: str) -> Any:
    """Why a publication is in the top of a subscription, or why not: what its score is made of, and what it lacks."""
    its = service.streams.get(caller.tenant, stream)
    require_id(caller, subscription)
    if caller.prefix and not its.family.answers_stand:
        raise NotAllowed("The token is for some subscriptions, and not for everything that is published.")
    named = _named(service, its, publication)
    return reply(await service.worker.ask(lambda _: _explained(its, subscription, named)))


def _explained(stream: ServedStream, subscription: str, publication: Any) -> dict[str, Any]:
    known = stream.registry.find(subscription)
    if known is None:
        raise NotRegistered(f"There is no subscription {subscription!r} in the stream {stream.name}.")
    return stream.engine.explain(known, publication).as_dict() | {"step": str(stream.last)}


def _named(service: Service, stream: ServedStream, publication: str) -> Any:
    """The id; where nothing stays, the row as it was published, as long as it is held for the console."""
    if stream.family.answers_stand:
        named = stream.explained_ids([publication])
        if not named:
            raise ValueError(f"Ids of publications of this stream are integers, unlike {publication[:80]!r}.")
        return named[0]
    rows = service.recent.with_ids(stream.key, [publication])
    if not rows:
        raise ValueError(f"The publication {publication!r} was not published lately, and this family keeps none.")
    return rows[0]
