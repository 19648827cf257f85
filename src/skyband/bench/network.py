"""What a chain of brokers takes on this machine: from a publication at one site to the change at another, and rows.

Brokers are processes, and passed-on frames go along the links of the chart, so that a subscription two sites further is
two hops away. The same work in one process is an engine that is given the same subscriptions and publications. All of
them take turns at every publication, and every answer is compared with that of the engine.
"""

import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

import skyband
from skyband.bench.experiment import Progress
from skyband.bench.latency import percentiles
from skyband.bench.network_process import BrokerChain, Mode, Transport, missing_for
from skyband.bench.row import Row, measured, skipped
from skyband.bench.runner import WrongAnswer, no_collection
from skyband.table import Window

SEED = 13
WARM = 3
# Longer than any run: nothing expires.
HORIZON = 4 * 3600
OBSERVER = "observer"
TRANSPORTS: tuple[Transport, ...] = ("tcp", "tls")


class NetworkPlan(NamedTuple):
    """How far it goes, how many subscribe there, and how much is published: one by one, and in how many batches."""

    hops: tuple[int, ...]
    modes: tuple[Mode, ...]
    n_subscriptions: int
    n_single: int
    n_batches: int
    batch: int


class NetworkPoint(NamedTuple):
    """One length of the chain, with answers in one mode."""

    plan: NetworkPlan
    n_hops: int
    mode: Mode

    @property
    def parameters(self) -> dict[str, Any]:
        """What is measured, for a row."""
        plan = self.plan
        own = {"n_hops": self.n_hops, "mode": self.mode, "n_subscriptions": plan.n_subscriptions}
        return own | {"n_single": plan.n_single, "n_batches": plan.n_batches, "batch": plan.batch}


class Way(Protocol):
    """A way from those who publish to those who subscribe."""

    @property
    def n_bytes(self) -> int:
        """What has passed links by now."""

    def ask(self, rows: Sequence[dict[str, Any]]) -> None:
        """Subscribe at the far end."""

    def carry(self, rows: Sequence[dict[str, Any]]) -> None:
        """Publish at the near end, and wait until the observer has heard of the last row at the far one."""

    def top(self) -> list[tuple[Any, ...]]:
        """The tops at the far end."""


class OneProcess:
    """An engine alone."""

    n_bytes = 0

    def __init__(self) -> None:
        self._engine = skyband.open("window", "skyband", window=Window.time(HORIZON * 1_000_000))
        self._n_published = 0

    def ask(self, rows: Sequence[dict[str, Any]]) -> None:
        """Subscribe."""
        self._engine.subscribe([dict(row) for row in rows])

    def carry(self, rows: Sequence[dict[str, Any]]) -> None:
        """Publish, and look for the last row among the changes."""
        first, self._n_published = self._n_published, self._n_published + len(rows)
        told = self._engine.publish([row | {"ts": first + i} for i, row in enumerate(rows)])
        heard = zip(told["subscription"].to_pylist(), told["publication"].to_pylist(), strict=True)
        if (OBSERVER, rows[-1]["id"]) not in set(heard):
            raise WrongAnswer("The engine has told no change of the last publication.")

    def top(self) -> list[tuple[Any, ...]]:
        """The tops."""
        names = ("subscription", "rank", "publication", "score")
        return sorted(tuple(row[name] for name in names) for row in self._engine.top().to_pylist())


def network_points(plan: NetworkPlan) -> Iterator[NetworkPoint]:
    """Every length of the chain in every mode."""
    return (NetworkPoint(plan, n_hops, mode) for mode in plan.modes for n_hops in plan.hops)


