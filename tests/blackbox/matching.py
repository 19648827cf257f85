"""Brute force for ranked: every subscription looked at for every event."""

import math
from collections.abc import Sequence

from tests.blackbox.oracle import Change, Order, Row


def parts(subscription: Row) -> dict[int, tuple[float, float, float]]:
    """The parts of a ranked subscription: interval and weight by dimension."""
    dims = subscription.get("dims") or range(len(subscription["lo"]))
    weights = subscription.get("weights") or [None] * len(subscription["lo"])
    found = {}
    for dim, lo, hi, weight in zip(dims, subscription["lo"], subscription["hi"], weights, strict=True):
        low, high = -math.inf if lo is None else lo, math.inf if hi is None else hi
        closed = low > -math.inf or high < math.inf
        given = float(closed) if weight is None else weight
        if closed or given > 0:
            found[dim] = (low, high, given)
    return found


def meets(part: tuple[float, float, float], lower: float | None, upper: float | None) -> bool:
    """Whether an event meets a part of a subscription."""
    lo, hi, _ = part
    if lo == -math.inf and hi == math.inf:
        return True
    if lower is None or math.isnan(lower):
        return False
    return lo <= (lower if upper is None else upper) and lower <= hi


def matches(subscriptions: Sequence[Row], events: Sequence[Row], k: int, matching: str) -> list[Change]:
    """The answers of ranked: event, subscription, score and rank."""
    left = {each["id"]: each.get("budget") for each in subscriptions}
    asked = [(each["id"], parts(each)) for each in subscriptions]
    log: list[Change] = []
    for event in events:
        uppers = event.get("upper") or [None] * len(event["point"])
        found = []
        for name, mine in asked:
            met = [dim for dim, part in mine.items() if meets(part, event["point"][dim], uppers[dim])]
            taken = len(met) == len(mine) if matching == "exact" else bool(met)
            if taken and left[name] != 0:
                found.append((-sum(mine[dim][2] for dim in met), Order(name)))
        for rank, (score, name) in enumerate(sorted(found)[: event.get("k") or k], 1):
            log.append((event["id"], name.value, -score or 0.0, rank))
            budget = left[name.value]
            left[name.value] = None if budget is None else budget - 1
    return log
