"""An embedded durable log: a folder of records that one process appends to and any number of others read.

Records are texts, numbered from 0. They are appended in blocks, and a block is there whole or not at all. Format:

- The folder holds segments named by the number of their first record, `00000000000000000000.log` and so on, and an
  empty file `lock` that the writer holds locked.
- A segment is blocks one after the other. A block is a header of 48 bytes and a body; integers are little-endian.
- Header: magic (8 bytes), number of the first record, number of records, last batch, length of the body (8 bytes
  each), checksum of the body, checksum of the header before this field (4 bytes each, CRC-32).
- Body: n + 1 offsets of 4 bytes, the UTF-8 texts they cut into records, and zeros up to a multiple of 8 bytes.

The last batch is the number of the last batch that `append_batch` wrote up to and including this block, or -1.

`append` returns when the block is on disk (fsync), so only the last block can be torn by a crash. A torn block is one
that nothing follows and that is too short or fails its checksum: readers stop before it, the next writer cuts it off.
Whatever else is wrong is damage, and is an error that names the segment.
"""

from __future__ import annotations

import fcntl
import os
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

import numpy as np
import pyarrow as pa

from skyband.log.segment import (
    Block,
    Segment,
    Texts,
    UnreadableLog,
    encode_block,
    first_of,
    segment_name,
    sync_folder,
)

__all__ = ["SCHEMA", "Log", "LogInUse", "LogTruncated", "Texts", "UnreadableLog"]


SCHEMA = pa.schema([("offset", pa.int64()), ("value", pa.string())])
SEGMENT_BYTES = 64 * 1024 * 1024
# A reader walks the headers of a segment: 4096 of them take about 10 milliseconds.
SEGMENT_BLOCKS = 4096


class LogTruncated(UnreadableLog):
    """Records were asked for that have been removed from the front of the log."""


class LogInUse(ValueError):
    """Another writer holds the log."""


