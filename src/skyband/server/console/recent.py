"""Recent publications: what was published lately in each stream, as it was sent, for people who look at it.

Engines keep what they need to score, and no texts; the console shows rows. They are held in memory, and only so many
bytes of them per stream: an older one is known by its id alone. After a start they come from the end of the log.
"""

import json
from collections import deque
from collections.abc import Iterable
from typing import Any

from skyband.server.store.record import Body, Record
from skyband.server.store.rows import read_rows

MOST_BYTES = 4 << 20
MOST_BODIES = 20_000
MOST_RECALLED = 5_000
"""How many records of the log are looked at when a server is started."""
MOST_ROWS = 500
"""How many rows of one body are shown."""
StreamKey = tuple[str, str]
Row = dict[str, Any]


class RecentBody:
    """Rows that were published together; they are read when somebody first looks at them."""

    def __init__(self, number: int, body: Body) -> None:
        self.number = number
        self.body = body
        self._rows: list[Row] | None = None

    def rows(self) -> list[Row]:
        """The rows, the last ones where there are very many."""
        if self._rows is None:
            self._rows = _rows(self.body)[-MOST_ROWS:]
        return self._rows


def _rows(body: Body) -> list[Row]:
    """The rows of a body that was taken, so there is nothing wrong with it; a table would take ten times as long."""
    if body.format == "arrow":
        table = read_rows(body).table
        found: list[Row] = table.slice(max(0, table.num_rows - MOST_ROWS)).to_pylist()
        return found
    if body.format == "ndjson":
        return [json.loads(line) for line in body.data.splitlines()[-MOST_ROWS:] if line.strip()]
    rows = json.loads(body.data or b"[]")
    return rows if isinstance(rows, list) else [rows]


class RecentPublications:
    """What was published lately, by stream."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self.most_bytes = most_bytes
        self.n_rows: dict[StreamKey, int] = {}
        self._bodies: dict[StreamKey, deque[RecentBody]] = {}
        self._n_bytes: dict[StreamKey, int] = {}
        self._number = 0

    def note(self, key: StreamKey, body: Body, n_rows: int) -> None:
        """Keep what was published, and forget the oldest in its place."""
        self._number += 1
        self.n_rows[key] = self.n_rows.get(key, 0) + n_rows
        bodies = self._bodies.setdefault(key, deque())
        bodies.append(RecentBody(self._number, body))
        n_bytes = self._n_bytes.get(key, 0) + len(body.data)
        while n_bytes > self.most_bytes or len(bodies) > MOST_BODIES:
            n_bytes -= len(bodies.popleft().body.data)
        self._n_bytes[key] = n_bytes

    def recall(self, records: Iterable[Record]) -> None:
        """Keep what was published before the server was started, as the last records of the log have it."""
        for record in records:
            key = record.tenant, record.stream
            if record.verb == "publish" and record.body is not None:
                self.note(key, record.body, 0)
            elif record.verb == "drop":
                self.forget(key)

    def forget(self, key: StreamKey) -> None:
        """Forget a stream that was dropped."""
        for held in (self.n_rows, self._bodies, self._n_bytes):
            held.pop(key, None)

    def since(self, key: StreamKey, number: int, most: int) -> tuple[int, list[Row]]:
        """The last rows that came after a number, oldest first, and the number to go on from."""
        bodies = list(self._bodies.get(key, ()))
        found: list[Row] = []
        for body in reversed(bodies):
            if body.number <= number or len(found) >= most:
                break
            found += reversed(body.rows())
        return max(number, bodies[-1].number if bodies else 0), found[most - 1 :: -1] if most else []

    def latest_of_objects(self, key: StreamKey, most: int) -> tuple[int, list[Row]]:
        """The last row of each object that is still known, oldest first, and the number to go on from."""
        bodies = list(self._bodies.get(key, ()))
        found: dict[str, Row] = {}
        for body in reversed(bodies):
            for row in reversed(body.rows()):
                found.setdefault(str(row.get("object")), row)
            if len(found) >= most:
                break
        return bodies[-1].number if bodies else 0, list(found.values())[most - 1 :: -1]

    def with_ids(self, key: StreamKey, ids: Iterable[str]) -> list[Row]:
        """The rows with these ids, or of these objects, as far as they are still known; of several, the last."""
        wanted, found = set(ids), []
        for body in reversed(self._bodies.get(key, ())):
            if not wanted:
                break
            for row in body.rows():
                name = str(row.get("object", row.get("id")))
                if name in wanted:
                    wanted.discard(name)
                    found.append(row)
        return found
