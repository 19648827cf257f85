"""Searches for a covering subscription side by side, for the same subscriptions and the same queries.

The first goes along the Hilbert curve, the others along the Z curve. It is exact, and what it answers is compared with
a scan before anything is timed. Another search takes as many queries as are worth waiting for; those of the paper's are
the ones that it can answer with a given number of probes. Ratios are of the very same queries.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from skyband.bench.covering_data import (
    CoveringData,
    CoveringSetting,
    CoverScan,
    covers,
    draw,
    lengths_of,
    n_probes,
    on_curve,
    queries,
)
from skyband.bench.experiment import Progress
from skyband.bench.row import Row, measured, skipped
from skyband.bench.runner import WrongAnswer, short_of_memory, time_in_turn
from skyband.covering.kernels.corners import NONE
from skyband.covering.roots import Roots
from skyband.covering.search import Corners, Greedy, Jumps, Search
from skyband.kernels.array import Floats, Int64s

SCAN = "scan"
# Fewer queries than this tell nothing.
LEAST = 3
# The points as numbers, the tables they came from, the cells and keys while the curve is laid, and the curve, for a
# number of 8 bytes of each.
COPIES = 10
# Nanoseconds below which a round is too short for a few of them.
QUICK = 20_000_000


class CoveringEffort(NamedTuple):
    """How much is measured: queries, rounds, updates, and seconds that a round of scans may take.

    Of the paper's search, `most` probes may be needed for a query, and `in_all` for a round; `coverages` are the shares
    of the region that are searched.
    """

    n_queries: int
    n_rounds: int
    n_updates: int
    patience: float
    most: int
    in_all: int
    coverages: tuple[float, ...] = (0.9, 0.7)


class Laid(NamedTuple):
    """Subscriptions on a curve, and what the curve costs."""

    roots: Roots
    costs: dict[str, float]


class BuiltCurves(NamedTuple):
    """Subscriptions on both curves, the queries, and what exact search finds for each."""

    data: CoveringData
    hilbert: Laid
    z: Laid
    asked: Floats
    found: Int64s


def compare(setting: CoveringSetting, effort: CoveringEffort, progress: Progress) -> Iterator[Row]:
    """A row for each search, or one that says why there are none."""
    reason = short_of_memory(setting.n * 2 * setting.attributes * 8 * COPIES)
    if reason is not None:
        yield skipped(setting.label, Corners.name, setting.parameters, reason)
        return
    progress(setting.label)
    built = build(setting, effort)
    first, everything = Corners(built.hilbert.roots), np.arange(len(built.asked))
    yield _row(built, first.name, first, first, everything, effort)
    yield _row(built, f"{first.name}, Z curve", first, Corners(built.z.roots), everything, effort)
    for coverage in effort.coverages:
        label = f"greedy {coverage:.0%}"
        chosen, reason = feasible(built, coverage, effort)
        if reason is None:
            yield _row(built, label, first, Greedy(built.z.roots, 1.0 - coverage), chosen, effort)
        else:
            yield skipped(setting.label, label, setting.parameters, reason)
    yield _row(built, Jumps.name, first, Jumps(built.z.roots), everything, effort)
    scan = CoverScan(built.data.points)
    yield _row(built, SCAN, first, scan, scanned(scan, built.asked, effort), effort)


def build(setting: CoveringSetting, effort: CoveringEffort) -> BuiltCurves:
    """Lay the curves, draw the queries, and make sure that the exact searches say what a scan says."""
    data = draw(setting, effort.n_queries)
    hilbert, z = lay(data, True), lay(data, False)
    asked = queries(data, z.roots)
    built = BuiltCurves(data, hilbert, z, asked, Corners(hilbert.roots).find(asked))
    check(built, Jumps(z.roots).find(asked), np.arange(len(asked)))
    scan = CoverScan(data.points)
    some = scanned(scan, asked, effort)
    check(built, scan.find(asked[some]), some)
    for laid in (hilbert, z):
        laid.costs.update(updates(laid.roots, data.others[: effort.n_updates], setting.n))
    return built


def lay(data: CoveringData, hilbert: bool) -> Laid:
    """Lay a curve through the subscriptions."""
    # Compiled before it is timed.
    on_curve(draw(data.setting._replace(n=20), 0), hilbert)
    start = time.perf_counter()
    roots = on_curve(data, hilbert)
    spent, n_bytes = time.perf_counter() - start, roots.n_bytes + roots.curve.n_bytes
    return Laid(roots, {"build_s": spent, "bytes": n_bytes / max(data.setting.n, 1)})


def check(built: BuiltCurves, found: Int64s, chosen: Int64s, exact: bool = True) -> None:
    """Raise `WrongAnswer` unless what was found covers its query, and exact searches found what there is."""
    points, asked = built.data.points, built.asked[chosen]
    wrong = (found != NONE) & ~covers(points, found, asked)
    if exact:
        wrong |= (found == NONE) != (built.found[chosen] == NONE)
    if wrong.any():
        raise WrongAnswer(f"{built.data.setting.label}: {int(wrong.sum())} of {len(found)} answers are wrong.")


def feasible(built: BuiltCurves, coverage: float, effort: CoveringEffort) -> tuple[Int64s, str | None]:
    """Queries that the paper's search can answer, as many as probes allow in all; or why there are too few of them."""
    needed = np.array([n_probes(sides, coverage) for sides in lengths_of(built.asked, built.z.roots)], np.float64)
    chosen = np.flatnonzero(needed <= effort.most)
    if len(chosen) < LEAST:
        return chosen, (
            f"Skipped: {len(chosen)} of {len(needed):,} queries need at most {effort.most:,} probes, the easiest "
            f"{needed.min():.1e} and half of them {np.median(needed):.1e} or more."
        )
    # The hard queries are at the end, and a round may not get there.
    chosen = chosen[np.random.default_rng(0).permutation(len(chosen))]
    affordable = np.cumsum(needed[chosen]) <= effort.in_all
    affordable[:LEAST] = True
    return chosen[affordable], None


