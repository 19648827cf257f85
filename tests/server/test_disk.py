"""A disk that is really full: what does not fit is refused with 507 and changes nothing, and then it goes on."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.server.calling import Reader, call

SUBS = "/v1/streams/s/subscriptions"
PUBS = "/v1/streams/s/publications"
MIB = 2**20
# Mounts a small disk that nobody else sees, and becomes the server.
BEGIN = """
mount -t tmpfs -o size=100m none "$1" && exec "$2" -m skyband serve --data "$1/data" --port 0 --json
"""
NEW_NAMESPACE = ["unshare", "--user", "--map-root-user", "--mount"]


def require_namespaces(folder: Path) -> None:
    """Skip where this machine lets nobody mount a disk of their own."""
    probe = [*NEW_NAMESPACE, "mount", "-t", "tmpfs", "none", str(folder)]
    try:
        done = subprocess.run(probe, capture_output=True, check=False)
    except OSError:
        pytest.skip("unshare is not installed")
    if done.returncode:
        pytest.skip("This machine lets nobody mount a disk of their own.")


class SmallDisk:
    """A server whose data folder is on a disk of 100 MiB, and the disk as it is seen from outside."""

    def __init__(self, folder: Path) -> None:
        command = [*NEW_NAMESPACE, "sh", "-c", BEGIN, "sh", str(folder), sys.executable]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.address: str = json.loads("".join(self.process.stdout.readline() for _ in range(4)))["address"]
        self.root = Path(f"/proc/{self.process.pid}/root{folder}")

    def fill(self) -> None:
        """Let nothing more fit."""
        with (self.root / "filler").open("ab", 0) as file:
            for size in (MIB, 4096, 1):
                while _wrote(file.fileno(), size):
                    pass

    def empty(self) -> None:
        """Let there be room again."""
        (self.root / "filler").unlink()


def _wrote(file: int, size: int) -> bool:
    try:
        return os.write(file, b"x" * size) == size
    except OSError:
        return False


@contextmanager
def small_disk(folder: Path) -> Iterator[SmallDisk]:
    """A server on a small disk, which is ended after the block."""
    folder.mkdir()
    require_namespaces(folder)
    disk = SmallDisk(folder)
    try:
        yield disk
    finally:
        disk.process.terminate()
        disk.process.communicate()


def rows(first: int, n: int = 1) -> list[dict[str, Any]]:
    return [{"id": i, "ts": i, "point": [float(i)]} for i in range(first, first + n)]


def test_a_full_disk_is_told_and_gone_on_from(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        call(disk.address, "POST", "/v1/streams", {"name": "s", "family": "window"})
        near = {"id": "ann", "k": 1, "score": "sum", "weights": [1.0]}
        assert call(disk.address, "POST", SUBS, [near]).status == 201
        with Reader(disk.address, "/v1/streams/s/events") as reader:
            reader.until("ready")
            for turn in range(3):
                before = call(disk.address, "GET", SUBS + "/ann/top").body
                disk.fill()
                refused = call(disk.address, "POST", PUBS, rows(1000 * turn, 900))
                assert (refused.status, refused.body["type"]) == (507, "urn:skyband:problem:no-room"), refused
                assert call(disk.address, "GET", "/readyz").body["troubles"] == ["The disk is nearly full."]
                assert call(disk.address, "GET", SUBS + "/ann/top").body == before
                disk.empty()
                assert call(disk.address, "GET", "/readyz").status == 200
                taken = call(disk.address, "POST", PUBS, rows(1000 * turn, 900))
                assert taken.status == 200, taken
                assert reader.until("changes")[-1].data["step"] == taken.body["step"]
