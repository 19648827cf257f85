"""A real PostgreSQL server for tests: its own data in a temporary folder, on a free port of this machine."""

from __future__ import annotations

import contextlib
import itertools
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
import pytest
from psycopg import sql

SUPERUSER = "postgres"
PASSWORD = "swordfish"
LONGEST_START_SECONDS = 60
TRIES = 5
# Nothing here outlives the tests, so nothing has to outlast a loss of power.
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "fsync": "off",
    "full_page_writes": "off",
    "max_connections": "20",
    "shared_buffers": "16MB",
}
_NUMBERS = itertools.count()


class Server(NamedTuple):
    """A server: where its programs and its data are, who runs it, and where it listens."""

    programs: Path
    folder: Path
    owner: str | None
    port: int

    def dsn(self, database: str = "postgres", password: str = PASSWORD) -> str:
        """How to connect over the loopback interface, which takes a password."""
        return f"postgresql://{SUPERUSER}:{password}@127.0.0.1:{self.port}/{database}"

    def connect(self, database: str = "postgres") -> psycopg.Connection[tuple[Any, ...]]:
        """A connection of its own, each statement a transaction."""
        return psycopg.connect(self.dsn(database), autocommit=True)

    def make_database(self, encoding: str = "UTF8") -> str:
        """The name of a new, empty database."""
        name = f"database_{next(_NUMBERS)}"
        statement = sql.SQL("CREATE DATABASE {} ENCODING {} TEMPLATE template0")
        with self.connect() as connection:
            connection.execute(statement.format(sql.Identifier(name), sql.Literal(encoding)))
        return name

    def start(self) -> bool:
        """Start the server and wait until it answers; says whether it does, since another may have taken the port."""
        settings = [f"-c {name}={value}" for name, value in SETTINGS.items()]
        options = " ".join([f"-p {self.port}", f"-k {self.folder}", *settings])
        log = str(self.folder / "server.txt")
        return self._control("start", "-w", "-t", str(LONGEST_START_SECONDS), "-l", log, "-o", options).returncode == 0

    def stop(self) -> None:
        """Stop the server at once, with all its connections."""
        self._control("stop", "-w", "-m", "immediate")

    def _control(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return run_as(self.owner, [str(self.programs / "pg_ctl"), "-D", str(self.folder / "data"), *arguments])


def require_postgres() -> Path:
    """Where the server's programs are; without any the test is skipped, or fails if SKYBAND_REQUIRE_POSTGRES is 1."""
    found = shutil.which("initdb")
    candidates = [Path(found).resolve().parent] if found else []
    candidates += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    for folder in candidates:
        if (folder / "initdb").exists() and (folder / "pg_ctl").exists() and (folder / "postgres").exists():
            return folder
    reason = "A PostgreSQL server cannot be started here: initdb and pg_ctl are not installed."
    if os.environ.get("SKYBAND_REQUIRE_POSTGRES") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


@contextlib.contextmanager
def running_postgres() -> Iterator[Server]:
    """A server that is stopped, and its data removed, at the end of the block."""
    programs = require_postgres()
    owner = _unprivileged()
    # The path of a Unix socket must be short, so this is not a folder of pytest.
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    try:
        password = folder / "password"
        password.write_text(PASSWORD)
        for path in (folder, password):
            if owner is not None:
                shutil.chown(path, owner)
        access = ["-U", SUPERUSER, "--auth-local=trust", "--auth-host=scram-sha-256", f"--pwfile={password}"]
        kind = ["--encoding=UTF8", "--no-locale", "--no-sync"]
        made = run_as(owner, [str(programs / "initdb"), "-D", str(folder / "data"), *access, *kind])
        assert made.returncode == 0, made.stderr
        server = _started(programs, folder, owner)
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run_as(owner: str | None, command: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a command, as another user if one is named."""
    other: dict[str, Any] = {}
    if owner is not None:
        other = {"user": owner, "group": pwd.getpwnam(owner).pw_gid, "extra_groups": []}
    # A server that was started keeps the pipes open, so what it says goes to files.
    with tempfile.TemporaryFile("w+") as told:
        done = subprocess.run(command, stdout=told, stderr=told, cwd="/", check=False, **other)
        told.seek(0)
        return subprocess.CompletedProcess(command, done.returncode, "", told.read())


def _started(programs: Path, folder: Path, owner: str | None) -> Server:
    for _ in range(TRIES):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            server = Server(programs, folder, owner, probe.getsockname()[1])
        if server.start():
            return server
    raise RuntimeError(f"The PostgreSQL server did not start: {(folder / 'server.txt').read_text()[-2000:]}")


def _unprivileged() -> str | None:
    """Who is to run the server: it refuses to be run by root."""
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"
