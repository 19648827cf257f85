"""A real server of NATS for tests: built once from its Go module into build/, and run on free ports of this machine."""

import contextlib
import fcntl
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import nkeys
import pytest

from tests.broker.processes import free_ports

VERSION = "v2.14.9"
MODULE = f"github.com/nats-io/nats-server/v2@{VERSION}"
FOLDER = Path(__file__).resolve().parents[2] / "build" / f"nats-server-{VERSION}"
BUILD_SECONDS, START_SECONDS = 1800, 120


def require_nats() -> Path:
    """The program of the server; skips the test where it cannot be built, or fails it if SKYBAND_REQUIRE_NATS is 1."""
    program = FOLDER / "nats-server"
    if not program.exists():
        go = shutil.which("go", path=os.environ.get("PATH", "") + os.pathsep + "/usr/local/go/bin")
        if go is None:
            _do_without("Go, which it is built by, is not installed")
        _build(str(go), program)
    return program


def _do_without(why: str) -> None:
    reason = f"A server of NATS cannot be started here: {why}."
    (pytest.fail if os.environ.get("SKYBAND_REQUIRE_NATS") == "1" else pytest.skip)(reason)


def _build(go: str, program: Path) -> None:
    """Build it, once for all tests that begin at the same time."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if program.exists():
            return
        made = FOLDER / "made"
        environment = os.environ | {"GOBIN": str(made), "GOFLAGS": "-mod=mod"}
        done = subprocess.run(
            [go, "install", MODULE], env=environment, capture_output=True, text=True, timeout=BUILD_SECONDS, check=False
        )
        if done.returncode != 0:
            _do_without(f"it could not be built: {done.stderr[-500:].strip()}")
        (made / "nats-server").rename(program)


class NatsServer:
    """A server with some configuration, on the same port whenever it runs."""

    def __init__(self, folder: Path, configuration: str = "") -> None:
        self._program = require_nats()
        (self.port,) = free_ports(1)
        self._log = folder / "nats.log"
        self._file = folder / "nats.conf"
        self._file.write_text(f'listen: "127.0.0.1:{self.port}"\n{configuration}')
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """Where its clients go."""
        return f"nats://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, and wait until it listens."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen([self._program, "-c", self._file], stdout=log, stderr=log)
        deadline = time.monotonic() + START_SECONDS
        while self._process.poll() is None and time.monotonic() < deadline:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
                return
            time.sleep(0.02)
        raise RuntimeError(f"The server of NATS did not start: {self.said[-2000:]}")

    def kill(self) -> None:
        """End it without a word."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def restart(self) -> None:
        """Kill it, and start it again."""
        self.kill()
        self.start()

    @property
    def said(self) -> str:
        """Its log."""
        return self._log.read_text(errors="replace")


@contextlib.contextmanager
def nats_server(folder: Path, configuration: str = "") -> Iterator[NatsServer]:
    """A server that runs until the end of the block."""
    server = NatsServer(folder, configuration)
    server.start()
    try:
        yield server
    finally:
        server.kill()


class User(NamedTuple):
    """A user by its nkey: what it signs with, and what a server knows it by."""

    seed: str
    public: str


def new_user() -> User:
    """A user that nobody else is."""
    # The first two bytes say, in base32, that a seed of a user follows.
    pair = nkeys.from_seed(bytearray(nkeys.encode_seed(os.urandom(32), nkeys.PREFIX_BYTE_USER)))
    return User(pair.seed.decode(), pair.public_key.decode())


def write_users(folder: Path, names: Sequence[str]) -> dict[str, User]:
    """A user for each name, with its seed in a file such as berlin.nk."""
    users = {name: new_user() for name in names}
    for name, user in users.items():
        (folder / f"{name}.nk").write_text(user.seed)
    return users


def permitting(users: Mapping[str, User], prefix: str, everything: Sequence[str] = ()) -> str:
    """The part of a configuration that lets each broker publish and subscribe to what is its own."""
    entries: list[Any] = []
    for name, user in users.items():
        allowed = f'{{publish: "{prefix}.*.{name}", subscribe: "{prefix}.{name}.*"}}'
        if name in everything:
            allowed = '{publish: ">", subscribe: ">"}'
        entries.append(f"{{nkey: {user.public}, permissions: {allowed}}}")
    return f"authorization {{users: [\n{chr(10).join(entries)}\n]}}\n"
