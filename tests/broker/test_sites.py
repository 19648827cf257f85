"""Brokers at sites of their own, over thin wires: killed and cut off at random, they answer as one engine would."""

import random
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from skyband.broker import load_chart
from tests.broker.namespaces import VARIABLE, Namespaces, need_namespaces
from tests.broker.processes import at, eventually, near
from tests.broker.sites import CITIES, PATIENCE, SiteNetwork
from tests.broker.test_kill import EXACT, ZONES, check

ALL, FEW = len(CITIES), 4
ROWS_PER_ROUND = 24


class Weather:
    """Kills brokers, cuts wires and links, and publishes and subscribes meanwhile, all of it at random."""

    def __init__(self, network: SiteNetwork, seed: int) -> None:
        self.network, self.chance = network, random.Random(seed)
        self.n_published = self.n_subscribed = 0
        self._standing: dict[str, list[int]] = {name: [] for name in network.names}
        self._failed: list[BaseException] = []

    def round(self) -> None:
        """Some are killed, a site is cut off or a link is cut, and everything is mended while clients go on."""
        names, namespaces = self.network.names, self.network.namespaces
        writer = threading.Thread(target=self._write, args=(random.Random(self.chance.random()),), daemon=True)
        writer.start()
        namespaces.cut(*self.chance.sample(names, self.chance.choice((1, 2))))
        victims = self.chance.sample(names, self.chance.randint(1, max(len(names) // 5, 1)))
        for name in victims:
            self.network.processes[name].kill()
        for name in victims:
            self.network.start(name)
        for name in victims:
            self.network.processes[name].wait()
        namespaces.mend()
        writer.join(PATIENCE)
        assert not writer.is_alive(), "Clients do not get through."
        assert self._failed == []

    def _write(self, chance: random.Random) -> None:
        try:
            for _ in range(ROWS_PER_ROUND // 4):
                self._ask(chance, chance.choice(self.network.names))
            for _ in range(ROWS_PER_ROUND):
                self._publish(chance, chance.choice(self.network.names))
        except Exception as error:
            self._failed.append(error)

    def _ask(self, chance: random.Random, name: str) -> None:
        self.n_subscribed += 1
        place = chance.randrange(10), chance.randrange(10)
        row = near(self.n_subscribed, *place, chance.randrange(1, 4), chance.choice((2_000_000, 50_000_000)))
        self.network.clients[name].subscribe([row])
        self._standing[name].append(self.n_subscribed)
        if chance.random() < 0.2:
            self.network.clients[name].unsubscribe([self._standing[name].pop(0)])

    def _publish(self, chance: random.Random, name: str) -> None:
        self.n_published += 1
        place = chance.randrange(10), chance.randrange(10)
        self.network.clients[name].publish([at(self.n_published, *place)])
        if chance.random() < 0.2:
            self.network.clients[name].retract([self.n_published])


def play(folder: Path, seed: int, n_rounds: int, n_sites: int, strategy: str) -> None:
    """Let it all happen, and compare every change that any home has told with those of one engine."""
    need_namespaces()
    links = [[CITIES[(i - 1) // 2], CITIES[i]] for i in range(1, n_sites)]
    with SiteNetwork(folder, n_sites, strategy=strategy, zones=ZONES, links=links) as network:
        weather = Weather(network, seed)
        for _ in range(n_rounds):
            weather.round()
        until = _answered(network)
        network.kill_all()
        chart: Any = load_chart(network.chart_file)
        followers: Any = network.followers
        check(chart, network.records(), followers, until)
        assert weather.n_published == n_rounds * ROWS_PER_ROUND


def _answered(network: SiteNetwork) -> int:
    """Wait until all homes have answered what was published, and followers have heard of it; answers up to when."""
    last = max(client.status()["clock"]["now"] for client in network.clients.values())
    eventually(lambda: min(client.top().applied for client in network.clients.values()) > last, PATIENCE)
    tops = {name: client.top() for name, client in network.clients.items()}
    told = {name: int(top.cursor.rsplit("/", 1)[1]) for name, top in tops.items()}
    eventually(lambda: all(len(each.changes) >= told[name] for name, each in network.followers.items()), PATIENCE)
    return min(top.applied for top in tops.values())


@pytest.mark.parametrize("strategy", EXACT)
def test_sites_answer_as_one_engine(strategy: str, tmp_path: Path) -> None:
    play(tmp_path, 1, 3, FEW, strategy)


@pytest.mark.changed("src/skyband/broker/", "src/skyband/overlay/", "tests/broker/")
def test_sixteen_sites_answer_as_one_engine(tmp_path: Path) -> None:
    play(tmp_path, 5, 3, ALL, "covering")


@pytest.mark.soak
@pytest.mark.parametrize("strategy", EXACT)
def test_sixteen_sites_answer_as_one_engine_for_long(strategy: str, tmp_path: Path) -> None:
    play(tmp_path, 2, 50, ALL, strategy)


def test_nothing_is_left_of_a_test_that_was_killed() -> None:
    need_namespaces()
    script = (
        "from tests.broker.namespaces import Namespaces\n"
        "import subprocess, time\n"
        "with Namespaces(('here', 'there')) as made:\n"
        "    subprocess.Popen([*made.command('here'), 'sleep', '1000'])\n"
        "    print(made.prefix, flush=True)\n"
        "    time.sleep(1000)\n"
    )
    root = Path(__file__).resolve().parents[2]
    with subprocess.Popen([sys.executable, "-c", script], cwd=root, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        prefix = process.stdout.readline().strip()
        assert prefix in _listed()
        process.kill()
    eventually(lambda: prefix not in _listed())


def test_namespaces_that_cannot_be_made_are_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(pytest.skip.Exception, match="install iproute2"):
        need_namespaces()
    monkeypatch.setenv(VARIABLE, "1")
    with pytest.raises(pytest.fail.Exception, match="install iproute2"):
        need_namespaces()


def test_a_wire_that_is_cut_loses_everything_until_it_is_mended() -> None:
    need_namespaces()
    with Namespaces(("here", "there")) as made:
        assert _reaches(made)
        for cut in (("here",), ("there", "here")):
            made.cut(*cut)
            assert not _reaches(made)
            made.mend()
            eventually(lambda: _reaches(made))


def _reaches(made: Namespaces) -> bool:
    """Whether a packet finds its way from here to there and back."""
    script = (
        "import socket, sys\n"
        "listening = socket.create_server(('0.0.0.0', 7400))\n"
        "print(flush=True)\n"
        "listening.accept()\n"
    )
    with subprocess.Popen([*made.command("there"), sys.executable, "-c", script], stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        server.stdout.readline()
        dial = f"import socket; socket.create_connection(('{made.address('there')}', 7400), 2)"
        done = subprocess.run([*made.command("here"), sys.executable, "-c", dial], stderr=subprocess.DEVNULL)
        server.kill()
    return done.returncode == 0


def _listed() -> str:
    return subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
