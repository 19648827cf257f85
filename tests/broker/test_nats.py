"""Brokers as processes over NATS: with kills, restarts of its server and garbage on subjects, answers stay the same."""

import asyncio
import contextlib
import random
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nats
import pytest

from tests.broker.certificates import Authority
from tests.broker.nats_server import NatsServer, User, nats_server, permitting, write_users
from tests.broker.processes import NAMES
from tests.broker.test_kill import EXACT, ZONES, play

PREFIX = "parks.skyband"


def guarded(folder: Path) -> tuple[str, dict[str, User]]:
    """The configuration of a server with TLS and a user for each broker, and one who may do everything."""
    Authority(folder).sign("server")
    users = write_users(folder, (*NAMES, "foreigner"))
    tls = f'tls {{cert_file: "{folder}/server.pem", key_file: "{folder}/server.key"}}\n'
    return tls + permitting(users, PREFIX, ["foreigner"]), users


def transport(server: NatsServer) -> dict[str, Any]:
    """What the chart says of it."""
    return {
        "nats": {
            "servers": [f"tls://localhost:{server.port}"],
            "prefix": PREFIX,
            "nkey": "{name}.nk",
            "tls": {"authority": "authority.pem"},
        }
    }


class Foreigner(threading.Thread):
    """Somebody whom NATS permits everything, and who sends nonsense to all brokers in the name of others."""

    def __init__(self, server: NatsServer, folder: Path) -> None:
        super().__init__(daemon=True)
        self._server, self._folder = server, folder
        self._is_over = threading.Event()
        self.n_sent = 0
        self.start()

    def run(self) -> None:
        """Send until it is over, whatever becomes of the connection."""
        while not self._is_over.is_set():
            with contextlib.suppress(OSError, nats.errors.Error):
                asyncio.run(self._send())

    async def _send(self) -> None:
        import ssl

        chance = random.Random(1)

        async def pass_over(error: Exception) -> None: ...

        client = await nats.connect(
            f"tls://localhost:{self._server.port}",
            nkeys_seed=str(self._folder / "foreigner.nk"),
            tls=ssl.create_default_context(cafile=self._folder / "authority.pem"),
            allow_reconnect=False,
            max_reconnect_attempts=1,
            reconnect_time_wait=0,
            error_cb=pass_over,
        )
        while not self._is_over.is_set() and client.is_connected:
            target, source = chance.sample(NAMES[:3], 2)
            begin = chance.choice([b"", b"\xffSKYLNK\n", b"\xffSKYPAR\n"])
            await client.publish(f"{PREFIX}.{target}.{source}", begin + chance.randbytes(chance.randrange(200)))
            self.n_sent += 1
            await asyncio.sleep(0.01)
        # With TLS the client may wait for ever.
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(client.close(), 1.0)

    def end(self) -> None:
        """Be over."""
        self._is_over.set()
        self.join()


def play_over_nats(folder: Path, seed: int, n_rounds: int, **chart: Any) -> None:
    """Let it all happen while the server is restarted in every round, and compare."""
    configuration, _ = guarded(folder)
    with nats_server(folder, configuration) as server:
        foreigner = Foreigner(server, folder)

        @contextlib.contextmanager
        def restarting() -> Iterator[None]:
            thread = threading.Thread(target=server.restart)
            thread.start()
            try:
                yield
            finally:
                thread.join()

        try:
            play(folder, seed, n_rounds, restarting, transport=transport(server), **chart)
        finally:
            foreigner.end()
        assert foreigner.n_sent > 0


def test_changes_over_nats_are_those_of_one_engine(tmp_path: Path) -> None:
    play_over_nats(tmp_path, 1, 3, strategy="covering")


def test_frames_are_passed_on_along_links_over_nats(tmp_path: Path) -> None:
    links = [["berlin", "oslo"], ["oslo", "rome"]]
    play_over_nats(tmp_path, 2, 1, strategy="covering", ways="links", links=links)


@pytest.mark.soak
@pytest.mark.parametrize("strategy", EXACT)
@pytest.mark.parametrize("seed", range(3))
def test_changes_over_nats_are_those_of_one_engine_for_long(strategy: str, seed: int, tmp_path: Path) -> None:
    play_over_nats(tmp_path, seed, 10, strategy=strategy, zones=ZONES)
