"""The oracle of the ranked family: for each event the k best-scoring interval subscriptions."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from skyband.contract import RankedEngine, register
from skyband.contract.tops import Id
from skyband.model.ranked import Publications, Subscriptions


class Offer(NamedTuple):
    """An interval and a weight in every dimension."""

    lo: list[float]
    hi: list[float]
    weights: list[float]


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

    def _registered(self, ids: pa.Array) -> npt.NDArray[np.bool_]:
        return np.array([id in self._offers for id in ids.to_pylist()], np.bool_)

    def _subscribe(self, rows: Subscriptions) -> pa.Table:
        for i, id in enumerate(rows.ids.to_pylist()):
            self._offers[id] = Offer(rows.lo[i].tolist(), rows.hi[i].tolist(), rows.weights[i].tolist())
        return self._matches([])

    def _unsubscribe(self, ids: pa.Array) -> pa.Table:
        for id in ids.to_pylist():
            del self._offers[id]
        return self._matches([])

    def _publish(self, rows: Publications) -> pa.Table:
        self._pass_time(rows)
        found = []
        for event, point in zip(rows.ids.to_pylist(), rows.points.tolist(), strict=True):
            for i, (id, score) in enumerate(self._best(point)):
                found.append({"event": event, "subscription": id, "score": score, "rank": i + 1})
        return self._matches(found)

    def _best(self, point: list[float]) -> list[tuple[Id, float]]:
        scored = [(id, score) for id, offer in self._offers.items() if (score := self._score(offer, point)) is not None]
        scored.sort(key=lambda pair: pair[0], reverse=True)
        scored.sort(key=lambda pair: -pair[1])
        return scored[: self.k]

    def _score(self, offer: Offer, point: list[float]) -> float | None:
        # A missing dimension is NaN, which lies in no interval.
        inside = [lo <= v <= hi for lo, v, hi in zip(offer.lo, point, offer.hi, strict=True)]
        if not (any(inside) if self.matching == "relaxed" else all(inside)):
            return None
        total = 0.0
        for matches, weight in zip(inside, offer.weights, strict=True):
            if matches:
                total += weight
        return total

    def _matches(self, rows: list[dict[str, Any]]) -> pa.Table:
        return pa.Table.from_pylist(rows, self._schema())

    def _save(self) -> dict[str, pa.Table]:
        offers = self._offers.values()
        numbers = pa.list_(pa.float64())
        return {
            "subscriptions": pa.table(
                {
                    "id": pa.array(list(self._offers), self._id_type("subscriptions id")),
                    "lo": pa.array([o.lo for o in offers], numbers),
                    "hi": pa.array([o.hi for o in offers], numbers),
                    "weights": pa.array([o.weights for o in offers], numbers),
                }
            ),
        }

    def _load(self, tables: dict[str, pa.Table]) -> None:
        for row in tables["subscriptions"].to_pylist():
            self._offers[row["id"]] = Offer(row["lo"], row["hi"], row["weights"])
