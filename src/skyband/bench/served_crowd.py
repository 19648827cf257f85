"""A crowd of listeners in a process of its own, so that whoever is timed shares no interpreter with them.

It opens its connections, says so in a line, and reads until its standard input ends. One of ten takes nothing.
"""

import selectors
import subprocess
import sys
import threading
from types import TracebackType
from typing import Any, Self

from skyband.bench.served_process import ServedProcess, open_listener

# One of so many listeners takes nothing.
STALLED = 10
# The subscription that each publication concerns.
TOLD = "0"
CROWD = "import sys; from skyband.bench.served_crowd import read_all; read_all(sys.argv[1], *map(int, sys.argv[2:]))"


class ListenerCrowd:
    """The process of a crowd, which ends with the block; with `own`, nothing happens to what they listen to."""

    def __init__(self, server: ServedProcess, n: int, n_subscriptions: int, own: bool) -> None:
        words = [server.host, str(server.port), str(n), str(n_subscriptions if own else 0)]
        command = [sys.executable, "-c", CROWD, *words]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        if self._process.stdout.readline() != "open\n":
            raise RuntimeError("The crowd of listeners could not be opened.")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate()


def listened(i: int, n_subscriptions: int) -> str:
    """What a listener listens to: what is told of, or, of so many subscriptions, one of the others."""
    return str(1 + i % (n_subscriptions - 1)) if n_subscriptions > 1 else TOLD


def read_all(host: str, port: int, n: int, n_subscriptions: int) -> None:
    """Open the connections, and read whatever comes."""
    with selectors.DefaultSelector() as chosen:
        held = []
        for i in range(n):
            stalls = i % STALLED == 0
            held.append(open_listener(host, port, listened(i, n_subscriptions), stalls))
            if not stalls:
                held[-1].setblocking(False)
                chosen.register(held[-1], selectors.EVENT_READ)
        print("open", flush=True)
        ended = threading.Event()
        threading.Thread(target=_wait_for_end, args=(ended,), daemon=True).start()
        while not ended.is_set():
            for key, _ in chosen.select(0.05):
                connection: Any = key.fileobj
                if not connection.recv(65536):
                    chosen.unregister(connection)
        for each in held:
            each.close()


def _wait_for_end(ended: threading.Event) -> None:
    sys.stdin.read()
    ended.set()
