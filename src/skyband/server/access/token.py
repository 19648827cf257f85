"""Tokens: what a program shows to be let in. Only a hash of it is kept, so a token can be seen once, when it is made.

A token is `skb_`, eight characters that name it, a secret of 256 random bits, and a checksum, so that one that was
mistyped or cut is refused without a look at what is kept, and one that has leaked is found by its shape.
"""

import hashlib
import secrets
import string
import zlib
from typing import NamedTuple

DIGITS = string.digits + string.ascii_uppercase + string.ascii_lowercase
PREFIX = "skb_"
NAME_LENGTH, SECRET_LENGTH, SUM_LENGTH = 8, 43, 6
SCOPES = ("publish", "subscribe", "read", "admin")
FIRST_TENANT = "default"
"""The tenant that there always is, and whose admins take care of the others."""


class Caller(NamedTuple):
    """Who asks: a tenant, and what the token that was shown lets do; without one, as long as there is none, anything.

    Subscriptions whose ids do not begin with the `prefix` are as if they were not there.
    """

    tenant: str = FIRST_TENANT
    token: str | None = None
    scopes: frozenset[str] = frozenset(SCOPES)
    prefix: str = ""

    def may(self, scope: str) -> bool:
        """Whether the scope is given."""
        return scope in self.scopes

    @property
    def is_operator(self) -> bool:
        """Whether other tenants are its business."""
        return self.may("admin") and self.tenant == FIRST_TENANT and not self.prefix


class NewToken(NamedTuple):
    """A token as it is shown once, its name, and what is kept of it."""

    text: str
    name: str
    digest: str


def new_token() -> NewToken:
    """A token that nobody has."""
    name, secret = _draw(NAME_LENGTH), _draw(SECRET_LENGTH)
    text = f"{PREFIX}{name}_{secret}"
    text += _checksum(text)
    return NewToken(text, name, digest_of(text))


def is_token(text: str) -> bool:
    """Whether a text has the shape and the checksum of a token."""
    length = len(PREFIX) + NAME_LENGTH + 1 + SECRET_LENGTH + SUM_LENGTH
    if len(text) != length or not text.startswith(PREFIX) or not text.isascii():
        return False
    return secrets.compare_digest(_checksum(text[:-SUM_LENGTH]), text[-SUM_LENGTH:])


def digest_of(text: str) -> str:
    """What is kept of a token: with 256 random bits in it, nobody finds it again by trying."""
    return hashlib.sha256(text.encode()).hexdigest()


def _draw(length: int) -> str:
    return "".join(secrets.choice(DIGITS) for _ in range(length))


def _checksum(text: str) -> str:
    number, found = zlib.crc32(text.encode()), ""
    for _ in range(SUM_LENGTH):
        number, digit = divmod(number, len(DIGITS))
        found += DIGITS[digit]
    return found
