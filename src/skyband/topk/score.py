"""Scores between points: Euclidean distance, weighted attribute distance, weighted sum, cosine relevance."""

import math
from collections.abc import Sequence
from enum import IntEnum


class Score(IntEnum):
    """How a window subscription scores a point."""

    EUCLIDEAN = 0
    CHEBYSHEV = 1
    SUM = 2
    COSINE = 3


def euclidean(centre: Sequence[float], point: Sequence[float]) -> float:
    """Distance in a straight line; smaller is better."""
    total = 0.0
    for c, x in zip(centre, point, strict=True):
        difference = x - c
        total += difference * difference
    return math.sqrt(total)


def chebyshev(centre: Sequence[float], weights: Sequence[float], point: Sequence[float]) -> float:
    """The largest weighted difference in any attribute; smaller is better."""
    largest = 0.0
    for c, w, x in zip(centre, weights, point, strict=True):
        largest = max(largest, w * abs(x - c))
    return largest


def weighted_sum(weights: Sequence[float], point: Sequence[float]) -> float:
    """The attributes added up by weight; larger is better."""
    total = 0.0
    for w, x in zip(weights, point, strict=True):
        total += w * x
    return total


def norm(vector: Sequence[float]) -> float:
    """The length of a vector."""
    total = 0.0
    for v in vector:
        total += v * v
    return math.sqrt(total)


def cosine(vector: Sequence[float], point: Sequence[float]) -> float:
    """The cosine of the angle between two vectors; larger is better, and 0 where either has no length."""
    lengths = norm(vector) * norm(point)
    return weighted_sum(vector, point) / lengths if lengths > 0.0 else 0.0
