"""Routes of administration: tokens, tickets, tenants and the audit trail."""

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from skyband.server.access.doorway import NotAllowed
from skyband.server.access.made import kept_token
from skyband.server.access.token import FIRST_TENANT, Caller
from skyband.server.config import OF_TENANT, read_limits
from skyband.server.http.page import Limit, next_page
from skyband.server.http.problem import NotTaken
from skyband.server.http.scoped import OPERATOR, TheCaller, TheService, reply, route
from skyband.server.store.metadata import KeptToken, now_us
from skyband.server.stream.spec import check_name

router = APIRouter(tags=["administration"])
Before = Annotated[int | None, Query(ge=0, lt=2**62)]


class TokenToMake(BaseModel):
    """A token: a title for people, its scopes, how long it lives, and which subscriptions it is for."""

    model_config = ConfigDict(extra="forbid")
    title: Annotated[str, Field(max_length=200)] = ""
    scopes: Annotated[list[str], Field(min_length=1)]
    prefix: Annotated[str, Field(max_length=200)] = ""
    ttl: str | None = None
    tenant: str | None = None


class TenantToPut(BaseModel):
    """A tenant: those of its limits that are not those of the server."""

    model_config = ConfigDict(extra="forbid")
    limits: dict[str, Any] = {}


@route(router, "GET", "/v1/tokens", "admin")
async def list_tokens(service: TheService, caller: TheCaller, after: str = "", limit: Limit = 100) -> Any:
    """The tokens of this tenant in the order in which they were made, without what would let anybody in."""
    found = service.metadata.tokens(caller.tenant, after, limit + 1)
    return reply(next_page("tokens", [_told(token) for token in found], limit, "name"))


@route(router, "POST", "/v1/tokens", "admin", status=201)
async def make_token(service: TheService, caller: TheCaller, given: TokenToMake) -> Any:
    """Make a token. It is shown in this answer and never again; only a hash of it is kept."""
    tenant = given.tenant or caller.tenant
    if tenant != caller.tenant and not caller.is_operator:
        raise NotAllowed("Only an admin of the first tenant may make tokens for another one.")
    if tenant not in service.doorway.tenants():
        raise ValueError(f"There is no tenant {tenant!r}.")
    if caller.prefix and not given.prefix.startswith(caller.prefix):
        raise NotAllowed(f"The prefix has to begin with {caller.prefix!r}, as that of your own token.")
    text, kept = kept_token(tenant, given.title, given.scopes, given.prefix, given.ttl)
    service.metadata.add_token(kept)
    service.note(caller, "make-token", kept.name, {"tenant": tenant, "scopes": list(kept.scopes)})
    return reply(_told(kept) | {"token": text}, 201)


@route(router, "DELETE", "/v1/tokens/{name}", "admin", status=204)
async def revoke_token(service: TheService, caller: TheCaller, name: str) -> None:
    """Revoke a token: what is open with it is closed within a moment."""
    if not service.metadata.revoke(caller.tenant, name, now_us()):
        raise NotTaken(404, "no-token", f"There is no token {name!r}.")
    service.note(caller, "revoke-token", name, {})


@route(router, "POST", "/v1/tickets", "read", status=201)
async def make_ticket(service: TheService, caller: TheCaller) -> Any:
    """A ticket: it may be shown once, within 30 seconds, in the address of a connection that takes no headers."""
    return reply({"ticket": service.doorway.new_ticket(caller)}, 201)


@route(router, "GET", "/v1/tenants", OPERATOR)
async def list_tenants(service: TheService, caller: TheCaller, after: str = "", limit: Limit = 100) -> Any:
    """The tenants by name, with their limits."""
    names = [name for name in service.doorway.tenants() if name > after][: limit + 1]
    told = [{"name": name, "limits": service.doorway.limits_of(name)._asdict()} for name in names]
    return reply(next_page("tenants", told, limit, "name"))


@route(router, "PUT", "/v1/tenants/{name}", OPERATOR)
async def put_tenant(service: TheService, caller: TheCaller, name: str, given: TenantToPut) -> Any:
    """Make a tenant, or give it other limits."""
    read_limits(given.limits, OF_TENANT)
    is_new = service.metadata.put_tenant(check_name(name), given.limits)
    service.doorway.read_tenants()
    service.note(caller, "put-tenant", name, given.limits)
    return reply({"name": name, "limits": service.doorway.limits_of(name)._asdict()}, 201 if is_new else 200)


@route(router, "DELETE", "/v1/tenants/{name}", OPERATOR, status=204)
async def drop_tenant(service: TheService, caller: TheCaller, name: str) -> None:
    """Drop a tenant: its streams, and its tokens."""
    if name == FIRST_TENANT or name not in service.doorway.tenants():
        raise NotTaken(404, "no-tenant", f"There is no tenant {name!r} that could be dropped.")
    service.metadata.drop_tenant(name, now_us())
    service.doorway.read_tenants()
    for stream in service.streams.of(name):
        await service.drop_stream(Caller(name, caller.token), stream.name)
    await service.webhooks.forget(name)
    service.note(caller, "drop-tenant", name, {})


@route(router, "GET", "/v1/audit", "admin")
async def read_audit(
    service: TheService,
    caller: TheCaller,
    before: Before = None,
    limit: Limit = 100,
) -> Any:
    """What was done in this tenant, and with which token, the latest first."""
    found = service.metadata.audit(caller.tenant, before, limit + 1)
    more = found[limit - 1].id if len(found) > limit else None
    return reply({"audit": [line._asdict() for line in found[:limit]], "next": more})


def _told(token: KeptToken) -> dict[str, Any]:
    return {name: value for name, value in token._asdict().items() if name != "digest"}
