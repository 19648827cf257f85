"""Why an object is among the lowest of a range, or why not: where it lies outside, or by how much it is too high."""

from typing import Any

import numpy as np

from skyband.contract.explain import Explainer
from skyband.contract.explanation import Condition, Explanation, ScorePart, State
from skyband.contract.tops import Id
from skyband.ranges.object_survey import ObjectSurvey


class RangeExplainer(Explainer[ObjectSurvey]):
    """Explains the lowest objects of ranges."""

    def preview(self, evidence: ObjectSurvey, publications: Any) -> list[dict[str, Any]]:
        top = evidence.order()[: int(evidence.asked.k[0])]
        members = zip(evidence.ids.take(top).to_pylist(), evidence.y[top].tolist(), strict=True)
        return [{"rank": i + 1, "publication": id, "score": y} for i, (id, y) in enumerate(members)]

    def explain(self, evidence: ObjectSurvey, publication: Id) -> Explanation:
        place, order, k = evidence.find(publication), evidence.order(), int(evidence.asked.k[0])
        known: dict[str, Any] = {} if place is None else _known(evidence, place, order)
        return Explanation(
            family="ranges",
            subscription=evidence.asked.ids[0].as_py(),
            publication=publication,
            now=evidence.now,
            state=_state(evidence, place),
            in_top=known.get("rank") is not None and known["rank"] <= k,
            n_competing=len(order),
            k=k,
            kth_score=float(evidence.y[order[k - 1]]) if k <= len(order) else None,
            bound=evidence.bound(place),
            noun="object",
            rival="object",
            **known,
        )


def _state(evidence: ObjectSurvey, place: int | None) -> State:
    if place is None:
        return "unknown"
    return "live" if evidence.alive[place] else "deleted"


def _known(evidence: ObjectSurvey, place: int, order: Any) -> dict[str, Any]:
    """What can be said of an object that there is, or was."""
    ts = {"ts": int(evidence.ts[place])}
    if not evidence.alive[place]:
        return ts | {"matches": False}
    y, k, found = float(evidence.y[place]), int(evidence.asked.k[0]), np.flatnonzero(order == place)
    rank = int(found[0]) + 1 if len(found) else None
    missed = rank is not None and rank > k
    return ts | {
        "matches": rank is not None,
        "rank": rank,
        # Nothing expires, so that all that are better stay.
        "n_ahead": None if rank is None else rank - 1,
        "score": y,
        "missed_by": y - float(evidence.y[order[k - 1]]) if missed else None,
        "parts": (ScorePart("y", y, None, y),),
        "conditions": _conditions(evidence, place),
    }


def _conditions(evidence: ObjectSurvey, place: int) -> tuple[Condition, ...]:
    """The interval of each dimension, and by how much the object lies outside of it."""
    lo, hi, x = evidence.asked.lo[0].tolist(), evidence.asked.hi[0].tolist(), evidence.x[place].tolist()
    return tuple(_condition(i, *ends) for i, ends in enumerate(zip(lo, hi, x, strict=True)))


def _condition(i: int, lo: float, hi: float, x: float) -> Condition:
    low, high = None if lo == -np.inf else lo, None if hi == np.inf else hi
    outside_by = max(lo - x, x - hi, 0.0)
    met = lo <= x <= hi
    return Condition(f"x[{i}]", met, x, low, high, outside_by if np.isfinite(outside_by) else None)


EXPLAINER = RangeExplainer()