def scanned(scan: CoverScan, asked: Floats, effort: CoveringEffort) -> Int64s:
    """Queries of a round of scans, from easy to hard."""
    start = time.perf_counter()
    scan.find(asked[:2])
    spent = (time.perf_counter() - start) / 2
    n = int(np.clip(effort.patience / max(spent, 1e-9), LEAST, len(asked)))
    return np.linspace(0, len(asked) - 1, n).astype(np.int64)


def updates(roots: Roots, points: Floats, first_slot: int) -> dict[str, float]:
    """Insertions and removals in a second, one at a time; none of them has to make room."""
    curve, slots = roots.curve, first_slot + np.arange(len(points))
    cells = roots.grid.cells(points)
    curve.make_room(32 * len(points))
    # Compiled before it is timed.
    curve.insert(cells[:1], slots[:1])
    curve.remove(cells[:1], slots[:1])
    rates = dict[str, float]()
    for name, change in (("inserts", curve.insert), ("removals", curve.remove)):
        start = time.perf_counter()
        for i in range(len(slots)):
            change(cells[i : i + 1], slots[i : i + 1])
        rates[name] = len(slots) / (time.perf_counter() - start)
    return rates


def _row(
    built: BuiltCurves, label: str, first: Corners, other: Search | CoverScan, chosen: Int64s, effort: CoveringEffort
) -> Row:
    asked, n = built.asked[chosen], len(chosen)
    before = _cost(other)
    found = other.find(asked)
    steps = (_cost(other) - before) / n if isinstance(other, Search) else float(len(built.data.points))
    check(built, found, chosen, exact=not isinstance(other, Greedy))
    calls = _calls("first", first, asked) | _calls("own", other, asked)
    is_quick = time_in_turn({"own": calls["own batch"]}, 1, n_warm=0)["own"][0] < QUICK
    taken = time_in_turn(calls, effort.n_rounds * (5 if is_quick else 1))
    spent = {name: float(np.median(times)) for name, times in taken.items()}
    exact = built.found[chosen] != NONE
    measures = {
        "steps": steps,
        "batch_us": spent["own batch"] / n / 1e3,
        "single_us": spent["own singly"] / n / 1e3,
        "ratio": 1.0 if other is first else spent["own batch"] / spent["first batch"],
        "ratio_single": 1.0 if other is first else spent["own singly"] / spent["first singly"],
        "covered": float(exact.mean()),
        "found": float((found != NONE).mean()),
    }
    if isinstance(other, CoverScan):
        measures["bytes"] = other.n_bytes / len(built.data.points)
    else:
        measures |= built.hilbert.costs if other is first else built.z.costs
    given = built.data.setting.parameters | {"n_queries": len(built.asked), "n_asked": n}
    return measured(built.data.setting.label, label, given, taken["own batch"], n, measures)


def _cost(search: Search | CoverScan) -> int:
    return search.cost if isinstance(search, Search) else 0


def _calls(name: str, search: Search | CoverScan, asked: Floats) -> dict[str, Callable[[int], Any]]:
    singles = [asked[i : i + 1] for i in range(len(asked))]
    return {f"{name} batch": lambda turn: search.find(asked), f"{name} singly": partial(_one_by_one, search, singles)}


def _one_by_one(search: Search | CoverScan, singles: Sequence[Floats], turn: int) -> None:
    for single in singles:
        search.find(single)