def network_rows(point: NetworkPoint, progress: Progress) -> Iterator[Row]:
    """Everything that is measured at one point."""
    contest = f"hops: {point.n_hops}, {point.mode}"
    progress(contest)
    with ExitStack() as stack:
        ways: dict[str, Way] = {"process": OneProcess()}
        for transport in TRANSPORTS:
            reason = missing_for(transport)
            if reason:
                yield skipped(f"{contest}, one by one", transport, point.parameters, reason)
                continue
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            chain = BrokerChain(folder, point.n_hops, point.mode, transport, HORIZON, OBSERVER)
            ways[transport] = stack.enter_context(chain)
        for way in ways.values():
            way.ask(_subscriptions(point.plan.n_subscriptions))
        yield from _one_by_one(point, contest, ways)
        yield from _in_batches(point, contest, ways)


def _one_by_one(point: NetworkPoint, contest: str, ways: dict[str, Way]) -> Iterator[Row]:
    """How long it takes from a publication at one end to the change at the other."""
    n = point.plan.n_single
    # Beginning to publish is not timed, and nothing that is published later is worse for the observer.
    rows = _publications(0, WARM + n)
    taken = _in_turn(ways, [[row] for row in rows])
    _compare(ways)
    for name in ways:
        p50, p99 = percentiles(taken[name][WARM:])
        measures = {"p50_ms": p50 / 1e3, "p99_ms": p99 / 1e3}
        yield measured(f"{contest}, one by one", name, point.parameters, taken[name][WARM:], 1, measures)


def _in_batches(point: NetworkPoint, contest: str, ways: dict[str, Way]) -> Iterator[Row]:
    """How many rows and bytes pass in a second, where batches come one after the other."""
    plan = point.plan
    rows = _publications(WARM + plan.n_single, (WARM + plan.n_batches) * plan.batch)
    batches = [rows[start : start + plan.batch] for start in range(0, len(rows), plan.batch)]
    _in_turn(ways, batches[:WARM])
    before = {name: way.n_bytes for name, way in ways.items()}
    taken = _in_turn(ways, batches[WARM:])
    carried = {name: way.n_bytes - before[name] for name, way in ways.items()}
    _compare(ways)
    for name in ways:
        seconds = sum(taken[name]) / 1e9
        measures = {"rows_per_s": plan.n_batches * plan.batch / seconds}
        if carried[name]:
            measures |= {
                "bytes_per_s": carried[name] / seconds,
                "bytes_per_row": carried[name] / (plan.n_batches * plan.batch),
            }
        yield measured(f"{contest}, in batches", name, point.parameters, taken[name], plan.batch, measures)


def _in_turn(ways: dict[str, Way], batches: list[list[dict[str, Any]]]) -> dict[str, list[int]]:
    """The nanoseconds that each way takes for each batch, turn and turn about."""
    taken: dict[str, list[int]] = {name: [] for name in ways}
    with no_collection():
        for batch in batches:
            for name, way in ways.items():
                began = time.perf_counter_ns()
                way.carry(batch)
                taken[name].append(time.perf_counter_ns() - began)
    return taken


def _compare(ways: dict[str, Way]) -> None:
    right = ways["process"].top()
    for name, way in ways.items():
        if way.top() != right:
            raise WrongAnswer(f"Over {name} there are other tops than those of one engine.")


def _subscriptions(n: int) -> list[dict[str, Any]]:
    """Questions about places at random, and of the observer, for whom each publication is better than those before."""
    window = HORIZON * 1_000_000
    points = np.random.default_rng(SEED).random((n - 1, 2)).tolist()
    near = [
        {"id": f"near {i}", "k": 5, "score": "euclidean", "point": point, "window_us": window}
        for i, point in enumerate(points)
    ]
    return [{"id": OBSERVER, "k": 1, "score": "sum", "weights": [0.0, 1.0], "window_us": window}, *near]


def _publications(first: int, n: int) -> list[dict[str, Any]]:
    """Places at random, each higher than those before."""
    chance = np.random.default_rng((SEED, first)).random(n).tolist()
    return [{"id": first + i, "point": [x, (first + i) / 1e6]} for i, x in enumerate(chance)]
