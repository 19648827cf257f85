"""Tiers of subscriptions, for relaxed matching in several dimensions: filled, divided into blocks, and emptied."""

from typing import Any

import numpy as np

from skyband.kernels.array import Floats, Int64s
from skyband.kernels.growth import resized, resized_all
from skyband.kernels.ragged import owners_of
from skyband.ranked.groups import PlaceGroups
from skyband.ranked.kernels.parts import rounded_down, rounded_up
from skyband.ranked.kernels.tiering import DividedMembers, divide, make_corner
from skyband.ranked.kernels.tiers import BLOCK, N_BLOCKS, NOBODY, SMALLEST, TIER, Planes, Tiers
from skyband.ranked.rows import Subscriptions

# So many ends of a dimension say how crowded its stretches are.
SAMPLE = 1024
# The lower and upper end and the weight where there is nobody.
EMPTY = (np.inf, -np.inf, 0.0)


def planes_of(rows: Subscriptions, base: Floats, dims: int) -> Planes:
    """By subscription and dimension ends and weights, the last dimension for the `base` that every event gets."""
    n, sizes = len(base), np.diff(rows.offsets)
    lo, hi = np.full((n, dims + 1), np.inf, np.float32), np.full((n, dims + 1), -np.inf, np.float32)
    weight = np.zeros((n, dims + 1), np.float32)
    opened = (rows.lo == -np.inf) & (rows.hi == np.inf)
    member, dim = owners_of(sizes)[~opened], rows.dim[~opened]
    lo[member, dim], hi[member, dim] = rounded_down(rows.lo[~opened]), rounded_up(rows.hi[~opened])
    weight[member, dim] = np.maximum(rounded_up(rows.weight[~opened]), np.float32(SMALLEST))
    based = base > 0
    lo[based, dims], hi[based, dims] = -np.inf, np.inf
    weight[based, dims] = rounded_up(base[based])
    return Planes(lo, hi, weight)


def _taken(planes: Planes, chosen: Any) -> Planes:
    return Planes(*(array[chosen] for array in planes))


def _totals(planes: Planes) -> Floats:
    return np.asarray(planes.weight.sum(axis=1, dtype=np.float64))


