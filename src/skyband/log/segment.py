"""One segment file of the embedded log: blocks of records with checksums, and what is torn or damaged about them.

The format is described in `skyband.log.log`.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import struct
import zlib
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

Texts: TypeAlias = "Sequence[str] | pa.Array | pa.ChunkedArray"

# No UTF-8 text holds the byte 0xFF, so no record can look like the beginning of a block.
MAGIC = b"\xffSKYLOG1"
HEADER = struct.Struct("<8sqqqQII")
SUMMED = HEADER.size - 4
_NAME = re.compile(r"(\d{20})\.log")


class UnreadableLog(ValueError):
    """The log is not there, is damaged, or lacks what was asked for."""


class Block(NamedTuple):
    """Where a block lies in its segment, and what its header says."""

    position: int
    first: int
    n_records: int
    batch: int
    length: int
    checksum: int

    @property
    def after(self) -> int:
        """Where the next block begins."""
        return self.position + HEADER.size + self.length


def segment_name(first: int) -> str:
    """The name of the segment that begins with this record."""
    return f"{first:020}.log"


def first_of(name: str) -> int | None:
    """The number of the first record of the segment with this name, or None for another file."""
    found = _NAME.fullmatch(name)
    return int(found[1]) if found else None


def encode_block(values: Texts, first: int, batch: int) -> bytes:
    """The bytes of a block; values that are not texts, or too many of them, raise ValueError."""
    array = _texts(values)
    _, offsets_buffer, data_buffer = array.buffers()
    n_records = len(array)
    if n_records and offsets_buffer is not None:
        offsets = np.frombuffer(offsets_buffer, np.int32, n_records + 1, array.offset * 4)
    else:
        offsets = np.zeros(n_records + 1, np.int32)
    data = memoryview(data_buffer or b"")[offsets[0] : offsets[-1]]
    body = b"".join([(offsets - offsets[0]).astype("<i4").tobytes(), data])
    body += bytes(-len(body) % 8)
    header = HEADER.pack(MAGIC, first, n_records, batch, len(body), zlib.crc32(body), 0)
    return header[:SUMMED] + struct.pack("<I", zlib.crc32(header[:SUMMED])) + body


def _texts(values: Texts) -> pa.StringArray:
    try:
        if isinstance(values, pa.ChunkedArray):
            values = pa.concat_arrays(values.chunks) if values.num_chunks else pa.array([], values.type)
        array = values if isinstance(values, pa.Array) else pa.array(values, pa.string())
        if array.type not in (pa.string(), pa.large_string(), pa.string_view()):
            raise ValueError(f"they are of the type {array.type}")
        array = array.cast(pa.string())
        # Text of more than 2 GiB comes in several pieces.
        if not isinstance(array, pa.Array):
            raise ValueError("together they have more than 2 GiB")
        array.validate(full=True)
    except (ValueError, TypeError) as error:
        raise ValueError(f"The records cannot be appended: each must be a text ({error}).") from None
    if array.null_count:
        raise ValueError("The records cannot be appended: one of them is null.")
    return array


def sync_folder(folder: Path) -> None:
    """Make files that were added to or removed from a folder last."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class Segment:
    """A segment file: the blocks known to be whole, and where the last of them ends."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.first = first_of(path.name) or 0
        self.blocks: list[Block] = []
        self.size = 0

    @property
    def end(self) -> int:
        """The number of the record after the last."""
        return self.blocks[-1].first + self.blocks[-1].n_records if self.blocks else self.first

    def walk(self, *, is_last: bool) -> bool:
        """Take in what was appended since, and say whether there was anything; only the last segment may be torn."""
        with self.path.open("rb") as file:
            descriptor = file.fileno()
            size = os.fstat(descriptor).st_size
            found = list(self._headers(descriptor, size))
            if is_last and found and found[-1].after == size and not _is_sound(descriptor, found[-1]):
                del found[-1]
            end = found[-1].after if found else self.size
            if end < size and not (is_last and self._is_torn(descriptor, end, size)):
                raise self.damage(f"the block at byte {end} cannot be read")
            if found and is_last:
                _settle(descriptor)
        self.blocks += found
        self.size = end
        return bool(found)

    def _headers(self, descriptor: int, size: int) -> Iterator[Block]:
        position, first = self.size, self.end
        while (block := _block_at(descriptor, position)) is not None and block.after <= size:
            if block.first != first:
                raise self.damage(f"the block at byte {position} begins with record {block.first} instead of {first}")
            yield block
            position, first = block.after, first + block.n_records

    def _is_torn(self, descriptor: int, position: int, size: int) -> bool:
        """Whether what begins here is the last block, begun and not finished: no other block follows it."""
        if _block_at(descriptor, position) is not None:
            # Its header is whole, so it is known to reach to the end of the file or beyond.
            return True
        rest = os.pread(descriptor, size - position, position)
        at = rest.find(MAGIC, 1)
        while at >= 0:
            if _block_at(descriptor, position + at) is not None:
                return False
            at = rest.find(MAGIC, at + 1)
        return True

    def records(self, start: int, end: int) -> Iterator[tuple[int, pa.StringArray]]:
        """The records from start to before end, block by block: the number of the first, and the texts."""
        place = bisect_right(self.blocks, start, key=lambda block: block.first) - 1
        with self.path.open("rb") as file:
            for block in self.blocks[max(place, 0) :]:
                if block.first >= end:
                    return
                low, high = max(start - block.first, 0), min(end - block.first, block.n_records)
                if low < high:
                    yield block.first + low, self._texts(file.fileno(), block).slice(low, high - low)

    def _texts(self, descriptor: int, block: Block) -> pa.StringArray:
        body = os.pread(descriptor, block.length, block.position + HEADER.size)
        if len(body) != block.length or zlib.crc32(body) != block.checksum:
            last = block.first + block.n_records - 1
            raise self.damage(f"records {block.first} to {last}, at byte {block.position}, fail their checksum")
        buffer = pa.py_buffer(body)
        data = 4 * (block.n_records + 1)
        return pa.StringArray.from_buffers(block.n_records, buffer.slice(0, data), buffer.slice(data))

    def append(self, encoded: bytes) -> None:
        """Write a block and wait until it is on disk; if that fails, nothing of it is left."""
        is_new = not self.size
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            position, rest = self.size, memoryview(encoded)
            while rest:
                written = os.pwrite(descriptor, rest, position)
                position, rest = position + written, rest[written:]
            os.fsync(descriptor)
            if is_new:
                sync_folder(self.path.parent)
        except BaseException:
            with contextlib.suppress(OSError):
                os.ftruncate(descriptor, self.size)
                os.fsync(descriptor)
            raise
        finally:
            os.close(descriptor)
        block = _parse(encoded[: HEADER.size], self.size)
        assert block is not None
        self.blocks.append(block)
        self.size = block.after

    def cut(self) -> None:
        """Cut off what follows the last whole block."""
        if self.path.stat().st_size > self.size:
            with self.path.open("r+b") as file:
                file.truncate(self.size)
                os.fsync(file.fileno())

    def damage(self, what: str) -> UnreadableLog:
        """The error that says what is wrong with this segment."""
        return UnreadableLog(f"The segment {self.path} of the log is damaged: {what}. Restore it from a copy.")


def _block_at(descriptor: int, position: int) -> Block | None:
    return _parse(os.pread(descriptor, HEADER.size, position), position)


def _parse(header: bytes, position: int) -> Block | None:
    if len(header) < HEADER.size:
        return None
    magic, first, n_records, batch, length, checksum, own = HEADER.unpack(header)
    if magic != MAGIC or own != zlib.crc32(header[:SUMMED]):
        return None
    return Block(position, first, n_records, batch, length, checksum)


def _is_sound(descriptor: int, block: Block) -> bool:
    body = os.pread(descriptor, block.length, block.position + HEADER.size)
    return len(body) == block.length and zlib.crc32(body) == block.checksum


def _settle(descriptor: int) -> None:
    """Wait until what was seen is on disk: nobody may act on records that a loss of power takes back."""
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EROFS, errno.EINVAL):
            raise
