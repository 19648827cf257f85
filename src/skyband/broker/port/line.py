"""Lines of JSON: how clients and a broker talk."""

import json
from typing import Any

from skyband.contract.tops import Id


class BadRequest(ValueError):
    """What a client has sent cannot be understood, with the reason in one sentence."""


def pack_line(value: Any) -> bytes:
    """A value as a line."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def unpack_line(line: bytes) -> dict[str, Any]:
    """A line as an object; `BadRequest` for anything else."""
    try:
        found = json.loads(line.decode())
    except (ValueError, RecursionError):
        raise BadRequest("Each line is one JSON object, in UTF-8.") from None
    if not isinstance(found, dict):
        raise BadRequest("Each line is one JSON object, in UTF-8.")
    return found


def read_rows(request: dict[str, Any], most_bytes: int) -> list[dict[str, Any]]:
    """The rows of a request, each with an id and short enough for a frame."""
    rows = request.get("rows")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise BadRequest('"rows" is a list of objects, one for each row.')
    for i, row in enumerate(rows):
        if not is_id(row.get("id")):
            raise BadRequest(f'Row {i} needs an "id", which is a text or an integer of 64 bits.')
        if "ts" in row:
            raise BadRequest(f'Row {i} has a "ts": leave it out, the broker gives each publication its time.')
        try:
            length = len(pack_line(row))
        except UnicodeEncodeError:
            raise BadRequest(f"Row {i} has a text that is not Unicode.") from None
        if length > most_bytes:
            raise BadRequest(f"Row {i} has {length} bytes, and a row may have {most_bytes}.")
    return rows


def read_ids(request: dict[str, Any], key: str = "ids") -> list[Id]:
    """The ids of a request."""
    ids = request.get(key)
    if not isinstance(ids, list) or not all(is_id(id) for id in ids):
        raise BadRequest(f'"{key}" is a list of texts and integers.')
    return ids


def is_id(given: Any) -> bool:
    """Whether something can be an id."""
    if isinstance(given, str):
        return True
    return isinstance(given, int) and not isinstance(given, bool) and -(2**63) <= given < 2**63
