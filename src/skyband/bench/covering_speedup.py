"""Figures 7 to 9 of the covering paper: how much faster a search is that leaves a part of the region out.

As in its section 6, nothing is found: of the subscriptions, those that cover a query are taken out. A query is given by
the side lengths of its region, the shortest of which is fixed, and its aspect ratio; the universe is the smallest that
regions of the largest aspect ratio fit in twice. With the shortest side held, a larger aspect ratio makes regions
larger, and speed-ups grow with the region; so the longest side is held as well, in contests of their own. What the
exact searches of this project take is beside.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from skyband.bench.covering_data import (
    SEED,
    CoveringData,
    CoveringSetting,
    CoverScan,
    draw,
    lengths_of,
    n_probes,
    on_curve,
    points_of,
)
from skyband.bench.experiment import Progress
from skyband.bench.row import Row, measured, skipped
from skyband.bench.runner import WrongAnswer, time_in_turn
from skyband.covering import workload
from skyband.covering.kernels.corners import NONE
from skyband.covering.search import Corners, Greedy, Jumps, Search
from skyband.kernels.array import Floats, Int64s

COVERAGES = (0.99, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.6, 0.5)
EXHAUSTIVE = "exhaustive"
# Nanoseconds of a round below which there are more rounds: what disturbs a short one is much of its time.
QUICK = 50_000_000


class RegionCase(NamedTuple):
    """Regions whose shortest side is `side`, with others up to `aspect` bits longer.

    The side that is `held` is the same for all aspect ratios.
    """

    side: int
    aspect: int
    held: Literal["shortest", "longest"] = "shortest"

    @property
    def label(self) -> str:
        """Which side is held, how long it is, and the aspect ratio."""
        return f"{self.held} side {self.held_side}, aspect ratio {self.aspect}"

    @property
    def held_side(self) -> int:
        """The side that does not change with the aspect ratio; of a longest one, the least length it may have."""
        return self.side if self.held == "shortest" else self.side << self.aspect


class SpeedupPlan(NamedTuple):
    """Attributes, shortest sides, aspect ratios, queries, points, the most cubes of a region, coverages, and rounds.

    `longest` are sides that are held in turn, so that a shortest side is halved as the aspect ratio grows by one.
    """

    attributes: int
    sides: tuple[int, ...]
    aspects: tuple[int, ...]
    n_queries: int
    n_points: int
    most: int
    coverages: tuple[float, ...] = COVERAGES
    n_rounds: int = 15
    longest: tuple[int, ...] = ()

    def bits(self, side: int) -> int:
        """The bits of a universe where regions of all aspect ratios leave at least as much room as they take."""
        return side.bit_length() + max(self.aspects) + 1

    def cases(self) -> Iterator[RegionCase]:
        """All that is compared: with a shortest side held, then with a longest one."""
        for side in self.sides:
            yield from (RegionCase(side, aspect) for aspect in self.aspects)
        for side in self.longest:
            yield from (RegionCase(side >> aspect, aspect, "longest") for aspect in self.aspects)


def speed_up(plan: SpeedupPlan, case: RegionCase, progress: Progress) -> Iterator[Row]:
    """Exhaustive search, ever smaller shares of the region, and the exact searches of this project.

    Where regions have too many cubes to search them all, no time is taken, and probes are foretold.
    """
    contest, bits = case.label, plan.bits(case.side)
    progress(f"{2 * plan.attributes} dimensions, {contest}")
    parameters: dict[str, Any] = {
        "dims": 2 * plan.attributes,
        "bits": bits,
        "seed": SEED,
        "held_side": case.held_side,
    } | case._asdict()
    setting = CoveringSetting(plan.n_points, plan.attributes, sides=(0.1, 0.5), bits=bits)
    asked = regions(setting, case.side, case.aspect, plan.n_queries)
    roots = on_curve(sparse(setting, asked))
    lengths = lengths_of(asked, roots)
    n_cubes = float(np.mean([n_probes(each, 1.0) for each in lengths]))
    shares = dict(zip((EXHAUSTIVE, *map("greedy {:.0%}".format, plan.coverages)), (1.0, *plan.coverages), strict=True))
    foretold = {name: foretell(lengths, coverage) for name, coverage in shares.items()}
    if n_cubes > plan.most:
        reason = f"Skipped: a region has {n_cubes:.1e} cubes on average, and {plan.most:,} are allowed."
        yield skipped(contest, EXHAUSTIVE, parameters, reason)
        for name in list(shares)[1:]:
            own = parameters | {"coverage": shares[name]}
            yield measured(contest, name, own, [], len(asked), foretold[name])
        return
    searches: dict[str, Search] = {name: Greedy(roots, 1.0 - coverage) for name, coverage in shares.items()}
    searches |= {"corners": Corners(roots), "jumps": Jumps(roots)}
    timed = _time(searches, asked, 1)
    quick = {name: search for name, search in searches.items() if timed[name].taken[0] < QUICK}
    timed |= _time(quick, asked, plan.n_rounds)
    for name, (taken, steps) in timed.items():
        gain = float(np.median(timed[EXHAUSTIVE].taken) / np.median(taken))
        measures = {"us": float(np.median(taken)) / len(asked) / 1e3, "ratio": gain}
        measures = foretold.get(name, {}) | measures | {"steps": steps}
        own = parameters | ({"coverage": shares[name]} if name in shares else {})
        yield measured(contest, name, own, taken, len(asked), measures)


def foretell(lengths: Int64s, coverage: float) -> dict[str, float]:
    """What a search to this coverage takes by Lemma 3.4: its probes, and by what factor all cubes are more."""
    steps = float(np.mean([n_probes(each, coverage) for each in lengths]))
    n_cubes = float(np.mean([n_probes(each, 1.0) for each in lengths]))
    return {"inverse": 1.0 / coverage, "fewer": n_cubes / steps, "steps": steps}


def regions(setting: CoveringSetting, side: int, aspect: int, n: int) -> Floats:
    """The paper's queries, drawn by their regions."""
    options = workload.Options(
        n_subscriptions=0,
        n_queries=n,
        dims=setting.attributes,
        bits=setting.bits,
        query_side=side / (1 << setting.bits),
        query_aspect=aspect,
        seed=SEED,
    )
    return points_of(setting.domains, workload.generate(options).publications)


