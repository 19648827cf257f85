"""The score by place and words: equation 1 of the geotext paper."""

import math
from collections.abc import Mapping, Sequence


def place_and_words(
    alpha: float,
    place: tuple[float, float],
    words: Sequence[tuple[str, float]],
    at: tuple[float, float],
    said: Mapping[str, float],
    diagonal: float,
) -> float | None:
    """α · nearness + (1 − α) · relevance; larger is better, and None where no word is shared.

    `words` are the subscription's terms with their weights, in its own order; `said` are the publication's.
    `diagonal` is the largest distance the space allows.
    """
    shared = [(weight, said[term]) for term, weight in words if term in said]
    if not shared:
        return None
    relevance = 0.0
    for mine, theirs in shared:
        relevance += mine * theirs
    dx, dy = at[0] - place[0], at[1] - place[1]
    nearness = 1.0 - math.sqrt(dx * dx + dy * dy) / diagonal
    return alpha * nearness + (1.0 - alpha) * relevance
