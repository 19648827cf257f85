"""Routes of webhooks: making, changing and removing them, their secrets, attempts, and messages that nobody took."""

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from skyband.server.access.doorway import require_id
from skyband.server.access.token import Caller
from skyband.server.http.page import Limit, next_page
from skyband.server.http.scoped import TheCaller, TheService, reply, route
from skyband.server.push.attach import NoLatest
from skyband.server.push.push_request import PushMode
from skyband.server.service import Service
from skyband.server.store.metadata import now_us
from skyband.server.stream.served import NotRegistered
from skyband.server.webhook.kept import KeptHook
from skyband.server.webhook.signature import HookSecret, new_secret
from skyband.server.webhook.webhooks import new_hook_id
from skyband.table.duration import parse_with_unit

router = APIRouter(tags=["webhooks"])
PATH = "/v1/webhooks"
LONGEST_OVERLAP = "7d"
Url = Annotated[str, Field(max_length=2000)]
Title = Annotated[str, Field(max_length=200)]
Place = Annotated[int | None, Query(ge=0, lt=2**62)]
Rate = Annotated[float, Field(gt=0, le=1000)]


class HookToMake(BaseModel):
    """A webhook: a stream, its subscriptions or all of them, and where messages are sent."""

    model_config = ConfigDict(extra="forbid")
    stream: str
    url: Url
    title: Title = ""
    subscriptions: Annotated[list[str | int], Field(min_length=1, max_length=10_000)] | None = None
    mode: PushMode = "every"
    rate: Rate | None = None


class HookPatch(BaseModel):
    """What of a webhook changes."""

    model_config = ConfigDict(extra="forbid")
    url: Url | None = None
    title: Title | None = None
    state: str | None = Field(None, pattern="^(enabled|disabled)$")


class SecretToMake(BaseModel):
    """How long the secret before the new one signs beside it."""

    model_config = ConfigDict(extra="forbid")
    overlap: str = "24h"


class DeadToChoose(BaseModel):
    """Some messages by their ids, or all."""

    model_config = ConfigDict(extra="forbid")
    ids: Annotated[list[str], Field(max_length=1000)] | None = None


@route(router, "GET", PATH, "admin")
async def list_webhooks(service: TheService, caller: TheCaller) -> Any:
    """The webhooks of this tenant, without their secrets."""
    return reply({"webhooks": [hook.plain() for hook in await service.webhooks.of(caller.tenant, caller.prefix)]})


@route(router, "POST", PATH, "admin", status=201)
async def make_webhook(service: TheService, caller: TheCaller, given: HookToMake) -> Any:
    """Make a webhook. The first messages are the tops as they are. The secret is shown in this answer alone."""
    await _check_asked(service, caller, given)
    names = None if given.subscriptions is None else tuple(str(each) for each in given.subscriptions)
    secret = new_secret()
    hook = KeptHook(
        new_hook_id(), caller.tenant, given.stream, given.url, given.title, names, given.mode, given.rate,
        caller.prefix, (HookSecret(secret),), now_us(),
    )  # fmt: skip
    await service.webhooks.add(hook)
    service.note(caller, "make-webhook", hook.id, {"stream": hook.stream})
    return reply(hook.plain() | {"secret": secret}, 201, {"location": f"{PATH}/{hook.id}"})


@route(router, "GET", PATH + "/{id}", "admin")
async def get_webhook(service: TheService, caller: TheCaller, id: str) -> Any:
    """A webhook: up to which step messages were made of its stream, and why it is disabled, if it is."""
    return reply((await _hook(service, caller, id)).plain())


@route(router, "PATCH", PATH + "/{id}", "admin")
async def patch_webhook(service: TheService, caller: TheCaller, id: str, given: HookPatch) -> Any:
    """Change the address or the title of a webhook, disable it, or enable it again from where it was."""
    hook = await _hook(service, caller, id)
    values = {name: value for name, value in given.model_dump().items() if value is not None}
    if given.url is not None:
        await service.webhooks.check_url(given.url)
    if given.state == "disabled":
        hook = await service.webhooks.disable(hook, "It was disabled by request.")
        values.pop("state")
    elif given.state == "enabled":
        values["reason"] = None
    hook = await service.webhooks.change(hook, **values) if values else hook
    service.note(caller, "change-webhook", id, {"changed": sorted(given.model_fields_set)})
    return reply(hook.plain())


