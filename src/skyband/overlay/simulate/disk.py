"""The disk of a broker in the simulator: what is synced survives a crash, of the rest a first part, perhaps torn."""

import random
from typing import Literal

Unsynced = Literal["chance", "lost", "torn"]


class Disk:
    """Records in the order in which they were written; those that were trimmed are kept for who checks the run."""

    def __init__(self) -> None:
        self.trimmed: list[bytes] = []
        self.records: list[bytes] = []
        self.n_synced = 0

    def write(self, record: bytes) -> None:
        """Append a record, not yet durable."""
        self.records.append(record)

    @property
    def n_written(self) -> int:
        """How many records have been written, those that were trimmed included."""
        return len(self.trimmed) + len(self.records)

    @property
    def history(self) -> list[bytes]:
        """All records, as if nothing had been trimmed."""
        return [*self.trimmed, *self.records]

    def sync(self, n_written: int) -> None:
        """The first so many records of all that were written are durable."""
        self.n_synced = max(self.n_synced, min(n_written - len(self.trimmed), len(self.records)))

    def trim(self, n_records: int) -> None:
        """Forget the first records."""
        self.trimmed += self.records[:n_records]
        del self.records[:n_records]
        self.n_synced -= n_records

    def keep(self, n_records: int) -> None:
        """Cut off what follows."""
        del self.records[n_records:]
        self.n_synced = min(self.n_synced, n_records)

    def crash(self, chance: random.Random, unsynced: Unsynced = "chance") -> None:
        """Of what was not synced some first records survive by chance or none, and of the next one perhaps a part."""
        by_chance = unsynced == "chance"
        n_whole = chance.randint(self.n_synced, len(self.records)) if by_chance else self.n_synced
        tears = chance.random() < 0.5 if by_chance else unsynced == "torn"
        torn = self.records[n_whole : n_whole + 1] if tears else []
        self.records = self.records[:n_whole] + [record[: chance.randrange(1, len(record))] for record in torn]
        self.n_synced = len(self.records)
