"""The thread that writes the journal: what has come while one group was synced is the next group.

A group that the disk does not take is tried again until it does, with nothing lost and nothing written twice; those who
wait for it wait, and `trouble` says why.
"""

import threading
from collections.abc import Callable
from typing import NamedTuple

from skyband.broker.journal.journal import BrokerJournal, JournalChange, JournalFull

RETRY_SECONDS = 0.25
REST_SECONDS = 0.5
"""So often at least the journal notes how far time may go."""


class _Group(NamedTuple):
    changes: list[JournalChange]
    then: list[Callable[[], None]]


class Committer:
    """Writes what it is given in groups; `done` is handed what is to be called when a group is durable.

    `until` says up to when time may go on once the next group is durable.
    """

    def __init__(
        self, journal: BrokerJournal, until: Callable[[], int], done: Callable[[list[Callable[[], None]]], None]
    ) -> None:
        self.journal, self.trouble = journal, ""
        self._until, self._done = until, done
        self._group = _Group([], [])
        self._is_stopping = False
        self._condition = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="skyband-journal", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def put(self, change: JournalChange) -> None:
        """Write this with the next group, in the order in which it is said."""
        with self._condition:
            self._group.changes.append(change)

    def sync(self, then: Callable[[], None]) -> None:
        """Let what was put be durable, and have this called."""
        with self._condition:
            self._group.then.append(then)
            self._condition.notify()

    def stop(self) -> bool:
        """End when all that was put is durable; false where the disk does not take it."""
        with self._condition:
            self._is_stopping = True
            self._condition.notify()
        self._thread.join()
        return not self.trouble

    def _run(self) -> None:
        while True:
            with self._condition:
                self._condition.wait_for(self._has_work, REST_SECONDS)
                group, self._group = self._group, _Group([], [])
                is_last = self._is_stopping
            if not self._commit(group) or is_last:
                return
            if group.then:
                self._done(group.then)

    def _has_work(self) -> bool:
        return bool(self._group.then) or self._is_stopping

    def _commit(self, group: _Group) -> bool:
        """Write a group however long that takes; false if it never was and the broker stops."""
        while True:
            try:
                self.journal.commit(group.changes, self._until())
            except JournalFull as error:
                self.trouble = str(error)
                with self._condition:
                    if self._condition.wait_for(lambda: self._is_stopping, RETRY_SECONDS):
                        return False
            else:
                self.trouble = ""
                return True
