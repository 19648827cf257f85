"""The engine of ranges that is taken when none is named."""

from typing import Any

from skyband.contract import register
from skyband.contract.auto import Auto

# Measured by `skyband bench auto`.
MOST_SCANNED = 3_000


@register
class RangesAuto(Auto):
    """Scan for up to some thousand subscriptions, and paint beyond."""

    family = "ranges"
    many = "paint"
    good_for = "any number of subscriptions: scan up to 3,000, paint from then on"

    def _most_scanned(self, rows: Any) -> int:
        return MOST_SCANNED
