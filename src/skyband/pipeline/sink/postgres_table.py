"""Tables in PostgreSQL: made for a schema, or found to fit it, and filled from Arrow by COPY."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import psycopg
import pyarrow as pa
import pyarrow.compute as pc
from psycopg import sql

# One byte less than the server's names have, which also end in a zero byte.
LONGEST_NAME = 63
TIME = "timestamp with time zone"
STAGED = sql.Identifier("skyband_staged")
_SAME = {"character varying": "text"}

Connection = psycopg.Connection[tuple[Any, ...]]


class TableColumn(NamedTuple):
    """A column: its name, the type that PostgreSQL has for it, and whether it may be null."""

    name: str
    kind: str
    nullable: bool


class Target(NamedTuple):
    """A table by its name and that of its schema."""

    schema: str
    table: str

    @property
    def identifier(self) -> sql.Identifier:
        """The name for statements."""
        return sql.Identifier(self.schema, self.table)

    @property
    def text(self) -> str:
        """The name for people."""
        return f"{self.schema}.{self.table}"


def columns_of(schema: pa.Schema) -> list[TableColumn]:
    """The columns that PostgreSQL needs for a schema."""
    return [TableColumn(field.name, _kind(field), field.nullable) for field in schema]


def has_table(connection: Connection, target: Target) -> bool:
    """Whether there is a table, or anything else, of this name."""
    found = connection.execute("SELECT to_regclass(%s)", [target.identifier.as_string(connection)]).fetchone()
    return found is not None and found[0] is not None


def make_table(connection: Connection, target: Target, columns: Sequence[TableColumn], key: Sequence[str]) -> None:
    """Make a table with a primary key."""
    parts = [
        sql.SQL("{} {}{}").format(
            sql.Identifier(column.name),
            sql.SQL(column.kind),
            sql.SQL("" if column.nullable else " NOT NULL"),
        )
        for column in columns
    ]
    parts.append(sql.SQL("PRIMARY KEY ({})").format(names(key)))
    connection.execute(sql.SQL("CREATE TABLE {} ({})").format(target.identifier, sql.SQL(", ").join(parts)))


def fit_table(connection: Connection, target: Target, columns: Sequence[TableColumn], key: Sequence[str]) -> None:
    """Give a table the primary key if it has none; a ValueError lists what would keep it from taking the columns."""
    differences = [*_differing_columns(connection, target, columns), *_differing_key(connection, target, key)]
    if differences:
        raise ValueError(f"The table {target.text} does not fit: {'; '.join(differences)}.")
    if not _unique(connection, target):
        statement = sql.SQL("ALTER TABLE {} ADD PRIMARY KEY ({})").format(target.identifier, names(key))
        connection.execute(statement)


def stage(connection: Connection, columns: Sequence[TableColumn], tables: Iterable[pa.Table]) -> None:
    """Copy rows into a temporary table that lasts as long as the transaction; times are there as microseconds."""
    kinds = [
        sql.SQL("{} {}").format(sql.Identifier(column.name), sql.SQL("bigint" if column.kind == TIME else column.kind))
        for column in columns
    ]
    made = sql.SQL("CREATE TEMPORARY TABLE {} ({}) ON COMMIT DROP")
    connection.execute(made.format(STAGED, sql.SQL(", ").join(kinds)))
    with connection.cursor() as cursor, cursor.copy(sql.SQL("COPY {} FROM STDIN").format(STAGED)) as copy:
        for table in tables:
            for batch in table.to_batches():
                copy.write(copy_text(batch))


def names(of: Iterable[str]) -> sql.Composed:
    """Names with commas between them."""
    return sql.SQL(", ").join(map(sql.Identifier, of))


def staged_values(columns: Iterable[TableColumn]) -> sql.Composed:
    """What to select from the staged rows, in the types of the columns."""
    # Days and the rest, since intervals are multiplied by doubles, which do not hold all microseconds of a far time.
    time = sql.SQL(
        "(TIMESTAMP 'epoch' + ({0} / 86400000000) * INTERVAL '1 day'"
        " + ({0} % 86400000000) * INTERVAL '1 microsecond') AT TIME ZONE 'UTC'"
    )
    return sql.SQL(", ").join(
        time.format(sql.Identifier(column.name)) if column.kind == TIME else sql.Identifier(column.name)
        for column in columns
    )


def copy_text(batch: pa.RecordBatch) -> bytes:
    """The rows in the text format of COPY."""
    cells = [_cells(column) for column in batch.columns]
    lines = pc.binary_join_element_wise(pc.binary_join_element_wise(*cells, "\t"), "", "\n")
    if not len(lines):
        return b""
    _, offsets, data = lines.buffers()
    ends = np.frombuffer(offsets, np.int32)
    return bytes(data[ends[lines.offset] : ends[lines.offset + len(lines)]])


def _cells(column: pa.Array) -> pa.Array:
    if pa.types.is_timestamp(column.type):
        column = pc.cast(pc.cast(column, pa.timestamp("us", column.type.tz)), pa.int64())
    text = pc.cast(column, pa.string())
    if pa.types.is_string(column.type):
        for plain, escaped in (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r")):
            text = pc.replace_substring(text, plain, escaped)
    return pc.fill_null(text, "\\N")


def _kind(field: pa.Field) -> str:
    if pa.types.is_timestamp(field.type):
        return TIME
    kinds = {
        pa.string(): "text",
        pa.int64(): "bigint",
        pa.int32(): "integer",
        pa.float64(): "double precision",
        pa.bool_(): "boolean",
    }
    if field.type not in kinds:
        raise ValueError(f"The column {field.name} is {field.type}, for which the postgres sink has no type.")
    return kinds[field.type]


def _differing_columns(connection: Connection, target: Target, columns: Sequence[TableColumn]) -> list[str]:
    rows = connection.execute(
        """
        SELECT attname, format_type(atttypid, atttypmod), attnotnull, atthasdef OR attidentity <> ''
        FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum
        """,
        [target.identifier.as_string(connection)],
    ).fetchall()
    found = {name: (_SAME.get(kind, kind), needed) for name, kind, needed, _ in rows}
    told = []
    for column in columns:
        kind, needed = found.get(column.name, ("", False))
        if not kind:
            told.append(f"{column.name} {column.kind} is missing")
        elif kind != column.kind:
            told.append(f"{column.name} is {kind}, not {column.kind}")
        elif needed and column.nullable:
            told.append(f"{column.name} must allow nulls")
    ours = {column.name for column in columns}
    told += [
        f"{name} is not expected, and has no default"
        for name, _, needed, given in rows
        if name not in ours and needed and not given
    ]
    return told


def _differing_key(connection: Connection, target: Target, key: Sequence[str]) -> list[str]:
    unique = _unique(connection, target)
    primary = next((columns for columns, is_primary in unique if is_primary), None)
    if primary is None or any(set(columns) == set(key) for columns, _ in unique):
        return []
    return [f"its primary key is ({', '.join(primary)}), not ({', '.join(key)})"]


def _unique(connection: Connection, target: Target) -> list[tuple[list[str], bool]]:
    """The columns of each unique index that an INSERT can name as its conflict, and whether it is the primary key."""
    rows = connection.execute(
        """
        SELECT ARRAY(SELECT attname::text FROM pg_attribute WHERE attrelid = indrelid AND attnum = ANY (indkey)),
               indisprimary
        FROM pg_index WHERE indrelid = %s::regclass AND indisunique AND indimmediate AND indisvalid
                        AND indpred IS NULL AND indexprs IS NULL
        """,
        [target.identifier.as_string(connection)],
    ).fetchall()
    return [(columns, is_primary) for columns, is_primary in rows]
