"""Changes and tops in PostgreSQL: a batch and the note that it was taken are one transaction."""

import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import psycopg
import pyarrow as pa
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from skyband.pipeline.sink.folder import run_of
from skyband.pipeline.sink.postgres_table import (
    LONGEST_NAME,
    STAGED,
    Connection,
    TableColumn,
    Target,
    columns_of,
    fit_table,
    has_table,
    make_table,
    names,
    stage,
    staged_values,
)
from skyband.pipeline.sink.sink import KEY, SinkFailed, Staged

PAUSES = (0.2, 1.0, 3.0, 10.0)
PROGRESS = [TableColumn("sink", "text", False), TableColumn("batch", "bigint", False)]
TOP_KEY = ("subscription", "rank")
# A server that is gone without a word is noticed within a minute, not within hours.
ALIVE = {"keepalives_idle": "30", "keepalives_interval": "10", "keepalives_count": "3", "tcp_user_timeout": "60000"}
DEFAULTS = {"connect_timeout": "10", "application_name": "skyband", **ALIVE}


class PostgresSink:
    """A sink that adds changes to a table, or keeps the current tops in one.

    Beside the table there is `<table>_progress` with the last batch that was taken: one at or below it is skipped. The
    connection is made again when it is lost, after each of the pauses, before the sink gives up.
    """

    def __init__(
        self,
        dsn: str,
        table: str,
        schema: str | None,
        what: Literal["changes", "tops"],
        private: Path,
        pauses: Sequence[float] = PAUSES,
    ) -> None:
        self._dsn = _checked(dsn)
        self._table = table
        self._schema = schema
        self._what = what
        self._private = private
        self._pauses = pauses
        self._run = ""
        self._columns: list[TableColumn] = []
        self._arrow = pa.schema([])
        self._connection: Connection | None = None
        self._target = Target(schema or "", table)
        self._progress = Target(schema or "", f"{table}_progress")
        if len(self._progress.table.encode()) > LONGEST_NAME:
            raise ValueError(f"The table name {table} is too long: with _progress it may have {LONGEST_NAME} bytes.")

    def open(self, schema: pa.Schema) -> None:
        """Make the tables, or see that they fit and are those of this run."""
        self._run = run_of(self._private)
        self._arrow = schema
        self._columns = columns_of(schema)
        try:
            connection = self._connected()
            _require_unicode(connection)
            with connection.transaction():
                self._settle_names(connection)
                self._settle_tables(connection)
        except psycopg.Error as error:
            self.close()
            raise ValueError(f"The postgres sink {self._name} cannot be opened: {self._told(error)}.") from None
        except ValueError:
            self.close()
            raise

    def deliver(self, batch: int, staged: Path, n_rows: int) -> None:
        """Add the rows of a batch, unless they are there."""
        source = Staged(staged, n_rows, self._arrow)
        self._insist(batch, lambda connection: self._take(connection, batch, source))

    def close(self) -> None:
        """Let go of the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @property
    def _name(self) -> str:
        return f"of {self._what} in table {self._target.text if self._target.schema else self._table}"

    def _connected(self) -> Connection:
        if self._connection is None or self._connection.closed:
            # Statements are not prepared: a pooler may give each transaction another connection.
            self._connection = psycopg.connect(self._dsn, autocommit=True, prepare_threshold=None)
        return self._connection

    def _settle_names(self, connection: Connection) -> None:
        schema = self._schema or _only(connection.execute("SELECT current_schema()"))
        if schema is None:
            raise ValueError(f"No schema is set for the table {self._table}; give the option schema.")
        self._target = Target(schema, self._table)
        self._progress = Target(schema, f"{self._table}_progress")
        if _only(connection.execute("SELECT to_regnamespace(quote_ident(%s))", [schema])) is None:
            connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(schema)))

    def _settle_tables(self, connection: Connection) -> None:
        key, columns = KEY, self._columns
        if self._what == "tops":
            # The rows without a rank, which tell that a top is empty, are not kept.
            key, columns = TOP_KEY, [column._replace(nullable=False) for column in columns]
        _settle(connection, self._target, columns, key)
        _settle(connection, self._progress, PROGRESS, ("sink",))
        self._settle_run(connection)

    def _settle_run(self, connection: Connection) -> None:
        progress = self._progress.identifier
        runs = connection.execute(sql.SQL("SELECT sink FROM {}").format(progress)).fetchall()
        if (self._run,) in runs:
            return
        filled = _only(connection.execute(sql.SQL("SELECT EXISTS (SELECT FROM {})").format(self._target.identifier)))
        if runs or filled:
            raise ValueError(
                f"The table {self._target.text} was filled by something else than runs with this state folder, and "
                f"batches may have the same numbers; choose another table, or drop this one and {self._progress.text}."
            )
        connection.execute(sql.SQL("INSERT INTO {} VALUES (%s, -1)").format(progress), [self._run])

    def _insist(self, batch: int, act: Callable[[Connection], None]) -> None:
        for pause in (*self._pauses, None):
            try:
                connection = self._connected()
                with connection.transaction():
                    act(connection)
                return
            except (psycopg.OperationalError, psycopg.InterfaceError) as error:
                self.close()
                told = self._told(error)
            except psycopg.Error as error:
                self.close()
                raise self._failed(batch, self._told(error), "put that right") from None
            if pause is None:
                raise self._failed(batch, told, "see that the server can be reached and has room")
            time.sleep(pause)

    def _take(self, connection: Connection, batch: int, source: Staged) -> None:
        last = _only(
            connection.execute(
                sql.SQL("SELECT batch FROM {} WHERE sink = %s FOR UPDATE").format(self._progress.identifier),
                [self._run],
            )
        )
        if last is None:
            raise SinkFailed(
                f"The table {self._progress.text} has lost its row for this run, so that nobody knows which batches "
                f"{self._target.text} holds; restore both from a backup, or drop both."
            )
        if batch <= last:
            return
        stage(connection, self._columns, source.tables())
        if self._what == "changes":
            self._add_changes(connection)
        else:
            self._replace_tops(connection)
        self._mark(connection, batch)

    def _add_changes(self, connection: Connection) -> None:
        statement = sql.SQL("INSERT INTO {} ({}) SELECT {} FROM {} ON CONFLICT ({}) DO NOTHING")
        columns = names(column.name for column in self._columns)
        values = staged_values(self._columns)
        connection.execute(statement.format(self._target.identifier, columns, values, STAGED, names(KEY)))

    def _replace_tops(self, connection: Connection) -> None:
        gone = sql.SQL(
            "DELETE FROM {} AS kept USING (SELECT DISTINCT subscription FROM {}) AS changed "
            "WHERE kept.subscription = changed.subscription"
        )
        connection.execute(gone.format(self._target.identifier, STAGED))
        come = sql.SQL("INSERT INTO {} ({}) SELECT {} FROM {} WHERE rank IS NOT NULL")
        columns = names(column.name for column in self._columns)
        connection.execute(come.format(self._target.identifier, columns, staged_values(self._columns), STAGED))

    def _mark(self, connection: Connection, batch: int) -> None:
        statement = sql.SQL("UPDATE {} SET batch = %s WHERE sink = %s").format(self._progress.identifier)
        connection.execute(statement, [batch, self._run])

    def _failed(self, batch: int, told: str, advice: str) -> SinkFailed:
        return SinkFailed(
            f"The postgres sink {self._name} could not take batch {batch} ({told}); {advice} and run again: "
            "nothing is lost."
        )

    def _told(self, error: psycopg.Error) -> str:
        """What the server or the library says, in one line, without any password."""
        told = " ".join((error.diag.message_primary or str(error)).split()).rstrip(".")
        given = conninfo_to_dict(self._dsn)
        secrets = [str(given[name]) for name in ("password", "sslpassword") if given.get(name)]
        if any(secret in told for secret in secrets):
            return "what the server says is not shown here, since it holds the password"
        return told


def _settle(connection: Connection, target: Target, columns: Sequence[TableColumn], key: Sequence[str]) -> None:
    """Make a table, or see that the one of this name fits."""
    if has_table(connection, target):
        fit_table(connection, target, columns, key)
    else:
        make_table(connection, target, columns, key)


def _checked(dsn: str) -> str:
    """The dsn with defaults, if it can be taken apart for certain, so that its password can be kept out of errors."""
    advice = (
        "give it as postgresql://user:password@host:port/database with special characters percent-encoded, "
        "or as key=value pairs with quotes around values that hold spaces"
    )
    try:
        parts = conninfo_to_dict(dsn)
    except psycopg.ProgrammingError:
        raise ValueError(f"The dsn of the postgres sink cannot be read: {advice}.") from None
    host, port, database = (str(parts.get(name, "")) for name in ("host", "port", "dbname"))
    is_odd = "@" in host + database or ("/" in host and not host.startswith("/")) or not re.fullmatch(r"[\d,]*", port)
    if is_odd:
        raise ValueError(f"The dsn of the postgres sink has a host, port or database that none can be: {advice}.")
    settings = {name: value for name, value in DEFAULTS.items() if name not in parts}
    return make_conninfo(dsn, client_encoding="UTF8", **settings)


def _require_unicode(connection: Connection) -> None:
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise ValueError(f"The database {connection.info.dbname} has the encoding {encoding}; choose one with UTF8.")


def _only(cursor: psycopg.Cursor[tuple[Any, ...]]) -> Any:
    row = cursor.fetchone()
    return None if row is None else row[0]
