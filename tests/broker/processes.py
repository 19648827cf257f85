"""Networks of brokers as real processes on this machine, for tests: written as a chart, started, killed, cut, asked."""

import contextlib
import itertools
import json
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import yaml

from skyband.broker import BrokerClient, load_chart
from skyband.broker.journal.journal import FILE

NAMES = ("berlin", "oslo", "rome", "paris", "vienna", "madrid")
PATIENCE = 120.0
FAST = {"tick": "100ms", "beat": "25ms", "horizon": "60s", "grace": "60s", "checkpoint": 1_000_000}


def free_ports(n: int) -> list[int]:
    """Ports that nobody listens at."""
    with contextlib.ExitStack() as stack:
        found = [stack.enter_context(socket.socket()) for _ in range(n)]
        for each in found:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in found]


def eventually(what: Callable[[], Any], seconds: float = PATIENCE) -> Any:
    """The value of something once it is true."""
    deadline = time.monotonic() + seconds
    while True:
        found = what()
        if found:
            return found
        assert time.monotonic() < deadline, "It has not become true in time."
        time.sleep(0.02)


class BrokerProcess:
    """A broker in a process of its own; `within` is what its command begins with, such as that of a namespace."""

    def __init__(self, chart: Path, name: str, within: Sequence[str] = ()) -> None:
        self.name, self.log = name, chart.with_name(f"{name}.log")
        command = [
            *within,
            sys.executable,
            "-m",
            "skyband",
            "broker",
            "run",
            str(chart),
            "--name",
            name,
            "--json",
            "--verbose",
        ]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        self.told: dict[str, Any] = {}

    def wait(self) -> dict[str, Any]:
        """Wait until it is live; answers with what it has told."""
        if not self.told:
            assert self.process.stdout is not None
            lines = "".join(itertools.takewhile(lambda line: line != "}\n", self.process.stdout))
            assert lines, f"{self.name} did not start: {self.log.read_text()[-2000:]}"
            self.told = json.loads(lines + "}")
        return self.told

    def kill(self) -> None:
        """End it without a word."""
        self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()

    def stop(self) -> int:
        """Ask it to end; answers with the code that it ends with."""
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=PATIENCE)
        self.kill()
        return code


class Wire(threading.Thread):
    """A relay between two brokers that can be cut: everything that goes through it is lost then."""

    def __init__(self, port: int, target: int) -> None:
        super().__init__(daemon=True)
        self._target = target
        self._listening = socket.create_server(("127.0.0.1", port))
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self.is_cut = False
        self.start()

    def run(self) -> None:
        """Carry what comes."""
        with contextlib.suppress(OSError):
            while True:
                inside, _ = self._listening.accept()
                try:
                    if self.is_cut:
                        raise ConnectionRefusedError
                    outside = socket.create_connection(("127.0.0.1", self._target), timeout=5)
                    outside.settimeout(None)
                except OSError:
                    inside.close()
                    continue
                self._pairs.append((inside, outside))
                for a, b in ((inside, outside), (outside, inside)):
                    threading.Thread(target=_carry, args=(a, b), daemon=True).start()

    def cut(self) -> None:
        """Let nothing through from now on."""
        self.is_cut = True
        pairs, self._pairs = self._pairs, []
        for each in itertools.chain.from_iterable(pairs):
            _end(each)

    def mend(self) -> None:
        """Let everything through again."""
        self.is_cut = False

    def close(self) -> None:
        """End."""
        self.cut()
        _end(self._listening)


def _carry(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data)
    _end(source)
    _end(target)


def _end(place: socket.socket) -> None:
    with contextlib.suppress(OSError):
        place.shutdown(socket.SHUT_RDWR)
    place.close()


class BrokerNetwork:
    """Brokers of one chart, which dial each other over wires that can be cut; to be used in a `with` statement."""

    def __init__(self, folder: Path, n_brokers: int = 3, **chart: Any) -> None:
        self.names = NAMES[:n_brokers]
        self.folder = folder
        ports = free_ports(3 * n_brokers)
        self._ports = {name: ports[3 * i : 3 * i + 3] for i, name in enumerate(self.names)}
        self.document: dict[str, Any] = {
            "version": 1,
            "brokers": {
                name: {
                    "address": f"127.0.0.1:{outer}",
                    "listen": f"127.0.0.1:{inner}",
                    "clients": f"127.0.0.1:{clients}",
                }
                for name, (outer, inner, clients) in self._ports.items()
            },
            "dims": 2,
            **FAST,
            **chart,
        }
        self.wires: dict[str, Wire] = {}
        self.processes: dict[str, BrokerProcess] = {}
        self.write(folder / "chart.yaml")

    def __enter__(self) -> Self:
        self.wires = {name: Wire(outer, inner) for name, (outer, inner, _) in self._ports.items()}
        for name in self.names:
            self.start(name)
        for each in self.processes.values():
            each.wait()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self.processes.values():
            process.kill()
        for wire in self.wires.values():
            wire.close()
        if error is not None:
            for name in self.processes:
                print(f"--- {name}\n{(self.folder / f'{name}.log').read_text()[-3000:]}")

    def write(self, path: Path, **changes: Any) -> Path:
        """Write the chart, perhaps with changes."""
        path.write_text(yaml.safe_dump(self.document | changes, sort_keys=False))
        return path

    def start(self, name: str, chart: Path | None = None) -> BrokerProcess:
        """Start a broker, which is to be waited for."""
        process = self.processes[name] = BrokerProcess(chart or self.folder / "chart.yaml", name)
        return process

    def address(self, name: str) -> str:
        """Where its clients go."""
        return f"127.0.0.1:{self._ports[name][2]}"

    @contextlib.contextmanager
    def clients(self, seconds: float = PATIENCE) -> Iterator[dict[str, BrokerClient]]:
        """A client of each broker."""
        with contextlib.ExitStack() as stack:
            yield {name: stack.enter_context(BrokerClient(self.address(name), seconds=seconds)) for name in self.names}

    def records(self, name: str) -> list[list[Any]]:
        """What is in the journal of a broker that does not run."""
        return journal_records(load_chart(self.folder / "chart.yaml").files_of(name).data / FILE)


def journal_records(file: Path) -> list[list[Any]]:
    """The records of a journal."""
    import sqlite3

    from skyband.overlay.broker.record import whole_records

    with contextlib.closing(sqlite3.connect(file)) as db:
        return whole_records(record for (record,) in db.execute("SELECT record FROM records ORDER BY number"))


def near(id: Any, x: float, y: float, k: int = 2, window: int = 50_000_000, **more: Any) -> Mapping[str, Any]:
    """A subscription to what is nearest to a place."""
    return {"id": id, "k": k, "score": "euclidean", "point": [x, y], "window_us": window} | more


def at(id: Any, x: float, y: float) -> Mapping[str, Any]:
    """A publication at a place."""
    return {"id": id, "point": [x, y]}
