"""Links over a real server of NATS: who is let in, what is survived, and that only what was sent is handed on."""

import asyncio
import contextlib
import gc
import os
import random
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import nats
import pytest

from skyband.broker import BadChart, NetworkChart, make_chart
from skyband.broker.link.greeting import MAGIC, pack_greeting
from skyband.broker.link.nats.message import MARK, PARCELS
from skyband.broker.link.nats.nats_links import NatsLinks
from skyband.broker.link.nats.server import NatsRefused
from skyband.broker.wire.envelope import Parcel
from skyband.broker.wire.header import FrameHeader, pack_header, unpack_header
from tests.broker.certificates import Authority
from tests.broker.nats_server import NatsServer, nats_server, permitting, require_nats, write_users
from tests.broker.processes import PATIENCE

NAMES = ("berlin", "oslo", "rome")
OFF = {"permissions": "off"}

# What a handshake has begun that a server then ends is left to the collector by the client.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


class Listening:
    """What a driver is told, kept; `gate` may hold up what has come."""

    def __init__(self) -> None:
        self.links: set[int] = set()
        self.ends: list[str] = []
        self.parcels: list[tuple[int, bytes]] = []
        self.gate = asyncio.Event()
        self.gate.set()

    def connected(self, peer: int) -> None:
        assert peer not in self.links
        self.links.add(peer)

    def disconnected(self, peer: int, why: str) -> None:
        self.links.remove(peer)
        self.ends.append(why)

    async def received(self, peer: int, parcels: Sequence[Parcel]) -> None:
        assert peer in self.links
        self.parcels += [(peer, parcel.body) for parcel in parcels]
        await self.gate.wait()


class Side(NatsLinks):
    """The links of one broker, with the one who listens to them."""

    def __init__(self, chart: NetworkChart, name: str, incarnation: int = 1) -> None:
        super().__init__(chart, name, incarnation, f"journal of {name}")
        self.heard = Listening()

    def trouble(self, peer: int) -> str:
        return self.counts(peer).last_trouble


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    with nats_server(tmp_path_factory.mktemp("nats")) as running:
        yield running


def chart_over(server: NatsServer, folder: Path, version: int = 1, **more: Any) -> NetworkChart:
    """A chart of brokers that talk over a server, on subjects that no other test has."""
    system = {"servers": [server.address], "prefix": f"test.{folder.name}"} | more.pop("nats", OFF)
    brokers: dict[str, Any] = {name: {} for name in NAMES}
    document = {
        "version": version,
        "strategy": "covering",
        "dims": 2,
        "brokers": brokers,
        "transport": {"nats": system},
    }
    return make_chart(document | more, folder)


@contextlib.asynccontextmanager
async def started(*sides: Side) -> AsyncIterator[None]:
    try:
        for side in sides:
            await side.start(side.heard)
        yield
    finally:
        for side in sides:
            await side.stop()


async def until(what: Callable[[], Any]) -> None:
    """Wait until something is true."""
    async with asyncio.timeout(PATIENCE):
        while not what():
            await asyncio.sleep(0.01)


def parcel(source: int, target: int, number: int, body: bytes) -> Parcel:
    """A frame with some body."""
    header = FrameHeader(0, 1, len(body), 1, source, target, 1, 1, number, (0, 0, 0), 0)
    packed = pack_header(header, body)
    return Parcel(unpack_header(packed), packed + body)


async def talk(a: Side, b: Side, n: int = 50) -> None:
    """Send frames both ways between berlin and oslo, and see that all come in their order."""
    await until(lambda: 1 in a.heard.links and 0 in b.heard.links)
    del a.heard.parcels[:], b.heard.parcels[:]
    for number in range(n):
        body = number.to_bytes(4, "little") * (number % 7)
        assert a.send(1, parcel(0, 1, number + 1, body))
        assert b.send(0, parcel(1, 0, number + 1, body))
    await until(lambda: len(a.heard.parcels) >= n <= len(b.heard.parcels))
    bodies = [number.to_bytes(4, "little") * (number % 7) for number in range(n)]
    assert a.heard.parcels == [(1, body) for body in bodies]
    assert b.heard.parcels == [(0, body) for body in bodies]


def test_brokers_talk(server: NatsServer, tmp_path: Path) -> None:
    async def run() -> None:
        chart = chart_over(server, tmp_path)
        a, b = Side(chart, "berlin"), Side(chart, "oslo")
        assert not a.send(1, parcel(0, 1, 1, b"too early"))
        async with started(a, b):
            await talk(a, b)
            assert (a.counts(1).parcels_out, a.counts(1).parcels_in, a.counts(1).n_dropped) == (50, 50, 1)
            assert not a.send(2, parcel(0, 2, 1, b"to nobody"))
            await a.stop()
            await until(lambda: b.heard.ends)
        assert a.heard.ends == ["This broker stops."]
        assert b.heard.ends == ["The other side has ended it: berlin stops."]

    asyncio.run(run())


