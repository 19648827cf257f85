"""Receiving webhooks: whether a message comes from the server, and what it says."""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

# A message that is older may have been recorded by somebody and sent again.
TOLERATED_SECONDS = 300


class BadSignature(ValueError):
    """A message that was not sent by whoever has the secret, or not now."""


class WebhookMessage(NamedTuple):
    """A message: an id by which one that comes twice is known, its type, and its data."""

    id: str
    type: str
    data: dict[str, Any]


def verify_webhook(secret: str, headers: Mapping[str, str], body: bytes, now: float | None = None) -> WebhookMessage:
    """The message in a request, or `BadSignature`; the body has to be given as it came, byte for byte."""
    given = {name.lower(): value for name, value in headers.items()}
    try:
        id, seconds, signatures = (given[f"webhook-{name}"] for name in ("id", "timestamp", "signature"))
        sent = int(seconds)
    except (KeyError, ValueError):
        raise BadSignature("The request has no webhook-id, webhook-timestamp and webhook-signature.") from None
    if abs((time.time() if now is None else now) - sent) > TOLERATED_SECONDS:
        raise BadSignature(f"The message is from more than {TOLERATED_SECONDS} seconds before or after now.")
    key = base64.b64decode(secret.removeprefix("whsec_"))
    wanted = hmac.new(key, f"{id}.{sent}.".encode() + body, hashlib.sha256).digest()
    expected = "v1," + base64.b64encode(wanted).decode()
    if not any(hmac.compare_digest(expected.encode(), each.encode()) for each in signatures.split(" ")):
        raise BadSignature("No signature fits the secret and the message.")
    told = json.loads(body)
    return WebhookMessage(id, told["type"], told["data"])
