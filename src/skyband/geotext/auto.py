"""The engine of geotext that is taken when none is named."""

from typing import Any

from skyband.contract import register
from skyband.contract.auto import Auto

# Measured by `skyband bench auto`.
MOST_SCANNED = 700


@register
class GeotextAuto(Auto):
    """Scan for up to some hundred subscriptions, and blocks beyond."""

    family = "geotext"
    many = "blocks"
    good_for = "any number of subscriptions: scan up to 700, blocks from then on"

    def _most_scanned(self, rows: Any) -> int:
        return MOST_SCANNED
