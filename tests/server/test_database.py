"""Metadata and webhooks are kept alike in SQLite and in PostgreSQL, and a server does not end with its database."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from skyband.server import BadServerConfig, Running
from skyband.server.store.database import Database, NoDatabase, SqliteDatabase
from skyband.server.store.metadata import SCHEMA, VERSION, KeptToken, Metadata
from skyband.server.store.postgres import PostgresDatabase
from skyband.server.webhook import hook_base
from skyband.server.webhook.hook_base import HookBase
from skyband.server.webhook.hook_store import HookStore
from skyband.server.webhook.kept import HookAttempt, KeptHook
from skyband.server.webhook.message_store import MessageStore, NewMessage
from skyband.server.webhook.signature import HookSecret
from tests.pipeline.postgres_server import PASSWORD, Server, running_postgres
from tests.server.calling import WINDOW, Reader, call
from tests.server.receiving import Receiver

PUBS = "/v1/streams/s/publications"
Open = Callable[[str, str, int], Database]


@pytest.fixture(scope="module")
def postgres() -> Iterator[Server]:
    """One PostgreSQL server for the tests of this file."""
    with running_postgres() as running:
        yield running


def token(name: str, created: int, tenant: str = "default") -> KeptToken:
    return KeptToken(
        name, tenant, f"title of {name}", f"digest of {name}", ("read", "admin"), "", created, 2**50, None, None
    )


def metadata_story(database: Database) -> list[Any]:
    """Everything that is done with metadata, and what is answered."""
    kept, seen = Metadata(database), list[Any]()
    seen.append(kept.has_tokens)
    for each in (token("b", 1), token("a", 1), token("c", 0), token("z", 5, "other")):
        kept.add_token(each)
    seen += [kept.has_tokens, kept.tokens("default"), kept.tokens("default", "a"), kept.tokens("default", "c", 1)]
    seen += [kept.tokens("default", "nobody"), kept.tokens("default", "z"), kept.token_named("default", "z")]
    seen += [kept.token_with("digest of a"), kept.token_with("digest of nobody")]
    seen += [kept.revoke("default", "a", 7), kept.revoke("default", "a", 9), kept.revoke("other", "a", 9)]
    kept.note_used({"b": 11, "c": 12, "nobody": 1})
    kept.note_used({})
    seen += [kept.tokens("default"), kept.token_with("digest of a")]
    seen += [kept.put_tenant("other", {"k": 3}), kept.put_tenant("other", {"k": 4}), kept.put_tenant("B", {})]
    seen += [kept.tenants(), kept.drop_tenant("other", 8), kept.drop_tenant("other", 8), kept.tenants()]
    seen.append(kept.tokens("other"))
    for i in range(3):
        kept.note("default", None if i else "b", "do", f"thing {i}", {"why": "because “so”", "n": 2**40})
    lines = kept.audit("default", None, 2)
    seen += [line._replace(at=0) for line in [*lines, *kept.audit("default", lines[-1].id, 9)]]
    kept.check()
    kept.close()
    return seen


def hooks_story(database: Database) -> list[Any]:
    """Everything that is done with webhooks, and what is answered."""
    base, seen = HookBase(database), list[Any]()
    hooks, messages = HookStore(base), MessageStore(base)
    made = [
        KeptHook(f"wh_{i}", "default", "s", "https://x.example/", "t", ("a", "b") if i else None, "latest", 2.5, "",
                 (HookSecret("one"), HookSecret("two", 2**50)), 10 - i)
        for i in range(3)
    ]  # fmt: skip
    for hook in made:
        hooks.add(hook)
    seen += [hooks.all(), hooks.of("default"), hooks.of("nobody"), hooks.get("wh_1"), hooks.get("none")]
    hooks.change("wh_1", url="https://y.example/", names=["c"], known=[("three", None)])
    hooks.disable("wh_2", "It was so.")
    seen.append(hooks.all())
    new = [NewMessage(f"m{i}", "top.changes", json.dumps({"i": i})) for i in range(5)]
    messages.take("wh_1", new, "e.5", "e.4", 100)
    messages.take("wh_1", new[:2], "e.5", "e.4", 100)
    seen += [hooks.get("wh_1"), messages.n_waiting("wh_1"), messages.counts(), messages.next("wh_1")]
    for i, (status, due) in enumerate([(200, None), (500, 300), (None, None)]):
        message = messages.next("wh_1")
        assert message is not None
        attempt = HookAttempt(0, "wh_1", message.id, 100 + i, status, None if status else "It was lost.", 3)
        messages.record(message, attempt, due)
    seen += [messages.next("wh_1"), messages.counts(), messages.arrived_since("wh_1", 100)]
    seen += [messages.arrived_since("wh_1", 101), messages.attempts("wh_1", None, 2), messages.dead("wh_1", None, 9)]
    seen += [messages.replay("wh_1", ["none"], 500), messages.replay("wh_1", None, 500), messages.counts()]
    hooks.disable("wh_1", "Gone.")
    seen += [messages.drop("wh_1", ["m3", "none"]), messages.drop("wh_1", None), messages.counts()]
    hooks.remove("wh_1")
    seen += [hooks.all(), messages.attempts("wh_1", None, 9)]
    base.close()
    return seen


@pytest.mark.parametrize(
    ("story", "part", "tables", "version"),
    [(metadata_story, "metadata", SCHEMA, VERSION), (hooks_story, "webhooks", hook_base.SCHEMA, hook_base.VERSION)],
)
def test_both_databases_answer_alike(
    tmp_path: Path, postgres: Server, story: Callable[[Database], list[Any]], part: str, tables: str, version: int
) -> None:
    dsn = postgres.dsn(postgres.make_database())
    told = story(PostgresDatabase(dsn, "skyband", part, tables, version))
    assert told == story(SqliteDatabase(tmp_path / "it.sqlite", tables, version))
    again = PostgresDatabase(dsn, "skyband", part, tables, version)
    again.close()
    with pytest.raises(ValueError, match=f"reads format {version + 1}"):
        PostgresDatabase(dsn, "skyband", part, tables, version + 1)


def broken_off(database: Database) -> None:
    """A transaction that does not come to its end."""
    with database.transaction():
        database.change("INSERT INTO things (name) VALUES (?)", ["one"])
        raise KeyError


def test_a_transaction_is_done_whole_or_not_at_all(tmp_path: Path, postgres: Server) -> None:
    dsn = postgres.dsn(postgres.make_database())
    tables = "CREATE TABLE IF NOT EXISTS things (id {serial}, name TEXT UNIQUE);"
    for database in (
        PostgresDatabase(dsn, "own", "things", tables, 1),
        SqliteDatabase(tmp_path / "it.sqlite", tables, 1),
    ):
        with pytest.raises(KeyError):
            broken_off(database)
        database.change_each("INSERT INTO things (name) VALUES (?)", [["two"], ["three"]])
        assert sorted(database.rows("SELECT name FROM things")) == [("three",), ("two",)]
        database.close()


def guarded(start: Callable[..., Running], postgres: Server, **given: Any) -> Running:
    """A server over a database of its own."""
    database = postgres.dsn(postgres.make_database())
    return start(**{"streams": {"s": WINDOW}, "database": database, "private_webhooks": True} | given)


def test_everything_that_was_kept_is_there_again(start: Callable[..., Running], postgres: Server) -> None:
    with Receiver() as receiver:
        first = guarded(start, postgres)
        database = first.config.database
        made = call(first.address, "POST", "/v1/tokens", {"scopes": ["admin", "read", "publish", "subscribe"]}).body
        admin = made["token"]
        call(first.address, "PUT", "/v1/tenants/other", {"limits": {"k": 5}}, token=admin)
        hook = {"stream": "s", "url": receiver.url}
        assert call(first.address, "POST", "/v1/webhooks", hook, token=admin).status == 201
        near = {"id": "ann", "k": 1, "score": "euclidean", "point": [0]}
        call(first.address, "POST", "/v1/streams/s/subscriptions", [near], token=admin)
        assert not (first.config.data / "metadata.sqlite").exists()
        assert not (first.config.data / "webhooks.sqlite").exists()
        with pytest.raises(BadServerConfig, match="Another server uses the schema skyband"):
            start(data=str(first.config.data) + "-other", database=database)
        first.__exit__(None, None, None)
        second = start(database=database, private_webhooks=True)
        assert call(second.address, "GET", "/v1/streams").status == 401
        tenants = call(second.address, "GET", "/v1/tenants", token=admin).body["tenants"]
        assert [(each["name"], each["limits"]["k"]) for each in tenants] == [("default", 1000), ("other", 5)]
        n = len(receiver.received)
        assert call(second.address, "POST", PUBS, [{"id": 1, "ts": 1, "point": [0]}], token=admin).status == 200
        receiver.until(n + 1)
        refused = call(second.address, "POST", "/v1/tokens", {"scopes": ["read"], "title": "a\0b"}, token=admin)
        assert refused.status == 422, refused
        actions = [line["action"] for line in call(second.address, "GET", "/v1/audit", token=admin).body["audit"]]
        assert actions == ["make-webhook", "put-tenant", "make-token"]


def test_a_token_of_the_command_line_is_known_within_a_moment(
    start: Callable[..., Running], postgres: Server, tmp_path: Path
) -> None:
    server = guarded(start, postgres)
    assert call(server.address, "GET", "/v1/streams").status == 200
    config = tmp_path / "serve.yaml"
    config.write_text(json.dumps({"data": str(tmp_path / "elsewhere"), "database": server.config.database}))
    command = [sys.executable, "-m", "skyband", "serve", str(config), "--new-admin", "first", "--json"]
    token = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["token"]
    while call(server.address, "GET", "/v1/streams").status != 401:
        time.sleep(0.05)
    assert call(server.address, "GET", "/v1/streams", token=token).status == 200


def test_a_database_that_goes_away_is_told_and_comes_again(start: Callable[..., Running], postgres: Server) -> None:
    server = guarded(start, postgres)
    admin = call(server.address, "POST", "/v1/tokens", {"scopes": ["admin", "read", "publish"]}).body["token"]
    with Reader(server.address, "/v1/streams/s/events", token=admin) as reader:
        reader.until("ready")
        postgres.stop()
        try:
            while call(server.address, "GET", "/readyz").status == 200:
                time.sleep(0.05)
            assert call(server.address, "GET", "/readyz").body["troubles"] == ["The metadata cannot be read."]
            # What was known of a token is good for a second.
            while (refused := call(server.address, "GET", "/v1/streams", token=admin)).status == 200:
                time.sleep(0.05)
            assert (refused.status, refused.body["type"]) == (503, "urn:skyband:problem:database")
            assert PASSWORD not in json.dumps(refused.body)
            assert call(server.address, "GET", "/healthz").status == 200
        finally:
            assert postgres.start()
        while call(server.address, "GET", "/readyz").status != 200:
            time.sleep(0.05)
        near = {"id": "ann", "k": 1, "score": "euclidean", "point": [0]}
        assert call(server.address, "POST", "/v1/streams", {"name": "t", "family": "window"}, token=admin).status == 201
        assert call(server.address, "POST", "/v1/streams/s/subscriptions", [near], token=admin).status == 403
        assert call(server.address, "POST", PUBS, [{"id": 1, "ts": 1, "point": [0]}], token=admin).status == 200


def test_one_that_cannot_be_reached_is_named_without_its_password(start: Callable[..., Running]) -> None:
    with pytest.raises(BadServerConfig, match="The database cannot be reached") as told:
        start(database="postgresql://someone:swordfish@127.0.0.1:1/none")
    assert "swordfish" not in str(told.value)
    with pytest.raises(ValueError, match="The address of the database cannot be read"):
        start(database="no such thing")


def end_connections(other: psycopg.Connection[tuple[Any, ...]]) -> None:
    """End the connections of servers, and wait until they have ended."""
    of_servers = "FROM pg_stat_activity WHERE application_name = 'skyband'"
    other.execute(f"SELECT pg_terminate_backend(pid) {of_servers}")
    while other.execute(f"SELECT 1 {of_servers}").fetchall():
        time.sleep(0.01)


def tenants_in(database: Database) -> list[Any] | None:
    """The tenants, None where the database cannot be asked yet."""
    try:
        return database.rows("SELECT * FROM tenants")
    except NoDatabase:
        return None


def test_a_lost_connection_is_made_again(postgres: Server) -> None:
    dsn = postgres.dsn(postgres.make_database())
    database = PostgresDatabase(dsn, "skyband", "metadata", SCHEMA, VERSION)
    with postgres.connect() as other:
        end_connections(other)
        assert database.rows("SELECT 1") == [(1,)]
        end_connections(other)
        with pytest.raises(NoDatabase), database.transaction():
            database.change("INSERT INTO tenants VALUES (?, ?, ?)", ["a", "{}", 1])
        while (found := tenants_in(database)) is None:
            time.sleep(0.05)
        assert found == []
    database.close()
