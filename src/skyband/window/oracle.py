"""The oracle of the window family: points scored by distance, sum or cosine."""

from typing import NamedTuple

from skyband.contract import register
from skyband.table import WindowKind
from skyband.topk.oracle import ContinuousOracle, Question
from skyband.topk.score import FORMS, Form, Score
from skyband.window.rows import Publications, Subscriptions


class PointQuestion(NamedTuple):
    """How a subscription scores points."""

    form: Form
    point: list[float]
    weights: list[float]


@register
class WindowOracle(ContinuousOracle[Subscriptions, Publications]):
    """Top-k over points in sliding windows, from scratch."""

    family = "window"
    name = "oracle"
    good_for = "checking other engines: plain Python, everything recomputed after every step"
    subscriptions = Subscriptions
    publications = Publications

    def _question(self, rows: Subscriptions, i: int) -> Question:
        form = FORMS[Score(int(rows.score[i]))]
        threshold = float(rows.threshold[i])
        return Question(
            k=int(rows.k[i]),
            window=WindowKind(int(rows.window.kind[i])),
            size=int(rows.window.size[i]),
            threshold=None if threshold != threshold else threshold,
            ascending=form.ascending,
            ask=PointQuestion(form, rows.points[i].tolist(), rows.weights[i].tolist()),
        )

    def _content(self, rows: Publications, i: int) -> list[float]:
        point: list[float] = rows.points[i].tolist()
        return point

    def _score(self, question: Question, content: list[float]) -> float | None:
        ask: PointQuestion = question.ask
        return ask.form.of(ask.point, ask.weights, content)
