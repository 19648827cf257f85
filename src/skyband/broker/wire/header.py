"""The header of a frame on the wire: 64 bytes that say who speaks to whom, in which life, and what follows.

All numbers are little-endian and unsigned. The checksum is the CRC-32 of the header before it and of the body.

| bytes | what |
|---|---|
| 1 | kind of the frame, see `skyband.broker.wire.body`; 0 is none, where numbers are only acknowledged |
| 1 | version of this protocol |
| 1 | lane |
| 1 | 0 |
| 4 | length of the body |
| 4 | version of the chart |
| 4, 4 | source and target |
| 4, 4 | incarnations of the source and of the target |
| 8 | number in the lane |
| 3 times 8 | numbers up to which the lanes are acknowledged |
| 4 | checksum |
"""

import struct
import zlib
from typing import NamedTuple

PROTOCOL = 1
LAYOUT = struct.Struct("<BBBBIIIIII4QI")
SUMMED = LAYOUT.size - 4
N_LANES = 3
MOST_BODY = 2**20
"""A body may be so long unless a chart says otherwise."""


class BadFrame(ValueError):
    """Bytes that are no frame of these brokers, with the reason in one sentence."""


class FrameHeader(NamedTuple):
    """What is known of a frame before its body is read."""

    kind: int
    lane: int
    length: int
    chart: int
    source: int
    target: int
    incarnation: int
    target_incarnation: int
    number: int
    acknowledged: tuple[int, int, int]
    checksum: int


def pack_header(header: FrameHeader, body: bytes) -> bytes:
    """The header of a body, with its checksum; what no header can hold raises `BadFrame`."""
    try:
        summed = LAYOUT.pack(
            header.kind, PROTOCOL, header.lane, 0, len(body), *header[3:8], header.number, *header.acknowledged, 0
        )[:SUMMED]
    except struct.error as error:
        raise BadFrame(f"A frame cannot be written: {error}.") from None
    return summed + zlib.crc32(body, zlib.crc32(summed)).to_bytes(4, "little")


def unpack_header(packed: bytes, most_body: int = MOST_BODY) -> FrameHeader:
    """A header as it was packed; `BadFrame` for what is none, or announces too long a body."""
    if len(packed) != LAYOUT.size:
        raise BadFrame(f"A header has {LAYOUT.size} bytes, not {len(packed)}.")
    kind, protocol, lane, zero, length, *rest, number, control, flow, homeward, checksum = LAYOUT.unpack(packed)
    if protocol != PROTOCOL:
        raise BadFrame(f"A frame has version {protocol} of the protocol, and this broker speaks version {PROTOCOL}.")
    if lane >= N_LANES or zero:
        raise BadFrame(f"A frame is in lane {lane}, and there are {N_LANES}.")
    if length > most_body:
        raise BadFrame(f"A frame has a body of {length} bytes, and may have {most_body}.")
    chart, source, target, incarnation, target_incarnation = rest
    acknowledged = (control, flow, homeward)
    return FrameHeader(
        kind, lane, length, chart, source, target, incarnation, target_incarnation, number, acknowledged, checksum
    )


def check_sum(packed: bytes, body: bytes, header: FrameHeader) -> None:
    """Raise `BadFrame` unless a header and its body are as they were sent."""
    if len(body) != header.length or zlib.crc32(body, zlib.crc32(packed[:SUMMED])) != header.checksum:
        raise BadFrame("A frame was cut off or changed on its way: its checksum is another one.")
