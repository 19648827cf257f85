"""Metadata and webhooks in a PostgreSQL database, in a schema that one server at a time may use.

A connection that was lost is made again with the next statement. A statement that only reads is then done once more;
one that writes may have been done, so whoever asked for it is told that the database could not be reached.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, LiteralString, TypeVar

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from skyband.server.store.database import Database, NoDatabase, Rows, Values

Got = TypeVar("Got")
Connection = psycopg.Connection[tuple[Any, ...]]
# The loop of the server waits for these: a database that does not answer must not hold it up for long.
DEFAULTS = {"connect_timeout": "5", "application_name": "skyband", "tcp_user_timeout": "5000"}
STATEMENT_MS = 5000
# After a failure nobody waits for another one at once.
AGAIN_SECONDS = 1.0
# How old what is known of other processes may be.
LOOK_SECONDS = 1.0
LONGEST_NAME = 63
FORMATS = "CREATE TABLE IF NOT EXISTS formats (part TEXT PRIMARY KEY, version BIGINT NOT NULL);"


class PostgresDatabase(Database):
    """Tables in a schema of a PostgreSQL database; one thread at a time may use it.

    With `alone`, the connection holds a lock by which a second server is kept off the schema.
    """

    def __init__(self, dsn: str, schema: str, part: str, tables: str, version: int, alone: bool = False) -> None:
        self._dsn = checked_dsn(dsn)
        self._schema = schema
        self._part = part
        self._alone = alone
        self._connection: Connection | None = None
        self._again_at = self._looked_at = float("-inf")
        self._in_transaction = False
        try:
            self._make(tables.replace("{serial}", "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"), version)
        except BaseException:
            self.close()
            raise

    def rows(self, query: str, values: Values = ()) -> Rows:
        """What a query finds."""
        return self._insist(lambda connection: connection.execute(_query(query), values).fetchall())

    def change(self, statement: str, values: Values = ()) -> int:
        """Do a statement; says how many rows it concerned."""
        return self._try(lambda connection: connection.execute(_query(statement), values).rowcount)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All statements of a block, or none of them."""
        self._try(lambda connection: connection.execute("BEGIN"))
        self._in_transaction = True
        try:
            yield
        except BaseException:
            self._in_transaction = False
            if self._connection is not None:
                self._try(lambda connection: connection.execute("ROLLBACK"))
            raise
        self._in_transaction = False
        self._try(lambda connection: connection.execute("COMMIT"))

    def others_wrote(self) -> bool:
        """Whether it is a while since this was last asked: other processes are looked at once a second."""
        now = time.monotonic()
        if now - self._looked_at < LOOK_SECONDS:
            return False
        self._looked_at = now
        return True

    def close(self) -> None:
        """Let go of the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _make(self, tables: str, version: int) -> None:
        with self.transaction():
            # Two servers that start at once would both see that there is no table yet.
            self.rows("SELECT pg_advisory_xact_lock(hashtextextended(?, 0))", [f"skyband tables {self._schema}"])
            for statement in (FORMATS + tables).split(";"):
                if statement.strip():
                    self.change(statement)
            self.change("INSERT INTO formats VALUES (?, ?) ON CONFLICT DO NOTHING", [self._part, version])
            ((found,),) = self.rows("SELECT version FROM formats WHERE part = ?", [self._part])
        if found != version:
            raise ValueError(
                f"The schema {self._schema} has format {found} of {self._part}, and this version of Skyband reads "
                f"format {version}."
            )

    def _insist(self, act: Callable[[Connection], Got]) -> Got:
        """Do what only reads, and once more where the connection was lost outside of a transaction."""
        was_open = self._connection is not None and not self._in_transaction
        try:
            return self._try(act)
        except NoDatabase:
            if not was_open or self._connection is not None:
                raise
            self._again_at = float("-inf")
            return self._try(act)

    def _try(self, act: Callable[[Connection], Got]) -> Got:
        began = time.monotonic()
        try:
            return act(self._connected())
        except (psycopg.DataError, psycopg.ProgrammingError) as error:
            # Such as a text with the character 0, which PostgreSQL has no place for.
            raise ValueError(f"The database does not take that: {_told(error)}.") from error
        except psycopg.Error as error:
            now = time.monotonic()
            # One that does not even refuse is asked seldom, so that it holds nobody up most of the time.
            self._again_at = now + max(AGAIN_SECONDS, 4 * (now - began))
            self.close()
            raise NoDatabase(f"The database cannot be reached: {_told(error)}.") from error

    def _connected(self) -> Connection:
        if self._connection is not None and not self._connection.closed:
            return self._connection
        if self._in_transaction:
            raise NoDatabase("The connection to the database was lost.")
        if time.monotonic() < self._again_at:
            raise NoDatabase("The database could not be reached a moment ago.")
        self._connection = self._connect()
        return self._connection

    def _connect(self) -> Connection:
        # Statements are not prepared: a pooler may give each transaction another connection.
        connection = psycopg.connect(self._dsn, autocommit=True, prepare_threshold=None)
        try:
            connection.execute(sql.SQL("SET statement_timeout = {}").format(sql.Literal(STATEMENT_MS)))
            if not _only(connection, "SELECT to_regnamespace(quote_ident(%s))", self._schema):
                connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(self._schema)))
            connection.execute(sql.SQL("SET search_path = {}").format(sql.Identifier(self._schema)))
            lock = f"skyband server {self._schema}"
            if self._alone and not _only(connection, "SELECT pg_try_advisory_lock(hashtextextended(%s, 0))", lock):
                raise NoDatabase(f"Another server uses the schema {self._schema} of the database.")
        except BaseException:
            connection.close()
            raise
        return connection


def checked_dsn(dsn: str) -> str:
    """How to connect, with our defaults; what cannot be read raises a ValueError that does not show it."""
    try:
        given = conninfo_to_dict(dsn)
    except psycopg.Error:
        raise ValueError("The address of the database cannot be read: it is such as postgresql://host/name.") from None
    return make_conninfo("", **DEFAULTS | {key: str(value) for key, value in given.items() if value is not None})


def _query(text: str) -> sql.SQL:
    """A statement of ours, as the driver wants it; none has a percent sign or a question mark of its own."""
    return sql.SQL(text.replace("?", "%s"))


def _only(connection: Connection, query: LiteralString, value: str) -> Any:
    row = connection.execute(query, [value]).fetchone()
    return row and row[0]


def _told(error: psycopg.Error) -> str:
    """The first line of what went wrong; it names hosts and users, and no passwords."""
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
