"""DuckDB: the live publications and the subscriptions as tables in memory, and a query for each batch."""

from typing import Any

import numpy as np
import pyarrow as pa

from bench.peers.answer import Answer, best, matched
from bench.peers.package import Wheel, module
from bench.peers.peer import Peer
from bench.peers.work import integers, vectors
from skyband.kernels.earth import EARTH_RADIUS


def flattened(table: pa.Table, letters: dict[str, str]) -> pa.Table:
    """A table whose lists of numbers are columns, named by a letter for each list and by their places in it."""
    columns: dict[str, Any] = {}
    for name in table.column_names:
        if name in letters:
            columns |= {f"{letters[name]}{i}": pa.array(values) for i, values in enumerate(vectors(table[name]).T)}
        else:
            columns[name] = table[name]
    return pa.table(columns)


def in_words(table: pa.Table) -> pa.Table:
    """A row for each word of each message or subscription."""
    sizes = np.diff(np.asarray(table["terms"].combine_chunks().offsets))
    words = {name: table[name].combine_chunks().flatten() for name in ("terms", "weights")}
    columns = {"id": np.repeat(integers(table["id"]), sizes), "term": words["terms"], "weight": words["weights"]}
    return pa.table(columns)


class Query(Peer):
    """Tables in a database of its own, and the answer of a query."""

    package = Wheel("duckdb")
    name = "DuckDB"
    ascending = False

    def __init__(self, course: Any) -> None:
        super().__init__(course)
        # Without a folder to spill into, what does not fit into memory fails.
        config = {"threads": course.threads, "temp_directory": ""}
        self.database = module("duckdb").connect(":memory:", config=config)

    def make(self, name: str, rows: pa.Table) -> None:
        """A table of rows."""
        self.database.register("given", rows)
        self.database.execute(f"CREATE OR REPLACE TABLE {name} AS SELECT * FROM given")

    def add(self, name: str, rows: pa.Table) -> None:
        """More rows for a table."""
        self.database.register("given", rows)
        self.database.execute(f"INSERT INTO {name} SELECT * FROM given")

    def ask(self, query: str) -> None:
        """Run the query that gives the answer."""
        self.found = self.database.sql(query).to_arrow_table()

    def top(self) -> Answer:
        lists = self.found["items"].combine_chunks()
        asker = np.repeat(integers(self.found["asker"]), np.diff(np.asarray(lists.offsets)))
        item = np.asarray(lists.flatten().field("item")).astype(np.int64)
        score = np.asarray(lists.flatten().field("score"))
        return best(asker, item, score, self.course.k, ascending=self.ascending)

    def close(self) -> None:
        self.database.close()


class DuckNearest(Query):
    """A cross join, and the k least of each group."""

    work = "window"
    lacks = "no index for this, no push: the query is run again"
    ascending = True

    def subscribe(self, subscriptions: pa.Table) -> None:
        asked = flattened(subscriptions.select(["id", "point"]), {"point": "c"})
        self.make("asked", asked)
        dims = range(asked.num_columns - 1)
        columns = ", ".join(f"x{i} DOUBLE" for i in dims)
        self.database.execute(f"CREATE TABLE live (id BIGINT, ts BIGINT, {columns})")
        square = " + ".join(f"(a.c{i} - p.x{i}) * (a.c{i} - p.x{i})" for i in dims)
        best_k = f"min_by({{'item': p.id, 'score': sqrt({square})}}, {square}, {self.course.k})"
        self.query = f"SELECT a.id AS asker, {best_k} AS items FROM asked a CROSS JOIN live p GROUP BY a.id"

    def prepare(self, batch: pa.Table) -> Any:
        return flattened(batch, {"point": "x"})

    def publish(self, prepared: Any) -> None:
        self.add("live", prepared)
        self.database.execute(f"DELETE FROM live WHERE id <= (SELECT max(id) FROM live) - {self.course.n_live}")
        self.ask(self.query)


