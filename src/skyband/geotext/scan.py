"""Scan for the geotext family: messages scored by place and words."""

from skyband.contract import register
from skyband.geotext.messages import MessageEngine
from skyband.geotext.rows import Publications, Subscriptions
from skyband.kernels.growth import grown
from skyband.topk.scan import ContinuousScan


@register
class GeotextScan(MessageEngine, ContinuousScan[Subscriptions, Publications]):
    """Top-k by place and words in sliding windows, by brute force."""

    name = "scan"
    good_for = "a few thousand subscriptions, and as the baseline"

    def _widen(self, n_codes: int) -> None:
        self._scratch = self._scratch._replace(said=grown(self._scratch.said, n_codes))
