"""A PostgreSQL server of its own for a run: its data in a temporary folder, and no port that others could reach."""

import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.peers.package import Unavailable

# Nothing outlives the run, so nothing has to outlast a loss of power; the tables and the work fit into memory.
SETTINGS = {
    "listen_addresses": "''",
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "shared_buffers": "512MB",
    "work_mem": "256MB",
    "jit": "off",
}


@contextlib.contextmanager
def running(programs: Path, threads: int) -> Iterator[Path]:
    """The folder of the socket of a server that is stopped, and its data removed, at the end."""
    # The path of a socket must be short.
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    owner = _unprivileged()
    try:
        if owner is not None:
            shutil.chown(folder, owner)
        data = ["-D", str(folder / "data")]
        _run(
            owner, [str(programs / "initdb"), *data, "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--no-locale"]
        )
        given = SETTINGS | {"max_parallel_workers_per_gather": str(threads - 1)}
        options = " ".join([f"-k {folder}", *(f"-c {name}={value}" for name, value in given.items())])
        control = [str(programs / "pg_ctl"), *data, "-w"]
        _run(owner, [*control, "-l", str(folder / "log"), "-o", options, "start"])
        try:
            yield folder
        finally:
            _run(owner, [*control, "-m", "immediate", "stop"])
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(owner: str | None, command: list[str]) -> None:
    other: dict[str, Any] = {}
    if owner is not None:
        other = {"user": owner, "group": pwd.getpwnam(owner).pw_gid, "extra_groups": []}
    # A server that was started keeps pipes open, so what it says goes to a file.
    with tempfile.TemporaryFile("w+") as told:
        done = subprocess.run(command, stdout=told, stderr=told, cwd="/", check=False, **other)
        told.seek(0)
        if done.returncode:
            raise Unavailable(f"The PostgreSQL server did not start: {told.read()[-300:]}")


def _unprivileged() -> str | None:
    """Who is to run the server: it refuses to be run by root."""
    if os.geteuid() != 0:
        return None
    return "postgres" if "postgres" in {entry.pw_name for entry in pwd.getpwall()} else "nobody"
