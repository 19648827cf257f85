"""Signatures of messages, as Standard Webhooks has them, so that receivers know who has sent them.

While a secret is replaced, a message has a signature by the old one and one by the new one.
"""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Iterable
from typing import NamedTuple

PREFIX = "whsec_"
SECRET_BYTES = 32


class HookSecret(NamedTuple):
    """A secret, and the time from which on it signs no more, in microseconds, if there is one."""

    text: str
    until: int | None = None

    def signs_at(self, now: int) -> bool:
        """Whether messages of that time have a signature by it."""
        return self.until is None or now < self.until


def new_secret() -> str:
    """A secret that nobody has."""
    return PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def signed_headers(known: Iterable[HookSecret], id: str, body: bytes, now: int) -> dict[str, str]:
    """The headers of a message that is sent at a time in microseconds."""
    seconds = now // 1_000_000
    signatures = [signature(secret.text, id, seconds, body) for secret in known if secret.signs_at(now)]
    return {"webhook-id": id, "webhook-timestamp": str(seconds), "webhook-signature": " ".join(signatures)}


def signature(secret: str, id: str, seconds: int, body: bytes) -> str:
    """One signature."""
    key = base64.b64decode(secret.removeprefix(PREFIX))
    digest = hmac.new(key, f"{id}.{seconds}.".encode() + body, hashlib.sha256).digest()
    return "v1," + base64.b64encode(digest).decode()
