"""Problems: what went wrong, as RFC 9457 has it, with Skyband's rejects."""

import errno
import sqlite3
from typing import Any, NamedTuple

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from skyband.contract.handle import Closed
from skyband.server.access.doorway import NotAllowed, NotLetIn, QuotaReached
from skyband.server.access.rate import TooFast
from skyband.server.push.push_event import dumps
from skyband.server.store.database import NoDatabase
from skyband.server.store.journal import NO_ROOM, NoRoom
from skyband.server.store.rows import UnreadableBody
from skyband.server.stream.served import ChangedMeanwhile, KeyUsedOtherwise, NotRegistered
from skyband.server.stream.stream_set import DamagedStream, NoSuchStream, StreamExists
from skyband.server.webhook.webhooks import NoSuchHook
from skyband.table import Rejected

MEDIA_TYPE = "application/problem+json"
KINDS = "urn:skyband:problem:"
MOST_REJECTS = 100


class NotTaken(ValueError):
    """A body that is too long, or of a type that is not taken."""

    def __init__(self, status: int, kind: str, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.kind = kind


class Problem(NamedTuple):
    """A problem: its status, its kind, a title that is the same for all of its kind, and what it is this time."""

    status: int
    kind: str
    title: str
    detail: str
    more: dict[str, Any] = {}  # noqa: RUF012  # never written to
    headers: dict[str, str] = {}  # noqa: RUF012  # the same

    def body(self) -> bytes:
        """The document."""
        plain = {"type": KINDS + self.kind, "title": self.title, "status": self.status, "detail": self.detail}
        return dumps(plain | self.more).encode()


def problem_of(error: BaseException) -> Problem:
    """What to tell of an error; of one that nobody foresaw nothing but that there was one."""
    if isinstance(error, HTTPException) and isinstance(error.__cause__, NotTaken):
        # The framework, which reads some bodies, tells nobody why it could not.
        error = error.__cause__
    detail = " ".join(str(error).split())
    for kind, status, name, title in _KNOWN:
        if isinstance(error, kind):
            return Problem(status, name, title, detail)
    match error:
        case Rejected():
            rejects = [reject._asdict() for reject in error.rejects[:MOST_REJECTS]]
            more = {"rejects": rejects, "n_rejects": len(error.rejects)}
            return Problem(422, "rejected", "Rows were rejected", detail, more)
        case TooFast():
            wait = str(max(1, round(error.seconds + 0.5)))
            return Problem(429, "rate", "Too many requests", detail, {}, {"retry-after": wait})
        case NotLetIn():
            return Problem(401, "token", "A token is needed", detail, {}, {"www-authenticate": "Bearer"})
        case NotTaken():
            return Problem(error.status, error.kind, "The body is not taken", detail)
        case RequestValidationError():
            return Problem(422, "invalid", "The request is not valid", "; ".join(map(_told, error.errors())))
        case HTTPException():
            detail, sent = str(error.detail), dict(error.headers or {})
            return Problem(error.status_code, "http", detail, detail, {}, sent)
    if (isinstance(error, OSError) and error.errno in (*NO_ROOM, errno.EFBIG)) or _is_full(error):
        return Problem(507, "no-room", "The disk is full", "The disk is full; nothing was changed.")
    if isinstance(error, ValueError):
        return Problem(422, "invalid", "The request is not valid", detail)
    return Problem(500, "unforeseen", "Something unforeseen happened", "The log of the server has more about it.")


_KNOWN: list[tuple[type[BaseException], int, str, str]] = [
    (NoSuchStream, 404, "no-stream", "There is no such stream"),
    (NotRegistered, 404, "no-subscription", "There is no such subscription"),
    (NoSuchHook, 404, "no-webhook", "There is no such webhook"),
    (Closed, 404, "no-stream", "There is no such stream"),
    (StreamExists, 409, "stream-exists", "The stream exists already"),
    (ChangedMeanwhile, 412, "changed", "The subscription was changed meanwhile"),
    (KeyUsedOtherwise, 422, "key-used", "The idempotency key was used for something else"),
    (DamagedStream, 503, "damaged", "The stream is damaged"),
    (NoDatabase, 503, "database", "The database cannot be reached"),
    (NoRoom, 507, "no-room", "The disk is full"),
    (NotAllowed, 403, "not-allowed", "That is not allowed"),
    (QuotaReached, 403, "quota", "A quota is reached"),
    (UnreadableBody, 400, "unreadable", "The body cannot be read"),
]


def _is_full(error: BaseException) -> bool:
    return isinstance(error, sqlite3.OperationalError) and "full" in str(error)


def _told(error: Any) -> str:
    place = ".".join(str(part) for part in error["loc"] if part != "body")
    return f"{place}: {error['msg']}" if place else str(error["msg"])
