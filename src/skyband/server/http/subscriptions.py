"""Routes of subscriptions: registering, changing and withdrawing them, their tops, and a preview."""

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict
from starlette.requests import Request

from skyband.contract.checked import Checked
from skyband.contract.tops import Id
from skyband.server.access.doorway import NotAllowed, require_id
from skyband.server.access.made import LONGEST_TTL
from skyband.server.access.token import Caller
from skyband.server.http.body import idempotency_key, read_body
from skyband.server.http.condition import expected, is_known
from skyband.server.http.page import Limit, next_page
from skyband.server.http.publications import with_rows
from skyband.server.http.scoped import TheCaller, TheService, reply, route
from skyband.server.push.push_event import finite
from skyband.server.service import check_k
from skyband.server.store.metadata import now_us
from skyband.server.store.record import Record
from skyband.server.stream.registry import Registered, texts_of
from skyband.server.stream.served import NotRegistered, ServedStream
from skyband.table.duration import parse_with_unit

router = APIRouter(tags=["subscriptions"])
PATH = "/v1/streams/{stream}/subscriptions"
# Events are read from JSON again, and each is held against every subscription.
MOST_PREVIEWED = 1000
Ttl = Annotated[str | None, Query(description="How long the subscription stays, such as 10m; otherwise for ever.")]


class SubscriptionPatch(BaseModel):
    """What of a subscription changes: its k, how long it stays from now on, or both."""

    model_config = ConfigDict(extra="forbid")
    k: int | None = None
    ttl: str | None = None


@route(router, "GET", PATH, "read")
async def list_subscriptions(
    service: TheService, caller: TheCaller, stream: str, after: str | None = None, limit: Limit = 100
) -> Any:
    """The subscriptions in the order of their ids."""
    its = service.streams.get(caller.tenant, stream)
    found = await service.worker.ask(lambda _: _page(its, after, limit + 1, caller.prefix))
    return reply(next_page("subscriptions", [finite(entry.plain()) for _, entry in found], limit, "id"))


@route(router, "POST", PATH, "subscribe", rows=True)
async def subscribe(
    request: Request, service: TheService, caller: TheCaller, stream: str, ttl: Ttl = None, rows: bool = False
) -> Any:
    """Register subscriptions, all of them or none; with `rows=true` the answer has their first tops."""
    body = await read_body(request)
    facts, key = _until(ttl), idempotency_key(request)
    result = await service.verb(caller, "subscribe", stream, facts, body, key, lambda its: _own(caller, its))
    return reply(with_rows(result, caller, rows), 201)


@route(router, "POST", PATH + "/preview", "subscribe", rows=True)
async def preview_subscriptions(request: Request, service: TheService, caller: TheCaller, stream: str) -> Any:
    """The tops that subscriptions would have by what is live now, or was published lately; nothing is registered."""
    its = service.streams.get(caller.tenant, stream)
    if caller.prefix and not its.family.answers_stand:
        raise NotAllowed("The token is for some subscriptions, and not for everything that is published.")
    body = await read_body(request)
    record = Record("subscribe", caller.tenant, stream, now_us(), {}, body)
    checked = await service.checked(caller, its, "subscriptions", record)
    events = None if its.family.answers_stand else service.recent.since(its.key, 0, MOST_PREVIEWED)[1]
    step, tops = await service.worker.ask(lambda _: (str(its.last), _previewed(its, checked, events)))
    return reply({"step": step, "tops": [{"subscription": id, "top": top} for id, top in tops.items()]})


@route(router, "GET", PATH + "/{id}", "read")
async def get_subscription(request: Request, service: TheService, caller: TheCaller, stream: str, id: str) -> Any:
    """A subscription as it was sent."""
    its = service.streams.get(caller.tenant, stream)
    entry = await service.worker.ask(lambda _: _found(its, caller, id))
    tag = entry.tag
    if is_known(request, tag):
        return reply(None, 304, {"etag": tag})
    return reply(finite(entry.plain()), headers={"etag": tag})


@route(router, "PUT", PATH + "/{id}", "subscribe", rows=True)
async def put_subscription(
    request: Request, service: TheService, caller: TheCaller, stream: str, id: str, ttl: Ttl = None, rows: bool = False
) -> Any:
    """Register one subscription, in place of the one with this id if there is one; the same again changes nothing."""
    body = await read_body(request)
    facts, key = _until(ttl) | expected(request), idempotency_key(request)
    result = await service.verb(caller, "put", stream, facts, body, key, lambda its: _is_the_one(caller, its, id))
    return reply(with_rows(result, caller, rows), 201 if result.answer.get("created") else 200)


