"""One subscription held against all that is stored, for those who want to know why an answer is as it is."""

import numpy as np

from skyband.kernels.array import Floats
from skyband.kernels.compile import kernel
from skyband.kernels.slots import BLOCK
from skyband.topk.kernels.score import Contents, Questions, raw_score, score_run


@kernel
def score_stored(
    questions: Questions,
    slot: int,
    contents: Contents,
    lo: int,
    hi: int,
    said: Floats,
    directed: Floats,
    scores: Floats,
) -> None:
    """Directed scores of the publications lo to hi, and those that a user sees, NaN where there is none.

    Both are written from index 0; `said` as in `score_run`.
    """
    score_run(questions, slot, contents, lo, hi, said, directed)
    kind = questions.kinds[slot // BLOCK]
    for p in range(hi - lo):
        scores[p] = np.nan if directed[p] == np.inf else raw_score(kind, directed[p])


@kernel
def limit_of(questions: Questions, slot: int, gate: float) -> float:
    """The score that a user sees of a publication that just passes a gate."""
    return raw_score(questions.kinds[slot // BLOCK], gate)
