"""Brokers at full rate for a long time: memory and journals stay as they are, and the answers right."""

import threading
import time
from collections import deque
from pathlib import Path
from typing import Any

import psutil
import pytest

import skyband
from skyband.broker import BrokerClient, PublishedRow
from skyband.table import Window
from tests.broker.processes import BrokerNetwork, at, eventually, near

WINDOW = 50_000_000
BATCH = 100
# In a short run publications are still becoming more: a window is not over yet.
SPARE_BYTES, SPARE_AT_FIRST = 32 * 2**20, 160 * 2**20


class Publisher(threading.Thread):
    """Publishes as fast as a broker takes it, until told to stop, and remembers the last rows."""

    def __init__(self, client: BrokerClient, origin: str, first: int) -> None:
        super().__init__(daemon=True)
        self.origin, self.n_published = origin, 0
        self.last: deque[tuple[PublishedRow, float, float]] = deque()
        self.failed: list[BaseException] = []
        self._client, self._first, self._asked_to_stop = client, first, threading.Event()
        self.start()

    def run(self) -> None:
        """Publish."""
        try:
            while not self._asked_to_stop.is_set():
                self._publish()
        except Exception as error:
            self.failed.append(error)

    def stop(self) -> None:
        """Publish no more."""
        self._asked_to_stop.set()
        self.join()
        assert self.failed == []

    def _publish(self) -> None:
        numbers = [self._first + self.n_published + i for i in range(BATCH)]
        places = [(number * 7919 % 1000 / 100, number * 104_729 % 1000 / 100) for number in numbers]
        rows = [at(number, *place) for number, place in zip(numbers, places, strict=True)]
        done = self._client.publish(rows)
        self.n_published += BATCH
        self.last += [(row, *place) for row, place in zip(done, places, strict=True)]
        while self.last[0][0].ts <= done[-1].ts - WINDOW:
            self.last.popleft()


def play(folder: Path, seconds: float, spare: int, **chart: Any) -> None:
    """Publish at full rate, look at memory meanwhile, and compare the last tops with those of one engine."""
    asked = [near(i, i, i, 5, WINDOW) for i in range(10)]
    with BrokerNetwork(folder, 3, checkpoint=1000, **chart) as network, network.clients() as clients:
        for client in clients.values():
            client.subscribe(asked)
        publishers = [Publisher(clients[name], name, i * 10**9) for i, name in enumerate(network.names)]
        sizes = [_sizes(network) for _ in _seconds(seconds)]
        for publisher in publishers:
            publisher.stop()
        assert all(publisher.n_published for publisher in publishers)
        _check_flat(sizes, spare)
        _check_tops(clients, publishers, asked)


def _seconds(n: float) -> Any:
    """Once in a second, for so many seconds, and three times at least."""
    began, n_told = time.monotonic(), 0
    while n_told < 3 or time.monotonic() < began + n:
        time.sleep(1)
        n_told += 1
        yield n_told


def _sizes(network: BrokerNetwork) -> list[tuple[int, int]]:
    """The bytes of each broker in memory, and of its journal."""
    folders = [network.folder / f"{name}-data" for name in network.names]
    journals = [sum(file.stat().st_size for file in folder.glob("journal.sqlite")) for folder in folders]
    memory = [psutil.Process(process.process.pid).memory_info().rss for process in network.processes.values()]
    return list(zip(memory, journals, strict=True))


def _check_flat(sizes: list[list[tuple[int, int]]], spare: int) -> None:
    """In the last third nothing is larger than in the one before, but for what is spare."""
    third = len(sizes) // 3
    before, after = sizes[third : 2 * third] or sizes[:1], sizes[2 * third :]
    for broker in range(len(sizes[0])):
        for kind in range(2):
            most, most_after = (max(each[broker][kind] for each in part) for part in (before, after))
            assert most_after <= most * 1.1 + spare, (broker, kind, [each[broker][kind] for each in sizes])


def _check_tops(clients: dict[str, BrokerClient], publishers: list[Publisher], asked: list[Any]) -> None:
    """As of when all have answered everything, tops are those of one engine with the last publications."""
    last = max(row.ts for publisher in publishers for row, *_ in publisher.last)
    eventually(lambda: min(client.top().applied for client in clients.values()) >= last)
    for client in clients.values():
        top = client.top()
        engine = skyband.open("window", "scan", window=Window.time(WINDOW))
        found = [
            {"id": f"{publisher.origin}/{row.id}", "ts": row.ts, "point": place}
            for publisher in publishers
            for row, *place in publisher.last
        ]
        engine.publish(sorted(found, key=lambda row: (row["ts"], row["id"])))
        engine.advance(max(top.applied, last))
        engine.subscribe([row | {"id": str(row["id"])} for row in asked])
        right = [(row["subscription"], row["rank"], row["publication"]) for row in engine.top().to_pylist()]
        told = [(str(row.subscription), row.rank, f"{row.origin}/{row.publication}") for row in top.rows]
        assert sorted(told) == sorted(right)


def test_memory_is_flat_at_full_rate(tmp_path: Path) -> None:
    play(tmp_path, 10, SPARE_AT_FIRST, strategy="covering")


@pytest.mark.soak
@pytest.mark.parametrize("strategy", ["covering", "publication-flooding"])
def test_memory_is_flat_at_full_rate_for_ten_minutes(strategy: str, tmp_path: Path) -> None:
    play(tmp_path, 600, SPARE_BYTES, strategy=strategy)
