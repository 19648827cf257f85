"""The combinations, by name."""

from typing import Any

from skyband.contract import register
from skyband.topk.policy import CSkyband, Kmax, Margin, Pa, Sasf, Skyband, Sma, Tma
from skyband.window.engine import IndexName, WindowEngine


@register
class WindowTma(WindowEngine):
    """TMA (Mouratidis et al.): the top k alone; when a member expires, CPM searches the stored publications."""

    name = "tma"
    good_for = "the least memory per subscription, where members seldom expire"

    def __init__(self, *args: Any, index: IndexName = "grid", **options: Any) -> None:
        super().__init__(*args, policy=Tma(), index=index, **options)


@register
class WindowSma(WindowEngine):
    """SMA (Mouratidis et al.): the k-skyband from the threshold of the last search by CPM, or `ratio` times it."""

    name = "sma"
    good_for = "little memory per subscription, with fewer searches than tma"

    def __init__(self, *args: Any, ratio: float = 1.0, index: IndexName = "grid", **options: Any) -> None:
        super().__init__(*args, policy=Sma(ratio), index=index, **options)


@register
class WindowSasf(WindowEngine):
    """SASF (Böhm et al.): candidates that no k newer ones dominate, filtered by the k-th best of the b most recent."""

    name = "sasf"
    good_for = "subscribers that can see the most recent publications and search nothing else"
    modes = ({"b": 3}, {"b": 1})

    def __init__(self, *args: Any, b: int = 2000, index: IndexName = "grid", **options: Any) -> None:
        super().__init__(*args, policy=Sasf(b), index=index, **options)


@register
class WindowPa(WindowEngine):
    """PA (Pripužić et al.): candidates whose chance to enter the top is larger than sigma; nothing is searched."""

    name = "pa"
    good_for = "subscribers that can search nothing, where an answer may be wrong with a probability of sigma"
    exact = False

    def __init__(self, *args: Any, sigma: float = 1e-3, index: IndexName = "grid", **options: Any) -> None:
        super().__init__(*args, policy=Pa(sigma), index=index, **options)


@register
class WindowSkyband(WindowEngine):
    """The exact k-skyband of the whole window: nothing is searched, and every arrival is a candidate for everyone."""

    name = "skyband"
    good_for = "some hundred subscriptions whose answers must never wait for a search"

    def __init__(self, *args: Any, index: IndexName = "blocks", **options: Any) -> None:
        super().__init__(*args, policy=Skyband(), index=index, **options)


@register
class WindowKmax(WindowEngine):
    """kmax (Yi et al.): between k and kmax of the best publications; `kmax` is in multiples of k."""

    name = "kmax"
    good_for = "rows of a known length"
    modes = ({"kmax": 1.5},)

    def __init__(self, *args: Any, kmax: float = 3.0, index: IndexName = "blocks", **options: Any) -> None:
        super().__init__(*args, policy=Kmax(kmax), index=index, **options)


@register
class WindowCSkyband(WindowEngine):
    """cSkyband (Wang et al.): the k-skyband from the threshold that costs least to keep, behind the published grid."""

    name = "cskyband"
    good_for = "many subscriptions, as published"

    def __init__(self, *args: Any, index: IndexName = "grid", **options: Any) -> None:
        super().__init__(*args, policy=CSkyband(), index=index, **options)


@register
class WindowBlocks(WindowEngine):
    """Ours: blocks of subscriptions that lie close together, and k-skybands that seldom run short."""

    name = "blocks"
    good_for = "thousands to millions of subscriptions, any score"

    def __init__(self, *args: Any, index: IndexName = "blocks", **options: Any) -> None:
        super().__init__(*args, policy=Margin(), index=index, **options)
