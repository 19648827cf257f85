"""What is kept of webhooks: the webhooks themselves, messages that wait or that nobody took, and attempts."""

from typing import Any, Literal, NamedTuple

from skyband.server.push.push_request import PushMode
from skyband.server.webhook.signature import HookSecret

HookState = Literal["enabled", "disabled"]
MessageState = Literal["waiting", "dead"]


class KeptHook(NamedTuple):
    """A webhook: what it is told, where, and how far it has come; times are in microseconds.

    Messages have been made up to the step `cursor`, and the last of them is of the step `told`. `reason` says why one
    that is disabled is so.
    """

    id: str
    tenant: str
    stream: str
    url: str
    title: str
    names: tuple[str, ...] | None
    mode: PushMode
    rate: float | None
    prefix: str
    known: tuple[HookSecret, ...]
    created: int
    state: HookState = "enabled"
    reason: str | None = None
    cursor: str | None = None
    told: str | None = None

    def plain(self) -> dict[str, Any]:
        """What may be shown, which is everything but the secrets."""
        hidden = ("tenant", "known", "names", "told")
        shown = {name: value for name, value in self._asdict().items() if name not in hidden}
        return shown | {"subscriptions": self.names}


class HookMessage(NamedTuple):
    """A message: its place in the order, its id, its body, and when it is due."""

    seq: int
    id: str
    hook: str
    kind: str
    body: str
    created: int
    state: MessageState
    n_attempts: int
    due: int


class HookAttempt(NamedTuple):
    """An attempt to send a message: the status of the answer, or what went wrong, and how long it took."""

    id: int
    hook: str
    message: str
    at: int
    status: int | None
    error: str | None
    ms: int

    @property
    def has_arrived(self) -> bool:
        """Whether the receiver has taken the message."""
        return self.status is not None and 200 <= self.status < 300
