"""Envelopes as bytes and back, one after the other as a stream brings them."""

from typing import NamedTuple

from skyband.broker.wire.body import FrameFamily, pack_body, unpack_body
from skyband.broker.wire.header import LAYOUT, MOST_BODY, BadFrame, FrameHeader, check_sum, pack_header, unpack_header
from skyband.overlay.broker.frame import Envelope


class Parcel(NamedTuple):
    """A frame as it travels: its header, which is all that those on its way look at, and all of its bytes."""

    header: FrameHeader
    packed: bytes

    @property
    def body(self) -> bytes:
        """What follows the header."""
        return self.packed[LAYOUT.size :]


def pack_envelope(target: int, envelope: Envelope) -> Parcel:
    """An envelope as bytes, on its way to a broker."""
    number, body = pack_body(envelope.frame)
    header = FrameHeader(
        number,
        envelope.lane,
        len(body),
        envelope.chart,
        envelope.source,
        target,
        envelope.incarnation,
        envelope.target_incarnation,
        envelope.number,
        envelope.acknowledged,
        0,
    )
    return Parcel(header, pack_header(header, body) + body)


def unpack_envelope(parcel: Parcel, family: FrameFamily) -> Envelope:
    """The envelope in a parcel; `BadFrame` for one that no broker of this family has sent."""
    header = parcel.header
    if header.source >= len(family.names):
        raise BadFrame(f"There is no broker with the number {header.source}.")
    frame = unpack_body(header.kind, parcel.body, family)
    return Envelope(
        header.source,
        header.incarnation,
        header.target_incarnation,
        header.lane,
        header.number,
        frame,
        header.acknowledged,
        header.chart,
    )


def unpack_parcel(packed: bytes, most_body: int = MOST_BODY) -> Parcel:
    """One frame that came whole, its checksum compared."""
    header = unpack_header(packed[: LAYOUT.size], most_body)
    check_sum(packed[: LAYOUT.size], packed[LAYOUT.size :], header)
    return Parcel(header, packed)


class ParcelStream:
    """Cuts what a stream brings into parcels, and keeps what is not whole yet, which is never more than one."""

    def __init__(self, most_body: int = MOST_BODY) -> None:
        self._most_body = most_body
        self._rest = b""

    def feed(self, more: bytes) -> list[Parcel]:
        """The parcels that are whole by now; `BadFrame` as soon as what comes can be none."""
        rest, at, found = self._rest + more, 0, []
        while len(rest) - at >= LAYOUT.size:
            header = unpack_header(rest[at : at + LAYOUT.size], self._most_body)
            end = at + LAYOUT.size + header.length
            if end > len(rest):
                break
            found.append(unpack_parcel(rest[at:end], self._most_body))
            at = end
        self._rest = rest[at:]
        return found
