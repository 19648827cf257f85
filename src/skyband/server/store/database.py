"""Where metadata and webhooks are kept: an SQLite file of the data folder, or a PostgreSQL database.

Statements are written once, for both: with `?` for values, and `{serial}` for a column that counts up.
"""

import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from skyband.log.segment import sync_folder

Values = Sequence[Any]
Rows = list[tuple[Any, ...]]


class NoDatabase(ConnectionError):
    """The database cannot be reached, or does not do what it is asked; nothing was changed that was acknowledged."""


class Database(ABC):
    """Tables of one purpose; what is committed survives a loss of power."""

    @abstractmethod
    def rows(self, query: str, values: Values = ()) -> Rows:
        """What a query finds."""

    @abstractmethod
    def change(self, statement: str, values: Values = ()) -> int:
        """Do a statement; says how many rows it concerned."""

    @abstractmethod
    def transaction(self) -> AbstractContextManager[None]:
        """All statements of a block, or none of them."""

    @abstractmethod
    def others_wrote(self) -> bool:
        """Whether another process may have written since this was last asked."""

    @abstractmethod
    def close(self) -> None:
        """Let go of it."""

    def change_each(self, statement: str, many: Sequence[Values]) -> None:
        """Do a statement with several sets of values, all of them or none."""
        with self.transaction():
            for values in many:
                self.change(statement, values)


class SqliteDatabase(Database):
    """An SQLite file; one thread at a time may use it."""

    def __init__(self, path: Path, schema: str, version: int) -> None:
        is_new = not path.exists()
        self._db = sqlite3.connect(path, isolation_level=None, timeout=10, check_same_thread=False)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=FULL")
        (found,) = self._db.execute("PRAGMA user_version").fetchone()
        if found not in (0, version):
            raise ValueError(f"{path} has format {found}, and this version of Skyband reads format {version}.")
        serial = "INTEGER PRIMARY KEY AUTOINCREMENT"
        self._db.executescript(schema.replace("{serial}", serial) + f"PRAGMA user_version={version};")
        if is_new:
            # It holds the secrets that messages are signed with.
            path.chmod(0o600)
            sync_folder(path.parent)
        self._seen = -1

    def rows(self, query: str, values: Values = ()) -> Rows:
        """What a query finds."""
        return self._db.execute(query, values).fetchall()

    def change(self, statement: str, values: Values = ()) -> int:
        """Do a statement; says how many rows it concerned."""
        return self._db.execute(statement, values).rowcount

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All statements of a block, or none of them."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    def others_wrote(self) -> bool:
        """Whether another process has written since this was last asked."""
        (version,) = self._db.execute("PRAGMA data_version").fetchone()
        seen, self._seen = self._seen, version
        return bool(version != seen)

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()
