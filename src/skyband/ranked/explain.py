"""Why an event reaches a subscription, or why not: which dimensions it meets, and how many subscriptions score more."""

import math
from typing import Any

import numpy as np

from skyband.contract.explain import Explainer
from skyband.contract.explanation import Bound, Condition, Explanation, ScorePart
from skyband.ranked.kernels.fitting import UNMATCHED
from skyband.ranked.rows import UNLIMITED, Publications, Subscriptions
from skyband.ranked.standings import AskingEvent, Standings, scores_of


class MatchExplainer(Explainer[Standings]):
    """Explains which subscriptions events are answered with."""

    def preview(self, evidence: Standings, publications: Publications) -> list[dict[str, Any]]:
        """The matches of one subscription among those that all others have; budgets are used up on the way."""
        found, budgets = [], evidence.budgets()
        for i, id in enumerate(publications.ids.to_pylist()):
            event = evidence.event(publications, i)
            scores = evidence.scores(event)
            answer = evidence.order(scores, budgets)[: event.k]
            own = np.flatnonzero(answer == len(scores) - 1)
            if len(own):
                found.append({"event": id, "score": float(scores[-1]), "rank": int(own[0]) + 1})
            budgets[answer] -= budgets[answer] != UNLIMITED
        return found

    def explain(self, evidence: Standings, publication: Publications) -> Explanation:
        event = evidence.event(publication, 0)
        scores = evidence.scores(event)
        order = evidence.order(scores, evidence.budgets())
        found, score = np.flatnonzero(order == len(scores) - 1), float(scores[-1])
        rank = int(found[0]) + 1 if len(found) else None
        kth = float(scores[order[event.k - 1]]) if event.k <= len(order) else None
        in_top = rank is not None and rank <= event.k
        return Explanation(
            family="ranked",
            subscription=evidence.asked.ids[0].as_py(),
            publication=publication.ids[0].as_py(),
            now=evidence.now,
            state="live",
            in_top=in_top,
            matches=score != UNMATCHED,
            rank=rank,
            n_competing=len(order),
            k=event.k,
            score=score if score != UNMATCHED else None,
            kth_score=kth,
            missed_by=None if rank is None or in_top or kth is None else kth - score,
            ts=int(publication.ts[0]),
            parts=_parts(evidence, event),
            conditions=_conditions(evidence, event),
            bound=_bound(evidence, in_top, kth),
            noun="event",
            rival="subscription",
        )


def _each_part(asked: Subscriptions) -> Subscriptions:
    """Each part as a subscription of its own, with the weight 1."""
    n = len(asked.dim)
    return asked._replace(offsets=np.arange(n + 1, dtype=np.int64), weight=np.ones(n))


def _factors(evidence: Standings, event: AskingEvent) -> list[float]:
    """What share of its weight each part contributes, UNMATCHED where it is not met."""
    factors: list[float] = scores_of(_each_part(evidence.asked), event, evidence.rule).tolist()
    return factors


def _parts(evidence: Standings, event: AskingEvent) -> tuple[ScorePart, ...]:
    asked, factors = evidence.asked, _factors(evidence, event)
    told = zip(asked.dim.tolist(), asked.weight.tolist(), factors, strict=True)
    return tuple(
        ScorePart(f"point[{dim}]", max(factor, 0.0), weight, weight * max(factor, 0.0)) for dim, weight, factor in told
    )


def _conditions(evidence: Standings, event: AskingEvent) -> tuple[Condition, ...]:
    """The interval of each part, and whether there is a budget left."""
    asked = evidence.asked
    ends = zip(asked.dim.tolist(), asked.lo.tolist(), asked.hi.tolist(), _factors(evidence, event), strict=True)
    met = [_condition(dim, lo, hi, factor != UNMATCHED, event, evidence.rule.inside) for dim, lo, hi, factor in ends]
    if asked.budget[0] != UNLIMITED:
        met.append(Condition("there is some of its budget left", bool(asked.budget[0] != 0)))
    return tuple(met)


def _condition(dim: int, lo: float, hi: float, met: bool, event: AskingEvent, inside: bool) -> Condition:
    low, high = float(event.low[dim]), float(event.high[dim])
    if math.isnan(low):
        return Condition(f"point[{dim}] is given", met)
    # Of an interval, the end that has to lie in the part, and may not.
    first, last = (low, high) if inside else (high, low)
    below = lo - first
    value, gap = (first, below) if below > 0.0 else (last, max(last - hi, 0.0))
    by = gap if math.isfinite(gap) else None
    ends = None if lo == -math.inf else lo, None if hi == math.inf else hi
    return Condition(f"point[{dim}]", met, value, *ends, by)


def _bound(evidence: Standings, in_top: bool, kth: float | None) -> Bound:
    name, search = evidence.engine, evidence.search
    if not search:
        return Bound("none", 0, None, None, False, f"The engine {name} looks at every subscription for every event.")
    how = f"The engine {name} searches by the access {search}"
    end = "all that match are found" if kth is None else f"none is left that could score {kth} or more"
    return Bound("search", 0, None, kth, not in_top and kth is not None, f"{how}, until {end}.")


EXPLAINER = MatchExplainer()
