"""The files of the console, read once, and sent with a policy that lets a page load nothing from elsewhere."""

import functools
import hashlib
from collections.abc import Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, NamedTuple

from skyband.server.push.server_sent import Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
KINDS = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "json": "application/json",
    "svg": "image/svg+xml",
}
FOLDER = "/console/"


class StaticFile(NamedTuple):
    """A file as it is sent."""

    data: bytes
    kind: str
    tag: str


@functools.cache
def static_files() -> Mapping[str, StaticFile]:
    """The files by their paths in an address; there are no others, whatever a path says."""
    found = {}
    for path, place in _walk(files("skyband.server.console") / "static", FOLDER):
        kind = KINDS.get(path.rpartition(".")[2])
        if kind is not None:
            data = place.read_bytes()
            found[path] = StaticFile(data, kind, f'"{hashlib.sha256(data).hexdigest()[:16]}"')
    return found | {"/": found[f"{FOLDER}index.html"]}


async def send_static(path: str, method: str, headers: Mapping[str, str], send: Send) -> bool:
    """Send the file at a path; False where there is none."""
    found = static_files().get(path) if method in ("GET", "HEAD") else None
    if found is None:
        return False
    known = headers.get("if-none-match") == found.tag
    sent: list[tuple[bytes, bytes]] = [
        (b"content-type", found.kind.encode()),
        (b"content-security-policy", POLICY.encode()),
        (b"cache-control", b"no-cache"),
        (b"etag", found.tag.encode()),
    ]
    message: dict[str, Any] = {"type": "http.response.start", "status": 304 if known else 200, "headers": sent}
    await send(message)
    body = b"" if known or method == "HEAD" else found.data
    await send({"type": "http.response.body", "body": body})
    return True


def _walk(folder: Traversable, prefix: str) -> list[tuple[str, Traversable]]:
    found = []
    for place in folder.iterdir():
        path = prefix + place.name
        found += _walk(place, f"{path}/") if place.is_dir() else [(path, place)]
    return found
