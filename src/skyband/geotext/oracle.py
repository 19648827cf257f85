"""The oracle of the geotext family: messages scored by place and words."""

from typing import NamedTuple

from skyband.contract import register
from skyband.geotext.rows import Publications, Subscriptions
from skyband.geotext.score import place_and_words
from skyband.table import WindowKind
from skyband.topk.great_circle import great_circle
from skyband.topk.oracle import ContinuousOracle, Question
from skyband.topk.score import euclidean


class PlaceQuestion(NamedTuple):
    """Where a subscriber is, and the words that matter."""

    alpha: float
    place: tuple[float, float]
    words: list[tuple[str, float]]


class Message(NamedTuple):
    """Where something was said, and in what words."""

    at: tuple[float, float]
    said: dict[str, float]


@register
class GeotextOracle(ContinuousOracle[Subscriptions, Publications]):
    """Top-k by place and words in sliding windows, from scratch."""

    family = "geotext"
    name = "oracle"
    good_for = "checking other engines: plain Python, everything recomputed after every step"
    subscriptions = Subscriptions
    publications = Publications

    def _question(self, rows: Subscriptions, i: int) -> Question:
        threshold = float(rows.threshold[i])
        return Question(
            k=int(rows.k[i]),
            window=WindowKind(int(rows.window.kind[i])),
            size=int(rows.window.size[i]),
            threshold=None if threshold != threshold else threshold,
            ascending=False,
            ask=PlaceQuestion(float(rows.alpha[i]), _place(rows, i), _words(rows, i)),
        )

    def _content(self, rows: Publications, i: int) -> Message:
        return Message(_place(rows, i), dict(_words(rows, i)))

    def _score(self, question: Question, content: Message) -> float | None:
        ask: PlaceQuestion = question.ask
        bounds = self.settings.bounds
        distance = great_circle if bounds.is_geographic else euclidean
        return place_and_words(ask.alpha, ask.place, ask.words, content.at, content.said, bounds.diagonal, distance)


def _place(rows: Subscriptions | Publications, i: int) -> tuple[float, float]:
    return float(rows.xy[i, 0]), float(rows.xy[i, 1])


def _words(rows: Subscriptions | Publications, i: int) -> list[tuple[str, float]]:
    lo, hi = int(rows.offsets[i]), int(rows.offsets[i + 1])
    terms: list[str] = rows.terms.slice(lo, hi - lo).to_pylist()
    weights: list[float] = rows.weights[lo:hi].tolist()
    return list(zip(terms, weights, strict=True))