def test_frames_as_long_as_a_chart_and_a_server_allow_arrive(server: NatsServer, tmp_path: Path) -> None:
    async def run() -> None:
        chart = chart_over(server, tmp_path)
        most = chart.limits.frame
        a, b = Side(chart, "berlin"), Side(chart, "oslo")
        async with started(a, b):
            await until(lambda: 1 in a.heard.links)
            sent = [os.urandom(most), b"", os.urandom(most), os.urandom(1000)]
            for number, body in enumerate(sent):
                await until(lambda: a.counts(1).queued_bytes < most)
                assert a.send(1, parcel(0, 1, number + 1, body))
            assert not a.send(1, parcel(0, 1, 9, bytes(most + 1)))
            await until(lambda: len(b.heard.parcels) == len(sent))
            assert [body for _, body in b.heard.parcels] == sent

    asyncio.run(run())


def test_a_life_that_begins_anew_takes_over_and_an_older_one_is_refused(server: NatsServer, tmp_path: Path) -> None:
    async def run() -> None:
        chart = chart_over(server, tmp_path)
        a, first, second, old = (Side(chart, *who) for who in (("berlin",), ("oslo", 2), ("oslo", 3), ("oslo", 1)))
        async with started(a, first):
            await talk(a, first)
            # The first one is gone without a word: it hears nothing, and says nothing.
            first._server = None
            async with started(second):
                await until(lambda: a.counts(1).n_connected == 2)
                await talk(a, second)
                assert a.heard.ends == ["The peer has connected anew."]
                async with started(old):
                    await until(lambda: "older copy" in old.trouble(0))
                    assert "older copy" in a.trouble(1)
                    await talk(a, second)

    asyncio.run(run())


def test_other_charts_are_refused_at_both_ends(server: NatsServer, tmp_path: Path) -> None:
    async def run() -> None:
        a, b = Side(chart_over(server, tmp_path), "berlin"), Side(chart_over(server, tmp_path, 2), "oslo")
        async with started(a, b):
            said = "oslo has version 2 of the chart, and berlin version 1: give it the new one."
            await until(lambda: said in a.trouble(1) and said in b.trouble(0))
            assert not a.heard.links | b.heard.links

    asyncio.run(run())


def test_who_takes_nothing_is_sent_no_more_than_a_window(server: NatsServer, tmp_path: Path) -> None:
    async def run() -> None:
        chart = chart_over(server, tmp_path, limits={"frame": "16KiB", "buffer": "64KiB"})
        a, b = Side(chart, "berlin"), Side(chart, "oslo")
        async with started(a, b):
            await until(lambda: 1 in a.heard.links and 0 in b.heard.links)
            b.heard.gate.clear()
            sent: list[bytes] = []
            n_lost = 0
            while n_lost < 20:
                body = os.urandom(1000)
                is_queued = a.send(1, parcel(0, 1, len(sent) + 1, body))
                sent += [body] * is_queued
                n_lost += not is_queued
                await asyncio.sleep(0 if is_queued else 0.02)
            assert a.is_slow
            assert len(sent) <= 200
            b.heard.gate.set()
            await until(lambda: len(b.heard.parcels) == len(sent))
            assert [body for _, body in b.heard.parcels] == sent
            assert max(a.counts(1).queued_bytes, b.counts(0).n_dropped) == 0

    asyncio.run(run())


def test_who_takes_nothing_for_long_is_given_up(server: NatsServer, tmp_path: Path) -> None:
    async def run() -> None:
        chart = chart_over(server, tmp_path, limits={"stall": "1s"})
        a, b = Side(chart, "berlin"), Side(chart, "oslo")
        async with started(a, b):
            await until(lambda: 1 in a.heard.links and 0 in b.heard.links)
            b.heard.gate.clear()
            assert a.send(1, parcel(0, 1, 1, b"1"))
            await until(lambda: a.heard.ends)
            assert a.heard.ends[0] == "The peer has taken nothing for 1 s."
            b.heard.gate.set()
            await until(lambda: a.counts(1).n_connected > 1 and a.heard.links)

    asyncio.run(run())


def test_a_peer_that_is_dropped_has_to_wait(server: NatsServer, tmp_path: Path) -> None:
    async def run() -> None:
        chart = chart_over(server, tmp_path)
        a, b = Side(chart, "berlin"), Side(chart, "oslo")
        async with started(a, b):
            await talk(a, b)
            a.drop(1, "It sends nonsense.", 3600.0)
            assert a.heard.ends == ["It sends nonsense."]
            b.send(0, parcel(1, 0, 1, b"late"))
            await until(lambda: "has to wait" in b.trouble(0))
            assert not a.heard.links
            a.drop(1, "It sends nonsense.", 0.0)
            await talk(a, b)

    asyncio.run(run())


