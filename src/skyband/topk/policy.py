"""Buffer policies: which candidates a subscription keeps, and up to where its row is complete.

| policy | keeps | complete up to | searches again |
|---|---|---|---|
| skyband | what fewer than k dominate | everything | never |
| sma | what fewer than k dominate | the k-th best of the last search | when fewer than k are left |
| cskyband | what fewer than k dominate | the n-th best of the last search, n by cost | when fewer than k are left |
| margin | what fewer than k dominate | the same, n = k + 2 sqrt(k) + 2 | when fewer than k are left |
| tma | the k best | the k-th best | when a member expires |
| kmax | the kmax best | the last entry | when fewer than k are left |
| sasf | what fewer than k dominate | the k-th best of the b most recent | the b most recent, when one of those k ages |
| pa | what fewer than k dominate | where the chance of a newcomer falls to sigma | never |
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from skyband.kernels.array import Int64s
from skyband.table.argument import check_integer, check_number
from skyband.topk.chance import arrival_rank, ranks
from skyband.topk.cost import best_ns
from skyband.topk.kernels.workspace import BEST, CHANCE, DOMINANCE, NO_BOUND, RECENT, SEARCH

# A search that takes whatever is nearly as good as the k-th takes at most so many times k.
MOST = 32
# A life is divided into so many equal parts.
N_SHARES = 16


@dataclass(frozen=True)
class Policy:
    """How rows are kept. `search_cost` is what a search has cost on average, in entries of a row touched.

    A `priced` policy searches for another number when that has changed. One that `meets_floods` has every row searched
    for where so much arrives at once that this takes less; published ones offer each arrival to the rows, as published.
    """

    name: ClassVar[str]
    keeps: ClassVar[int] = DOMINANCE
    bounded_by: ClassVar[int] = SEARCH
    n_recent: ClassVar[int] = 0
    slack: ClassVar[float] = 0.0
    priced: ClassVar[bool] = False
    meets_floods: ClassVar[bool] = False

    def depths(self, ks: Int64s, search_cost: float) -> Int64s:
        """How many publications a search looks for."""
        return ks


class Skyband(Policy):
    """The exact k-skyband: every publication is a candidate until k better ones are newer."""

    name = "skyband"
    bounded_by = NO_BOUND


@dataclass(frozen=True)
class Sma(Policy):
    """The k-skyband of what is at least as good as the k-th of the last search (Mouratidis et al.).

    With a `ratio` below 1, as the Skype paper tunes it, of what is at least so many times as good as the k-th, MOST
    times k of them.
    """

    name = "sma"
    ratio: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "ratio", check_number("ratio", self.ratio, 0.0, 1.0, above=True))

    @property
    def slack(self) -> float:  # type: ignore[override]  # a number for every other policy
        return 1.0 - self.ratio

    def depths(self, ks: Int64s, search_cost: float) -> Int64s:
        """As many as are asked for, or may be as good."""
        return ks if self.ratio == 1.0 else MOST * ks


class Tma(Policy):
    """The top k alone; a member that expires is replaced by a search (Mouratidis et al.)."""

    name = "tma"
    keeps = BEST


@dataclass(frozen=True)
class Kmax(Policy):
    """Between k and kmax of the best (Yi et al.); `kmax` is in multiples of k."""

    name = "kmax"
    keeps = BEST
    kmax: float = 3.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "kmax", check_number("kmax", self.kmax, 1.0, 1e6, below=True))

    def depths(self, ks: Int64s, search_cost: float) -> Int64s:
        """So many times k."""
        most: Int64s = np.ceil(self.kmax * ks).astype(np.int64)
        return most


class CSkyband(Policy):
    """The k-skyband of as much as costs least to keep, by the cost model of the Skype paper (equations 11 to 16)."""

    name = "cskyband"
    priced = True

    def depths(self, ks: Int64s, search_cost: float) -> Int64s:
        """The n of least cost."""
        different, which = np.unique(ks, return_inverse=True)
        found: Int64s = best_ns(different, search_cost)[which]
        return found


class Margin(Policy):
    """Ours: the k-skyband of two standard deviations more than k.

    How many live publications lie within a fixed bound varies by about the square root of their number, so a row that
    starts with n = k + 2 sqrt(k) + 2 seldom falls below k. Measured at k = 9 and 100,000 subscriptions: 0.02 searches a
    publication with n = 17, and 0.31 with the 14 of the cost model, which counts entries and not what a search takes.
    """

    name = "margin"
    meets_floods = True

    def depths(self, ks: Int64s, search_cost: float) -> Int64s:
        """Two standard deviations more than k."""
        return ks + np.ceil(2.0 * np.sqrt(ks)).astype(np.int64) + 2


@dataclass(frozen=True)
class Sasf(Policy):
    """Strict candidate pruning with a strict filter: the k-th best of the b most recent publications bounds the row."""

    name = "sasf"
    bounded_by = RECENT
    b: int = 2000

    def __post_init__(self) -> None:
        object.__setattr__(self, "b", check_integer("b", self.b, 1, 2**62))

    @property
    def n_recent(self) -> int:  # type: ignore[override]  # a number for every other policy
        return self.b


@dataclass(frozen=True)
class Pa(Policy):
    """The probabilistic algorithm: a newcomer is ignored if its chance to enter the top is at most sigma."""

    name = "pa"
    bounded_by = CHANCE
    sigma: float = 1e-3

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", check_number("sigma", self.sigma, 0.0, 1.0, above=True, below=True))

    def depths(self, ks: Int64s, search_cost: float) -> Int64s:
        """As many as have a chance on arrival."""
        return np.array([arrival_rank(int(k), self.sigma) + 1 for k in ks], np.int64)

    def sizes(self, k: int) -> tuple[int, int, int]:
        """How many entries within the bound are too few, right, and too many.

        Of the n best that are live, about k (1 + ln(n / k)) are not dominated.
        """
        n = arrival_rank(k, self.sigma) + 1
        low = min(n, int(np.ceil(k * (1.0 + np.log(max(n, k) / k)))))
        slack = 2 + int(np.ceil(np.sqrt(low)))
        return low, low + slack, low + 2 * slack

    def ranks(self, k: int) -> Int64s:
        """For each number of dominators and share of life, how many older ones may be better."""
        return ranks(k, self.sigma, N_SHARES)