@route(router, "DELETE", PATH + "/{id}", "admin", status=204)
async def remove_webhook(service: TheService, caller: TheCaller, id: str) -> None:
    """Remove a webhook with its messages and attempts."""
    await service.webhooks.remove(await _hook(service, caller, id))
    service.note(caller, "remove-webhook", id, {})


@route(router, "POST", PATH + "/{id}/secret", "admin", status=201)
async def rotate_secret(service: TheService, caller: TheCaller, id: str, given: SecretToMake) -> Any:
    """Make a new secret, shown in this answer alone. For a while messages have a signature by each of both."""
    overlap = 0 if given.overlap == "0" else parse_with_unit(given.overlap)
    if overlap > parse_with_unit(LONGEST_OVERLAP):
        raise ValueError(f"overlap is at most {LONGEST_OVERLAP}.")
    secret = await service.webhooks.rotate(await _hook(service, caller, id), overlap)
    service.note(caller, "rotate-secret", id, {})
    return reply({"secret": secret}, 201)


@route(router, "GET", PATH + "/{id}/attempts", "admin")
async def list_attempts(
    service: TheService, caller: TheCaller, id: str, before: Place = None, limit: Limit = 100
) -> Any:
    """The last attempts to send messages, the latest first."""
    found = await service.webhooks.attempts(await _hook(service, caller, id), before, limit + 1)
    return reply(next_page("attempts", [attempt._asdict() for attempt in found], limit, "id"))


@route(router, "GET", PATH + "/{id}/dead", "admin")
async def list_dead(service: TheService, caller: TheCaller, id: str, after: Place = None, limit: Limit = 100) -> Any:
    """Messages that nobody took, the earliest first, with what they say."""
    found = await service.webhooks.dead(await _hook(service, caller, id), after, limit + 1)
    return reply(next_page("dead", [message._asdict() for message in found], limit, "seq"))


@route(router, "POST", PATH + "/{id}/dead/replay", "admin")
async def replay_dead(service: TheService, caller: TheCaller, id: str, given: DeadToChoose) -> Any:
    """Send messages again that nobody took, under the same ids; each has ten attempts again."""
    n = await service.webhooks.replay(await _hook(service, caller, id), given.ids)
    service.note(caller, "replay", id, {"messages": n})
    return reply({"replayed": n})


@route(router, "DELETE", PATH + "/{id}/dead", "admin")
async def drop_dead(
    service: TheService, caller: TheCaller, id: str, message: Annotated[list[str] | None, Query(max_length=1000)] = None
) -> Any:
    """Forget messages that nobody took: those that are named, or all."""
    n = await service.webhooks.drop(await _hook(service, caller, id), message)
    service.note(caller, "drop-dead", id, {"messages": n})
    return reply({"dropped": n})


async def _hook(service: Service, caller: Caller, id: str) -> KeptHook:
    return await service.webhooks.get(caller.tenant, id, caller.prefix)


async def _check_asked(service: Service, caller: Caller, given: HookToMake) -> None:
    """Raise unless there is what the webhook is to be told of, and the caller may see it."""
    stream = service.streams.get(caller.tenant, given.stream)
    if given.rate is not None and given.mode != "latest":
        raise ValueError("rate belongs to the mode latest: in the mode every, nothing is left out.")
    if given.mode == "latest" and not stream.family.answers_stand:
        raise NoLatest(f"Subscriptions of the family {stream.family.name} have no tops: use the mode every.")
    names = [str(each) for each in given.subscriptions or ()]
    for name in names:
        require_id(caller, name)
    known = await service.worker.ask(lambda _: [stream.registry.find(name) for name in names])
    if None in known:
        raise NotRegistered(f"There is no subscription {names[known.index(None)]!r} in the stream {stream.name}.")