def garbage(chance: random.Random, number: int) -> bytes:
    """Something that no broker sends in the session of others, or nothing like a message at all."""
    frame = PARCELS.pack(MARK, chance.getrandbits(62), chance.getrandbits(62), 5) + parcel(1, 0, 1, b"body").packed
    told = {"name": "oslo", "target": "berlin", "digest": "x", "journal": "y", "protocol": 1, "chart": 1}
    choices = [
        b"",
        chance.randbytes(chance.randrange(200)),
        MARK + chance.randbytes(chance.randrange(100)),
        MAGIC + chance.randbytes(chance.randrange(100)),
        frame,
        frame[: chance.randrange(len(frame))],
        pack_greeting({}),
        pack_greeting({"refused": "Go away.", "session": chance.getrandbits(60) + 1}),
        pack_greeting(told | {"incarnation": -1, "session": 1, "agrees": 0, "sent": 0, "taken": 0}),
        pack_greeting(told | {"name": "rome", "incarnation": 1, "session": 1, "agrees": 0, "sent": 0, "taken": 0}),
        pack_greeting({"deep": "x" * 5000}),
        MAGIC + b"\xff\xff\xff\xff" + b"[" * 3000,
    ]
    return choices[number % len(choices)]


def test_garbage_of_others_does_no_harm(server: NatsServer, tmp_path: Path) -> None:
    async def run() -> None:
        chart = chart_over(server, tmp_path)
        a, b = Side(chart, "berlin"), Side(chart, "oslo")
        async with started(a, b):
            await talk(a, b)
            chance = random.Random(5)
            foreigner = await nats.connect(server.address)
            for number in range(600):
                await foreigner.publish(f"test.{tmp_path.name}.berlin.oslo", garbage(chance, number))
                if number % 100 == 0:
                    await foreigner.flush()
            await foreigner.close()
            await until(lambda: a.counts(1).n_bad >= 400)
            await talk(a, b)
            assert a.heard.ends == b.heard.ends == []
            assert "There comes what no broker sends." in " ".join(a._said.values())

    asyncio.run(run())


def test_a_server_that_is_restarted_is_found_again(tmp_path: Path) -> None:
    async def run() -> None:
        with nats_server(tmp_path) as server:
            chart = chart_over(server, tmp_path)
            a, b = Side(chart, "berlin"), Side(chart, "oslo")
            async with started(a, b):
                for n_connected in (1, 2, 3):
                    await until(lambda n=n_connected: a.counts(1).n_connected >= n <= b.counts(0).n_connected)  # type: ignore[misc]
                    await talk(a, b)
                    await asyncio.to_thread(server.restart)
                await until(lambda: len(a.heard.ends) == 3)
                assert all("The connection with NATS was lost" in why for why in a.heard.ends)

    asyncio.run(run())


def test_a_broker_starts_before_nats_does(tmp_path: Path) -> None:
    async def run() -> None:
        server = NatsServer(tmp_path)
        chart = chart_over(server, tmp_path)
        a, b = Side(chart, "berlin"), Side(chart, "oslo")
        async with started(a, b):
            assert "No server of NATS can be reached" in a.trouble(1)
            server.start()
            try:
                await talk(a, b)
            finally:
                server.kill()

    asyncio.run(run())


def test_frames_that_a_server_would_not_take_are_refused_at_start(tmp_path: Path) -> None:
    async def run() -> None:
        with nats_server(tmp_path, "max_payload: 64KB\n") as server:
            side = Side(chart_over(server, tmp_path), "berlin")
            with pytest.raises(NatsRefused, match=r"NATS takes messages of 65536 bytes.*make it 65440 or less"):
                await side.start(side.heard)
            await side.stop()
            chart = chart_over(server, tmp_path, limits={"frame": 65440})
            a, b = Side(chart, "berlin"), Side(chart, "oslo")
            async with started(a, b):
                await talk(a, b)

    asyncio.run(run())


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[NatsServer]:
    """A server with TLS, where each broker has a user of its own, and rome's may do everything."""
    authority = Authority(tmp_path)
    authority.sign("server")
    users = write_users(tmp_path, NAMES)
    tls = f'tls {{cert_file: "{tmp_path}/server.pem", key_file: "{tmp_path}/server.key"}}\n'
    with nats_server(tmp_path, tls + permitting(users, f"test.{tmp_path.name}", ["rome"])) as server:
        yield server
        gc.collect()


