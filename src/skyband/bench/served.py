"""What a server takes on this machine, over loopback and with its log on disk.

*Push*: from a publication to the event at a listener, while many others are connected, each of which is told of every
publication, and of which a tenth takes nothing. *Bodies*: batches of publications in each format, beside the engine
alone.
"""

import io
import json
import selectors
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.ipc

import skyband
from skyband.bench.experiment import Progress
from skyband.bench.latency import percentiles
from skyband.bench.row import Row, measured, skipped
from skyband.bench.runner import WrongAnswer
from skyband.bench.served_process import STREAM, ServedProcess, may_open, read_until, until_connected
from skyband.table import Window

SEED = 11
# One of so many listeners takes nothing.
STALLED = 10


class ServedPlan(NamedTuple):
    """How many listen, how many subscriptions there are, how many publications are timed, and how long batches are."""

    n_listeners: tuple[int, ...]
    n_subscriptions: tuple[int, ...]
    n_published: int
    batch: int
    n_batches: int


class ListenerCrowd:
    """Listeners of whom nine in ten read whatever comes, on one thread."""

    def __init__(self, server: ServedProcess, n: int) -> None:
        self._open = [server.listen("0", stalls=i % STALLED == 0) for i in range(n)]
        self._reading = [each for i, each in enumerate(self._open) if i % STALLED]
        self._ends = False
        self.n_bytes = 0
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Go away."""
        self._ends = True
        self._thread.join()
        for each in self._open:
            each.close()

    def _read(self) -> None:
        with selectors.DefaultSelector() as chosen:
            for each in self._reading:
                each.setblocking(False)
                chosen.register(each, selectors.EVENT_READ)
            while not self._ends:
                for key, _ in chosen.select(0.05):
                    connection: Any = key.fileobj
                    try:
                        self.n_bytes += len(connection.recv(65536))
                    except OSError:
                        chosen.unregister(connection)


def served_rows(plan: ServedPlan, progress: Progress) -> Iterator[Row]:
    """Everything that is measured of a server."""
    for n_subscriptions in plan.n_subscriptions:
        for n_listeners in plan.n_listeners:
            progress(f"{n_listeners:,} listeners, {n_subscriptions:,} subscriptions")
            yield push_row(plan, n_listeners, n_subscriptions)
    progress("bodies")
    yield from body_rows(plan)


def push_row(plan: ServedPlan, n_listeners: int, n_subscriptions: int) -> Row:
    """How long it takes from a publication to the event, and what the listeners take."""
    parameters = {"n_listeners": n_listeners, "n_subscriptions": n_subscriptions, "n_published": plan.n_published}
    contest = f"push, {n_listeners:,} listeners, {n_subscriptions:,} subscriptions"
    if not may_open(n_listeners):
        return skipped(contest, "server", parameters, "This machine does not let a process open so many connections.")
    with tempfile.TemporaryDirectory() as folder, ServedProcess(Path(folder)) as server:
        _subscribe(server, n_subscriptions)
        empty = server.memory
        crowd = ListenerCrowd(server, n_listeners)
        observer = server.listen("0")
        rest = read_until(observer, b"event: ready")
        until_connected(server, n_listeners + 1)
        each = (server.memory - empty) / (n_listeners + 1)
        began = server.seconds
        taken = _publish_and_see(server, observer, plan.n_published, rest)
        used = server.seconds - began
        crowd.close()
        observer.close()
    p50, p99 = percentiles(taken)
    measures = {"p50_ms": p50 / 1e3, "p99_ms": p99 / 1e3, "connection_bytes": each}
    measures["events_per_cpu_s"] = plan.n_published * (n_listeners + 1) / max(used, 1e-3)
    return measured(contest, "server", parameters, taken, 1, measures)


def _subscribe(server: ServedProcess, n: int) -> None:
    """Subscriptions far away from one another, of which the first is told of every publication."""
    rows = [{"id": str(i), "k": 1, "score": "sum", "weights": [1.0, float(i)]} for i in range(n)]
    for start in range(0, n, 10_000):
        server.ask("POST", f"{STREAM}/subscriptions", json.dumps(rows[start : start + 10_000]).encode())


def _publish_and_see(server: ServedProcess, observer: socket.socket, n: int, rest: bytes) -> list[int]:
    """Publish one by one; the nanoseconds until each was seen by the observer. What is seen is checked to be it."""
    taken = []
    for i in range(n):
        row = json.dumps([{"id": i, "ts": i, "point": [float(i), -1.0]}]).encode()
        began = time.perf_counter_ns()
        server.ask("POST", f"{STREAM}/publications", row)
        rest = read_until(observer, f'"publication":{i},"op":"enter"'.encode(), rest)
        taken.append(time.perf_counter_ns() - began)
    return taken


def body_rows(plan: ServedPlan) -> Iterator[Row]:
    """Batches in every format, of the same rows, after which the tops are those of the engine alone."""
    chance = np.random.default_rng(SEED)
    points = chance.random((plan.n_batches, plan.batch, 2))
    question = [{"id": str(i), "k": 10, "score": "euclidean", "point": [i / 10, 0.5]} for i in range(10)]
    engine = skyband.open("window", "scan", window=Window.count(1000))
    engine.subscribe(question)
    tables = [_table(turn, its) for turn, its in enumerate(points)]
    contest, parameters = f"bodies of {plan.batch:,}", {"batch": plan.batch, "n_batches": plan.n_batches}
    yield _bodies_row(contest, "engine", parameters, [_timed(engine.publish, table) for table in tables])
    right = [row["publication"] for row in engine.top(["0"]).to_pylist()]
    for name, (kind, encode) in FORMATS.items():
        with tempfile.TemporaryDirectory() as folder, ServedProcess(Path(folder)) as server:
            server.ask("POST", f"{STREAM}/subscriptions", json.dumps(question).encode())
            bodies = [encode(table) for table in tables]

            def publish(body: bytes, server: ServedProcess = server, kind: str = kind) -> None:
                server.ask("POST", f"{STREAM}/publications", body, kind)

            taken = [_timed(publish, body) for body in bodies]
            top = server.ask("GET", f"{STREAM}/subscriptions/0/top")["top"]
        if [row["publication"] for row in top] != right:
            raise WrongAnswer(f"The server has another top than the engine alone, after bodies as {name}.")
        yield _bodies_row(contest, name, parameters, taken)


def _bodies_row(contest: str, name: str, parameters: dict[str, Any], taken: list[int]) -> Row:
    rate = parameters["batch"] / (float(np.median(taken)) / 1e9)
    return measured(contest, name, parameters, taken, parameters["batch"], {"rows_per_s": rate})


def _timed(call: Callable[[Any], object], given: Any) -> int:
    began = time.perf_counter_ns()
    call(given)
    return time.perf_counter_ns() - began


def _table(turn: int, points: Any) -> pa.Table:
    n = len(points)
    ids = np.arange(turn * n, turn * n + n)
    flat = pa.array(points.reshape(-1))
    lists = pa.ListArray.from_arrays(np.arange(0, 2 * n + 1, 2, dtype=np.int32), flat)
    return pa.table({"id": ids, "ts": ids, "point": lists})


def _arrow(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def _json(table: pa.Table) -> bytes:
    return json.dumps(table.to_pylist()).encode()


def _ndjson(table: pa.Table) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in table.to_pylist())


FORMATS: dict[str, tuple[str, Callable[[pa.Table], bytes]]] = {
    "arrow": ("application/vnd.apache.arrow.stream", _arrow),
    "ndjson": ("application/x-ndjson", _ndjson),
    "json": ("application/json", _json),
}
