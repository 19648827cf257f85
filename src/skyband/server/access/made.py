"""Making tokens: what is shown of a new one, and what is kept of it."""

from skyband.server.access.token import SCOPES, new_token
from skyband.server.store.metadata import KeptToken, now_us
from skyband.table.duration import parse_with_unit

LONGEST_TTL = 36_500 * 86_400 * 1_000_000


def kept_token(
    tenant: str, title: str, scopes: list[str], prefix: str = "", ttl: str | None = None
) -> tuple[str, KeptToken]:
    """A new token as it is shown, and what is kept of it."""
    unknown = [scope for scope in scopes if scope not in SCOPES]
    if unknown or not scopes:
        raise ValueError(f"scopes are some of {', '.join(SCOPES)}, not {', '.join(unknown) or 'none'}.")
    made, now = new_token(), now_us()
    lives = None if ttl is None else parse_with_unit(ttl)
    if lives is not None and lives > LONGEST_TTL:
        raise ValueError("ttl is at most a hundred years.")
    expires = None if lives is None else now + lives
    ordered = tuple(scope for scope in SCOPES if scope in scopes)
    return made.text, KeptToken(made.name, tenant, title, made.digest, ordered, prefix, now, expires, None, None)