class TierIndex(PlaceGroups):
    """Full tiers, and an open one that takes what comes next."""

    def __init__(self, dims: int) -> None:
        super().__init__(TIER)
        self._dims = dims
        # The dimension for what every event meets is added when somebody has such a thing.
        blocks, places = (0, dims, N_BLOCKS), (0, N_BLOCKS, dims, BLOCK)
        extents, ends = (Planes(*(np.zeros(shape, np.float32) for _ in range(3))) for shape in (blocks, places))
        owner = np.zeros((0, N_BLOCKS, BLOCK), np.int32)
        self.tiers = Tiers(extents, ends, owner, np.zeros(0), np.zeros(0, np.int64))

    @property
    def n_bytes(self) -> int:
        tiers = self.tiers
        arrays = (*tiers.block, *tiers.member, tiers.owner, tiers.most, tiers.order)
        return super().n_bytes + sum(array.nbytes for array in arrays)

    def add(self, owners: Int64s, planes: Planes) -> None:
        """Take in members."""
        self._know(owners)
        planes = self._fitted(planes)
        if len(owners) <= self._room and 2 * len(owners) < self._n_open:
            self._append(owners, planes)
        else:
            self._build(owners, planes)
        self._sort()

    def _fitted(self, planes: Planes) -> Planes:
        """The planes with as many dimensions as the tiers have; these get the last one if it is needed."""
        n_dims = self.tiers.member.lo.shape[2]
        if n_dims == self._dims and (planes.weight[:, n_dims:] > 0).any():
            n_dims += 1
            block, member = _widened(self.tiers.block, 1), _widened(self.tiers.member, 2)
            self.tiers = self.tiers._replace(block=block, member=member)
        return _taken(planes, np.s_[:, :n_dims])

    def _append(self, owners: Int64s, planes: Planes) -> None:
        tiers, tier = self.tiers, self._open
        at = self._join(owners)
        block, i = at // BLOCK, at % BLOCK
        tiers.owner[tier, block, i] = owners
        for mine, given in zip(tiers.member, planes, strict=True):
            mine[tier, block, :, i] = given
        np.minimum.at(tiers.block.lo[tier].T, block, planes.lo)
        np.maximum.at(tiers.block.hi[tier].T, block, planes.hi)
        np.maximum.at(tiers.block.weight[tier].T, block, planes.weight)
        tiers.most[tier] = max(tiers.most[tier], _totals(planes).max(initial=0.0))

    def _build(self, owners: Int64s, planes: Planes) -> None:
        """Divide new members and those of the open tier among full tiers, by their totals, and a new open one."""
        if self._open >= 0:
            before, its_planes = self._members(self._open)
            self._clear(self._open)
            owners = np.concatenate([before, owners])
            planes = Planes(*(np.concatenate(pair) for pair in zip(its_planes, planes, strict=True)))
        order = np.argsort(-_totals(planes), kind="stable")
        shares = _shares(planes)
        corner, stack = make_corner(planes.lo.shape[1]), np.zeros(256, np.int64)
        self._open = -1
        self._reserve(-(-len(order) // TIER))
        for start in range(0, len(order), TIER):
            stop = min(start + TIER, len(order))
            divide(shares, order, start, stop, stack, corner)
            self._fill(self._free.pop(0), owners[order[start:stop]], _taken(planes, order[start:stop]))

    def _lengthen(self, n: int) -> None:
        tiers = self.tiers
        block, member = (resized_all(planes, n) for planes in tiers[:2])
        owner, most = resized(tiers.owner, n), resized(tiers.most, n)
        self.tiers = Tiers(block, member, owner, most, tiers.order)

    def _empty(self, tier: int) -> None:
        tiers = self.tiers
        for lo, hi, weight in (tiers.block, tiers.member):
            lo[tier], hi[tier], weight[tier] = EMPTY
        tiers.owner[tier], tiers.most[tier] = NOBODY, 0.0

    def _fill(self, tier: int, owners: Int64s, planes: Planes) -> None:
        tiers, n = self.tiers, len(owners)
        for mine, given, empty in zip(tiers.member, planes, EMPTY, strict=True):
            padded = np.full((TIER, given.shape[1]), empty, np.float32)
            padded[:n] = given
            mine[tier] = padded.reshape(N_BLOCKS, BLOCK, -1).transpose(0, 2, 1)
        tiers.block.lo[tier] = tiers.member.lo[tier].min(axis=2).T
        tiers.block.hi[tier] = tiers.member.hi[tier].max(axis=2).T
        tiers.block.weight[tier] = tiers.member.weight[tier].max(axis=2).T
        tiers.owner[tier].ravel()[:n] = owners
        tiers.most[tier] = _totals(planes).max(initial=0.0)
        self._settle(tier, owners)

    def _members(self, tier: int) -> tuple[Int64s, Planes]:
        tiers = self.tiers
        owners = tiers.owner[tier].ravel()
        live = np.flatnonzero(owners != NOBODY)
        flat = (array[tier].transpose(0, 2, 1).reshape(TIER, -1)[live] for array in tiers.member)
        return owners[live].astype(np.int64), Planes(*flat)

    def remove(self, owners: Int64s) -> None:
        """Let members go; a tier that is half empty is given up, and the others of it move."""
        at = self._place[owners]
        tier, block, i = at // TIER, at % TIER // BLOCK, at % BLOCK
        member = self.tiers.member
        member.lo[tier, block, :, i], member.hi[tier, block, :, i] = np.inf, -np.inf
        self.tiers.owner[tier, block, i] = NOBODY
        sparse = self._leave(owners)
        moved = [self._members(each) for each in sparse]
        for each in sparse:
            self._clear(each)
        for movers, planes in moved:
            self.add(movers, planes)
        self._sort()

    def _sort(self) -> None:
        used = self._used
        order = used[np.argsort(-self.tiers.most[used], kind="stable")]
        self.tiers = self.tiers._replace(order=order)

    def check(self) -> None:
        """Assert that blocks say what holds for their members, and that these are where they should be."""
        tiers = self.tiers
        assert set(tiers.order.tolist()) == set(range(len(self._n_live))) - set(self._free)
        for tier in tiers.order.tolist():
            owners, planes = self._members(tier)
            assert self._n_live[tier] == len(owners)
            at = np.flatnonzero(tiers.owner[tier].ravel() != NOBODY)
            assert (self._place[owners] == tier * TIER + at).all()
            assert (tiers.block.lo[tier].T[at // BLOCK] <= planes.lo).all()
            assert (tiers.block.hi[tier].T[at // BLOCK] >= planes.hi).all()
            assert (tiers.block.weight[tier].T[at // BLOCK] >= planes.weight).all()
            assert tiers.most[tier] >= _totals(planes).max(initial=0.0)


def _widened(planes: Planes, axis: int) -> Planes:
    """One more dimension, in which nobody asks for anything."""
    widths = [(0, int(i == axis)) for i in range(planes.lo.ndim)]
    return Planes(*(np.pad(array, widths, constant_values=empty) for array, empty in zip(planes, EMPTY, strict=True)))


def _shares(planes: Planes) -> DividedMembers:
    """Ends as shares of what lies below them, from a sample of each dimension."""
    n, n_dims = planes.lo.shape
    end = np.empty((n, 2 * n_dims), np.float32)
    for j in range(n_dims):
        ends = np.concatenate([planes.lo[:: max(n // SAMPLE, 1), j], planes.hi[:: max(n // SAMPLE, 1), j]])
        ends = np.sort(ends[np.isfinite(ends)])
        for side, given in enumerate((planes.lo[:, j], planes.hi[:, j])):
            end[:, 2 * j + side] = np.searchsorted(ends, given, "right") / max(len(ends), 1)
    return DividedMembers(end, planes.weight, BLOCK, False)
