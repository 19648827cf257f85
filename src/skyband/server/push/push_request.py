"""What one who listens asks for: which subscriptions of which stream, how, and from where on."""

from typing import Literal, NamedTuple

from skyband.contract.tops import Id

PushMode = Literal["every", "latest"]


class PushRequest(NamedTuple):
    """Which subscriptions, or all, in which mode; `last` is the id that was seen last.

    In the mode `latest`, events come at most `rate` times per second. `prefix` is what the ids of all subscriptions
    begin with that may be seen, and `token` what it is that lets them be seen.
    """

    key: tuple[str, str]
    names: tuple[str, ...] | None = None
    mode: PushMode = "every"
    rate: float | None = None
    last: str | None = None
    prefix: str = ""
    token: str | None = None

    def sees(self, id: Id) -> bool:
        """Whether the subscription is one that may be seen."""
        return str(id).startswith(self.prefix)
