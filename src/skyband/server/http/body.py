"""Bodies: read up to a limit, in one of the formats in which rows may come."""

from starlette.requests import Request

from skyband.server.http.problem import NotTaken
from skyband.server.store.record import Body, RowFormat
from skyband.server.store.rows import check_text

FORMATS: dict[str, RowFormat] = {
    "application/json": "json",
    "application/x-ndjson": "ndjson",
    "application/ndjson": "ndjson",
    "application/jsonl": "ndjson",
    "application/vnd.apache.arrow.stream": "arrow",
}
LONGEST_KEY = 200


async def read_bytes(request: Request, most: int) -> bytes:
    """The body, or `NotTaken` as soon as it is known to be too long."""
    told = request.headers.get("content-length")
    if told is not None and told.isdecimal() and int(told) > most:
        raise _too_long(most)
    if request.headers.get("content-encoding", "identity") != "identity":
        raise NotTaken(415, "media-type", "Bodies are taken without a content encoding.")
    parts, n_bytes = [], 0
    async for part in request.stream():
        n_bytes += len(part)
        if n_bytes > most:
            raise _too_long(most)
        parts.append(part)
    return b"".join(parts)


async def read_body(request: Request, most: int) -> Body:
    """The rows of a request as they were sent."""
    kind = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    if kind not in FORMATS:
        raise NotTaken(415, "media-type", f"Rows come as one of {', '.join(FORMATS)}, not as {kind[:80]}.")
    body = Body(FORMATS[kind], await read_bytes(request, most))
    if body.format != "arrow":
        check_text(body.data)
    return body


def idempotency_key(request: Request) -> str | None:
    """The key under which a verb is done once, however often it is asked for."""
    key = request.headers.get("idempotency-key")
    if key is not None and not 0 < len(key) <= LONGEST_KEY:
        raise NotTaken(400, "key", f"An Idempotency-Key has 1 to {LONGEST_KEY} characters.")
    return key


def _too_long(most: int) -> NotTaken:
    return NotTaken(413, "too-long", f"A body may have {most} bytes at most.")
