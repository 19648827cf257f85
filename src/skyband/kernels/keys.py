"""What ranks subscriptions before any event is known: their scores if all that is chosen of them is met."""

import numpy as np
import numpy.typing as npt

from skyband.kernels.compile import kernel
from skyband.kernels.fitting import combined


@kernel
def full_scores(
    offsets: npt.NDArray[np.int64],
    weight: npt.NDArray[np.float64],
    chosen: npt.NDArray[np.bool_],
    combination: int,
    score: npt.NDArray[np.float64],
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
