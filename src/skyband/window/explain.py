"""What the scores of points are made of, dimension by dimension."""

from skyband.contract.explanation import Condition, ScorePart
from skyband.topk.explain import WindowedExplainer
from skyband.topk.great_circle import great_circle, is_place
from skyband.topk.score import FORMS, Score, norm
from skyband.topk.survey import Evidence
from skyband.window.rows import Publications, Subscriptions


def _differences(asked: list[float], weights: list[float], point: list[float]) -> tuple[ScorePart, ...]:
    """Squares of differences, whose sum has the distance for its root."""
    gaps = [x - c for c, x in zip(asked, point, strict=True)]
    return tuple(ScorePart(f"point[{i}]", gap, None, gap * gap) for i, gap in enumerate(gaps))


def _weighted_gaps(asked: list[float], weights: list[float], point: list[float]) -> tuple[ScorePart, ...]:
    """Weighted differences, of which the largest is the distance."""
    gaps = [abs(x - c) for c, x in zip(asked, point, strict=True)]
    both = enumerate(zip(gaps, weights, strict=True))
    return tuple(ScorePart(f"point[{i}]", gap, weight, weight * gap) for i, (gap, weight) in both)


def _products(asked: list[float], weights: list[float], point: list[float]) -> tuple[ScorePart, ...]:
    """Products, which add up to the score; what has no weight is left out."""
    both = enumerate(zip(asked, point, strict=True))
    return tuple(ScorePart(f"point[{i}]", x, weight, weight * x) for i, (weight, x) in both if weight)


def _shares_of_angle(asked: list[float], weights: list[float], point: list[float]) -> tuple[ScorePart, ...]:
    """Products by the lengths of both vectors, which add up to the cosine but for rounding."""
    lengths = norm(asked) * norm(point)
    products = _products(asked, weights, point)
    return tuple(part._replace(contribution=part.contribution / lengths if lengths else 0.0) for part in products)


def _metres(asked: list[float], weights: list[float], point: list[float]) -> tuple[ScorePart, ...]:
    metres = great_circle(asked, point)
    return (ScorePart("metres along the surface of the Earth", metres, None, metres),)


PARTS_OF = {
    Score.EUCLIDEAN: _differences,
    Score.CHEBYSHEV: _weighted_gaps,
    Score.SUM: _products,
    Score.COSINE: _shares_of_angle,
    Score.GEODESIC: _metres,
}


class PointExplainer(WindowedExplainer):
    """Explains tops of points."""

    name = "window"

    def parts(self, evidence: Evidence, said: Publications) -> tuple[ScorePart, ...]:
        asked: Subscriptions = evidence.asked
        vectors = (rows[0].tolist() for rows in (asked.points, asked.weights, said.points))
        return PARTS_OF[Score(int(asked.score[0]))](*vectors)

    def conditions(self, evidence: Evidence, said: Publications) -> tuple[Condition, ...]:
        if not FORMS[Score(int(evidence.asked.score[0]))].on_sphere:
            return ()
        return (Condition("the point is a longitude and a latitude", is_place(said.points[0].tolist())),)


EXPLAINER = PointExplainer()
