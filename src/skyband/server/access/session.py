"""Sessions: what a browser shows in place of the token that it has logged in with.

A session is a cookie that names the token and ends after some hours, sealed with a secret of the data folder, so that
it outlives a restart of the server. It lets in no longer than its token does, and pages cannot read it.
"""

import base64
import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import NamedTuple

SECONDS = 12 * 3600
SECRET_BYTES = 32


class BrowserSession(NamedTuple):
    """Which token has logged in, and until when, in microseconds."""

    tenant: str
    token: str
    until: int


class SessionSeal:
    """The seal of a data folder, by which sessions are known; none of them is kept."""

    def __init__(self, folder: Path) -> None:
        self._secret = _secret_in(folder)
        # Browsers send cookies to every port of a host: those of another server are told by their name.
        self.cookie = f"skyband-{hashlib.sha256(self._secret).hexdigest()[:8]}"

    def begin(self, tenant: str, token: str, now: int, secure: bool) -> str:
        """The header that begins a session."""
        plain = base64.urlsafe_b64encode(json.dumps([tenant, token, now + SECONDS * 1_000_000]).encode()).decode()
        return self._header(f"{plain}.{self._seal(plain)}", SECONDS, secure)

    def end(self, secure: bool) -> str:
        """The header that ends a session."""
        return self._header("", 0, secure)

    def read(self, headers: Mapping[str, str], now: int) -> BrowserSession | None:
        """The session that a request shows, None where there is none, it has ended, or its seal is broken."""
        try:
            shown = SimpleCookie(headers.get("cookie", "")).get(self.cookie)
        except CookieError:
            return None
        plain, _, seal = (shown.value if shown is not None else "").partition(".")
        if not plain or not seal.isascii() or not hmac.compare_digest(self._seal(plain), seal):
            return None
        found = BrowserSession(*json.loads(base64.urlsafe_b64decode(plain)))
        return found if now < found.until else None

    def _seal(self, plain: str) -> str:
        return hmac.new(self._secret, plain.encode("latin-1", "replace"), hashlib.sha256).hexdigest()

    def _header(self, value: str, seconds: int, secure: bool) -> str:
        kept = f"{self.cookie}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict"
        return f"{kept}; Secure" if secure else kept


def _secret_in(folder: Path) -> bytes:
    """The secret of the folder, drawn when it is first asked for."""
    path = folder / "session.key"
    if not path.exists():
        temporary = path.with_suffix(".new")
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(secrets.token_bytes(SECRET_BYTES))
        temporary.replace(path)
    return path.read_bytes()
