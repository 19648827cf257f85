"""The SQLite file of the webhooks, on a thread of its own: the loop does not wait for a disk."""

import asyncio
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from skyband.log.segment import sync_folder

Got = TypeVar("Got")
VERSION = 1
SCHEMA = """
CREATE TABLE IF NOT EXISTS hooks (
    id TEXT PRIMARY KEY, tenant TEXT NOT NULL, stream TEXT NOT NULL, url TEXT NOT NULL, title TEXT NOT NULL, names TEXT,
    mode TEXT NOT NULL, rate REAL, prefix TEXT NOT NULL, known TEXT NOT NULL, created INTEGER NOT NULL,
    state TEXT NOT NULL, reason TEXT, cursor TEXT, told TEXT);
CREATE TABLE IF NOT EXISTS messages (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, hook TEXT NOT NULL, kind TEXT NOT NULL,
    body TEXT NOT NULL, created INTEGER NOT NULL, state TEXT NOT NULL, n_attempts INTEGER NOT NULL,
    due INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS messages_due ON messages (hook, state, due, seq);
CREATE TABLE IF NOT EXISTS attempts (
    id INTEGER PRIMARY KEY AUTOINCREMENT, hook TEXT NOT NULL, message TEXT NOT NULL, at INTEGER NOT NULL,
    status INTEGER, error TEXT, ms INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS attempts_hook ON attempts (hook, id);
"""


class HookFile:
    """The file; what is committed survives a loss of power."""

    def __init__(self, path: Path) -> None:
        is_new = not path.exists()
        self.db = sqlite3.connect(path, isolation_level=None, timeout=10, check_same_thread=False)
        self.db.execute("PRAGMA journal_mode=WAL")
        self.db.execute("PRAGMA synchronous=FULL")
        (version,) = self.db.execute("PRAGMA user_version").fetchone()
        if version not in (0, VERSION):
            raise ValueError(f"{path} has format {version}, and this version of Skyband reads format {VERSION}.")
        self.db.executescript(SCHEMA + f"PRAGMA user_version={VERSION};")
        if is_new:
            # It holds the secrets that messages are signed with.
            path.chmod(0o600)
            sync_folder(path.parent)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="skyband-webhooks")

    async def run(self, what: Callable[[], Got]) -> Got:
        """Do something with the file, after all that was asked for before."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, what)

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All of it, or nothing."""
        self.db.execute("BEGIN IMMEDIATE")
        try:
            yield self.db
        except BaseException:
            self.db.execute("ROLLBACK")
            raise
        self.db.execute("COMMIT")

    def close(self) -> None:
        """Finish what was asked for, and let go of the file."""
        self._thread.shutdown()
        self.db.close()
