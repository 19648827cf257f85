"""Ranked subscriptions revised: weights emphasised, and what is registered merged with what an update gives."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Int32s, Int64s
from skyband.kernels.ragged import owners_of
from skyband.ranked.part import Flat, bounded, only_parts
from skyband.ranked.rows import UNLIMITED, Subscriptions, Updates


class Merged(NamedTuple):
    """The dimensions that rows speak of before or after: for each its row, and where it was and is said, or -1."""

    offsets: Int64s
    row: Int64s
    dim: Int32s
    old: Int64s
    new: Int64s


def emphasised(rows: Subscriptions, emphasis: Sequence[float]) -> Subscriptions:
    """The rows with their weights multiplied; what is open and weighs nothing by that is no part any more."""
    weight = rows.weight * np.array(emphasis)[rows.dim]
    return rows._replace(**only_parts(Flat(rows.offsets, rows.dim, rows.lo, rows.hi, weight))._asdict())


def revised(asked: Subscriptions, updates: Updates, emphasis: Sequence[float] | None) -> Subscriptions:
    """What subscriptions ask for once they are updated; both name the same subscriptions in the same order.

    Where intervals are given, only the dimensions that are listed stay; each keeps its weight, or has the usual one if
    it is new. Where weights alone are given, dimensions that are not listed stay as they are.
    """
    merged = _merge(asked, updates)
    boxed, weighed = updates.boxed[merged.row], updates.weighed[merged.row]
    old, new = merged.old >= 0, merged.new >= 0
    lo, hi = np.full(len(old), -np.inf), np.full(len(old), np.inf)
    weight = np.full(len(old), np.nan)
    weight[old] = asked.weight[merged.old[old]]
    for ends, before, after in ((lo, asked.lo, updates.lo), (hi, asked.hi, updates.hi)):
        ends[old & ~boxed] = before[merged.old[old & ~boxed]]
        ends[new & boxed] = after[merged.new[new & boxed]]
    factor = np.ones(len(old)) if emphasis is None else np.array(emphasis)[merged.dim]
    given = new & weighed
    weight[given] = updates.weight[merged.new[given]] * factor[given]
    usual = np.isnan(weight)
    weight[usual] = (bounded(lo, hi) * factor)[usual]
    # What intervals no longer speak of is open now, and weighs nothing.
    weight[boxed & ~new] = 0.0
    parts = only_parts(Flat(merged.offsets, merged.dim, lo, hi, weight))
    budget = np.where(updates.budget == UNLIMITED, asked.budget, updates.budget)
    return Subscriptions(updates.ids, *parts, budget)


def _merge(asked: Subscriptions, updates: Updates) -> Merged:
    """Both lie in the order of row and dimension, so that one number for each pair is in order too."""
    stride = 1 + max(int(asked.dim.max(initial=0)), int(updates.dim.max(initial=0)))
    was, now = (_keys(rows.offsets, rows.dim, stride) for rows in (asked, updates))
    keys = np.union1d(was, now)
    row = keys // stride
    offsets = np.searchsorted(row, np.arange(len(asked.offsets)))
    dim = (keys % stride).astype(np.int32)
    return Merged(offsets.astype(np.int64), row, dim, _places(was, keys), _places(now, keys))


def _keys(offsets: Int64s, dim: Int32s, stride: int) -> Int64s:
    return np.asarray(owners_of(np.diff(offsets)) * stride + dim, np.int64)


def _places(among: Int64s, keys: Int64s) -> Int64s:
    places = np.full(len(keys), -1, np.int64)
    places[np.searchsorted(keys, among)] = np.arange(len(among))
    return places
