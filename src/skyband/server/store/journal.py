"""The journal: records in the embedded log, those that wait at the same time in one block with one sync.

A sync takes milliseconds, whether it is for one record or for a thousand. While one is under way others wait, and all
that have come by then are the next group: under load they are many, and an idle server makes nobody wait for company.
A group is there whole or not at all.
"""

import errno
from collections.abc import Iterator, Sequence
from pathlib import Path

from skyband.log import Log
from skyband.server.store.record import Record, decode

NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


class NoRoom(OSError):
    """The disk is full: nothing was written, and what comes when there is room again is taken."""


class Journal:
    """The log of a data folder, which one server at a time may write."""

    def __init__(self, folder: Path) -> None:
        self._log = Log(folder)
        self._log.claim()
        self.n_groups = 0
        self.n_records = 0

    @property
    def end(self) -> int:
        """How many records there ever were."""
        return self._log.end

    @property
    def first(self) -> int:
        """The number of the first record that is kept."""
        return self._log.first

    def append(self, records: Sequence[Record]) -> None:
        """Write a group; when this returns it is on disk, and if it raises nothing of it is."""
        try:
            self._log.append([record.encode() for record in records])
        except OSError as error:
            if error.errno in NO_ROOM:
                raise NoRoom(error.errno, "The disk is full") from error
            raise
        self.n_groups += 1
        self.n_records += len(records)

    def since(self, offset: int) -> Iterator[Record]:
        """The records from a number on."""
        for batch in self._log.batches(offset):
            for text in batch["value"].to_pylist():
                yield decode(text)

    def forget_before(self, offset: int) -> None:
        """Give up what lies before a record, as far as whole segments do."""
        self._log.truncate_before(offset)

    def close(self) -> None:
        """Let another server write."""
        self._log.close()
