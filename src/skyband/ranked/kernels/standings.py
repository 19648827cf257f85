"""One event held against every subscription, for those who want to know why an answer is as it is."""

from skyband.kernels.array import Floats, Int64s
from skyband.kernels.compile import kernel
from skyband.ranked.kernels.fitting import Rule, score_parts
from skyband.ranked.kernels.parts import Parts


@kernel
def score_owners(parts: Parts, offsets: Int64s, low: Floats, high: Floats, rule: Rule, scores: Floats) -> None:
    """The score of each owner, whose parts are those from its offset to the next, or UNMATCHED."""
    for owner in range(len(scores)):
        first = offsets[owner]
        scores[owner] = score_parts(parts, first, offsets[owner + 1] - first, False, low, high, rule)
