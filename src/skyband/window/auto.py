"""The engine of windows that is taken when none is named."""

from typing import Any

import numpy as np

from skyband.contract import register
from skyband.contract.auto import LARGEST, Auto
from skyband.topk.score import scores

# Measured by `skyband bench auto`: the more dimensions, the less blocks can rule out.
BY_DIMS = ((4, 500), (16, 4_000))
MANY_DIMS = 8_000
# Of long vectors that are mostly not zero, the index of shared dimensions rules out next to nothing.
MOST_DENSE, DENSE = 16, 0.5


@register
class WindowAuto(Auto):
    """Scan for up to some thousand subscriptions, and blocks beyond."""

    family = "window"
    many = "blocks"
    good_for = "any number of subscriptions: scan up to 500 in few dimensions and 8,000 in many, blocks from then on"

    def _most_scanned(self, rows: Any) -> int:
        dims = rows.points.shape[1]
        by_shared = np.isin(rows.score, scores(lambda form: form.by_shared_dimensions))
        if dims > MOST_DENSE and by_shared.any() and (rows.points[by_shared] != 0.0).mean() > DENSE:
            return LARGEST
        return next((most for up_to, most in BY_DIMS if dims <= up_to), MANY_DIMS)
