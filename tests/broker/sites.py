"""A network of brokers of which each has a site of its own: a namespace, a thin wire, and clients who are there too."""

import asyncio
import contextlib
import threading
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import yaml

from skyband.broker import AsyncBrokerClient, BrokerClient, ChangesTold, TopsTold, load_chart
from skyband.broker.journal.journal import FILE
from tests.broker.namespaces import Namespaces
from tests.broker.processes import BrokerProcess, journal_records

CITIES = (
    *("berlin", "oslo", "rome", "paris", "vienna", "madrid", "athens", "dublin"),
    *("lisbon", "prague", "riga", "sofia", "tallinn", "vilnius", "warsaw", "zagreb"),
)
PATIENCE = 300.0
CLIENTS = "127.0.0.1:7500"
"""The port for clients, the same at every site."""
# Nobody may be given up however slow the machine is: answers that miss something are compared with one that does not.
PACE = {
    "tick": "250ms",
    "beat": "100ms",
    "horizon": "10m",
    "grace": "30m",
    "checkpoint": 1_000_000,
    "limits": {"stall": "8s"},
}


class SiteFollower(threading.Thread):
    """Somebody at a site who follows its home across all that happens, and keeps every change with its number."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.changes: list[tuple[int, tuple[Any, ...]]] = []
        self.resets: list[str] = []
        self.begun = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._task: asyncio.Task[None] | None = None
        self.start()

    def run(self) -> None:
        """Follow until told to stop."""
        self._task = self._loop.create_task(self._follow())
        with contextlib.suppress(asyncio.CancelledError):
            self._loop.run_until_complete(self._task)
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()

    def stop(self) -> None:
        """Stop following."""
        if self.is_alive():
            self._loop.call_soon_threadsafe(lambda: self._task and self._task.cancel())
            self.join()

    async def _follow(self) -> None:
        async for event in AsyncBrokerClient(CLIENTS, seconds=PATIENCE).follow():
            if isinstance(event, TopsTold):
                self.resets.append(event.why)
                self.begun.set()
            elif isinstance(event, ChangesTold):
                self.changes += [(change.number, change[1:]) for change in event.changes]


class SiteNetwork:
    """Brokers of one chart, each at a site of its own; to be used in a `with` statement."""

    def __init__(self, folder: Path, n_sites: int, **chart: Any) -> None:
        self.names, self.chart_file = CITIES[:n_sites], folder / "chart.yaml"
        self.namespaces = Namespaces(self.names)
        places = {name: {"address": f"{self.namespaces.address(name)}:7400", "clients": CLIENTS} for name in self.names}
        document = {"version": 1, "brokers": places, "tls": False, "dims": 2, **PACE, **chart}
        self.chart_file.write_text(yaml.safe_dump(document, sort_keys=False))
        self.processes: dict[str, BrokerProcess] = {}
        self.clients: dict[str, BrokerClient] = {}
        self.followers: dict[str, SiteFollower] = {}
        self._open = contextlib.ExitStack()

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as opening:
            opening.enter_context(self.namespaces)
            opening.callback(self.kill_all)
            for name in self.names:
                self.start(name)
            for name in self.names:
                self.processes[name].wait()
                self._join(name, opening)
            self._open = opening.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()
        if error is not None:
            for name in self.names:
                print(f"--- {name}\n{self.chart_file.with_name(f'{name}.log').read_text()[-2000:]}")

    def start(self, name: str) -> BrokerProcess:
        """Start a broker at its site, which is to be waited for."""
        process = self.processes[name] = BrokerProcess(self.chart_file, name, self.namespaces.command(name))
        return process

    def kill_all(self) -> None:
        """End all brokers without a word."""
        for process in self.processes.values():
            process.kill()

    def records(self) -> dict[str, list[list[Any]]]:
        """What is in the journals of brokers that do not run."""
        chart = load_chart(self.chart_file)
        return {name: journal_records(chart.files_of(name).data / FILE) for name in self.names}

    def _join(self, name: str, opening: contextlib.ExitStack) -> None:
        """Let a client and a follower be at a site."""
        self.clients[name] = self.namespaces.inside(name, lambda: BrokerClient(CLIENTS, seconds=PATIENCE))
        opening.callback(self.clients[name].close)
        self.followers[name] = self.namespaces.inside(name, SiteFollower)
        opening.callback(self.followers[name].stop)
        assert self.followers[name].begun.wait(PATIENCE), f"{name} tells nothing."
