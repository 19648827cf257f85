"""The score by place and words: equation 1 of the geotext paper."""

from collections.abc import Callable, Mapping, Sequence

from skyband.topk.score import euclidean


def place_and_words(
    alpha: float,
    place: tuple[float, float],
    words: Sequence[tuple[str, float]],
    at: tuple[float, float],
    said: Mapping[str, float],
    diagonal: float,
    distance: Callable[[Sequence[float], Sequence[float]], float] = euclidean,
) -> float | None:
    """α · nearness + (1 − α) · relevance; larger is better, and None where no word is shared.

    `words` are the subscription's terms with their weights, in its own order; `said` are the publication's.
    `diagonal` is the largest distance the space allows; on Earth `distance` is `great_circle`.
    """
    shared = [(weight, said[term]) for term, weight in words if term in said]
    if not shared:
        return None
    relevance = 0.0
    for mine, theirs in shared:
        relevance += mine * theirs
    nearness = 1.0 - distance(place, at) / diagonal
    return alpha * nearness + (1.0 - alpha) * relevance
