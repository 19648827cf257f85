"""The client: a server's streams from Python, with tops that are told across lost connections.

>>> from skyband.client import Client
>>> client = Client("http://127.0.0.1:8484")
>>> client.close()
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skyband.client.async_client import AsyncClient
    from skyband.client.client import Client
    from skyband.client.problem import ServerProblem, StreamOver, Unreachable
    from skyband.client.standing import StandingTops
    from skyband.client.stream_event import (
        ChangesEvent,
        ClosingEvent,
        ReadyEvent,
        ResetEvent,
        SnapshotEvent,
        StreamEvent,
        TopRow,
    )
    from skyband.client.verb_done import VerbDone
    from skyband.client.webhook_message import BadSignature, WebhookMessage, verify_webhook

_MODULES = {
    "async_client": ("AsyncClient",),
    "client": ("Client",),
    "problem": ("ServerProblem", "StreamOver", "Unreachable"),
    "standing": ("StandingTops",),
    "stream_event": (
        "ChangesEvent",
        "ClosingEvent",
        "ReadyEvent",
        "ResetEvent",
        "SnapshotEvent",
        "StreamEvent",
        "TopRow",
    ),
    "verb_done": ("VerbDone",),
    "webhook_message": ("BadSignature", "WebhookMessage", "verify_webhook"),
}
# Imported when first asked for: whoever receives webhooks needs no package that sends requests.
_HOMES = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "AsyncClient",
    "BadSignature",
    "ChangesEvent",
    "Client",
    "ClosingEvent",
    "ReadyEvent",
    "ResetEvent",
    "ServerProblem",
    "SnapshotEvent",
    "StandingTops",
    "StreamEvent",
    "StreamOver",
    "TopRow",
    "Unreachable",
    "VerbDone",
    "WebhookMessage",
    "verify_webhook",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"skyband.client.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'skyband.client' has no attribute {name!r}")
