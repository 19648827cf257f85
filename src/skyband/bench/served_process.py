"""A server in a process of its own, and the connections that a benchmark has to it."""

import http.client
import json
import resource
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psutil

STREAM = "/v1/streams/s"
ENDLESS = "/v1/streams/endless"
"""A stream that nothing leaves."""
# What a benchmark needs open beside its connections.
SPARE_FILES = 200


class ServedConnection:
    """A connection that stays open for one request after the other."""

    def __init__(self, host: str, port: int) -> None:
        self._connection = http.client.HTTPConnection(host, port, timeout=600)

    def ask(self, method: str, path: str, body: bytes | None = None, kind: str = "application/json") -> Any:
        """Send a request; anything but success raises."""
        headers = {"content-type": kind} if body is not None else {}
        try:
            self._connection.request(method, path, body, headers)
            answer = self._connection.getresponse()
        except ConnectionError:
            # A server ends a connection on which nothing was asked for a while.
            self._connection.close()
            self._connection.request(method, path, body, headers)
            answer = self._connection.getresponse()
        text = answer.read()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path} was answered with {answer.status}: {text[:300]!r}")
        return json.loads(text) if text else None

    def close(self) -> None:
        """End it."""
        self._connection.close()


class ServedProcess:
    """A server over a folder, with streams of window, that ends with the block."""

    def __init__(self, folder: Path) -> None:
        config = {
            "streams": {
                "s": {"family": "window", "window": {"count": 1000}},
                "endless": {"family": "window"},
            },
            "limits": {"connections": 1_000_000, "subscriptions": 10_000_000},
            "stall": 3600,
        }
        path = folder / "serve.yaml"
        # JSON is YAML.
        path.write_text(json.dumps(config))
        command = [sys.executable, "-m", "skyband", "serve", str(path), "--port", "0", "--json"]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        told = "".join(self._process.stdout.readline() for _ in range(4))
        self.host, _, port = json.loads(told)["address"].removeprefix("http://").rpartition(":")
        self.port = int(port)
        self._connection = self.connect()
        self.ask = self._connection.ask
        self._seen = psutil.Process(self._process.pid)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()
        self._process.terminate()
        self._process.communicate()

    def connect(self) -> ServedConnection:
        """Another connection."""
        return ServedConnection(self.host, self.port)

    def listen(self, subscription: str) -> socket.socket:
        """A connection that is told how a top changes."""
        return open_listener(self.host, self.port, subscription)

    @property
    def memory(self) -> int:
        """The bytes that it has in memory."""
        return int(self._seen.memory_info().rss)

    @property
    def seconds(self) -> float:
        """The seconds of a processor that it has taken."""
        taken = self._seen.cpu_times()
        return float(taken.user + taken.system)


def open_listener(host: str, port: int, subscription: str, stalls: bool = False) -> socket.socket:
    """A connection that is told how a top changes; one that stalls never takes what it is told."""
    found = socket.socket()
    if stalls:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    found.settimeout(120)
    found.connect((host, port))
    path = f"{STREAM}/events?subscriptions={subscription}"
    found.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
    return found


def read_until(connection: socket.socket, wanted: bytes, rest: bytes = b"") -> bytes:
    """Read from a connection until something has come; what has come after it is for the next time."""
    while wanted not in rest:
        more = connection.recv(65536)
        if not more:
            raise RuntimeError("The connection has ended.")
        rest += more
    return rest.partition(wanted)[2]


def may_open(n_connections: int) -> bool:
    """Let this process, and those that it starts, open so many connections, if it can be."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = n_connections + SPARE_FILES
    if soft >= needed or soft == resource.RLIM_INFINITY:
        return True
    if hard != resource.RLIM_INFINITY and hard < needed:
        return False
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
    return True


def until_connected(server: ServedProcess, n: int) -> None:
    """Wait until a server has so many connections."""
    deadline = time.monotonic() + 300
    while f"skyband_connections {n}\n" not in metrics(server):
        if time.monotonic() > deadline:
            raise RuntimeError(f"The server did not come to have {n} connections.")
        time.sleep(0.01)


def metrics(server: ServedProcess) -> str:
    """What the server has counted."""
    connection = http.client.HTTPConnection(server.host, server.port, timeout=60)
    connection.request("GET", "/metrics")
    text = connection.getresponse().read().decode()
    connection.close()
    return text
