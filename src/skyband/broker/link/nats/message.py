"""What brokers send each other over NATS: words about who they are and how far they have come, and parcels.

A message with parcels begins with a mark, the sessions of both sides, and how many bytes of parcels the sender has sent
in its session, with these. A message with words is a greeting as brokers send it by TCP, with more in it.
"""

import json
import secrets
import struct
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from skyband.broker.link.greeting import LAYOUT as WORDS
from skyband.broker.link.greeting import MAGIC, MOST_BYTES, Greeting, pack_greeting, read_greeting
from skyband.broker.wire.envelope import Parcel, ParcelStream
from skyband.broker.wire.header import LAYOUT as HEADER
from skyband.broker.wire.header import BadFrame
from skyband.broker.wire.value import shown, whole

MARK = b"\xffSKYPAR\n"
PARCELS = struct.Struct("<8sQQQ")
BESIDES = PARCELS.size + HEADER.size
"""So many bytes a message has besides the body of the frame in it."""


class SessionGreeting(NamedTuple):
    """A greeting in a session, with the session of the other side that it agrees to (0 for none).

    `sent` and `taken` count bytes of parcels: those that were sent in this session, and those of the other side's
    session that were taken or are known to be lost.
    """

    greeting: Greeting
    session: int
    agrees: int
    sent: int
    taken: int


class Refusal(NamedTuple):
    """A session of the other side is not agreed to, or ends, for a reason."""

    session: int
    reason: str


class Parcels(NamedTuple):
    """Frames of a session, which count only where both sides still are in the same two sessions."""

    session: int
    agrees: int
    sent: int
    parcels: Sequence[Parcel]


Message = SessionGreeting | Refusal | Parcels


def new_session() -> int:
    """A number that nobody else knows, and that does not come again."""
    return secrets.randbits(62) + 1


def pack_hello(hello: SessionGreeting) -> bytes:
    """A greeting as bytes."""
    return pack_greeting(hello.greeting._asdict() | dict(zip(SessionGreeting._fields[1:], hello[1:], strict=True)))


def pack_refusal(refusal: Refusal) -> bytes:
    """A refusal as bytes."""
    return pack_greeting({"refused": refusal.reason[:500], "session": refusal.session})


def pack_parcels(session: int, agrees: int, sent: int, parcels: Sequence[Parcel]) -> bytes:
    """Parcels as bytes; `sent` counts those with them."""
    return PARCELS.pack(MARK, session, agrees, sent) + b"".join(parcel.packed for parcel in parcels)


def bundles(parcels: Sequence[Parcel], most_bytes: int) -> Iterator[list[Parcel]]:
    """Parcels in groups, none of which is longer than one message may be, unless a parcel is by itself."""
    group: list[Parcel] = []
    n_bytes = PARCELS.size
    for parcel in parcels:
        if group and n_bytes + len(parcel.packed) > most_bytes:
            yield group
            group, n_bytes = [], PARCELS.size
        group.append(parcel)
        n_bytes += len(parcel.packed)
    if group:
        yield group


def unpack_message(packed: bytes, most_body: int) -> Message:
    """What was sent; `BadFrame` for what no broker sends."""
    if packed.startswith(MARK) and len(packed) > PARCELS.size:
        return _parcels(packed, most_body)
    return _words(packed)


def sessions_in(packed: bytes) -> tuple[int, int] | None:
    """In which session of the sender, and of this broker, parcels were sent; None where there are none."""
    if not packed.startswith(MARK) or len(packed) <= PARCELS.size:
        return None
    _, theirs, mine, _ = PARCELS.unpack_from(packed)
    return theirs, mine


def _parcels(packed: bytes, most_body: int) -> Parcels:
    _, session, agrees, sent = PARCELS.unpack_from(packed)
    stream = ParcelStream(most_body)
    parcels = stream.feed(packed[PARCELS.size :])
    if sum(len(parcel.packed) for parcel in parcels) != len(packed) - PARCELS.size:
        raise BadFrame("A message does not end where its last frame does.")
    return Parcels(session, agrees, sent, parcels)


def _words(packed: bytes) -> SessionGreeting | Refusal:
    said = _said(packed)
    session = whole(said.get("session"), 1)
    if isinstance(said.get("refused"), str):
        return Refusal(session, said["refused"][:500])
    agrees, sent, taken = (whole(said.get(name), 0) for name in SessionGreeting._fields[2:])
    return SessionGreeting(read_greeting(said), session, agrees, sent, taken)


def _said(packed: bytes) -> dict[str, Any]:
    body = packed[WORDS.size :]
    said: Any = None
    if packed.startswith(MAGIC) and WORDS.unpack_from(packed.ljust(WORDS.size))[1] == len(body) <= MOST_BYTES:
        try:
            said = json.loads(body)
        except (ValueError, RecursionError):
            said = None
    if not isinstance(said, dict):
        raise BadFrame(f"A message of a broker was expected, not {shown(packed[:40])}.")
    return said
