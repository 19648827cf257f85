"""PostgreSQL: everybody's search in one statement for each batch, and NOTIFY for those whose top has changed."""

import contextlib
from typing import Any

import numpy as np
import psycopg
import pyarrow as pa

from bench.peers.answer import Answer, best
from bench.peers.package import Programs
from bench.peers.peer import Peer
from bench.peers.postgres_server import running
from bench.peers.systems.duckdb_query import flattened
from skyband.kernels.array import Floats

SERVER = Programs(("postgres", "initdb", "pg_ctl"), "/usr/lib/postgresql/*/bin", "postgresql")
LONGEST_WAIT_SECONDS = 60.0


class PlainSql(Peer):
    """A lateral join, each search sorted by distance, compared with the stored tops."""

    name = "PostgreSQL"
    work = "window"
    package = SERVER
    lacks = "no index for 4 dimensions in plain SQL; tells who has changed, not what"

    def __init__(self, course: Any) -> None:
        super().__init__(course)
        self.stack = contextlib.ExitStack()
        try:
            host = str(self.stack.enter_context(running(SERVER.folder, course.threads)))
            to = f"host={host} user=postgres dbname=postgres"
            self.writer, self.listener = (
                self.stack.enter_context(psycopg.connect(to, autocommit=True)) for _ in range(2)
            )
        except BaseException:
            self.stack.close()
            raise

    def subscribe(self, subscriptions: pa.Table) -> None:
        asked = flattened(subscriptions.select(["id", "k", "point"]), {"point": "c"})
        dims = range(asked.num_columns - 2)
        centre, place = (", ".join(f"{letter}{i} float8" for i in dims) for letter in "cx")
        self.writer.execute(f"CREATE TABLE asked (id bigint PRIMARY KEY, k bigint, {centre})")
        self.writer.execute(f"CREATE TABLE live (id bigint PRIMARY KEY, ts bigint, {place})")
        self.writer.execute("CREATE TABLE tops (asker bigint, item bigint, score float8)")
        self.writer.execute("CREATE TEMPORARY TABLE fresh (LIKE tops)")
        self._copy("asked", asked.to_pylist())
        self.writer.execute("ANALYZE asked")
        self.listener.execute("LISTEN tops")
        square = " + ".join(f"(a.c{i} - p.x{i}) * (a.c{i} - p.x{i})" for i in dims)
        self.search = f"""
            INSERT INTO fresh SELECT a.id, p.id, sqrt(p.square) FROM asked a, LATERAL (
                SELECT id, {square} AS square FROM live p ORDER BY square LIMIT a.k) p"""

    def _copy(self, name: str, rows: list[dict[str, Any]]) -> None:
        with self.writer.cursor() as cursor, cursor.copy(f"COPY {name} FROM STDIN") as copy:
            for row in rows:
                copy.write_row(tuple(row.values()))

    def prepare(self, batch: pa.Table) -> Any:
        return flattened(batch, {"point": "x"}).to_pylist()

    def publish(self, prepared: Any) -> None:
        with self.writer.transaction():
            self._copy("live", prepared)
            self.writer.execute("DELETE FROM live WHERE id <= (SELECT max(id) FROM live) - %s", (self.course.n_live,))
            self.writer.execute("TRUNCATE fresh")
            self.writer.execute(self.search)
            told = self.writer.execute("""
                SELECT count(pg_notify('tops', asker::text)) FROM (
                    SELECT asker FROM (TABLE fresh EXCEPT TABLE tops) entered
                    UNION SELECT asker FROM (TABLE tops EXCEPT TABLE fresh) gone) changed""").fetchone()
            self.writer.execute("TRUNCATE tops")
            self.writer.execute("INSERT INTO tops TABLE fresh")
        n_told = told[0] if told else 0
        self.told = len(list(self.listener.notifies(timeout=LONGEST_WAIT_SECONDS, stop_after=n_told))) if n_told else 0
        if self.told < n_told:
            raise TimeoutError(f"{n_told} notifications were sent, and {self.told} came.")

    def top(self) -> Answer:
        rows: Floats = np.array(self.writer.execute("TABLE tops").fetchall(), np.float64).reshape(-1, 3)
        asker, item = rows[:, 0].astype(np.int64), rows[:, 1].astype(np.int64)
        return best(asker, item, rows[:, 2], self.course.k, ascending=True)

    def close(self) -> None:
        self.stack.close()


PEERS = (PlainSql,)
