"""The doorway: who a request comes from, whether it may come from there, and how much its tenant may do."""

import secrets
import time
from collections.abc import Mapping

from skyband.server.access.rate import TenantRates
from skyband.server.access.session import SessionSeal
from skyband.server.access.token import FIRST_TENANT, Caller, digest_of, is_token
from skyband.server.config import OF_TENANT, Limits, ServerConfig, read_limits
from skyband.server.store.metadata import KeptToken, Metadata, now_us

LOOPBACK = ("127.0.0.1", "::1", "localhost")
TICKET_SECONDS = 30.0
MOST_TICKETS = 10_000


class NotLetIn(Exception):
    """Nobody was named, or somebody who is not known."""


class NotAllowed(Exception):
    """Somebody asks for what they may not do, or from where they may not."""


class QuotaReached(Exception):
    """A tenant has as many of something as it may have."""


class Doorway:
    """Lets callers in."""

    def __init__(self, config: ServerConfig, metadata: Metadata) -> None:
        self.config = config
        self.metadata = metadata
        self.rates = TenantRates()
        self.sessions = SessionSeal(config.data)
        self.used: dict[str, int] = {}
        self._tickets: dict[str, tuple[Caller, float]] = {}
        self._limits: dict[str, Limits] = {}
        self.read_tenants()

    def read_tenants(self) -> None:
        """Take on what is kept of tenants now."""
        kept = self.metadata.tenants()
        self._limits = {name: read_limits(its, OF_TENANT, self.config.limits) for name, its in kept.items()}

    def limits_of(self, tenant: str) -> Limits:
        """The limits of a tenant."""
        return self._limits.get(tenant, self.config.limits)

    def tenants(self) -> list[str]:
        """All tenants that there are."""
        return sorted({FIRST_TENANT, *self._limits})

    def check_origin(self, headers: Mapping[str, str]) -> None:
        """Refuse what a page of another site has sent, and, before there is a token, what was sent to another name.

        A page may ask this machine for things, and a name of its own may lead here; neither is to be let in by that.
        """
        origin, host = headers.get("origin"), headers.get("host", "")
        scheme = "https" if self.config.certificate is not None else "http"
        if origin is not None and origin != f"{scheme}://{host}" and origin not in self.config.origins:
            raise NotAllowed("Pages of this origin may not talk to the server: name it under origins.")
        if not self.metadata.has_tokens and _host_name(host) not in LOOPBACK:
            raise NotAllowed("Until there is a token the server answers to localhost and 127.0.0.1 alone.")

    def caller(self, headers: Mapping[str, str], ticket: str | None = None) -> Caller:
        """Who asks, or `NotLetIn`."""
        if ticket is not None:
            return self._by_ticket(ticket)
        kind, _, text = headers.get("authorization", "").partition(" ")
        if not kind and not self.metadata.has_tokens:
            return Caller()
        kept = None if kind else self._by_session(headers)
        if kept is not None:
            return self._caller_with(kept)
        if kind.lower() != "bearer" or not is_token(text.strip()):
            raise NotLetIn("Show a token in the header Authorization: Bearer.")
        kept = self.metadata.token_with(digest_of(text.strip()))
        if kept is None or not kept.is_valid(now_us()):
            raise NotLetIn("The token is not known, has expired, or was revoked.")
        return self._caller_with(kept)

    def is_still_valid(self, name: str, tenant: str) -> bool:
        """Whether the token with this name lets in now."""
        kept = self.metadata.token_named(tenant, name)
        return kept is not None and kept.is_valid(now_us())

    def new_ticket(self, caller: Caller) -> str:
        """What may be shown once, in an address and soon, in place of a token."""
        now = time.monotonic()
        if len(self._tickets) >= MOST_TICKETS:
            self._tickets = {text: held for text, held in self._tickets.items() if held[1] > now}
        if len(self._tickets) >= MOST_TICKETS:
            raise QuotaReached("There are too many tickets that nobody has used; try again in a moment.")
        text = secrets.token_urlsafe(32)
        self._tickets[text] = (caller, now + TICKET_SECONDS)
        return text

    def take_request(self, caller: Caller) -> None:
        """Count a request, or raise `TooFast`."""
        self.rates.take(caller.tenant, "requests", self.limits_of(caller.tenant).requests)

    def take_published(self, caller: Caller, n: int) -> None:
        """Count publications, or raise `TooFast`."""
        self.rates.take(caller.tenant, "publications", self.limits_of(caller.tenant).published, n)

    def _by_session(self, headers: Mapping[str, str]) -> KeptToken | None:
        """The token that a browser has logged in with, if it lets in yet."""
        session = self.sessions.read(headers, now_us())
        if session is None:
            return None
        kept = self.metadata.token_named(session.tenant, session.token)
        return kept if kept is not None and kept.is_valid(now_us()) else None

    def _caller_with(self, kept: KeptToken) -> Caller:
        self.used[kept.name] = now_us()
        return Caller(kept.tenant, kept.name, frozenset(kept.scopes), kept.prefix)

    def _by_ticket(self, text: str) -> Caller:
        caller, until = self._tickets.pop(text, (None, 0.0))
        if caller is None or time.monotonic() > until:
            raise NotLetIn("The ticket is not known, was used before, or is older than 30 seconds.")
        return caller


def require(caller: Caller, scope: str) -> None:
    """Raise unless the caller has a scope."""
    if not caller.may(scope):
        raise NotAllowed(f"This takes the scope {scope}, which the token does not have.")


def require_id(caller: Caller, id: object) -> None:
    """Raise unless the caller may have to do with a subscription of this id."""
    if not str(id).startswith(caller.prefix):
        raise NotAllowed(f"The token is for subscriptions whose ids begin with {caller.prefix!r} alone.")


def _host_name(host: str) -> str:
    """The name in a Host header, without the port."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].lower()
