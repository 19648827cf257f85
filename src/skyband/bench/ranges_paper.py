"""The ranges paper's evaluation: how much of it is taken at each size, its approaches, and its own numbers."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from skyband.bench.experiment import Size
from skyband.bench.ranges_data import DENSE, RELAX, SPARSE, TOY, UNICAST, RangesSetting, loosened
from skyband.bench.ranges_traffic import Journey
from skyband.bench.row import Row
from skyband.bench.view import Published, by_parameter

KS = (1, 2, 5, 10, 15, 20)
# Subscriptions unless a table says otherwise (section V), of the trace of stocks, of Table IV, and of appendix D.
M, M_STOCKS, M_TABLE_4, M_SLOPED = 2_000_000, 400_000, (200_000, 800_000, 4_000_000, 10_000_000), 400_000
KS_SLOPED = (1, 2, 5, 10, 15)

Figures = Mapping[str, Sequence[float]]

LOOSE = loosened(SPARSE, 1.0)
EPSILONS = (0.125, 0.25, 0.5, 1.0)
LOOSE_DENSE = tuple(loosened(DENSE, epsilon) for epsilon in EPSILONS)
SENT = (UNICAST, DENSE, SPARSE, LOOSE, RELAX)
ONE_SERVER, SERVERS = DENSE._replace(label="1 server"), DENSE._replace(label="100 servers", servers=100)
# The paper does not say which two values of c it has.
VOLATILITIES = (0.1, 1.0)


class RangesScale(NamedTuple):
    """How much of section V is taken, by default all.

    `setting` is the default one, and `ms` the numbers of subscriptions of the race; those of figures that show growth,
    of Table IV and of Figure 15, which has `n_few` objects, are their own. `n_exact` changes are replayed where
    Paint-Dense alone is enough, `n_calls` where calls are counted, `n_carried` through a network; `n_batch` are in a
    batch. `sloped` is the setting of appendix D, whose k go to 15. `stocks` are those of the file, or made up.
    """

    setting: RangesSetting = RangesSetting(M, 20_000, batch=50, patience=15.0)
    ks: tuple[int, ...] = KS
    ms: tuple[int, ...] = (200_000, 2_000_000, 5_000_000)
    growth: tuple[int, ...] = (200_000, 1_000_000, 2_000_000, 5_000_000)
    table4: tuple[int, ...] = M_TABLE_4
    figure15: tuple[int, ...] = (200_000, 2_000_000, 10_000_000)
    n_objects: tuple[int, ...] = (10_000, 100_000, 1_000_000)
    n_few: int = 1_000
    k: int = 10
    n_exact: int = 50_000
    n_calls: int = 50_000
    n_carried: int = 10_000
    n_batch: int = 50_000
    sloped: RangesSetting = RangesSetting(M_SLOPED, 10_000, dims=2, batch=50)
    n_zones: int = 1_000
    n_nodes: int = 20_000
    stocks: bool = True

    def counted(self) -> RangesSetting:
        """The default setting where calls are counted."""
        return self.setting._replace(n_events=self.n_calls)

    def over(self, ms: Sequence[int], setting: RangesSetting | None = None) -> Iterator[RangesSetting]:
        """A setting, or the default one, for each number of subscriptions."""
        return ((setting or self.setting)._replace(n_subscriptions=m) for m in ms)

    def journey(self, setting: RangesSetting, real: bool = False) -> Journey:
        """Every approach for each k, in one network."""
        return Journey(setting, self.ks, SENT, self.n_zones, self.n_nodes, real)


SCALES: dict[Size, RangesScale] = {
    "toy": RangesScale(
        TOY, (1, 3), (20, 40), (20, 40), (20, 40), (40,), (12, 40), n_few=12, k=3, n_exact=12, n_calls=8, n_carried=8,
        n_batch=16, sloped=TOY._replace(dims=2), n_zones=5, n_nodes=30, stocks=False,
    ),
    "small": RangesScale(
        RangesSetting(M, 5_000, n_warm=10, batch=50),
        ms=(200_000, 2_000_000),
        growth=(200_000, 1_000_000, 2_000_000),
        table4=(200_000, 800_000, 4_000_000),
        figure15=(200_000, 2_000_000),
        n_calls=20_000,
        n_carried=5_000,
        sloped=RangesSetting(M_SLOPED, 2_000, dims=2, n_warm=10, batch=50),
    ),
    "full": RangesScale(),
}  # fmt: skip

# The paper's own numbers.
AFFECTED_PAPER = {"Paint-Dense": (444.141, 939.76, 2211.14, 4190.21, 6082.94, 7904.26)}
REDUNDANCY = {
    "Paint-Sparse(0.125)": (0, 0, 0, 0.015, 0.0234, 0.034),
    "Paint-Sparse(0.25)": (0, 0, 0.027, 0.061, 0.070, 0.080),
    "Paint-Sparse(0.5)": (0, 0, 0.11, 0.14, 0.16, 0.17),
    "Paint-Sparse(1)": (0, 0.16, 0.29, 0.30, 0.32, 0.34),
    "CN-Relax": (1440.2, 680.14, 288.49, 151.76, 104.23, 79.98),
}
REDUNDANCY_STOCKS = {
    "Paint-Sparse(1)": (0, 0.19, 0.25, 0.35, 0.39, 0.38),
    "CN-Relax": (706.51, 361.22, 147.13, 72.67, 48.38, 36.11),
}
MIN_Y_PAPER = {
    "Paint-Dense": (1.12, 1.73, 3.57, 6.60, 9.63, 12.63),
    "Paint-Sparse": (0.72744, 1.08988, 2.59596, 5.5568, 8.57692, 11.58048),
    "Unicast": (444.141, 1086.44, 2846.1, 5453.64, 8032.39, 10587.4),
}
SNAP_PAPER = {"Paint-Sparse": (1.2284, 2.95254, 12.06538, 40.69192, 84.65234, 143.20416)}
MIN_Y_STOCKS = {
    "Paint-Sparse": (0.5, 0.5, 0.51, 0.54, 0.57, 0.61),
    "Unicast": (176.01, 409.44, 1050.48, 2278.27, 3510.16, 4614.24),
}
SNAP_STOCKS = {"Paint-Sparse": (1, 2, 5.05, 10.35, 16.02, 22.18)}
MIN_Y_BY_M = {"Paint-Sparse": (3.52, 4.84, 5.94188, 6.26988), "Unicast": (545.23, 2181.49, 10906.4, 27267.5)}
SNAP_BY_M = {"Paint-Sparse": (29.87, 37.34, 42.0509, 42.86982)}
# Whatever the number: the paper counts a snap for each tile of Paint-Dense, which is a message.
DENSE_MIN_Y, DENSE_TILES = 6.60, 43.36
# Of appendix D by data set; those of Paint-Dense do not depend on it.
MIN_SLOPED = {
    "dense": (6.35, 11.31, 26.13, 50.48, 74.40),
    "dataset1": (5.68, 9.88, 23.07, 45.85, 68.826),
    "dataset2": (5.40, 8.97, 19.45, 36.97, 54.67),
    "dataset3": (5.51, 9.36, 21.12, 41.13, 61.07),
}
SNAP_SLOPED = {
    "dataset1": (4.55, 13.86, 88.43, 473.43, 1361.90),
    "dataset2": (4.08, 10.92, 51.44, 213.40, 561.45),
    "dataset3": (4.29, 12.28, 70.69, 360.45, 1022.86),
}


def by_k(figures: Figures, m: int = M, ks: Sequence[int] = KS) -> Published:
    """What the paper has for an approach at each k and this many subscriptions."""
    return by_parameter(figures, "k", ks, n_subscriptions=m)


def by_m(figures: Figures) -> Published:
    return by_parameter(figures, "n_subscriptions", M_TABLE_4, k=10)


def min_y_by_m(row: Row) -> float | None:
    """What Table IV has; that of Paint-Dense is the same for any number."""
    if row["algorithm"] == DENSE.label and row["parameters"]["k"] == 10:
        return DENSE_MIN_Y
    return by_m(MIN_Y_BY_M)(row)


def tiles_of(row: Row) -> str:
    return f"{DENSE_TILES}" if row["algorithm"] == DENSE.label and row["parameters"]["k"] == 10 else ""


def by_data_and_k(figures: Figures) -> Published:
    """What the paper has for Paint-Sparse on each set, and for Paint-Dense on any."""

    def find(row: Row) -> float | None:
        data = row["parameters"]["data"] if row["algorithm"] == SPARSE.label else "dense"
        return by_k(figures, M_SLOPED, KS_SLOPED)(row | {"algorithm": data})

    return find
