"""The SQLite file of a broker: records of its core, answers that clients may ask for again, and how far time has come.

All of a group is written in one transaction that is synced before it counts. One broker at a time holds the file.
"""

import json
import secrets
import sqlite3
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from skyband.log.segment import sync_folder

FILE = "journal.sqlite"
FORMAT = 1
MOST_ANSWERS = 100_000
SCHEMA = """
CREATE TABLE records (number INTEGER PRIMARY KEY, record BLOB NOT NULL);
CREATE TABLE answers (turn INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, answer TEXT NOT NULL);
CREATE TABLE facts (name TEXT PRIMARY KEY, fact TEXT NOT NULL);
"""


class JournalError(ValueError):
    """A journal that cannot be used, with the reason in one sentence."""


class JournalFull(OSError):
    """Nothing of a group was written: the disk is full, or does not take it; it can be tried again."""


class WrittenRecord(NamedTuple):
    """A record to be added, and what a client shall be told if it asks with the same key again."""

    record: bytes
    key: str | None = None
    answer: dict[str, Any] | None = None


class KeptRecords(NamedTuple):
    """Only so many first records stay."""

    n_records: int


class TrimmedRecords(NamedTuple):
    """So many first records go."""

    n_records: int


JournalChange: TypeAlias = WrittenRecord | KeptRecords | TrimmedRecords


class BrokerJournal:
    """The file in a folder, which several threads may share."""

    def __init__(self, folder: Path, most_pages: int = 0) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / FILE
        is_new = not self.path.exists()
        self._one_at_a_time = threading.Lock()
        try:
            self._db = sqlite3.connect(self.path, isolation_level=None, timeout=0.0, check_same_thread=False)
            self._open()
        except sqlite3.DatabaseError as error:
            raise JournalError(_sentence(self.path, error)) from None
        if is_new:
            self.path.chmod(0o600)
            sync_folder(folder)
        if most_pages:
            self.limit(most_pages)
        self.name = self._fact("name")
        self.until = int(self._fact("until"))
        first, last = self._db.execute("SELECT min(number), max(number) FROM records").fetchone()
        self._first: int = first or 1
        self._next: int = (last or 0) + 1
        self.n_commits = 0

    def _open(self) -> None:
        # Nobody else may write, and none of it needs shared memory.
        self._db.execute("PRAGMA locking_mode=EXCLUSIVE")
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=FULL")
        self._db.execute("BEGIN IMMEDIATE")
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        if version not in (0, FORMAT):
            raise JournalError(f"{self.path} has format {version}, and this version of Skyband reads format {FORMAT}.")
        if version == 0:
            for statement in filter(str.strip, SCHEMA.split(";")):
                self._db.execute(statement)
            facts = [("name", secrets.token_hex(4)), ("until", "0")]
            self._db.executemany("INSERT INTO facts VALUES (?, ?)", facts)
            self._db.execute(f"PRAGMA user_version={FORMAT}")
        self._db.execute("COMMIT")

    def limit(self, most_pages: int) -> None:
        """Let the file have no more than so many pages, as on a disk of that size."""
        with self._one_at_a_time:
            self._db.execute(f"PRAGMA max_page_count={most_pages:d}")

    @property
    def n_records(self) -> int:
        """How many records there are."""
        return self._next - self._first

    @property
    def n_bytes(self) -> int:
        """How large the file is, with what is written ahead."""
        files = (self.path, self.path.with_name(f"{FILE}-wal"))
        return sum(file.stat().st_size for file in files if file.exists())

    def records(self) -> tuple[bytes, ...]:
        """All records in their order."""
        try:
            with self._one_at_a_time:
                return tuple(record for (record,) in self._db.execute("SELECT record FROM records ORDER BY number"))
        except sqlite3.DatabaseError as error:
            raise JournalError(_sentence(self.path, error)) from None

    def answers(self) -> dict[str, dict[str, Any]]:
        """What clients were told, by the keys of their requests."""
        with self._one_at_a_time:
            rows = self._db.execute("SELECT key, answer FROM answers ORDER BY turn").fetchall()
        return {key: json.loads(answer) for key, answer in rows}

    def commit(self, changes: Iterable[JournalChange], until: int) -> None:
        """Do all of it, and note that time may go on to `until`, so that it is durable; or nothing: `JournalFull`."""
        with self._one_at_a_time:
            first, following = self._first, self._next
            try:
                self._db.execute("BEGIN IMMEDIATE")
                for change in changes:
                    self._do(change)
                self._db.execute("UPDATE facts SET fact = ? WHERE name = 'until'", (str(until),))
                self._db.execute("COMMIT")
            except sqlite3.OperationalError as error:
                self._first, self._next = first, following
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise JournalFull(str(error)) from error
            self.until = until
            self.n_commits += 1

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()

    def _do(self, change: JournalChange) -> None:
        if isinstance(change, WrittenRecord):
            self._db.execute("INSERT INTO records VALUES (?, ?)", (self._next, change.record))
            self._next += 1
            if change.key is not None:
                self._answer(change.key, json.dumps(change.answer))
        elif isinstance(change, KeptRecords):
            self._next = min(self._next, self._first + change.n_records)
            self._db.execute("DELETE FROM records WHERE number >= ?", (self._next,))
        else:
            self._first += change.n_records
            self._db.execute("DELETE FROM records WHERE number < ?", (self._first,))

    def _answer(self, key: str, answer: str) -> None:
        added = self._db.execute("INSERT OR REPLACE INTO answers (key, answer) VALUES (?, ?)", (key, answer))
        oldest = (added.lastrowid or 0) - MOST_ANSWERS
        if oldest > 0:
            self._db.execute("DELETE FROM answers WHERE turn <= ?", (oldest,))

    def _fact(self, name: str) -> str:
        (fact,) = self._db.execute("SELECT fact FROM facts WHERE name = ?", (name,)).fetchone()
        return str(fact)


def _sentence(path: Path, error: sqlite3.DatabaseError) -> str:
    if "locked" in str(error):
        return f"The journal {path} is held by another broker: stop that one first."
    return f"The journal {path} cannot be used: {error}."
