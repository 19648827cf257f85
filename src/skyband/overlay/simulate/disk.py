"""The disk of a broker in the simulator: what is synced survives a crash, of the rest a first part, perhaps torn."""

import random


class Disk:
    """Records in the order in which they were written."""

    def __init__(self) -> None:
        self.records: list[bytes] = []
        self.n_synced = 0

    def write(self, record: bytes) -> None:
        """Append a record, not yet durable."""
        self.records.append(record)

    def sync(self, n_records: int) -> None:
        """The first so many records are durable."""
        self.n_synced = max(self.n_synced, min(n_records, len(self.records)))

    def keep(self, n_records: int) -> None:
        """Cut off what follows."""
        del self.records[n_records:]
        self.n_synced = min(self.n_synced, n_records)

    def crash(self, chance: random.Random) -> None:
        """Of what was not synced some first records survive, and of the next one perhaps a part."""
        n_whole = chance.randint(self.n_synced, len(self.records))
        torn = self.records[n_whole : n_whole + 1] if chance.random() < 0.5 else []
        self.records = self.records[:n_whole] + [record[: chance.randrange(1, len(record))] for record in torn]
        self.n_synced = len(self.records)
