"""The subscriptions of a stream as they were sent, with the time at which each says goodbye."""

import heapq
import json
import zlib
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import pyarrow as pa

from skyband.contract.checked import Checked
from skyband.contract.tops import Id
from skyband.table.json_object import json_objects


class Registered(NamedTuple):
    """A subscription as JSON, and the time at which it ends, in microseconds of the server's clock, if it does."""

    text: str
    until: int | None = None

    @property
    def tag(self) -> str:
        """What tells it from another one under the same id, as HTTP writes such a thing."""
        return f'"{zlib.crc32(self.text.encode()):x}-{self.until or 0:x}"'

    def plain(self) -> dict[str, Any]:
        """The subscription as a mapping."""
        found: dict[str, Any] = json.loads(self.text)
        return found | ({"expires_at": self.until} if self.until is not None else {})


class Registry:
    """The subscriptions by id, in the order in which they were registered."""

    def __init__(self) -> None:
        self._by_id: dict[Id, Registered] = {}
        self._ends: list[tuple[int, int, Id]] = []
        self._n_added = 0

    def __len__(self) -> int:
        return len(self._by_id)

    def __contains__(self, id: Id) -> bool:
        return id in self._by_id

    def __iter__(self) -> Iterator[Id]:
        return iter(list(self._by_id))

    def get(self, id: Id) -> Registered | None:
        """The subscription with an id, None where there is none."""
        return self._by_id.get(id)

    def find(self, text: str) -> Id | None:
        """The id that is written so in an address: a text, or else an integer; None where it is not registered."""
        if text in self._by_id:
            return text
        number = int(text) if text.removeprefix("-").isdecimal() and text.isascii() and len(text) < 20 else None
        return number if number is not None and number in self._by_id else None

    def page(self, after: Id | None, limit: int, prefix: str = "") -> list[tuple[Id, Registered]]:
        """Some subscriptions in the order of their ids, from the one after an id on."""
        ids = [id for id in self._by_id if str(id).startswith(prefix) and (after is None or id > after)]  # type: ignore[operator]
        return [(id, self._by_id[id]) for id in heapq.nsmallest(limit, ids)]

    def add(self, id: Id, entry: Registered) -> None:
        """Keep a subscription that was registered."""
        self._by_id[id] = entry
        if entry.until is not None:
            self._n_added += 1
            heapq.heappush(self._ends, (entry.until, self._n_added, id))

    def replace(self, id: Id, **values: Any) -> None:
        """Change columns of a subscription."""
        before = self._by_id[id]
        row = json.loads(before.text) | values
        self._by_id[id] = before._replace(text=json.dumps(row, ensure_ascii=False, separators=(",", ":")))

    def lengthen(self, id: Id, until: int | None) -> None:
        """Let a subscription end at another time, or never."""
        self.add(id, self._by_id[id]._replace(until=until))

    def remove(self, ids: Iterable[Id]) -> None:
        """Forget subscriptions that were withdrawn."""
        for id in ids:
            del self._by_id[id]

    def due(self, now: int) -> list[Id]:
        """Those whose time has come; they stay due until they are removed, since that may fail."""
        found: dict[Id, tuple[int, int, Id]] = {}
        while self._ends and self._ends[0][0] <= now:
            end = heapq.heappop(self._ends)
            if (entry := self._by_id.get(end[2])) is not None and entry.until == end[0]:
                found[end[2]] = end
        for end in found.values():
            heapq.heappush(self._ends, end)
        return list(found)

    def table(self) -> pa.Table:
        """All of it, for a checkpoint."""
        entries = list(self._by_id.values())
        texts = pa.array([entry.text for entry in entries], pa.string())
        return pa.table({"row": texts, "until": pa.array([entry.until for entry in entries], pa.int64())})

    @classmethod
    def of(cls, table: pa.Table) -> "Registry":
        """What `table` told of."""
        found = cls()
        for text, until in zip(table["row"].to_pylist(), table["until"].to_pylist(), strict=True):
            found.add(json.loads(text)["id"], Registered(text, until))
        return found


def texts_of(checked: Checked) -> list[tuple[Id, str]]:
    """Each row with its id, as JSON; columns that are null in it are left out."""
    if not len(checked):
        return []
    table = checked.table()
    return list(zip(table["id"].to_pylist(), json_objects(table).to_pylist(), strict=True))
