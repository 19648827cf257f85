"""Clients and a network of their own, made of what the page about the overlay says and nothing else; and brute force.

Envelopes take some time and none is lost; disks are as fast as they can be. What clients were told is summed up, and
compared with what a plain loop over all publications answers.
"""

import heapq
import math
import random
from collections import defaultdict
from typing import Any, NamedTuple

from skyband.overlay.broker.broker import Broker
from skyband.overlay.broker.event import (
    Accepted,
    Changed,
    Heard,
    Offered,
    Rang,
    Received,
    Refused,
    Retracted,
    Send,
    Started,
    Subscribed,
    Sync,
    Synced,
    Taken,
    TakenBack,
    Tell,
    Timer,
    Unsubscribed,
    Write,
)
from skyband.overlay.broker.options import BrokerOptions

Name = tuple[int, Any]
"""A broker, and an id that its clients have given."""


class Spoken(NamedTuple):
    """A publication that was accepted."""

    id: Any
    ts: int
    point: list[float]


class Network:
    """Brokers that hand each other envelopes; `now` goes on in microseconds."""

    def __init__(self, options: BrokerOptions, seed: int, slowest: int = 5_000) -> None:
        self.options, self.now, self._slowest = options, 0, slowest
        self._chance = random.Random(seed)
        self.brokers = [Broker(number, options) for number in range(options.chart.n_brokers)]
        self._queue: list[tuple[int, int, int, Any]] = []
        self._n_queued = 0
        self.refused: list[str] = []
        self.asked: dict[Name, dict[str, Any]] = {}
        self.spoken: dict[Name, Spoken] = {}
        self.tops: dict[Name, dict[Any, float]] = defaultdict(dict)
        self._numbers: list[int] = [0] * len(self.brokers)
        for broker in self.brokers:
            self.do(broker.number, Started(()))
        self.pass_time(1_000)

    def do(self, number: int, event: Any) -> None:
        """Something happens to a broker now."""
        for effect in self.brokers[number].step(self.now, event):
            if isinstance(effect, Send):
                delay = self._chance.randrange(1, self._slowest)
                self._put(self.now + delay, effect.target, Received(effect.envelope))
            elif isinstance(effect, Sync):
                self._put(self.now + 1, number, Synced(effect.number))
            elif isinstance(effect, Timer):
                self._put(effect.at, number, Rang(effect.timer))
            elif isinstance(effect, Tell):
                self._hear(number, effect.what)
            else:
                assert isinstance(effect, Write) or type(effect).__name__ in ("Keep", "Trim")

    def pass_time(self, span: int) -> None:
        """Let happen what happens in a span of time."""
        until = self.now + span
        while self._queue and self._queue[0][0] <= until:
            self.now, _, number, event = heapq.heappop(self._queue)
            self.do(number, event)
        self.now = until

    def subscribe(self, number: int, row: dict[str, Any]) -> None:
        """A client subscribes."""
        self.asked[number, row["id"]] = row
        self.do(number, Subscribed(row))

    def unsubscribe(self, number: int, id: Any) -> None:
        """A client withdraws a subscription."""
        self.asked.pop((number, id), None)
        self.do(number, Unsubscribed(id))

    def publish(self, number: int, id: Any, point: list[float]) -> None:
        """A client publishes."""
        before = len(self.refused)
        self.do(number, Offered({"id": id, "point": point}))
        if len(self.refused) == before:
            self.spoken[number, id] = Spoken(id, self.now, point)

    def retract(self, number: int, id: Any) -> None:
        """A client takes something back."""
        before = len(self.refused)
        self.do(number, Retracted(id))
        if len(self.refused) == before:
            del self.spoken[number, id]

    def answers(self) -> dict[Name, dict[Any, float]]:
        """The tops as the sum of what clients were told."""
        return {name: self.tops[name] for name in self.asked}

    def right(self, at: int) -> dict[Name, dict[Any, float]]:
        """The same by brute force."""
        return {name: best_of(row, list(self.spoken.values()), at) for name, row in self.asked.items()}

    def _put(self, at: int, number: int, event: Any) -> None:
        self._n_queued += 1
        heapq.heappush(self._queue, (at, self._n_queued, number, event))

    def _hear(self, number: int, what: Any) -> None:
        if isinstance(what, Refused):
            self.refused.append(what.reason)
        elif isinstance(what, Changed):
            assert what.first == self._numbers[number]
            self._numbers[number] += len(what.rows)
            for subscription, publication, op, score, *_ in what.rows:
                top = self.tops[number, subscription]
                if op == "leave":
                    del top[publication]
                else:
                    top[publication] = score
        else:
            assert isinstance(what, Accepted | Taken | TakenBack | Heard)


def best_of(row: dict[str, Any], spoken: list[Spoken], at: int) -> dict[Any, float]:
    """The top of a subscription at a time."""
    live = [each for each in spoken if at - row["window_us"] < each.ts <= at]
    scored = [(score_of(row, each.point), each) for each in live]
    ascending = row["score"] != "sum"
    if "threshold" in row:
        matches = [(score, each) for score, each in scored if reaches(score, row["threshold"], ascending)]
        latest = sorted(matches, key=lambda pair: (pair[1].ts, pair[1].id), reverse=True)
        return {each.id: score for score, each in latest[: row["k"]]}
    by_id = sorted(scored, key=lambda pair: pair[1].id, reverse=True)
    by_time = sorted(by_id, key=lambda pair: -pair[1].ts)
    best = sorted(by_time, key=lambda pair: pair[0] if ascending else -pair[0])
    return {each.id: score for score, each in best[: row["k"]]}


def reaches(score: float, threshold: float, ascending: bool) -> bool:
    """Whether a score is as good as a threshold."""
    return score <= threshold if ascending else score >= threshold


def score_of(row: dict[str, Any], point: list[float]) -> float:
    """How good a point is."""
    if row["score"] == "sum":
        weights: list[float] = row["weights"]
        return sum(weight * x for weight, x in zip(weights, point, strict=True))
    gaps: list[float] = [abs(a - b) for a, b in zip(row["point"], point, strict=True)]
    return math.sqrt(sum(gap * gap for gap in gaps)) if row["score"] == "euclidean" else max(gaps)
