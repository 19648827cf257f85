"""Where messages may be sent: addresses in the public internet, over TLS, unless the server's owner allows others.

A name is looked up for each attempt, all of its addresses are checked, and the connection is made to one that was
checked: a name whose answer changes between the look and the connection leads nowhere else.
"""

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable
from typing import NamedTuple
from urllib.parse import urlsplit

LONGEST = 2000
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
LookUp = Callable[[str, int], Awaitable[list[str]]]
# IPv4 addresses within IPv6: what is behind a translator, or a tunnel.
TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")


class BadTarget(ValueError):
    """An address to which nothing is sent, with the reason in one sentence."""


class HookTarget(NamedTuple):
    """A checked URL in its parts."""

    secure: bool
    host: str
    port: int
    path: str

    @property
    def host_header(self) -> str:
        """What the header Host says."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return name if self.port == (443 if self.secure else 80) else f"{name}:{self.port}"


def read_target(url: str, allow_private: bool) -> HookTarget:
    """The parts of a URL, or `BadTarget`."""
    if len(url) > LONGEST or not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        raise BadTarget(f"url has at most {LONGEST} characters, all of them ASCII, and no spaces.")
    try:
        parts = urlsplit(url)
        port, host = parts.port, parts.hostname
    except ValueError:
        raise BadTarget("url is not a URL.") from None
    schemes = ("https", "http") if allow_private else ("https",)
    if parts.scheme not in schemes or not host:
        raise BadTarget(f"url begins with {' or '.join(f'{each}://' for each in schemes)} and names a host.")
    if parts.username is not None or parts.password is not None or parts.fragment:
        raise BadTarget("url has no user, no password and no fragment.")
    secure = parts.scheme == "https"
    target = HookTarget(secure, host, port or (443 if secure else 80), _path(parts.path, parts.query))
    if (literal := _literal(host)) is not None and not allow_private:
        _require_public(literal)
    return target


async def checked_address(target: HookTarget, allow_private: bool, look_up: LookUp | None = None) -> str:
    """An address of the target to connect to; `BadTarget` if any of its addresses is not public."""
    try:
        found = await (look_up or _look_up)(target.host, target.port)
    except OSError:
        found = []
    if not found:
        raise BadTarget(f"The host {target.host} is not known.")
    for text in found:
        if not allow_private:
            _require_public(ipaddress.ip_address(text))
    return found[0]


def is_public(address: Address) -> bool:
    """Whether an address is one of the public internet, and so is every address that is written within it."""
    if isinstance(address, ipaddress.IPv6Address):
        inner = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
        if address in TRANSLATED:
            inner.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
        if any(each is not None and not is_public(each) for each in inner):
            return False
        if address.ipv4_mapped is not None:
            return True
        if address.is_site_local:
            return False
    return address.is_global and not address.is_multicast and not address.is_reserved


def _require_public(address: Address) -> None:
    if not is_public(address):
        raise BadTarget("url leads to an address that is not public, which this server does not allow.")


def _literal(host: str) -> Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _path(path: str, query: str) -> str:
    return (path or "/") + (f"?{query}" if query else "")


async def _look_up(host: str, port: int) -> list[str]:
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    # An address of a link has the link after it, which makes it no address.
    return [str(each[4][0]).partition("%")[0] for each in found]
