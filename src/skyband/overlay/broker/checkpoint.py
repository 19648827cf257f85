"""Checkpoints: one record that says all that the records before it do, so that these can be trimmed.

It holds the number of the life, the publications of clients here that may still matter, the subscriptions of clients
here, and the home: its engine as a snapshot, how far it has come, what has come to it, and the changes that clients may
not have heard of. A broker that starts again takes the last checkpoint and then the steps that follow it, and not all
that it ever took. A checkpoint is written between two steps, when what has come is on the disk or in no step yet.
"""

from typing import TYPE_CHECKING, Any

from skyband.overlay.broker.event import Trim

if TYPE_CHECKING:
    from skyband.overlay.broker.broker import Broker

KIND = "checkpoint"


class DiskCheckpoints:
    """The records of one broker, counted, and what stands for them."""

    def __init__(self, broker: "Broker") -> None:
        self._broker, self._every = broker, broker.options.checkpoint
        self._n_records = 0
        self._n_since = 0
        self._is_unsynced = False

    def note(self) -> None:
        """A record is written."""
        self._n_records += 1
        self._n_since += 1

    def recover(self, records: list[list[Any]]) -> list[list[Any]]:
        """Take the last checkpoint, and trim what is before it; answers with the records that follow."""
        last = max((i for i, record in enumerate(records) if record[0] == KIND), default=-1)
        self._n_records = len(records)
        self._n_since = len(records) - last - 1
        if last >= 0:
            lives, origin, wanted, home = records[last][1:]
            self._broker.sessions.incarnation = lives
            self._broker.origin.restore(origin)
            for row in wanted:
                self._broker.registrations.recover(row)
            self._broker.home.restore(home)
        if last > 0:
            self._trim(last)
        return records[last + 1 :]

    def close(self) -> None:
        """Write a checkpoint if it is time, and nothing is half done."""
        broker = self._broker
        if self._n_since < self._every or self._is_unsynced or not broker.is_live or broker.intake.is_absorbing:
            return
        n_before, self._is_unsynced = self._n_records, True
        wanted = [asked.row for asked in broker.registrations.known.values()]
        home = broker.home.saved(broker.intake.pending, broker.intake.retractions.pending)
        state = (broker.sessions.incarnation, broker.origin.saved(), wanted, home)
        broker.write(KIND, *state, then=lambda: self._synced(n_before))
        self._n_since = 0

    def _synced(self, n_before: int) -> None:
        self._is_unsynced = False
        self._trim(n_before)

    def _trim(self, n_records: int) -> None:
        self._n_records -= n_records
        self._broker.do(Trim(n_records))
