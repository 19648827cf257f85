"""Rows that came over the network, as a table: JSON, NDJSON, or an Arrow stream."""

import io
import json
import struct

import numpy as np
import pyarrow as pa
import pyarrow.ipc

from skyband.server.store.record import Body
from skyband.table.read import Reading
from skyband.table.text_file import read_json_array, read_ndjson


class UnreadableBody(ValueError):
    """A body that is not what its type says, with the reason in one sentence."""


def read_rows(body: Body) -> Reading:
    """The rows of a body, and those that could not even be read; a body without a row is one with none."""
    if body.format == "arrow":
        return _read_arrow(body.data)
    check_text(body.data)
    if not body.data.strip():
        return Reading(pa.table({}), [], np.zeros(0, np.int64))
    if body.format == "ndjson":
        return read_ndjson(body.data)
    data = body.data.strip()
    if not data.startswith(b"["):
        data = b"[" + data + b"]"
    try:
        return read_json_array(data, "The body")
    except ValueError as error:
        raise UnreadableBody(str(error)) from None


def check_text(data: bytes) -> None:
    """Raise unless the bytes are UTF-8, without which they are no text that could be kept."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        raise UnreadableBody(f"The body is not UTF-8 text (byte {error.start + 1} cannot be read).") from None


def rows_body(rows: list[dict[str, object]]) -> Body:
    """Rows of Python as a body."""
    return Body("json", json.dumps(rows).encode())


def _read_arrow(data: bytes) -> Reading:
    try:
        _refuse_compressed(data)
        table = pa.ipc.open_stream(data).read_all()
        # What is sent may claim offsets beyond its own end.
        table.validate(full=True)
    except (pa.ArrowException, OSError, struct.error, IndexError) as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UnreadableBody(f"The body is not an Arrow stream: {why}") from None
    return Reading(table, [], np.arange(1, table.num_rows + 1))


def _refuse_compressed(data: bytes) -> None:
    """Compressed buffers may unfold to a thousand times their length, which no limit on bodies would see."""
    reader = pa.ipc.MessageReader.open_stream(io.BytesIO(data))
    for message in reader:
        if _is_compressed(message):
            raise UnreadableBody("The Arrow stream has compressed buffers: send it without compression.")


def _is_compressed(message: "pa.ipc.Message") -> bool:
    """Whether the header of a message names a compression: a table of FlatBuffers within another one."""
    if message.type not in ("record batch", "dictionary"):
        return False
    raw = message.metadata.to_pybytes()
    (root,) = struct.unpack_from("<I", raw, 0)
    header = _field(raw, root, 2)
    if header is not None and message.type == "dictionary":
        header = _field(raw, _table(raw, header), 1)
    return header is not None and _field(raw, _table(raw, header), 3) is not None


def _table(raw: bytes, at: int) -> int:
    """Where the table begins that the offset at this place leads to."""
    return at + int(struct.unpack_from("<I", raw, at)[0])


def _field(raw: bytes, table: int, place: int) -> int | None:
    """Where a field of a table lies, None where it is left out."""
    fields = table - int(struct.unpack_from("<i", raw, table)[0])
    (length,) = struct.unpack_from("<H", raw, fields)
    if 4 + 2 * place >= length:
        return None
    (offset,) = struct.unpack_from("<H", raw, fields + 4 + 2 * place)
    return table + offset if offset else None