class DuckMessages(Query):
    """A join by words, sums of the products of weights, and the k greatest of each group."""

    work = "geotext"
    lacks = "no push: the query is run again"

    def subscribe(self, subscriptions: pa.Table) -> None:
        self.make("asked", subscriptions.select(["id", "x", "y", "alpha"]))
        self.make("wanted", in_words(subscriptions))
        self.database.execute("CREATE TABLE live (id BIGINT, x DOUBLE, y DOUBLE)")
        self.database.execute("CREATE TABLE said (id BIGINT, term VARCHAR, weight DOUBLE)")
        far = "sqrt((a.x - p.x) * (a.x - p.x) + (a.y - p.y) * (a.y - p.y)) / sqrt(2)"
        self.query = f"""
            WITH shared AS (
                SELECT w.id AS asker, s.id AS item, sum(w.weight * s.weight) AS relevance
                FROM wanted w JOIN said s ON w.term = s.term GROUP BY w.id, s.id
            ), scored AS (
                SELECT asker, item, a.alpha * (1 - {far}) + (1 - a.alpha) * relevance AS score
                FROM shared JOIN asked a ON a.id = asker JOIN live p ON p.id = item
            )
            SELECT asker, max_by({{'item': item, 'score': score}}, score, {self.course.k}) AS items
            FROM scored GROUP BY asker"""

    def prepare(self, batch: pa.Table) -> Any:
        return batch.select(["id", "x", "y"]), in_words(batch)

    def publish(self, prepared: Any) -> None:
        for name, rows in zip(("live", "said"), prepared, strict=True):
            self.add(name, rows)
        oldest = f"(SELECT max(id) FROM live) - {self.course.n_live}"
        self.database.execute(f"DELETE FROM said WHERE id <= {oldest}")
        self.database.execute(f"DELETE FROM live WHERE id <= {oldest}")
        self.ask(self.query)


class DuckIntervals(Query):
    """A join by inequalities, and the k greatest of each event."""

    work = "ranked"
    lacks = "no index for intervals, no budgets"

    def subscribe(self, subscriptions: pa.Table) -> None:
        asked = flattened(subscriptions, {"lo": "l", "hi": "h", "weights": "w"})
        self.make("asked", asked)
        dims = range((asked.num_columns - 1) // 3)
        inside = " AND ".join(f"a.l{i} <= e.x{i} AND e.x{i} <= a.h{i}" for i in dims)
        score = " + ".join(f"a.w{i}" for i in dims)
        best_k = f"max_by({{'item': a.id, 'score': {score}}}, {score}, {self.course.k})"
        self.query = f"SELECT e.id AS asker, {best_k} AS items FROM events e JOIN asked a ON {inside} GROUP BY e.id"

    def prepare(self, batch: pa.Table) -> Any:
        return flattened(batch, {"point": "x"})

    def publish(self, prepared: Any) -> None:
        self.make("events", prepared)
        self.ask(self.query)


class DuckFences(Query):
    """A join by distance on Earth, with a band of latitudes before it."""

    work = "fence"
    lacks = "no index for this, no leaving"

    def subscribe(self, subscriptions: pa.Table) -> None:
        places = np.radians(vectors(subscriptions["point"]))
        angle = subscriptions["threshold"].to_numpy() / EARTH_RADIUS
        columns = {"id": subscriptions["id"], "x": places[:, 0], "y": places[:, 1], "cosine": np.cos(places[:, 1])}
        # A little more, since rounding must not lose anybody.
        bounds = {"low": places[:, 1] - angle * 1.000001, "high": places[:, 1] + angle * 1.000001}
        self.make("asked", pa.table(columns | bounds | {"most": np.sin(angle / 2.0) ** 2}))
        half = "sin((a.y - e.y) / 2) * sin((a.y - e.y) / 2)"
        across = "sin((a.x - e.x) / 2) * sin((a.x - e.x) / 2)"
        self.query = f"""
            SELECT e.id AS asker, a.id AS item FROM events e JOIN asked a ON e.y >= a.low AND e.y <= a.high
            AND {half} + a.cosine * cos(e.y) * {across} <= a.most"""

    def prepare(self, batch: pa.Table) -> Any:
        places = np.radians(vectors(batch["point"]))
        return pa.table({"id": batch["id"], "x": places[:, 0], "y": places[:, 1]})

    def publish(self, prepared: Any) -> None:
        self.make("events", prepared)
        self.ask(self.query)

    def top(self) -> Answer:
        return matched(integers(self.found["asker"]), integers(self.found["item"]))


PEERS = (DuckNearest, DuckMessages, DuckIntervals, DuckFences)
