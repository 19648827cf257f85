"""kill -9 of brokers and cut links at any moment: what clients are told is what one engine would have told them."""

import contextlib
import random
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from skyband.broker import BrokerClient, ChangesTold, TopsTold, load_chart
from skyband.broker.driver.naming import name_of
from tests.broker.central import Contents, central_changes
from tests.broker.processes import BrokerNetwork, at, eventually, near

EXACT = ("publication-flooding", "subscription-flooding", "covering", "zone-leases")
ZONES = {"low": [0, 0], "high": [10, 10]}
ROWS_PER_ROUND = 12


class Follower(threading.Thread):
    """Somebody who follows a home across all that happens, and keeps every change with its number."""

    def __init__(self, address: str) -> None:
        super().__init__(daemon=True)
        self._client = BrokerClient(address, seconds=120)
        self.changes: list[tuple[int, tuple[Any, ...]]] = []
        self.begun = threading.Event()
        self.resets: list[str] = []
        self.start()

    def end(self) -> None:
        """Follow no more."""
        self._client.close()
        self.join()

    def run(self) -> None:
        """Follow until the end."""
        for event in self._client.follow():
            if isinstance(event, TopsTold):
                self.resets.append(event.why)
                self.begun.set()
            elif isinstance(event, ChangesTold):
                self.changes += [(change.number, change[1:]) for change in event.changes]


class Chaos:
    """Publishes, takes back and subscribes at random, while brokers are killed and links are cut."""

    def __init__(self, network: BrokerNetwork, clients: dict[str, BrokerClient], seed: int) -> None:
        self.network, self.clients, self.chance = network, clients, random.Random(seed)
        self.n_published = self.n_subscribed = 0
        self.published: list[tuple[str, int]] = []

    def round(self) -> None:
        """One round: somebody is killed and a link is cut while clients go on, and all of it is mended."""
        victim, cut = self.chance.choice(self.network.names), self.chance.choice(self.network.names[:-1])
        writer = threading.Thread(target=self._write, daemon=True)
        writer.start()
        self.network.wires[cut].cut()
        self.network.processes[victim].kill()
        self.network.start(victim).wait()
        self.network.wires[cut].mend()
        writer.join(timeout=120)
        assert not writer.is_alive(), "Clients do not get through."

    def _write(self) -> None:
        for name in self.network.names:
            self.n_subscribed += 1
            x, y = self.chance.randrange(10), self.chance.randrange(10)
            self.clients[name].subscribe([near(self.n_subscribed, x, y, self.chance.randrange(1, 4))])
        for _ in range(ROWS_PER_ROUND):
            name = self.chance.choice(self.network.names)
            self.n_published += 1
            place = self.chance.randrange(10), self.chance.randrange(10)
            self.clients[name].publish([at(self.n_published, *place)])
            self.published.append((name, self.n_published))
            if self.chance.random() < 0.2:
                name, id = self.published.pop(self.chance.randrange(len(self.published)))
                self.clients[name].retract([id])


def applied(clients: dict[str, BrokerClient]) -> int:
    """Up to when all homes have answered."""
    return min(client.top().applied for client in clients.values())


def play(
    folder: Path,
    seed: int,
    n_rounds: int,
    during: Callable[[], AbstractContextManager[None]] = contextlib.nullcontext,
    n_brokers: int = 3,
    **chart: Any,
) -> None:
    """Let it all happen, with whatever else happens during each round, and compare."""
    with BrokerNetwork(folder, n_brokers, **chart) as network, network.clients() as clients:
        followers = {name: Follower(network.address(name)) for name in network.names}
        for follower in followers.values():
            assert follower.begun.wait(120)
        chaos = Chaos(network, clients, seed)
        for _ in range(n_rounds):
            with during():
                chaos.round()
        last = max(client.status()["clock"]["now"] for client in clients.values())
        eventually(lambda: applied(clients) > last)
        until = applied(clients)
        cursors = {name: int(client.top().cursor.rsplit("/", 1)[1]) for name, client in clients.items()}
        eventually(lambda: all(len(each.changes) >= cursors[name] for name, each in followers.items()))
        for follower in followers.values():
            follower.end()
        for process in network.processes.values():
            process.kill()
        records = {name: network.records(name) for name in network.names}
        check(load_chart(folder / "chart.yaml"), records, followers, until)
        assert chaos.n_published == n_rounds * ROWS_PER_ROUND


def check(chart: Any, records: dict[str, Any], followers: dict[str, Follower], until: int) -> None:
    """What was told is what one engine tells."""
    contents = Contents(records)
    right = central_changes(chart, contents, until)
    for name, follower in followers.items():
        assert [number for number, _ in follower.changes] == list(range(len(follower.changes)))
        assert follower.resets == ["These are the tops of now: changes follow."]
        mine = [
            (name_of(name, row[0]), name_of(row[7], row[1]), *row[2:7])
            for _, row in follower.changes
            if row[5] <= until
        ]
        assert mine == [row for row in right[name] if row[5] <= until], name
    assert sum(map(len, right.values())) > 0


@pytest.mark.parametrize("strategy", EXACT)
def test_changes_are_those_of_one_engine(strategy: str, tmp_path: Path) -> None:
    play(tmp_path, 1, 3, strategy=strategy, zones=ZONES)


def test_frames_are_passed_on_along_links(tmp_path: Path) -> None:
    play(tmp_path, 2, 2, strategy="subscription-flooding", ways="links", links=[["berlin", "oslo"], ["oslo", "rome"]])


@pytest.mark.soak
@pytest.mark.parametrize("strategy", EXACT)
@pytest.mark.parametrize("seed", range(5))
def test_changes_are_those_of_one_engine_for_long(strategy: str, seed: int, tmp_path: Path) -> None:
    play(tmp_path, seed, 10, n_brokers=4, strategy=strategy, zones=ZONES)
