"""What the scores of messages are made of: how near, and which words count for how much."""

from skyband.contract.explanation import Condition, ScorePart
from skyband.geotext.rows import Publications, Subscriptions
from skyband.topk.explain import WindowedExplainer
from skyband.topk.great_circle import great_circle
from skyband.topk.score import euclidean
from skyband.topk.survey import Evidence


def _words(rows: Subscriptions | Publications) -> dict[str, float]:
    """The words of one row with their weights, in its order."""
    return dict(zip(rows.terms.to_pylist(), rows.weights.tolist(), strict=True))


class MessageExplainer(WindowedExplainer):
    """Explains tops of messages."""

    name = "geotext"

    def parts(self, evidence: Evidence, said: Publications) -> tuple[ScorePart, ...]:
        """Nearness and relevance, which add up to the score, and the words, which add up to the relevance."""
        asked: Subscriptions = evidence.asked
        bounds, alpha = evidence.settings.bounds, float(asked.alpha[0])
        distance = (great_circle if bounds.is_geographic else euclidean)(asked.xy[0].tolist(), said.xy[0].tolist())
        nearness, theirs = 1.0 - distance / bounds.diagonal, _words(said)
        words = [
            ScorePart(f"word {word}", theirs[word], weight, weight * theirs[word])
            for word, weight in _words(asked).items()
            if word in theirs
        ]
        relevance = 0.0
        for word in words:
            relevance += word.contribution
        return (
            ScorePart("nearness", nearness, alpha, alpha * nearness),
            ScorePart("relevance", relevance, 1.0 - alpha, (1.0 - alpha) * relevance),
            ScorePart("distance", distance, None, 0.0),
            *words,
        )

    def conditions(self, evidence: Evidence, said: Publications) -> tuple[Condition, ...]:
        wanted = set(_words(evidence.asked))
        return (Condition("it has one of the words that are asked for", bool(wanted & set(_words(said)))),)


EXPLAINER = MessageExplainer()