@route(router, "PATCH", PATH + "/{id}", "subscribe")
async def patch_subscription(
    request: Request, service: TheService, caller: TheCaller, stream: str, id: str, given: SubscriptionPatch
) -> Any:
    """Let a subscription ask for another k, or stay for another time."""
    its = service.streams.get(caller.tenant, stream)
    known = await service.worker.ask(lambda _: _known(its, caller, id))
    facts: dict[str, Any] = {"ids": [known]} | expected(request)
    facts |= _until(given.ttl) if given.ttl is not None else {}
    if given.k is not None:
        check_k(given.k, service.doorway.limits_of(caller.tenant).k)
        facts["k"] = given.k
    return reply((await service.verb(caller, "resize", stream, facts, key=idempotency_key(request))).answer)


@route(router, "DELETE", PATH + "/{id}", "subscribe")
async def unsubscribe(request: Request, service: TheService, caller: TheCaller, stream: str, id: str) -> Any:
    """Withdraw a subscription; whoever listens to it is told that it has ended."""
    its = service.streams.get(caller.tenant, stream)
    known = await service.worker.ask(lambda _: _known(its, caller, id))
    facts = {"ids": [known]} | expected(request)
    return reply((await service.verb(caller, "unsubscribe", stream, facts)).answer)


@route(router, "GET", PATH + "/{id}/top", "read")
async def get_top(request: Request, service: TheService, caller: TheCaller, stream: str, id: str) -> Any:
    """The top of a subscription now. Ask with `If-None-Match` to be told it only if a step has been since."""
    its = service.streams.get(caller.tenant, stream)
    step, known, top = await service.worker.ask(lambda _: _top(its, caller, id))
    tag = f'"{step}"'
    if is_known(request, tag):
        return reply(None, 304, {"etag": tag})
    return reply({"subscription": known, "step": step, "top": top}, headers={"etag": tag})


def _previewed(
    stream: ServedStream, checked: Checked, events: list[dict[str, Any]] | None
) -> dict[Id, list[dict[str, Any]]]:
    """The tops of subscriptions that are not registered; where nothing stays, their places among some events."""
    tops: dict[Id, list[dict[str, Any]]] = {id: [] for id, _ in texts_of(checked)}
    for row in stream.engine.preview(checked, events).to_pylist() if events != [] else ():
        name = row.pop("subscription")
        tops[name].append(row if events is None else {"publication": row.pop("event")} | row)
    return tops


def _page(stream: ServedStream, after: str | None, limit: int, prefix: str) -> list[tuple[Id, Registered]]:
    last: Id | None = after
    if after is not None and any(isinstance(id, int) for id in list(stream.registry)[:1]):
        if not after.removeprefix("-").isdecimal():
            raise ValueError("after is the id after which the page begins, and ids of this stream are integers.")
        last = int(after)
    return stream.registry.page(last, limit, prefix)


def _known(stream: ServedStream, caller: Caller, id: str) -> Id:
    require_id(caller, id)
    known = stream.registry.find(id)
    if known is None:
        raise NotRegistered(f"There is no subscription {id!r} in the stream {stream.name}.")
    return known


def _found(stream: ServedStream, caller: Caller, id: str) -> Registered:
    entry = stream.registry.get(_known(stream, caller, id))
    assert entry is not None
    return entry


def _top(stream: ServedStream, caller: Caller, id: str) -> tuple[str, Id, list[dict[str, Any]]]:
    known = _known(stream, caller, id)
    if not stream.family.answers_stand:
        raise ValueError(f"Subscriptions of the family {stream.family.name} have no tops: their answers are pushed.")
    return str(stream.last), known, stream.top([known])[known]


def _own(caller: Caller, checked: Checked) -> None:
    """Raise unless the caller may register all of these."""
    if caller.prefix:
        for id, _ in texts_of(checked):
            require_id(caller, id)


def _is_the_one(caller: Caller, checked: Checked, id: str) -> None:
    """Raise unless there is one row, with the id of the address."""
    ids = [str(each) for each, _ in texts_of(checked)]
    if ids != [id]:
        raise ValueError(f"The body holds one subscription with the id {id!r}, as in the address.")
    require_id(caller, id)


def _until(ttl: str | None) -> dict[str, Any]:
    if ttl is None:
        return {}
    us = parse_with_unit(ttl)
    if us > LONGEST_TTL:
        raise ValueError("ttl is at most a hundred years.")
    return {"until": now_us() + us}
