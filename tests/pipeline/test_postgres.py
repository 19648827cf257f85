"""PostgreSQL as a sink: row for row what was given, whatever is cut off, and no password in what is told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import psycopg
import pyarrow as pa
import pytest

from skyband.pipeline.config import Endpoint
from skyband.pipeline.sink import Sink, SinkFailed, open_sink
from skyband.pipeline.sink.postgres import PostgresSink
from skyband.pipeline.sink.postgres_table import copy_text
from tests.pipeline.postgres_server import PASSWORD, Server, require_postgres, running_postgres
from tests.pipeline.staging import Batch, changes_schema, some_changes, some_tops, stage, tops_after, tops_schema

What = Literal["changes", "tops"]
Connection = psycopg.Connection[tuple[Any, ...]]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """One server for the tests of this file."""
    with running_postgres() as running:
        yield running


class Bench:
    """A database of its own, and a sink that writes to it."""

    def __init__(self, server: Server, folder: Path) -> None:
        self.server = server
        self.folder = folder
        self.database = server.make_database()
        self._sinks: list[PostgresSink] = []

    def sink(self, what: What = "changes", *, table: str = "things", state: str = "state") -> PostgresSink:
        """A sink that does not wait long before it tries again."""
        dsn = self.server.dsn(self.database)
        sink = PostgresSink(dsn, table, None, what, self.folder / state, pauses=(0.0, 0.0))
        self._sinks.append(sink)
        return sink

    def close(self) -> None:
        """Close all sinks."""
        for sink in self._sinks:
            sink.close()

    def opened(self, what: What = "changes", schema: pa.Schema | None = None, **more: str) -> PostgresSink:
        """The sink, open."""
        sink = self.sink(what, **more)
        sink.open(schema or (changes_schema() if what == "changes" else tops_schema()))
        return sink

    def ask(self, statement: Any) -> list[tuple[Any, ...]]:
        """The rows that a statement gives."""
        with self.server.connect(self.database) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def rows(self, what: What = "changes", table: str = "things") -> list[tuple[Any, ...]]:
        """All rows of the table, in the order of its key."""
        key = 'batch, "row"' if what == "changes" else 'subscription COLLATE "C", rank'
        return self.ask(f"SELECT * FROM {table} ORDER BY {key}")


@pytest.fixture
def bench(server: Server, tmp_path: Path) -> Iterator[Bench]:
    """A database of its own."""
    bench = Bench(server, tmp_path)
    yield bench
    bench.close()


def rows_of(*tables: pa.Table) -> list[tuple[Any, ...]]:
    """The rows of tables as the driver would give them."""
    return [tuple(row.values()) for table in tables for row in table.to_pylist()]


@pytest.mark.parametrize(
    "schema",
    [changes_schema(), changes_schema(text=False), changes_schema(timed=True), changes_schema("ranked")],
    ids=["text", "integers", "timed", "ranked"],
)
def test_changes_arrive_as_they_were_given(schema: pa.Schema, bench: Bench, tmp_path: Path) -> None:
    batches = [some_changes(tmp_path, number, n_rows, schema) for number, n_rows in ((0, 200), (4, 1), (5, 70))]
    sink = bench.opened(schema=schema)
    for batch in batches:
        sink.deliver(*batch.given)
        sink.deliver(*batches[0].given)
    sink.close()
    assert bench.rows() == rows_of(*(batch.table for batch in batches))
    assert bench.ask("SELECT batch FROM things_progress") == [(5,)]


def test_far_times_are_exact(bench: Bench, tmp_path: Path) -> None:
    schema = changes_schema(timed=True)
    one = some_changes(tmp_path, 0, 4, schema).table
    far = pa.array([2**62 + 1, -(2**57) - 1, -1, 2**53 + 1], pa.int64()).cast(schema.field("at").type)
    batch = stage(tmp_path, 0, one.set_column(one.column_names.index("at"), schema.field("at"), far))
    # A zone whose days are not all of 24 hours.
    bench.ask(f"ALTER DATABASE {bench.database} SET timezone = 'America/New_York'")
    bench.opened(schema=schema).deliver(*batch.given)
    micros = "(extract(epoch FROM at) * 1000000)::bigint"
    assert bench.ask(f'SELECT {micros} FROM things ORDER BY "row"') == [
        (at,) for at in far.cast(pa.int64()).to_pylist()
    ]


def test_copy_text_of_no_rows_is_empty() -> None:
    assert copy_text(pa.RecordBatch.from_pylist([], schema=changes_schema())) == b""


@pytest.mark.parametrize("text", [True, False])
def test_tops_are_those_after_the_last_batch(text: bool, bench: Bench, tmp_path: Path) -> None:
    schema = tops_schema(text)
    sink = bench.opened("tops", schema)
    batches = [some_tops(tmp_path, number, schema) for number in range(0, 20, 2)]
    order = 'subscription COLLATE "C", rank' if text else "subscription, rank"
    for place, batch in enumerate(batches):
        sink.deliver(*batch.given)
        sink.deliver(*batches[place // 2].given)
        rows = bench.ask(f"SELECT subscription, rank, publication, score FROM things ORDER BY {order}")
        assert rows == rows_of(tops_after(batches[: place + 1], schema))


class Cut(Exception):
    """The process ends here."""


def cut(*_: object) -> None:
    """Stand in for the end of the process."""
    raise Cut


STEPS = [("changes", "_add_changes"), ("changes", "_mark"), ("tops", "_replace_tops"), ("tops", "_mark")]


def two_batches(folder: Path, what: What) -> tuple[list[Batch], list[list[tuple[Any, ...]]]]:
    """Two staged batches, and what the table is to hold after none, one and two of them."""
    if what == "tops":
        batches = [some_tops(folder, number) for number in range(2)]
        return batches, [rows_of(tops_after(batches[:n])) for n in range(3)]
    batches = [some_changes(folder, number, 9) for number in range(2)]
    return batches, [rows_of(*(batch.table for batch in batches[:n])) for n in range(3)]


@pytest.mark.parametrize(("what", "step"), STEPS)
def test_what_is_cut_off_before_the_commit_is_delivered_again(
    what: What, step: str, bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [first, second], expected = two_batches(tmp_path, what)
    bench.opened(what).deliver(*first.given)
    sink = bench.opened(what)
    monkeypatch.setattr(sink, step, cut)
    with pytest.raises(Cut):
        sink.deliver(*second.given)
    assert bench.rows(what) == expected[1]
    bench.opened(what).deliver(*second.given)
    assert bench.rows(what) == expected[2]


@pytest.mark.parametrize(("what", "step"), STEPS)
def test_a_connection_lost_before_the_commit_is_made_again(
    what: What, step: str, bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [first, second], expected = two_batches(tmp_path, what)
    sink = bench.opened(what)
    sink.deliver(*first.given)
    act, seen = getattr(sink, step), []

    def lose_and_act(connection: Connection, *rest: Any) -> None:
        seen.append(bench.rows(what))
        if len(seen) == 1:
            terminate(bench, connection)
        act(connection, *rest)

    monkeypatch.setattr(sink, step, lose_and_act)
    sink.deliver(*second.given)
    assert seen == [expected[1], expected[1]]
    assert bench.rows(what) == expected[2]


def test_a_commit_whose_answer_is_lost_is_not_repeated(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = some_changes(tmp_path, 0, 30)
    sink = bench.opened()
    took = []
    take = sink._take

    def take_and_lose(connection: Connection, *rest: Any) -> None:
        take(connection, *rest)
        took.append(connection)
        if len(took) == 1:
            # The server commits, and the connection is gone before it can say so.
            connection.execute("COMMIT")
            terminate(bench, connection)

    monkeypatch.setattr(sink, "_take", take_and_lose)
    sink.deliver(*batch.given)
    assert len(took) == 2
    assert bench.rows() == rows_of(batch.table)


def terminate(bench: Bench, connection: Connection) -> None:
    """Let the server end a connection."""
    bench.ask(f"SELECT pg_terminate_backend({connection.info.backend_pid}, 10000)")


def test_a_lost_connection_is_made_again(bench: Bench, tmp_path: Path) -> None:
    batches = [some_changes(tmp_path, number, 5) for number in range(3)]
    sink = bench.opened()
    for batch in batches:
        assert sink._connection is not None
        terminate(bench, sink._connection)
        sink.deliver(*batch.given)
    assert bench.rows() == rows_of(*(batch.table for batch in batches))


def test_a_server_that_is_down_is_told_and_nothing_is_lost(tmp_path: Path) -> None:
    with running_postgres() as server:
        bench = Bench(server, tmp_path)
        batches = [some_changes(tmp_path, number, 5) for number in range(2)]
        sink = bench.opened()
        sink.deliver(*batches[0].given)
        server.stop()
        with pytest.raises(
            SinkFailed, match=r"changes in table public\.things could not take batch 1 \(.*run again"
        ) as told:
            sink.deliver(*batches[1].given)
        assert PASSWORD not in str(told.value)
        with pytest.raises(ValueError, match=r"cannot be opened: .*refused") as refused:
            bench.opened()
        assert PASSWORD not in str(refused.value)
        assert server.start()
        sink.deliver(*batches[1].given)
        assert bench.rows() == rows_of(*(batch.table for batch in batches))
        bench.close()


def test_a_table_of_ones_own_is_used_if_it_fits(bench: Bench, tmp_path: Path) -> None:
    bench.ask(
        'CREATE TABLE things ("row" bigint, batch bigint, came timestamptz NOT NULL DEFAULT now(), note text,'
        ' subscription varchar, publication text, op text, score float8, rank int, at bigint, "first" boolean)'
    )
    batch = some_changes(tmp_path, 0, 20)
    bench.opened().deliver(*batch.given)
    names = ", ".join(f'"{name}"' for name in batch.table.column_names)
    assert bench.ask(f'SELECT {names} FROM things ORDER BY batch, "row"') == rows_of(batch.table)
    [(key,)] = bench.ask("SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'things'::regclass")
    assert key == 'PRIMARY KEY (batch, "row")'


@pytest.mark.parametrize(
    ("columns", "differences"),
    [
        (
            'batch bigint, "row" integer, subscription bigint, publication text, op text, score real,'
            " rank int NOT NULL, at bigint, extra int NOT NULL, PRIMARY KEY (batch, subscription)",
            "row is integer, not bigint; subscription is bigint, not text; score is real, not double precision; "
            "rank must allow nulls; first boolean is missing; extra is not expected, and has no default; "
            r"its primary key is \(batch, subscription\), not \(batch, row\)",
        ),
        ("id int", "batch bigint is missing; row bigint is missing"),
    ],
)
def test_a_table_that_does_not_fit_is_refused(columns: str, differences: str, bench: Bench) -> None:
    bench.ask(f"CREATE TABLE things ({columns})")
    with pytest.raises(ValueError, match=rf"The table public\.things does not fit: {differences}"):
        bench.opened()
    assert bench.ask("SELECT to_regclass('things_progress')") == [(None,)]


def test_a_table_of_another_run_is_refused(bench: Bench, tmp_path: Path) -> None:
    bench.opened().close()
    with pytest.raises(ValueError, match=r"public\.things was filled by something else .*drop this one and public\.th"):
        bench.opened(state="another")
    bench.opened().deliver(*some_changes(tmp_path, 0, 3).given)
    bench.ask("DELETE FROM things_progress")
    with pytest.raises(ValueError, match="was filled by something else"):
        bench.opened()


def test_rows_that_progress_knows_nothing_of_are_there_once(bench: Bench, tmp_path: Path) -> None:
    batches = [some_changes(tmp_path, number, 6) for number in range(2)]
    sink = bench.opened()
    sink.deliver(*batches[0].given)
    bench.ask("UPDATE things_progress SET batch = -1")
    for batch in batches:
        sink.deliver(*batch.given)
    assert bench.rows() == rows_of(*(batch.table for batch in batches))


def test_progress_that_is_lost_is_told(bench: Bench, tmp_path: Path) -> None:
    sink = bench.opened()
    bench.ask("DELETE FROM things_progress")
    with pytest.raises(SinkFailed, match=r"things_progress has lost its row for this run"):
        sink.deliver(*some_changes(tmp_path, 0, 3).given)
    assert bench.rows() == []


def test_what_the_server_refuses_is_told_at_once(bench: Bench, tmp_path: Path) -> None:
    schema = changes_schema()
    rows = some_changes(tmp_path, 0, 1).table.to_pylist()
    batch = stage(tmp_path, 0, pa.Table.from_pylist([{**rows[0], "subscription": "a\0b"}], schema=schema))
    sink = bench.opened()
    with pytest.raises(SinkFailed, match=r'could not take batch 0 \(invalid byte sequence for encoding "UTF8": 0x00\)'):
        sink.deliver(*batch.given)
    assert bench.rows() == []
    sink.deliver(*some_changes(tmp_path, 0, 3).given)
    assert len(bench.rows()) == 3


def test_a_schema_is_made_and_names_are_quoted(bench: Bench, tmp_path: Path) -> None:
    options = {"dsn": bench.server.dsn(bench.database), "table": 'My "table"; --', "schema": "Of mine"}
    batch = some_changes(tmp_path, 0, 5)
    sink: Sink = open_sink(
        Endpoint("postgres", options), "changes", spark=None, folder=tmp_path / "state", schema=changes_schema()
    )
    sink.deliver(*batch.given)
    sink.close()
    sink.close()
    assert bench.rows(table='"Of mine"."My ""table""; --"') == rows_of(batch.table)


def test_other_encodings_and_long_names_are_refused(server: Server, bench: Bench) -> None:
    bench.database = server.make_database("LATIN1")
    with pytest.raises(ValueError, match=r"database_\d+ has the encoding LATIN1; choose one with UTF8"):
        bench.opened()
    with pytest.raises(ValueError, match="is too long: with _progress it may have 63 bytes"):
        bench.sink(table="t" * 60)
    with pytest.raises(
        ValueError, match="The column point is list<item: double>, for which the postgres sink has no type"
    ):
        bench.opened(schema=pa.schema([("point", pa.list_(pa.float64()))]))


def test_a_wrong_password_is_not_told(server: Server, tmp_path: Path) -> None:
    sink = PostgresSink(server.dsn(password="xyzzy"), "t", None, "changes", tmp_path)
    with pytest.raises(ValueError, match=r"cannot be opened: .*password authentication failed") as told:
        sink.open(changes_schema())
    assert "xyzzy" not in str(told.value)
    # A password that is also a word of the message.
    sink = PostgresSink(server.dsn(password="authentication"), "t", None, "changes", tmp_path)
    with pytest.raises(ValueError, match="what the server says is not shown here"):
        sink.open(changes_schema())


@pytest.mark.parametrize(
    "dsn",
    [
        "host=localhost password=xyz zy",
        "postgresql://user:xyzzy%@localhost/db",
        "postgresql://user:xy/zzy@localhost/db",
        "postgresql://user:p@xyzzy@localhost/db",
        "postgresql://user:1@xyzzy/a@localhost/db",
        "xyzzy",
    ],
)
def test_a_dsn_that_cannot_be_read_is_not_repeated(dsn: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="percent-encoded") as told:
        PostgresSink(dsn, "t", None, "changes", tmp_path)
    assert not any(part in str(told.value) for part in ("xyz", "zzy", "zy"))
    assert told.value.__suppress_context__ or told.value.__context__ is None


def test_without_a_server_the_tests_are_skipped_or_fail(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tests.pipeline.postgres_server.shutil.which", lambda _: None)
    monkeypatch.setattr("tests.pipeline.postgres_server.Path.glob", lambda *_: [])
    monkeypatch.delenv("SKYBAND_REQUIRE_POSTGRES", raising=False)
    with pytest.raises(pytest.skip.Exception, match="are not installed"):
        require_postgres()
    monkeypatch.setenv("SKYBAND_REQUIRE_POSTGRES", "1")
    with pytest.raises(pytest.fail.Exception, match="are not installed"):
        require_postgres()
