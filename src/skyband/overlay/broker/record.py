"""Records on the disk of a broker: a checksum, a length, and JSON, so that a torn one is told from a whole one."""

import json
import zlib
from collections.abc import Iterable
from typing import Any

HEAD = 8


def pack_record(kind: str, *fields: Any) -> bytes:
    """A record as bytes."""
    body = json.dumps([kind, *fields], separators=(",", ":")).encode()
    return zlib.crc32(body).to_bytes(4, "little") + len(body).to_bytes(4, "little") + body


def unpack_record(record: bytes) -> list[Any] | None:
    """A record as it was packed, or None for one that is torn."""
    body, length = record[HEAD:], int.from_bytes(record[4:HEAD], "little")
    if len(record) < HEAD or len(body) != length or zlib.crc32(body) != int.from_bytes(record[:4], "little"):
        return None
    found: list[Any] = json.loads(body)
    return found


def whole_records(records: Iterable[bytes]) -> list[list[Any]]:
    """The records up to the first torn one: what comes after that was never synced."""
    found = []
    for record in records:
        fields = unpack_record(record)
        if fields is None:
            break
        found.append(fields)
    return found