class Log:
    """The log in a folder, for reading; the first write makes this object the one writer.

    What other processes append is seen by the next call. An append that fails leaves nothing behind.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        segment_bytes: int = SEGMENT_BYTES,
        segment_blocks: int = SEGMENT_BLOCKS,
    ) -> None:
        self.folder = Path(folder)
        self.segment_bytes = segment_bytes
        self.segment_blocks = segment_blocks
        self._segments: list[Segment] = []
        self._lock: int | None = None

    def __enter__(self) -> Log:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def claim(self) -> None:
        """Become the writer, or raise `LogInUse`; the folder is made if need be, and a torn last block is cut off."""
        if self._lock is not None:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._cut()
        except BlockingIOError:
            os.close(lock)
            raise LogInUse(f"The log {self.folder} has another writer: stop that one first.") from None
        except BaseException:
            os.close(lock)
            raise
        self._lock = lock

    def close(self) -> None:
        """Let another process be the writer; this object can still read."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    @property
    def first(self) -> int:
        """The number of the first record that is kept."""
        self._refresh()
        return self._first()

    @property
    def end(self) -> int:
        """How many records were ever appended: the number of the next one."""
        self._refresh()
        return self._end()

    @property
    def last_batch(self) -> int:
        """The number of the last batch that `append_batch` wrote, or -1."""
        self._refresh()
        return self._last_batch()

    def append(self, values: Texts) -> int:
        """Append records and return the number of the first; when this returns they are on disk."""
        self.claim()
        first = self._end()
        if len(values):
            self._write(encode_block(values, first, self._last_batch()), first)
        return first

    def append_batch(self, batch: int, values: Texts) -> bool:
        """Append the records of a numbered batch, unless it or a later one is there; says whether it did."""
        if batch < 0:
            raise ValueError(f"A batch has a number from 0 up, not {batch}.")
        self.claim()
        if batch <= self._last_batch():
            return False
        first = self._end()
        self._write(encode_block(values, first, batch), first)
        return True

    def read(self, start: int, end: int | None = None, limit: int | None = None) -> pa.Table:
        """The records from `start` to before `end`, or to the end of the log, and at most `limit` of them."""
        return pa.Table.from_batches(self.batches(start, end, limit), SCHEMA)

    def batches(self, start: int, end: int | None = None, limit: int | None = None) -> Iterator[pa.RecordBatch]:
        """What `read` gives, block by block."""
        self._refresh()
        end = self._end() if end is None else end
        self._check_range(start, end)
        return self._batches(start, end if limit is None else min(end, start + limit))

    def truncate_before(self, offset: int) -> None:
        """Remove the segments that hold only records before this one; the last segment always stays."""
        self.claim()
        while len(self._segments) > 1 and self._segments[1].first <= offset:
            # The oldest goes first, so that a crash leaves no gap.
            self._segments[0].path.unlink()
            del self._segments[0]
        sync_folder(self.folder)

    def _batches(self, start: int, end: int) -> Iterator[pa.RecordBatch]:
        while start < end:
            place = bisect_right(self._segments, start, key=lambda segment: segment.first) - 1
            try:
                self._walk(place)
                for first, texts in self._segments[place].records(start, end):
                    start = first + len(texts)
                    yield pa.RecordBatch.from_arrays([pa.array(np.arange(first, start)), texts], schema=SCHEMA)
            except FileNotFoundError:
                # The writer has removed the segment meanwhile.
                self._list()
                self._check_range(start, end)

    def _check_range(self, start: int, end: int) -> None:
        first, last = self._first(), self._end()
        if start < first:
            raise LogTruncated(
                f"The log {self.folder} begins at record {first}: record {start} was removed and cannot be read."
            )
        if max(start, end) > last:
            raise UnreadableLog(
                f"The log {self.folder} has {last} records, but records up to {max(start, end)} were asked for:"
                " it was replaced by another one, or has lost records."
            )

    def _refresh(self) -> None:
        """See what is in the folder now, which the writer knows."""
        if self._lock is None:
            self._list()

    def _list(self) -> None:
        try:
            names = sorted(name for name in os.listdir(self.folder) if first_of(name) is not None)
        except FileNotFoundError:
            raise UnreadableLog(f"There is no log {self.folder}: the folder does not exist.") from None
        except NotADirectoryError:
            raise UnreadableLog(f"There is no log {self.folder}: that is a file, not a folder.") from None
        known = {segment.path.name: segment for segment in self._segments}
        self._segments = [known.get(name) or Segment(self.folder / name) for name in names]
        if self._segments:
            try:
                self._walk(len(self._segments) - 1)
                # A writer that died while it began a segment leaves one without blocks.
                if len(self._segments) > 1 and not self._segments[-1].blocks:
                    self._walk(len(self._segments) - 2)
            except FileNotFoundError:
                self._list()

    def _walk(self, place: int) -> None:
        segment, is_last = self._segments[place], place == len(self._segments) - 1
        segment.walk(is_last=is_last)
        if not is_last and segment.end != (first := self._segments[place + 1].first):
            raise segment.damage(f"it ends before record {segment.end}, but the next one begins with record {first}")

    def _first(self) -> int:
        return self._segments[0].first if self._segments else 0

    def _end(self) -> int:
        return self._segments[-1].end if self._segments else 0

    def _last_batch(self) -> int:
        last: list[Block] = next((segment.blocks for segment in self._segments[:-3:-1] if segment.blocks), [])
        return last[-1].batch if last else -1

    def _cut(self) -> None:
        """Cut off a torn last block; a segment that was only begun is gone on with."""
        self._list()
        if self._segments:
            self._segments[-1].cut()

    def _write(self, encoded: bytes, first: int) -> None:
        last = self._segments[-1] if self._segments else None
        segment = Segment(self.folder / segment_name(first)) if last is None or self._is_full(last) else last
        try:
            segment.append(encoded)
        except BaseException:
            # The next append looks afresh at what is there.
            self.close()
            raise
        if segment is not last:
            self._segments.append(segment)

    def _is_full(self, segment: Segment) -> bool:
        # Segments are named by their first record, so one that holds none must go on.
        reached = segment.size >= self.segment_bytes or len(segment.blocks) >= self.segment_blocks
        return reached and segment.end > segment.first
