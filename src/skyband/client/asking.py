"""What a client asks of a server, step by step, without a connection: generators of calls and pauses.

Each yields a call, is sent its reply, and returns what was asked for, so that clients with and without a loop are the
same but for how they wait. What may be done twice is tried again where the connection or the server fails.
"""

import json
import random
import secrets
from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote

from skyband.client.api_call import ApiCall, HttpReply
from skyband.client.problem import Unreachable, problem_in
from skyband.client.row_body import JSON, ManyRows, RowBody, row_bodies
from skyband.client.stream_event import TopRow, top_rows
from skyband.client.verb_done import VerbDone, together, verb_done
from skyband.contract.explanation import Explanation
from skyband.contract.tops import Id

Got = TypeVar("Got")
ATTEMPTS = 5
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 30.0
# The server is too busy, or is being started; what stands between has lost it.
PASSING = (429, 502, 503, 504)


class Pause(NamedTuple):
    """So many seconds in which nothing is sent."""

    seconds: float


Query = Mapping[str, object] | None
Asking = Generator[ApiCall | Pause, HttpReply | Unreachable | None, Got]


def backoff(n: int) -> float:
    """How long to wait after so many failures in a row: twice as long each time, and never the same for all."""
    return min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(n, 16)) * random.uniform(0.5, 1.0)


def asked(call: ApiCall) -> Asking[HttpReply]:
    """The reply to a call; `ServerProblem` where it is refused, `Unreachable` where there is none."""
    for n in range(ATTEMPTS):
        got = yield call
        assert got is not None
        is_last = n == ATTEMPTS - 1
        if isinstance(got, Unreachable):
            if is_last or not call.repeatable:
                raise got
            yield Pause(backoff(n))
        elif is_last or got.status not in PASSING:
            break
        else:
            yield Pause(max(backoff(n), wished_pause(got)))
    assert isinstance(got, HttpReply)
    if got.status >= 300:
        raise problem_in(got)
    return got


def wished_pause(reply: HttpReply) -> float:
    """How long the server asks to wait."""
    told = reply.headers.get("retry-after", "")
    return min(float(told), LONGEST_PAUSE) if told.isdecimal() else 0.0


def plain(method: str, path: str, value: Any = None, query: Query = None) -> Asking[Any]:
    """What is answered to a call with a value of JSON, or with none."""
    content = None if value is None else json.dumps(value).encode()
    headers = {} if content is None else {"content-type": JSON}
    pairs = tuple((name, str(given)) for name, given in (query or {}).items() if given is not None)
    call = ApiCall(method, path, pairs, content, headers, repeatable=method in ("GET", "PUT"))
    reply = yield from asked(call)
    return json.loads(reply.body) if reply.body else None


def pages(path: str, noun: str) -> Asking[list[dict[str, Any]]]:
    """All entries of a list that comes in pages."""
    found: list[dict[str, Any]] = []
    after: object = None
    while True:
        page = yield from plain("GET", path, query={"after": after, "limit": 1000})
        found += page[noun]
        after = page["next"]
        if after is None:
            return found


def with_rows(method: str, path: str, body: RowBody, query: Query = None) -> Asking[Any]:
    """Send rows under a key, so that they are taken once however often they have to be sent."""
    headers = {"content-type": body.media_type, "idempotency-key": secrets.token_urlsafe(18)}
    pairs = tuple((name, str(given)) for name, given in (query or {}).items() if given is not None)
    reply = yield from asked(ApiCall(method, path, pairs, body.content, headers))
    return json.loads(reply.body)


def in_batches(path: str, rows: ManyRows, batch_rows: int, query: Query = None) -> Asking[VerbDone]:
    """Send rows in batches, one after the other."""
    parts = []
    for body in row_bodies(rows, batch_rows):
        told = yield from with_rows("POST", path, body, query)
        parts.append(verb_done(told))
    return together(parts)


def put_one(path: str, row: Mapping[str, Any], ttl: str | None) -> Asking[VerbDone]:
    """Put a subscription where there may be one."""
    (body,) = row_bodies(row, 1)
    told = yield from with_rows("PUT", f"{path}/{part(row['id'])}", body, {"ttl": ttl})
    return verb_done(told)._replace(rows=1)


def done(method: str, path: str, value: Any = None) -> Asking[VerbDone]:
    """A verb without rows."""
    return verb_done((yield from plain(method, path, value)))


def withdrawn(path: str, ids: Iterable[Id]) -> Asking[VerbDone]:
    """Withdraw publications, a hundred at a time."""
    listed, parts = list(ids), []
    for start in range(0, len(listed), 100):
        pairs = tuple(("id", str(id)) for id in listed[start : start + 100])
        headers = {"idempotency-key": secrets.token_urlsafe(18)}
        reply = yield from asked(ApiCall("DELETE", path, pairs, None, headers))
        parts.append(verb_done(json.loads(reply.body)))
    return together(parts)


def top_now(path: str) -> Asking[list[TopRow]]:
    """The top of one subscription."""
    return top_rows((yield from plain("GET", path))["top"])


def previewed(path: str, rows: ManyRows) -> Asking[dict[Id, list[TopRow]]]:
    """The tops that subscriptions would have."""
    found: dict[Id, list[TopRow]] = {}
    for body in row_bodies(rows, 1000):
        told = yield from with_rows("POST", path, body)
        found |= {top["subscription"]: top_rows(top["top"]) for top in told["tops"]}
    return found


def explained(path: str, subscription: Id, publication: Id) -> Asking[Explanation]:
    """Why a publication is in a top, or why not."""
    told = yield from plain("GET", path, query={"subscription": subscription, "publication": publication})
    return Explanation.of(told)


def address_of(stream: str, *rest: object) -> str:
    """The path of something in a stream."""
    return "/v1/streams/" + "/".join(part(each) for each in (stream, *rest))


def part(text: object) -> str:
    """A part of a path."""
    return quote(str(text), safe="")


def names_of(ids: Id | Sequence[Id] | None) -> tuple[Id, ...]:
    """Subscriptions as they may be given: one, several, or None for all."""
    return () if ids is None else (ids,) if isinstance(ids, int | str) else tuple(ids)
