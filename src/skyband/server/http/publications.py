"""Routes of publications: publishing rows, and withdrawing what was published."""

from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.requests import Request

from skyband.server.access.token import Caller
from skyband.server.http.body import idempotency_key, read_body
from skyband.server.http.scoped import TheCaller, TheService, reply, route
from skyband.server.stream.served import StepResult

router = APIRouter(tags=["publications"])


@route(router, "POST", "/v1/streams/{stream}/publications", "publish", rows=True)
async def publish(request: Request, service: TheService, caller: TheCaller, stream: str, rows: bool = False) -> Any:
    """Publish rows, all of them or none; with `rows=true` the answer has all changes, for whoever may read them."""
    body = await read_body(request)
    result = await service.verb(caller, "publish", stream, body=body, key=idempotency_key(request))
    return reply(with_rows(result, caller, rows))


@route(router, "DELETE", "/v1/streams/{stream}/publications", "publish")
async def retract(
    request: Request,
    service: TheService,
    caller: TheCaller,
    stream: str,
    id: Annotated[list[str], Query(min_length=1, max_length=1000)],
) -> Any:
    """Withdraw publications by their ids; those that are no longer there are passed over."""
    its = service.streams.get(caller.tenant, stream)
    ids = await service.worker.ask(lambda _: its.publication_ids(id))
    result = await service.verb(caller, "retract", stream, {"ids": ids}, key=idempotency_key(request))
    return reply(result.answer)


def with_rows(result: StepResult, caller: Caller, rows: bool) -> dict[str, Any]:
    """What was answered, with the rows that a caller may see, if they were asked for."""
    if not rows:
        return result.answer
    seen = [row for row in result.rows() if str(row["subscription"]).startswith(caller.prefix)]
    return result.answer | {"rows": seen if caller.may("read") else []}
