"""Groups of subscriptions: a box around what they ask for, and how good a publication must be to reach any of them.

A *need* is a score turned so that larger is better: the score itself, or its negative for distances. `need` holds for
ever, and `worst`, which is never less, through the time `until`; -inf is no need at all. A group is of one *kind*,
which its family defines. Joining groups keeps what holds for all of them: the box around their boxes and the least of
their needs.
"""

import heapq
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Floats, Int64s

GROUPS = 64
"""How many groups there are at most after grouping, unless there are more kinds."""
FOR_EVER = np.iinfo(np.int64).max


class Groups(NamedTuple):
    """One entry or row for each group; a single subscription is a group as well."""

    kind: Int64s
    low: Floats
    high: Floats
    need: Floats
    worst: Floats
    until: Int64s

    def needs(self, now: int) -> Floats:
        """How good a publication must be to be in a top at any time up to `now`."""
        return np.where(now <= self.until, self.worst, self.need)

    def take(self, chosen: Int64s) -> "Groups":
        """The chosen ones."""
        return Groups._make(column[chosen] for column in self)


class Grouping(NamedTuple):
    """Groups, and in which of them each member went."""

    groups: Groups
    of: Int64s


def no_groups() -> Groups:
    """Nobody."""
    nobody = np.zeros(0)
    return Groups(
        np.zeros(0, np.int64), np.zeros((0, 0)), np.zeros((0, 0)), nobody, nobody.copy(), np.zeros(0, np.int64)
    )


def concatenated(one: Groups, other: Groups) -> Groups:
    """The groups of both."""
    if len(one.kind) == 0 or len(other.kind) == 0:
        return one if len(other.kind) == 0 else other
    if one.low.shape[1] != other.low.shape[1]:
        raise ValueError("These interests are about spaces of different dimensions and cannot be joined.")
    return Groups._make(np.concatenate(columns) for columns in zip(one, other, strict=True))


def grouped(members: Groups, features: Floats, most: int) -> Grouping:
    """At most so many groups, or one a kind: those with like features together.

    Members without needs are one group of each kind: boxes do not rule anything out for them. Those that only a need
    for ever, or also one until some time can rule out, are kept apart if possible, since the least need decides for a
    group.
    """
    is_free = members.worst == -np.inf
    _, of = np.unique(np.where(is_free, -1 - members.kind, np.arange(len(is_free))), return_inverse=True)
    if of.max(initial=-1) >= most:
        # When needs cease to hold matters as much as the widest of the features.
        ages = _ages(members.until) * (np.ptp(features, axis=0).max(initial=0.0) or 1.0)
        features = np.where(is_free[:, None], 0.0, np.column_stack([features, ages]))
        of = _split(features, _classes(members, most), most)
    return Grouping(merged(members, of), of)


def united(members: Groups) -> Groups:
    """Intervals of one dimension, without needs, in place of which their unions do."""
    order = np.lexsort((members.low[:, 0], members.kind))
    kind, low, high = members.kind[order], members.low[order, 0], members.high[order, 0]
    # By kind first, so that the farthest end so far is one of the same kind.
    starts = np.flatnonzero(np.diff(kind, prepend=-1))
    is_first = np.zeros(len(kind), np.bool_)
    for start, stop in pairwise([*starts.tolist(), len(kind)]):
        farthest = np.maximum.accumulate(high[start:stop])
        is_first[start] = True
        is_first[start + 1 : stop] = low[start + 1 : stop] > farthest[:-1]
    of = np.empty(len(kind), np.int64)
    of[order] = np.cumsum(is_first) - 1
    return merged(members, of)


def merged(members: Groups, of: Int64s) -> Groups:
    """The groups that these members make."""
    if len(of) == 0:
        return members
    order = np.argsort(of, kind="stable")
    starts = np.flatnonzero(np.diff(of[order], prepend=-1))
    ordered = members.take(order)
    return Groups(
        ordered.kind[starts],
        np.minimum.reduceat(ordered.low, starts),
        np.maximum.reduceat(ordered.high, starts),
        np.minimum.reduceat(ordered.need, starts),
        np.minimum.reduceat(ordered.worst, starts),
        np.minimum.reduceat(ordered.until, starts),
    )


def _classes(members: Groups, most: int) -> Int64s:
    """Numbers from 0 for the kinds, and within them for how a member can be ruled out if there are not too many."""
    state = np.where(members.worst == -np.inf, 0, 1)
    state[members.worst > members.need] = 2
    state[(members.worst > members.need) & (members.until < FOR_EVER)] = 3
    classes, of = np.unique(members.kind * 4 + state, return_inverse=True)
    return of if len(classes) <= most else np.unique(members.kind, return_inverse=True)[1]


def _ages(until: Int64s) -> Floats:
    """When needs cease to hold, from 0 for the first to 1 for the last of the different times."""
    times, ages = np.unique(until, return_inverse=True)
    return ages / max(len(times) - 1, 1)


class _Crowd(NamedTuple):
    """Minus what there is to gain by parting some members, the number of the crowd, and where they differ most."""

    loss: float
    number: int
    feature: int


def _crowd(features: Floats, rows: Int64s, number: int) -> _Crowd:
    extent = np.ptp(features[rows], axis=0)
    feature = int(np.argmax(extent))
    return _Crowd(-float(extent[feature]) * len(rows), number, feature)


def _split(features: Floats, of: Int64s, most: int) -> Int64s:
    """Part the group with most to gain, in the middle of the feature in which it extends most, again and again."""
    held = [np.flatnonzero(of == number) for number in range(int(of.max()) + 1)]
    crowds = [_crowd(features, rows, number) for number, rows in enumerate(held)]
    heapq.heapify(crowds)
    while len(held) < most and crowds[0].loss < 0.0:
        _, number, feature = heapq.heappop(crowds)
        rows = held[number]
        values = features[rows, feature]
        middle, least = values.min() / 2 + values.max() / 2, values.min()
        is_above = values >= middle if middle > least else values > least
        held[number] = rows[~is_above]
        held.append(rows[is_above])
        for half in (number, len(held) - 1):
            heapq.heappush(crowds, _crowd(features, held[half], half))
    result = np.empty(len(of), np.int64)
    for number, rows in enumerate(held):
        result[rows] = number
    return result


def scaled(columns: Floats) -> Floats:
    """Columns as features, each from 0 to 1; what is infinite counts as the farthest that is not."""
    finite = np.isfinite(columns)
    low = np.min(columns, axis=0, where=finite, initial=np.inf)
    high = np.max(columns, axis=0, where=finite, initial=-np.inf)
    low, high = np.where(high < low, 0.0, low), np.where(high < low, 0.0, high)
    # Halves, so that the extent of what is very large is a number.
    extent = high / 2 - low / 2
    result: Floats = (np.clip(columns, low, high) / 2 - low / 2) / np.where(extent > 0, extent, 1.0)
    return result
