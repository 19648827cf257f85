"""What ranks subscriptions before any event is known: their scores if all that is chosen of them is met."""

from skyband.kernels.array import Bools, Floats, Int64s
from skyband.kernels.compile import kernel
from skyband.ranked.kernels.fitting import combined


@kernel
def full_scores(
    offsets: Int64s,
    weight: Floats,
    chosen: Bools,
    combination: int,
    score: Floats,
) -> None:
    """The combined weights of the chosen parts of each subscription, in the order of its parts; 0 for none."""
    for i in range(len(score)):
        total = 0.0
        is_first = True
        for p in range(offsets[i], offsets[i + 1]):
            if chosen[p]:
                total = combined(total, weight[p], is_first, combination)
                is_first = False
        score[i] = total
