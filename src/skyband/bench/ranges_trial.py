"""Approaches of the ranges paper side by side: the same objects, subscriptions and changes, round by round in turn.

Only the server is timed. How many subscriptions its messages reach is counted beside the clock.

Unicast takes so long that it is stopped after a while. What it would have sent is known all the same: every exact
approach tells the changed object to those whom it affects, and its replacement, and Unicast looks at all that lie in
the smallest box around the tiles of Paint-Dense. Both are compared as far as Unicast did run.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from skyband.bench.experiment import Progress
from skyband.bench.ranges_data import DENSE, SEED, Approach, Crowd, RangesSetting, World, make_world, plant
from skyband.bench.row import Row, average, measured
from skyband.bench.runner import WrongAnswer, no_collection
from skyband.kernels.array import Floats, Int64s
from skyband.ranges.kernels.message import Messages
from skyband.ranges.kernels.range_scan import ObjectChanges
from skyband.ranges.kernels.reach_count import count_each
from skyband.ranges.wire import message_bytes

# The paper's unit, of which its figures are multiples: four bytes for each of six numbers; Unicast says whom it is for
# in place of where. What is really sent takes more, see `message_bytes`.
MESSAGE_BYTES = 24
UNICAST_BYTES = 16
# 1.5 dimensions need two more sides of a box and one more number for the place.
SLOPED_BYTES = 36


def time_portions(portions: Iterator[Messages], see: Callable[[Messages], None]) -> int:
    """The nanoseconds that it takes to make all messages; each portion is seen with the clock stopped."""
    spent = 0
    while True:
        start = time.perf_counter_ns()
        messages = next(portions, None)
        spent += time.perf_counter_ns() - start
        if messages is None:
            return spent
        see(messages)


class TrialLedger(NamedTuple):
    """By change: messages, how many subscriptions they reached, and how many of those that told the changed object.

    `asked` is how many lie in the box around the tiles of the changed object, where Paint-Dense has laid them.
    """

    messages: Floats
    received: Floats
    affected: Floats
    asked: Floats

    def measures(self, at: slice, algorithm: str, dims: int) -> dict[str, float]:
        """What a change took on average; CN-Relax has no server that would send bytes.

        `bytes` are in the paper's unit, `sent_bytes` those of the messages as they are sent.
        """
        size = MESSAGE_BYTES if dims == 1 else SLOPED_BYTES
        named = {"messages": self.messages, "received": self.received, "affected": self.affected}
        if algorithm == "unicast":
            named |= {"bytes": UNICAST_BYTES * self.affected}
        elif algorithm != "relax":
            named |= {"bytes": size * self.messages}
        if algorithm != "relax":
            named |= {"sent_bytes": message_bytes(dims) * self.messages}
        told = {f"{name}_max": float(values[at].max()) for name, values in named.items()}
        for name, values in named.items():
            told |= average(name, values[at])
        return told


class Trial:
    """An approach at work: what it sent for each change, and how long each round took."""

    def __init__(self, world: World, crowd: Crowd, approach: Approach) -> None:
        self.world, self.crowd, self.approach = world, crowd, approach
        self.painter = approach.painter(world, crowd)
        self.ledger = TrialLedger(*np.zeros((4, len(world.changes.object))))
        self.latencies: list[int] = []
        self.calls: Counter[str] = Counter()
        self.n_done = 0

    def warm_up(self, n: int) -> None:
        """Let the first changes pass."""
        self._run(0, n)
        self.painter.costs()

    def turn(self, n: int) -> None:
        """Time the next changes."""
        self.latencies.append(self._run(self.n_done, self.n_done + n))
        self.calls.update(self.painter.costs())

    def _run(self, lo: int, hi: int) -> int:
        changes = self.world.part(lo, hi)
        spent = time_portions(
            self.painter.paint(changes), lambda messages: self.count(messages, changes, slice(lo, hi))
        )
        self.n_done = hi
        return spent

    def count(self, messages: Messages, changes: ObjectChanges, at: slice) -> None:
        """Enter messages into the ledger."""
        n, n_changes = int(messages.length[0]), len(changes.object)
        event, low, high = messages.event[:n], messages.low[:n], messages.high[:n]
        own = messages.object[:n] == changes.object[event]
        reached = np.ones(n, np.int64) if self.approach.algorithm == "unicast" else self._reached(low, high)
        self.ledger.messages[at] += np.bincount(event, minlength=n_changes)
        self.ledger.received[at] += np.bincount(event, reached, n_changes)
        self.ledger.affected[at] += np.bincount(event[own], reached[own], n_changes)
        if self.approach == DENSE and self.world.x.shape[1] == 1:
            self.ledger.asked[at] += self._around(low[own], high[own], event[own], n_changes)

    def _reached(self, low: Floats, high: Floats) -> Int64s:
        counts = np.empty(len(low), np.int64)
        count_each(self.crowd.points.trees, 0, low, high, counts)
        return counts

    def _around(self, low: Floats, high: Floats, event: Int64s, n: int) -> Int64s:
        around_low, around_high = np.full((n, low.shape[1]), np.inf), np.full((n, low.shape[1]), -np.inf)
        np.minimum.at(around_low, event, low)
        np.maximum.at(around_high, event, high)
        return self._reached(around_low, around_high)

    def measures(self, since: int) -> dict[str, float]:
        """What a change took on average, from change `since` on."""
        n, dims = self.n_done - since, self.world.x.shape[1]
        told = {name: count / n for name, count in sorted(self.calls.items())}
        told |= self.ledger.measures(slice(since, self.n_done), self.approach.algorithm, dims)
        return told | {"events": float(n), "timed": float(n), "us": sum(self.latencies) / n / 1e3}

    def completed(self, dense: "Trial", since: int) -> dict[str, float]:
        """The measures of Unicast over all changes that Paint-Dense has seen; only times are of its own.

        As in the paper, a call of min_y is counted for each subscription that it looks at.
        """
        whole, at = dense.ledger._replace(messages=dense.ledger.received), slice(since, dense.n_done)
        told = (
            self.measures(since)
            | whole.measures(at, "unicast", self.world.x.shape[1])
            | average("min_y", whole.asked[at])
        )
        return told | {"events": float(dense.n_done - since)}


def require_agreement(trials: Sequence[Trial], since: int) -> None:
    """Raise `WrongAnswer` unless exact approaches tell each change to as many, and Unicast looks where it should."""
    exact = [trial for trial in trials if trial.approach.is_exact]
    for one, other in pairwise(exact):
        at = slice(since, min(one.n_done, other.n_done))
        for name in ("affected", "received"):
            if not np.array_equal(getattr(one.ledger, name)[at], getattr(other.ledger, name)[at]):
                raise WrongAnswer(f"{one.approach.label} and {other.approach.label} reach different subscriptions.")
    dense = next((trial for trial in exact if trial.approach == DENSE), None)
    for unicast in (trial for trial in exact if trial.approach.algorithm == "unicast"):
        if dense and unicast.calls["asked"] != dense.ledger.asked[since : unicast.n_done].sum():
            raise WrongAnswer("Unicast looks at others than those in the box around the tiles of Paint-Dense.")


def contest(
    world: World,
    crowd: Crowd,
    approaches: Sequence[Approach],
    setting: RangesSetting,
    label: str,
    trial: Callable[[World, Crowd, Approach], Trial] = Trial,
) -> list[Row]:
    """Approaches side by side, a row each; times also as multiples of the first one's on the changes that both saw."""
    since, trials = setting.n_warm, [trial(world, crowd, approach) for approach in approaches]
    with no_collection():
        for each in trials:
            each.warm_up(since)
        for _ in range((len(world.changes.object) - since) // setting.batch):
            for each in trials:
                if each.approach.algorithm != "unicast" or sum(each.latencies) <= setting.patience * 1e9:
                    each.turn(setting.batch)
    require_agreement(trials, since)
    return [_row(each, trials, int(crowd.k[0]), setting, label) for each in trials]


def _row(trial: Trial, trials: Sequence[Trial], k: int, setting: RangesSetting, label: str) -> Row:
    since, first = setting.n_warm, trials[0]
    dense = next((each for each in trials if each.approach == DENSE), None)
    may_be_short = trial.approach.algorithm == "unicast"
    told = trial.completed(dense, since) if may_be_short and dense else trial.measures(since)
    n = min(len(trial.latencies), len(first.latencies))
    told["ratio_us"] = sum(trial.latencies[:n]) / sum(first.latencies[:n])
    given = setting._asdict() | {"k": k, "epsilon": trial.approach.epsilon, "seed": SEED}
    return measured(label, trial.approach.label, given, trial.latencies, setting.batch, told)


class Series(NamedTuple):
    """Approaches for each k over one set of subscriptions, which are freed afterwards.

    `said` is told first, `prefix` as well, which the contests' names begin with. `together` makes one contest of all k.
    """

    setting: RangesSetting
    ks: Sequence[int]
    approaches: Sequence[Approach]
    said: str = ""
    prefix: str = ""
    more: dict[str, Any] = {}  # noqa: RUF012 - never written to
    together: bool = False


def run_series(series: Series, progress: Progress) -> Iterator[Row]:
    """A contest for each k."""
    setting, about = series.setting, f"{series.setting.n_subscriptions:,} subscriptions"
    if series.said or series.prefix:
        progress(series.said or series.prefix)
    progress(f"{about}: building")
    world = make_world(setting)
    tree = plant(world)
    for k in series.ks:
        progress(f"{about}, k = {k}")
        label = about if series.together else f"{about}, k = {k}"
        label = f"{series.prefix}, {label}" if series.prefix else label
        for row in contest(world, Crowd(tree, k), series.approaches, setting, label):
            yield row | {"parameters": row["parameters"] | series.more}
