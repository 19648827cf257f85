"""The engine of ranked that is taken when none is named."""

from typing import Any

from skyband.contract import register
from skyband.contract.auto import Auto
from skyband.ranked.engine import RankedEngine

# Measured by `skyband bench auto`.
MOST_SCANNED = 300


@register
class RankedAuto(Auto):
    """Scan for up to some hundred subscriptions, and scored beyond."""

    family = "ranked"
    many = "scored"
    good_for = "any number of subscriptions: scan up to 300, scored from then on"

    def _most_scanned(self, rows: Any) -> int:
        return MOST_SCANNED


# It has all that a ranked engine has, from the one at work.
RankedEngine.register(RankedAuto)
