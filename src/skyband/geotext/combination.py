"""The combinations, by name."""

from typing import Any

from skyband.contract import register
from skyband.geotext.engine import Geotext, IndexName, PolicyName


@register
class GeotextSkype(Geotext):
    """Skype (Wang et al.): the IGPT index, and the k-skyband from the threshold that costs least to keep."""

    name = "skype"
    good_for = "many subscriptions, as published"
    modes = ({"capacity": 2, "groups": 3}, {"policy": "skyband", "ratio": 0.8})
    rare_modes = ({"policy": "kmax", "kmax": 1.5}, {"policy": "margin", "capacity": 4}, {"prunings": []})

    def __init__(self, *args: Any, index: IndexName = "igpt", policy: PolicyName = "cskyband", **options: Any) -> None:
        super().__init__(*args, index=index, policy=policy, **options)


@register
class GeotextCiq(Geotext):
    """CIQ (Chen et al.) without its decay of time, and between k and kmax of the best messages: the best baseline."""

    name = "ciq"
    good_for = "a baseline"
    modes = ({"kmax": 1.5},)
    rare_modes = ({"policy": "cskyband", "depth": 1}, {"policy": "skyband"}, {"policy": "margin", "depth": 3})

    def __init__(self, *args: Any, index: IndexName = "ciq", policy: PolicyName = "kmax", **options: Any) -> None:
        super().__init__(*args, index=index, policy=policy, **options)


@register
class GeotextBlocks(Geotext):
    """Ours: subscriptions posted under their rarest words in blocks, and k-skybands that seldom run short."""

    name = "blocks"
    good_for = "thousands to millions of subscriptions"
    rare_modes = ({"policy": "cskyband"}, {"policy": "skyband"}, {"policy": "kmax", "kmax": 1.5})

    def __init__(
        self, *args: Any, index: IndexName = "postings", policy: PolicyName = "margin", **options: Any
    ) -> None:
        super().__init__(*args, index=index, policy=policy, **options)
