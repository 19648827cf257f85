"""Brute force for ranges: the k lowest of the objects in a range, looked at anew after every step."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.blackbox.oracle import Order, Row, vector


@dataclass
class Objects:
    """The answers of ranges: the k lowest of the objects in a range."""

    subscriptions: Sequence[Row]
    words: dict[Any, Row] = field(default_factory=dict)
    reborn: set[Any] = field(default_factory=set)
    now: int = -(2**63)
    late: int = 0

    def arrive(self, event: Row) -> None:
        """Take in the last word on an object, unless a later one is known."""
        before = self.words.get(event["object"])
        self.now = max(self.now, event["ts"])
        if before is not None and event["ts"] < before["ts"]:
            self.late += 1
            return
        if event["y"] is None:
            self.reborn.add(event["object"])
        self.words[event["object"]] = event

    def advance(self, now: int) -> None:
        """Let time pass, which changes nothing here."""
        self.now = max(self.now, now)

    def top(self, subscription: Row) -> list[tuple[Any, float]]:
        """Who is in the top of a subscription now, lowest first."""
        found = [event for event in self.words.values() if event["y"] is not None and holds(subscription, event["x"])]
        found.sort(key=lambda event: (event["y"], Order(event["object"])))
        return [(event["object"], event["y"]) for event in found[: subscription["k"]]]


def holds(subscription: Row, x: Any) -> bool:
    """Whether a range holds a place, ends included."""
    sides = zip(vector(subscription["lo"]), vector(x), vector(subscription["hi"]), strict=True)
    return all(lo <= value <= hi for lo, value, hi in sides)
