"""Recovery: the streams as they were, from the latest checkpoint that can be read and the log after it."""

import contextlib
import logging

from skyband.contract import UnreadableSnapshot
from skyband.server.store.journal import Journal
from skyband.server.stream.checkpoint import Checkpoints
from skyband.server.stream.stream_set import DamagedStream, StreamSet

LOG = logging.getLogger("skyband.server")


class Unrecoverable(ValueError):
    """A data folder from which the streams cannot be made again."""


def recover(journal: Journal, checkpoints: Checkpoints, most_rows: int) -> StreamSet:
    """The streams after all records that the journal has; what was refused then is refused again."""
    offset, streams = _begin(journal, checkpoints, most_rows)
    for record in journal.since(offset):
        with contextlib.suppress(ValueError, DamagedStream):
            streams.do(record)
    return streams


def _begin(journal: Journal, checkpoints: Checkpoints, most_rows: int) -> tuple[int, StreamSet]:
    for offset in checkpoints.offsets():
        streams = StreamSet(most_rows)
        try:
            for stream in checkpoints.read(offset, most_rows):
                streams.put(stream)
        except UnreadableSnapshot as error:
            LOG.error("A checkpoint is left out: %s", error)
            continue
        if journal.first <= offset <= journal.end:
            return offset, streams
    if journal.first > 0:
        raise Unrecoverable(
            f"The log begins at record {journal.first} and no checkpoint can be read: restore the data folder."
        )
    return 0, StreamSet(most_rows)
