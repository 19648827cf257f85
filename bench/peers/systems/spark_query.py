"""Spark SQL: a cross join and a rank for each micro-batch, in one session on this machine."""

from typing import Any

import pyarrow as pa

from bench.peers.answer import Answer, best
from bench.peers.package import Here, Unavailable
from bench.peers.peer import Peer
from bench.peers.systems.duckdb_query import flattened
from bench.peers.work import integers
from skyband.pipeline.java import NoJava
from skyband.pipeline.session import NoSpark, open_session


class CrossJoin(Peer):
    """Every live point beside every subscription, ranked within each of these."""

    name = "Spark SQL"
    work = "window"
    package = Here("pyspark")
    lacks = "no index, no push: the query is run again; without its stream around it"

    def __init__(self, course: Any) -> None:
        super().__init__(course)
        try:
            self.session = open_session(master=f"local[{course.threads}]", name="peers")
        except (NoJava, NoSpark) as error:
            raise Unavailable(f"Spark did not start: {error}") from None

    def subscribe(self, subscriptions: pa.Table) -> None:
        asked = flattened(subscriptions.select(["id", "point"]), {"point": "c"})
        self.session.createDataFrame(asked).cache().createOrReplaceTempView("asked")
        dims = range(asked.num_columns - 1)
        square = " + ".join(f"(a.c{i} - p.x{i}) * (a.c{i} - p.x{i})" for i in dims)
        order = "PARTITION BY asker ORDER BY square"
        self.query = f"""
            SELECT asker, item, sqrt(square) AS score FROM (
                SELECT asker, item, square, row_number() OVER ({order}) AS rank FROM (
                    SELECT a.id AS asker, p.id AS item, {square} AS square FROM asked a CROSS JOIN live p))
            WHERE rank <= {self.course.k}"""
        self.live: pa.Table | None = None

    def prepare(self, batch: pa.Table) -> Any:
        return flattened(batch.drop_columns("ts"), {"point": "x"})

    def publish(self, prepared: Any) -> None:
        rows = prepared if self.live is None else pa.concat_tables([self.live, prepared])
        self.live = rows.slice(max(0, len(rows) - self.course.n_live))
        self.session.createDataFrame(self.live).createOrReplaceTempView("live")
        self.found = self.session.sql(self.query).toArrow()

    def top(self) -> Answer:
        asker, item = integers(self.found["asker"]), integers(self.found["item"])
        return best(asker, item, self.found["score"].to_numpy(), self.course.k, ascending=True)

    def close(self) -> None:
        self.session.stop()


PEERS = (CrossJoin,)
