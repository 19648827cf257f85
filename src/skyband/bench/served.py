"""What a server takes on this machine, over loopback and with its log on disk.

*Push*: from a publication to the event at a listener, while many others are connected, of which a tenth takes nothing:
either all are told of every publication, or none but the one that is timed. *Bodies*: batches of publications in each
format, beside the engine alone.
"""

import json
import socket
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from skyband.bench.experiment import Progress
from skyband.bench.latency import percentiles
from skyband.bench.row import Row, measured, skipped
from skyband.bench.served_bodies import body_rows
from skyband.bench.served_crowd import TOLD, ListenerCrowd
from skyband.bench.served_process import STREAM, ServedProcess, may_open, read_until, until_connected

WARM = 3
# Where the others are: far from everything that is published.
FAR = 1000.0


class ServedPlan(NamedTuple):
    """How many listen, how many subscriptions there are, how many publications are timed, and which bodies are sent."""

    n_listeners: tuple[int, ...]
    n_subscriptions: tuple[int, ...]
    n_published: int
    batch: int
    n_batches: int
    n_publishers: int
    n_asking: int


def served_rows(plan: ServedPlan, progress: Progress) -> Iterator[Row]:
    """Everything that is measured of a server."""
    for n_subscriptions in plan.n_subscriptions:
        for n_listeners in plan.n_listeners:
            for own in (True, False):
                progress(f"{n_listeners:,} listeners, {n_subscriptions:,} subscriptions")
                yield push_row(plan, n_listeners, n_subscriptions, own)
    progress("bodies")
    yield from body_rows(plan.batch, plan.n_batches, plan.n_publishers, plan.n_asking)


def push_row(plan: ServedPlan, n_listeners: int, n_subscriptions: int, own: bool) -> Row:
    """How long it takes from a publication to the event, and what the listeners take."""
    told = "one" if own else "all"
    parameters: dict[str, Any] = {
        "n_listeners": n_listeners,
        "n_subscriptions": n_subscriptions,
        "n_published": plan.n_published,
    }
    parameters |= {"told": told}
    contest = f"push to {told}, {n_listeners:,} listeners, {n_subscriptions:,} subscriptions"
    if not may_open(n_listeners):
        return skipped(contest, "server", parameters, "This machine does not let a process open so many connections.")
    with tempfile.TemporaryDirectory() as folder, ServedProcess(Path(folder)) as server:
        _subscribe(server, n_subscriptions)
        empty = server.memory
        with ListenerCrowd(server, n_listeners, n_subscriptions, own):
            observer = server.listen(TOLD)
            rest = read_until(observer, b"event: ready")
            until_connected(server, n_listeners + 1)
            each = (server.memory - empty) / (n_listeners + 1)
            # The first publications enter all tops, and compile what is compiled.
            _, rest = _publish_and_see(server, observer, range(WARM), rest)
            began = server.seconds
            taken, _ = _publish_and_see(server, observer, range(WARM, WARM + plan.n_published), rest)
            used = server.seconds - began
            observer.close()
    p50, p99 = percentiles(taken)
    n_told = 1 if own else n_listeners + 1
    measures = {"p50_ms": p50 / 1e3, "p99_ms": p99 / 1e3, "connection_bytes": each}
    measures["events_per_cpu_s"] = plan.n_published * n_told / max(used, 1e-3)
    return measured(contest, "server", parameters, taken, 1, measures)


def _subscribe(server: ServedProcess, n: int) -> None:
    """Subscriptions of which the first is told of every publication, and the others, after the first ones, of none."""
    rows = [{"id": str(i), "k": 1, "score": "euclidean", "point": [FAR * bool(i) + i, 0.0]} for i in range(n)]
    for start in range(0, n, 10_000):
        server.ask("POST", f"{STREAM}/subscriptions", json.dumps(rows[start : start + 10_000]).encode())


def _publish_and_see(
    server: ServedProcess, observer: socket.socket, numbers: range, rest: bytes
) -> tuple[list[int], bytes]:
    """Publish one by one; the nanoseconds until each was seen by the observer. What is seen is checked to be it."""
    taken = []
    for i in numbers:
        # Each is nearer to the first subscription than all before, and farther from the others.
        row = json.dumps([{"id": i, "ts": i, "point": [1.0 / (i + 1), 0.0]}]).encode()
        began = time.perf_counter_ns()
        server.ask("POST", f"{STREAM}/publications", row)
        rest = read_until(observer, f'"publication":{i},"op":"enter"'.encode(), rest)
        taken.append(time.perf_counter_ns() - began)
    return taken, rest
