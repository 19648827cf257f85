"""Data of the covering benchmarks: subscriptions on a curve, and queries of which half are hard.

Every subscription is on the curve, covered or not, as in the paper. The first half of the queries are drawn like the
subscriptions. The others are not covered, but nearly so: from a box drawn like the subscriptions one climbs to what
covers it, and from there on, until nothing covers it with a cell more on each side.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple, cast

import numpy as np
import pyarrow as pa

from skyband.covering import workload as covering
from skyband.covering.grid import Domain, to_points
from skyband.covering.kernels.corners import NONE
from skyband.covering.kernels.cubes import n_cubes
from skyband.covering.roots import Roots
from skyband.covering.search import Corners
from skyband.kernels.array import Bools, Floats, Int64s

SEED = 1
# Sides as shares of the domain: the workload's own, with which nearly everything is covered, and small ones.
SMALL, LARGE = (0.01, 0.1), (0.1, 0.5)


class CoveringSetting(NamedTuple):
    """How many subscriptions there are, with how many attributes, and how they lie."""

    n: int
    attributes: int
    data: str = "uniform"
    sides: tuple[float, float] = SMALL
    bits: int = 16

    @property
    def domains(self) -> tuple[Domain, ...]:
        """Integers of so many bits for each attribute."""
        return (Domain(0, (1 << self.bits) - 1, True),) * self.attributes

    @property
    def parameters(self) -> dict[str, Any]:
        """What a row says of the data."""
        return {
            "n_subscriptions": self.n,
            "attributes": self.attributes,
            "data": self.data,
            "sides": f"{self.sides[0]:g} to {self.sides[1]:g}",
            "bits": self.bits,
            "seed": SEED,
        }

    @property
    def label(self) -> str:
        """The data in a few words."""
        given = self.parameters
        return f"{self.n:,} {self.data} subscriptions, {self.attributes} attributes, sides {given['sides']}"


def sized(kinds: Sequence[CoveringSetting], *ns: int) -> tuple[CoveringSetting, ...]:
    """Each kind of data with each number of subscriptions."""
    return tuple(kind._replace(n=n) for n in ns for kind in kinds)


class CoveringData(NamedTuple):
    """Points of subscriptions, and of as many more as were asked for, drawn alike."""

    setting: CoveringSetting
    points: Floats
    others: Floats


def draw(setting: CoveringSetting, n_others: int) -> CoveringData:
    """Subscriptions by the covering workload."""
    made = covering.subscriptions(
        covering.Options(
            n_subscriptions=setting.n + n_others,
            dims=setting.attributes,
            bits=setting.bits,
            data=cast(Literal["uniform", "clustered", "zipfian"], setting.data),
            side_min=setting.sides[0],
            side_max=setting.sides[1],
            seed=SEED,
        )
    )
    points = points_of(setting.domains, made)
    return CoveringData(setting, points[: setting.n], points[setting.n :])


def points_of(domains: tuple[Domain, ...], boxes: pa.Table) -> Floats:
    """The points of boxes in a table."""
    lo, hi = (boxes[end].combine_chunks().flatten().to_numpy().reshape(len(boxes), -1) for end in ("lo", "hi"))
    return to_points(domains, lo, hi)


def on_curve(data: CoveringData, hilbert: bool = False) -> Roots:
    """All subscriptions of the data as roots, in slots by their order, along the Z curve or that of Hilbert."""
    roots = Roots(data.setting.domains, data.setting.bits, hilbert)
    slots = np.arange(len(data.points))
    roots.store(slots, data.points)
    roots.rebuild(slots)
    return roots


def queries(data: CoveringData, roots: Roots) -> Floats:
    """The other points of the data: the first half as they are, the second half raised until nothing covers them."""
    half = len(data.others) // 2
    return np.concatenate([data.others[:half], raised(data.others[half:], roots)])


def raised(points: Floats, roots: Roots) -> Floats:
    """Boxes that are just not covered, at these boxes or at some that cover them.

    Each step leads to a strictly larger box, for none is the whole domain: a shortest side has half of it at most.
    """
    search, raised = Corners(roots), _enlarged(points, roots.domains)
    found = search.find(raised)
    while (found != NONE).any():
        covered = found != NONE
        raised[covered] = _enlarged(roots.points[found[covered]], roots.domains)
        found = search.find(raised)
    return raised


def _enlarged(points: Floats, domains: tuple[Domain, ...]) -> Floats:
    """Boxes with a cell more on each side, or up to the ends of the domain."""
    return to_points(domains, -points[:, 0::2] - 1.0, points[:, 1::2] + 1.0)


class CoverScan:
    """Brute force: every point beside the asked one, a dimension at a time among those that are left."""

    def __init__(self, points: Floats) -> None:
        self._columns = np.ascontiguousarray(points.T)

    def find(self, points: Floats) -> Int64s:
        """For each point the first slot that covers it, or NONE."""
        return np.array([next(iter(self.covering(point)), NONE) for point in points], np.int64)

    def covering(self, point: Floats) -> Int64s:
        """The slots that cover a point."""
        left = np.flatnonzero(self._columns[0] >= point[0])
        for column, value in zip(self._columns[1:], point[1:], strict=True):
            left = left[column[left] >= value]
        return left

    @property
    def n_bytes(self) -> int:
        """The size in bytes."""
        return self._columns.nbytes


def covers(points: Floats, found: Int64s, asked: Floats) -> Bools:
    """Whether each of the found slots covers what was asked; NONE covers nothing."""
    return np.asarray((found != NONE) & (points[found] >= asked).all(axis=1))


def lengths_of(points: Floats, roots: Roots) -> Int64s:
    """The side lengths of the regions that points are searched in."""
    return np.asarray((1 << roots.bits) - roots.grid.cells(points, 1).astype(np.int64))


def n_probes(lengths: Iterable[int], coverage: float) -> int:
    """How many cubes, the largest first, make up this share of a region (Lemma 3.4)."""
    sides = [int(length) for length in lengths]
    wanted, searched, n = coverage * math.prod(sides), 0.0, 0
    numbers = n_cubes(np.array(sides))
    for i in range(len(numbers) - 1, -1, -1):
        cube = 1 << (i * len(sides))
        if coverage < 1.0 and searched + numbers[i] * cube >= wanted:
            return n + math.ceil((wanted - searched) / cube)
        searched += numbers[i] * cube
        n += numbers[i]
    return n
