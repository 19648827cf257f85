"""The oracle of the ranked family: for each event the k best-scoring interval subscriptions."""

import math
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from skyband.contract import pack, register, unpack
from skyband.contract.tops import Id
from skyband.kernels.array import Bools
from skyband.ranked.engine import RankedEngine
from skyband.ranked.rows import UNLIMITED, Publications, Subscriptions


class OraclePart(NamedTuple):
    """What a subscription asks of one dimension."""

    dim: int
    lo: float
    hi: float
    weight: float


class Value(NamedTuple):
    """What an event says of one dimension: an interval, a point where both ends are equal, NaN for nothing."""

    low: float
    high: float


class Offer:
    """The parts of a subscription, and how often it may still be answered with."""

    def __init__(self, parts: list[OraclePart], budget: int) -> None:
        self.parts = parts
        self.budget = budget


@register
class RankedOracle(RankedEngine):
    """The best subscriptions for an event, from scratch."""

    name = "oracle"
    good_for = "checking other engines: plain Python, every subscription looked at for every event"

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._offers: dict[Id, Offer] = {}

    @property
    def n_subscriptions(self) -> int:
        return len(self._offers)

    def _registered(self, ids: pa.Array) -> Bools:
        return np.array([id in self._offers for id in ids.to_pylist()], np.bool_)

    def _subscribe(self, rows: Subscriptions) -> pa.Table:
        parts = [
            OraclePart(*numbers)
            for numbers in zip(rows.dim.tolist(), rows.lo.tolist(), rows.hi.tolist(), rows.weight.tolist(), strict=True)
        ]
        for i, id in enumerate(rows.ids.to_pylist()):
            self._offers[id] = Offer(parts[rows.offsets[i] : rows.offsets[i + 1]], int(rows.budget[i]))
        return self._matches([])

    def _unsubscribe(self, ids: pa.Array) -> pa.Table:
        for id in ids.to_pylist():
            del self._offers[id]
        return self._matches([])

    def _publish(self, rows: Publications) -> pa.Table:
        self._pass_time(rows)
        found = []
        events = zip(
            rows.ids.to_pylist(), rows.points.tolist(), rows.upper.tolist(), self._ks(rows).tolist(), strict=True
        )
        for event, point, upper, k in events:
            values = [Value(*ends) for ends in zip(point, upper, strict=True)]
            for i, (id, score) in enumerate(self._best(values, k)):
                found.append({"event": event, "subscription": id, "score": score, "rank": i + 1})
                if self._offers[id].budget != UNLIMITED:
                    self._offers[id].budget -= 1
        return self._matches(found)

    def _best(self, values: list[Value], k: int) -> list[tuple[Id, float]]:
        scored = []
        for id, offer in self._offers.items():
            if offer.budget != 0 and self._match(offer.parts, values):
                scored.append((id, self._score(offer.parts, values)))
        scored.sort(key=lambda pair: pair[0], reverse=True)
        scored.sort(key=lambda pair: -pair[1])
        return scored[:k]

    def _match(self, parts: list[OraclePart], values: list[Value]) -> bool:
        met = [self._meets(part, values[part.dim]) for part in parts]
        return any(met) if self.matching == "relaxed" else all(met)

    def _meets(self, part: OraclePart, value: Value) -> bool:
        if part.lo == -math.inf and part.hi == math.inf:
            return True
        # A missing dimension is NaN, of which every comparison is false.
        if self.interval == "inside":
            return part.lo <= value.low and value.high <= part.hi
        return part.lo <= value.high and value.low <= part.hi

    def _score(self, parts: list[OraclePart], values: list[Value]) -> float:
        given = []
        for part in parts:
            value = values[part.dim]
            given.append(part.weight * self._factor(part, value) if self._meets(part, value) else 0.0)
        if not given:
            return 0.0
        if self.combination != "sum":
            return min(given) if self.combination == "min" else max(given)
        # Not sum(), which does not add from left to right.
        total = 0.0
        for contribution in given:
            total += contribution
        return total

    def _factor(self, part: OraclePart, value: Value) -> float:
        lo, hi = part.lo, part.hi
        low, high = value
        if self.fit == "centre" and math.isfinite(lo) and math.isfinite(hi):
            half = hi / 2 - lo / 2
            middle = low if low == high else low / 2 + high / 2
            middle = min(max(middle, lo), hi)
            return max(0.0, 1.0 - abs(middle - (lo / 2 + hi / 2)) / half) if half > 0 else 1.0
        if self.fit == "share":
            whole = high / 2 - low / 2
            return (min(high, hi) / 2 - max(low, lo) / 2) / whole if whole > 0 else 1.0
        return 1.0

    def _matches(self, rows: list[dict[str, Any]]) -> pa.Table:
        return pa.Table.from_pylist(rows, self._shape().schema)

    def _asked(self, ids: pa.Array | None) -> Subscriptions:
        names = list(self._offers) if ids is None else ids.to_pylist()
        offers = [self._offers[id] for id in names]
        parts = [part for offer in offers for part in offer.parts]
        return Subscriptions(
            pa.array(names, self._id_type("subscriptions id")),
            np.cumsum([0, *(len(offer.parts) for offer in offers)], dtype=np.int64),
            np.array([part.dim for part in parts], np.int32),
            np.array([part.lo for part in parts], np.float64),
            np.array([part.hi for part in parts], np.float64),
            np.array([part.weight for part in parts], np.float64),
            np.array([offer.budget for offer in offers], np.int64),
        )

    def _save(self) -> dict[str, pa.Table]:
        return {"subscriptions": pack(self._asked(None))}

    def _load(self, tables: dict[str, pa.Table]) -> None:
        self._subscribe(unpack(Subscriptions, tables["subscriptions"]))
