"""What families over sliding windows say of their answers, in common: states, ranks, what is ahead, what is missed."""

from abc import abstractmethod
from typing import Any

import numpy as np

from skyband.contract.explain import Explainer
from skyband.contract.explanation import Condition, Explanation, ScorePart, State
from skyband.contract.tops import Id
from skyband.table import Window, WindowKind
from skyband.topk.store import WIDEST
from skyband.topk.survey import Evidence, Survey


class WindowedExplainer(Explainer[Evidence]):
    """Explains tops over sliding windows; a family adds what its scores are made of, and what they ask for."""

    name: str

    @abstractmethod
    def parts(self, evidence: Evidence, said: Any) -> tuple[ScorePart, ...]:
        """What the score of a publication, given as a row, is made of."""

    @abstractmethod
    def conditions(self, evidence: Evidence, said: Any) -> tuple[Condition, ...]:
        """What a publication has to meet to have a score at all."""

    def preview(self, evidence: Evidence, publications: Any) -> list[dict[str, Any]]:
        survey = evidence.survey
        top = survey.order()[: evidence.wanted.k]
        members = zip(survey.ids.take(top).to_pylist(), survey.scores[top].tolist(), strict=True)
        return [{"rank": i + 1, "publication": id, "score": score} for i, (id, score) in enumerate(members)]

    def explain(self, evidence: Evidence, publication: Id) -> Explanation:
        survey, k, place = evidence.survey, evidence.wanted.k, evidence.survey.find(publication)
        order = survey.order()
        known: dict[str, Any] = {} if place is None else self._known(evidence, place, order)
        return Explanation(
            family=self.name,
            subscription=evidence.wanted.id,
            publication=publication,
            now=evidence.now,
            state=_state(survey, place),
            in_top=known.get("rank") is not None and known["rank"] <= k,
            n_competing=len(order),
            k=k,
            kth_score=float(survey.scores[order[k - 1]]) if k <= len(order) else None,
            bound=evidence.bound(place, known.get("rank") is not None),
            **known,
        )

    def _known(self, evidence: Evidence, place: int, order: Any) -> dict[str, Any]:
        """What can be said of a publication that has a place."""
        survey, said, score = evidence.survey, evidence.said(place), float(evidence.survey.scores[place])
        competes, scored = bool(survey.competing[place]), not np.isnan(score)
        rank = int(np.flatnonzero(order == place)[0]) + 1 if competes else None
        return {
            "matches": bool(survey.reaches[place]),
            "rank": rank,
            "n_ahead": None if rank is None else _n_ahead(evidence, place, rank),
            "score": score if scored else None,
            "missed_by": _missed_by(evidence, score, rank, order),
            "ts": int(survey.ts[place]),
            "expires_at": _expires_at(evidence, place),
            "parts": self.parts(evidence, said) if scored else (),
            "conditions": (*self.conditions(evidence, said), *self._threshold(evidence, score)),
            "notes": _notes(evidence, place),
        }

    def _threshold(self, evidence: Evidence, score: float) -> tuple[Condition, ...]:
        """The condition of a Boolean subscription."""
        threshold, ascending = evidence.wanted.threshold, evidence.wanted.ascending
        if threshold is None or np.isnan(score):
            return ()
        met = score <= threshold if ascending else score >= threshold
        low, high = (None, threshold) if ascending else (threshold, None)
        return (Condition("score", met, score, low, high, 0.0 if met else abs(score - threshold)),)


def _state(survey: Survey, place: int | None) -> State:
    if place is None:
        return "unknown"
    if survey.retracted[place]:
        return "retracted"
    return "live" if survey.inside[place] else "expired"


def _n_ahead(evidence: Evidence, place: int, rank: int) -> int:
    """How many of the better ones stay at least as long: without a window, all of them."""
    return rank - 1 if evidence.wanted.window == WindowKind.UNBOUNDED else evidence.survey.n_longer(place)


def _missed_by(evidence: Evidence, score: float, rank: int | None, order: Any) -> float | None:
    """How far a score that competes is from that of the last place; of Boolean subscriptions recency alone decides."""
    k = evidence.wanted.k
    if rank is None or rank <= k or evidence.wanted.threshold is not None:
        return None
    return abs(score - float(evidence.survey.scores[order[k - 1]]))


def _expires_at(evidence: Evidence, place: int) -> int | None:
    is_timed = evidence.wanted.window == WindowKind.TIME and evidence.wanted.size < WIDEST
    return int(evidence.survey.ts[place]) + evidence.wanted.size if is_timed else None


def _notes(evidence: Evidence, place: int) -> tuple[str, ...]:
    """How a publication stands to the window."""
    kind, size = evidence.wanted.window, evidence.wanted.size
    if kind == WindowKind.UNBOUNDED:
        return ()
    if kind == WindowKind.COUNT:
        newer = "1 publication is" if place == 1 else f"{place} publications are"
        return (f"{newer} more recent, and the window holds {size}.",)
    if size >= WIDEST:
        return ("Its window holds everything.",)
    ts, now = int(evidence.survey.ts[place]), evidence.now or 0
    until = f"It was published at {ts}, and the window of {Window(kind, size)} holds it until {ts + size}"
    return (f"{until}; it is {now} now.",)