def guarded_chart(server: NatsServer, folder: Path, **more: Any) -> NetworkChart:
    address = f"tls://localhost:{server.port}"
    usual = {"servers": [address], "nkey": "{name}.nk", "tls": {"authority": "authority.pem"}}
    return chart_over(server, folder, nats=usual | more)


def test_users_and_tls(guarded: NatsServer, tmp_path: Path) -> None:
    """Brokers with users of their own talk, and NATS keeps each of them from speaking for another one."""

    async def run() -> None:
        chart = guarded_chart(guarded, tmp_path)
        a, b = Side(chart, "berlin"), Side(chart, "oslo")
        async with started(a, b):
            await talk(a, b)
            # What oslo may do is not enough to speak as rome.
            forger = Side(guarded_chart(guarded, tmp_path, nkey="oslo.nk", permissions="off"), "rome")
            with pytest.raises(NatsRefused, match=r"does not let rome subscribe to test\..*\.rome\.berlin: permit"):
                await forger.start(forger.heard)
            await forger.stop()
            assert a.heard.ends == b.heard.ends == []

    asyncio.run(run())


def test_a_user_that_may_speak_for_others_is_refused(guarded: NatsServer, tmp_path: Path) -> None:
    async def run() -> None:
        side = Side(guarded_chart(guarded, tmp_path), "rome")
        with pytest.raises(NatsRefused, match=r"NATS lets rome publish to .*, which is for another broker"):
            await side.start(side.heard)
        await side.stop()
        unchecked = Side(guarded_chart(guarded, tmp_path, permissions="off"), "rome")
        async with started(unchecked):
            pass

    asyncio.run(run())


def test_nobody_is_known_without_the_right_files(guarded: NatsServer, tmp_path: Path) -> None:
    async def run() -> None:
        stranger = Side(guarded_chart(guarded, tmp_path, nkey="stranger.nk"), "berlin")
        async with started(stranger):
            # The server hangs up so soon that what it says may get lost, and is said again.
            await until(lambda: "NATS does not let berlin in: " in stranger.trouble(1))
        for more, said in (
            ({"nkey": "none.nk"}, "transport.nats.nkey: .*none.nk cannot be read"),
            ({"nkey": "server.key"}, "transport.nats.nkey: .*server.key cannot be read, or holds something else"),
            ({"nkey": None, "credentials": "oslo.nk"}, "oslo.nk has not both a JWT and the seed"),
            ({"tls": {"authority": "none.pem"}}, r"files of transport.nats.tls \(.*none.pem\) cannot be used"),
        ):
            side = Side(guarded_chart(guarded, tmp_path, **more), "berlin")
            with pytest.raises(BadChart, match=said):
                await side.start(side.heard)
            await side.stop()

    write_users(tmp_path, ["stranger"])
    asyncio.run(run())


def test_a_server_of_another_authority_is_told_nothing(guarded: NatsServer, tmp_path: Path) -> None:
    async def run() -> None:
        side = Side(guarded_chart(guarded, tmp_path, tls={"authority": "other.pem"}), "berlin")
        async with started(side):
            assert "its certificate is not good" in side.trouble(1)

    Authority(tmp_path, "other")
    asyncio.run(run())


def test_nothing_is_said_in_the_clear_where_tls_is_demanded(server: NatsServer, tmp_path: Path) -> None:
    """A server, or somebody in between, that offers no TLS does not even learn who is there."""

    async def run() -> None:
        heard = bytearray()

        async def pose(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b'INFO {"server_id":"x","version":"2.14.9","max_payload":1048576,"nonce":"abc"}\r\n')
            heard.extend(await reader.read())
            writer.close()

        posing = await asyncio.start_server(pose, "127.0.0.1", 0)
        port = posing.sockets[0].getsockname()[1]
        chart = chart_over(
            server,
            tmp_path,
            nats={"servers": [f"nats://localhost:{port}"], "nkey": "berlin.nk", "tls": {"authority": "authority.pem"}},
        )
        side = Side(chart, "berlin")
        with pytest.raises(NatsRefused, match="The server of NATS has no TLS, which the chart demands"):
            await side.start(side.heard)
        await side.stop()
        posing.close()
        await posing.wait_closed()
        assert heard == b""

    Authority(tmp_path)
    write_users(tmp_path, ["berlin"])
    asyncio.run(run())


def test_where_there_is_no_go_the_tests_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.broker.nats_server.FOLDER", tmp_path)
    monkeypatch.setattr("shutil.which", lambda *words, **more: None)
    monkeypatch.delenv("SKYBAND_REQUIRE_NATS", raising=False)
    with pytest.raises(pytest.skip.Exception, match="Go, which it is built by, is not installed"):
        require_nats()
    monkeypatch.setenv("SKYBAND_REQUIRE_NATS", "1")
    with pytest.raises(pytest.fail.Exception, match="Go, which it is built by, is not installed"):
        require_nats()