def sparse(setting: CoveringSetting, asked: Floats) -> CoveringData:
    """Subscriptions none of which covers a query: of twice as many, and of more if need be."""
    wanted = setting.n
    while True:
        data = draw(setting._replace(n=2 * setting.n), 0)
        scan, left = CoverScan(data.points), np.ones(len(data.points), np.bool_)
        for point in asked:
            left[scan.covering(point)] = False
        if left.sum() >= wanted:
            return CoveringData(setting, data.points[left][:wanted], data.others)
        setting = setting._replace(n=2 * setting.n)


class TimedQueries(NamedTuple):
    """What all queries took in each round, and the steps of one."""

    taken: list[int]
    steps: float


def _time(searches: Mapping[str, Search], asked: Floats, n_rounds: int) -> dict[str, TimedQueries]:
    """Searches turn and turn about; nothing may be found, and as much searched as was asked for."""
    for search in searches.values():
        # Compiled before it is timed: the smallest region of all.
        search.find(np.full((1, asked.shape[1]), np.inf))
    before = {name: search.cost for name, search in searches.items()}

    def look(name: str, turn: int, found: Any) -> None:
        search = searches[name]
        if (found != NONE).any():
            raise WrongAnswer(f"{name}: a covering subscription was found where there is none.")
        if isinstance(search, Greedy) and search.share < 1.0 - search.epsilon:
            raise WrongAnswer(f"{name}: only {search.share:.4f} of a region was searched.")

    calls = {name: partial(_find, search, asked) for name, search in searches.items()}
    taken = time_in_turn(calls, n_rounds, n_warm=0, after=look)
    n = n_rounds * len(asked)
    return {name: TimedQueries(taken[name], (search.cost - before[name]) / n) for name, search in searches.items()}


def _find(search: Search, asked: Floats, turn: int) -> Int64s:
    return search.find(asked)
