"""Geotext subscriptions are divided by place, and reached by what is near enough and says one of their words."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from skyband.geotext.kernels.reach import LEAST as _LEAST
from skyband.geotext.kernels.reach import GroupBoxes, ReachScratch, SaidMessages, WordAskers, reach
from skyband.geotext.rows import Publications, Subscriptions
from skyband.kernels.array import Bools, Floats, Int64s, UInt64s
from skyband.kernels.ragged import owners_of, places_of, starts_of
from skyband.table import Settings
from skyband.zoning import vocabulary
from skyband.zoning.digest import digests, digests_of_words
from skyband.zoning.division import Admits, Coordinates, Division, Wanted, is_by_count, room
from skyband.zoning.group import Groups, concatenated, grouped
from skyband.zoning.reach import SLACK, needs
from skyband.zoning.vocabulary import GroupWords, SaidWords, said

FEWEST, MOST = 4, 256
"""How many groups there are at most: the fewer, the more words they have."""
_WORDS = 2**20

# Weights of words have length 1 but for 1e-6, see `skyband.geotext.word_weights`.
LONGEST = (1.0 + 2e-6) ** 2
# How many publications are held against all groups at a time: few enough to stay in the cache of a processor.
_ROWS = 256


class GeotextDivision(Division):
    """Zones by place; what is wanted has words."""

    kind = "place"

    def coordinates(self, rows: Subscriptions, scale: Floats) -> Coordinates:
        """Messages are asked for at a place."""
        return Coordinates(np.ascontiguousarray(rows.xy), ("x", "y"))

    def reached(self, rows: Subscriptions, publications: Publications) -> Floats:
        """How often the messages say the words of each subscription."""
        told, counts = np.unique(digests_of_words(publications.terms), return_counts=True)
        asked = digests_of_words(rows.terms)
        if not len(told):
            return np.zeros(len(rows.ids))
        at = np.minimum(np.searchsorted(told, asked), len(told) - 1)
        owner = np.repeat(np.arange(len(rows.ids)), np.diff(rows.offsets))
        return np.bincount(owner, np.where(told[at] == asked, counts[at], 0), len(rows.ids)).astype(np.float64)

    def wanted(self, rows: Subscriptions, settings: Settings, worst: Floats, until: Int64s) -> Wanted | None:
        """Their words, near enough to their places; everything where publications are counted."""
        if is_by_count(rows, settings):
            return None
        # On Earth boxes of longitudes and latitudes say nothing of distances: everybody is as near as can be.
        diagonal = np.inf if settings.bounds.is_geographic else settings.bounds.diagonal
        asked = members(rows, worst, until)
        groups, of = grouped(asked, features(asked, diagonal), most_groups(len(rows.terms)))
        owner = np.repeat(np.arange(len(rows.k)), np.diff(rows.offsets))
        return Wanted(groups, vocabulary.vocabulary(rows.terms, rows.weights, of[owner]), diagonal)

    def joined(self, one: Wanted, other: Wanted) -> Wanted:
        """The words of groups go where the groups go."""
        groups = concatenated(one.groups, other.groups)
        most = most_groups(len(one.words.group) + len(other.words.group))
        groups, of = grouped(groups, features(groups, one.diagonal), room(len(groups.kind), most))
        parts = np.split(of, [len(one.groups.kind)])
        words = (vocabulary.renumbered(its.words, part) for its, part in zip((one, other), parts, strict=True))
        return Wanted(groups, vocabulary.joined(*words), one.diagonal)

    def admits(self, wanted: Wanted, publications: Publications, now: int) -> Bools:
        """The messages that share a word with a group and are near enough to it."""
        return admits(wanted.groups, wanted.words, wanted.diagonal, publications, now)

    def together(self, wanted: Sequence[Wanted]) -> Admits:
        """The words and groups of all are gone through by one kernel."""
        return SideBySide(wanted).admits


DIVISION = GeotextDivision()


def members(rows: Subscriptions, worst: Floats, until: Int64s) -> Groups:
    """Each subscription as a group; its columns are x, y and alpha."""
    its = needs(rows.threshold, np.zeros(len(rows.k), np.bool_), worst, until)
    columns = np.column_stack([rows.xy, rows.alpha])
    return Groups(np.zeros(len(rows.k), np.int64), columns, columns.copy(), *its)


def features(groups: Groups, diagonal: float) -> Floats:
    """What tells groups apart, on the scale of their scores."""
    alpha = groups.low[:, 2:] / 2 + groups.high[:, 2:] / 2
    place = (groups.low[:, :2] / 2 + groups.high[:, :2] / 2) / (diagonal or 1.0) * alpha
    return np.column_stack([place, alpha, np.maximum(groups.worst, 0.0)])


def most_groups(n_words: int) -> int:
    """How many groups there may be that have so many words among them."""
    return min(max(_WORDS // max(n_words, 1), FEWEST), MOST)


def admits(groups: Groups, words: GroupWords, diagonal: float, rows: Publications, now: int) -> Bools:
    """The messages that share a word with a group and are near enough to it, in place and words together."""
    entries = said(words, rows.terms, rows.offsets, rows.weights)
    needed = groups.needs(now)
    admitted = np.zeros(len(rows.ts), np.bool_)
    admitted[entries.row[_is_enough(words, needed == -np.inf)[entries.key]]] = True
    if (needed > -np.inf).any():
        entries = entries.take(np.flatnonzero(~admitted[entries.row]))
        for first in range(0, len(admitted), _ROWS):
            part = entries.take(slice(*np.searchsorted(entries.row, (first, first + _ROWS))))
            part, xy = part._replace(row=part.row - first), rows.xy[first : first + _ROWS]
            admitted[first : first + _ROWS] |= _near_enough(groups, needed, words, part, xy, diagonal)
    return admitted


def _is_enough(words: GroupWords, is_free: Bools) -> Bools:
    """Whether a word alone is enough to reach one of its groups."""
    found: Bools = np.logical_or.reduceat(is_free[words.group], words.starts[:-1])
    return found


def _near_enough(
    groups: Groups, needed: Floats, words: GroupWords, entries: SaidWords, xy: Floats, diagonal: float
) -> Bools:
    """Whether a message may score as much as any group with one of its words needs."""
    n_groups, n_rows = len(needed), len(xy)
    relevance = _relevance(words, entries, n_rows, n_groups)
    # Nothing is ruled out where no distance can be told, so these are comparisons that NaN passes.
    likely = ~(relevance < _least_relevance(groups, needed))
    row, group = np.nonzero(likely & (relevance > 0.0))
    found, near = relevance[row, group], _nearness(groups, group, xy, row, diagonal)
    best = _best(groups.low[:, 2], groups.high[:, 2], group, near, found)
    admitted = np.zeros(n_rows, np.bool_)
    admitted[row[~(best < (needed - SLACK)[group])]] = True
    return admitted


def _relevance(words: GroupWords, entries: SaidWords, n_rows: int, n_groups: int) -> Floats:
    """The most that each group can find in each message, and more than 0 where a word is shared."""
    counts = np.diff(words.starts)[entries.key]
    entry, place = owners_of(counts), places_of(words.starts[entries.key], counts)
    cell = (entries.row * n_groups)[entry] + words.group[place]
    product = np.maximum(entries.weight, _LEAST)[entry] * np.maximum(words.weight, _LEAST)[place]
    found = np.bincount(cell, product, n_rows * n_groups).reshape(n_rows, n_groups)
    return np.minimum(found, LONGEST)


def _least_relevance(groups: Groups, needed: Floats) -> Floats:
    """How much a group has to find in a message from its very place; not more than 0 where the place is enough."""
    alphas = groups.low[:, 2], groups.high[:, 2]
    least = [(needed - SLACK - alpha) / np.maximum(1.0 - alpha, SLACK) for alpha in alphas]
    found: Floats = np.minimum(*least) * (1.0 - SLACK)
    return found


def _nearness(groups: Groups, group: Int64s, xy: Floats, row: Int64s, diagonal: float) -> Floats:
    """The most that a place in the box of a group can be near."""
    total = np.zeros(len(row))
    for i in (0, 1):
        values = xy[:, i][row]
        gap = np.maximum(groups.low[:, i][group] - values, values - groups.high[:, i][group])
        np.maximum(gap, 0.0, out=gap)
        total += gap * gap
    with np.errstate(divide="ignore", invalid="ignore"):
        near: Floats = 1.0 - np.sqrt(total) / diagonal
    return near


def _best(least: Floats, most: Floats, group: Int64s, nearness: Floats, relevance: Floats) -> Floats:
    """The best score by any alpha between these two: at one of them, since the score is linear in alpha."""
    further = nearness - relevance
    return np.maximum(least[group] * further, most[group] * further) + relevance


class SideBySide:
    """What several interests ask for, as `reach` takes it: their groups, and for each word who asks for it."""

    def __init__(self, wanted: Sequence[Wanted]) -> None:
        self._words = [each.words for each in wanted]
        n_groups = np.array([len(each.groups.kind) for each in wanted])
        self._groups = Groups._make(map(np.concatenate, zip(*(each.groups for each in wanted), strict=True)))
        self._diagonal = np.repeat([each.diagonal for each in wanted], n_groups)
        starts = [each.words.starts + first for each, first in zip(wanted, self._starts("group"), strict=True)]
        self._asking = WordAskers(
            np.concatenate([each[:-1] for each in starts]),
            np.concatenate([each[1:] for each in starts]),
            np.concatenate([words.group for words in self._words]).astype(np.int32)
            + np.repeat(starts_of(n_groups), [len(words.group) for words in self._words]).astype(np.int32),
            np.concatenate([words.weight for words in self._words]),
        )

    def _starts(self, column: str) -> Int64s:
        """Where the entries of each vocabulary begin when they lie end to end."""
        return starts_of(np.array([len(getattr(words, column)) for words in self._words]))

    def _find(self, distinct: UInt64s) -> Int64s:
        """By interest and word, given by its digest, its place among the words that are asked for."""
        found = np.full((len(self._words), len(distinct)), -1)
        for i, (words, first) in enumerate(zip(self._words, self._starts("keys"), strict=True)):
            if len(words.keys):
                keys = distinct >> np.uint64(words.shift)
                at = np.minimum(np.searchsorted(words.keys, keys), len(words.keys) - 1)
                found[i] = np.where(words.keys[at] == keys, at + first, -1)
        return found

    def admits(self, rows: Publications, now: int) -> Bools:
        """By message and interest, what `admits` says of each."""
        distinct, groups = rows.terms.dictionary_encode(), self._groups
        words = distinct.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        needed, n = groups.needs(now), len(groups.kind)
        reached = np.empty((len(rows.ts), len(self._words)), np.bool_)
        reach(
            SaidMessages(*map(_own, (rows.offsets, words, rows.weights, rows.xy))),
            self._find(digests(distinct.dictionary)),
            self._asking,
            GroupBoxes(groups.low, groups.high, needed, _least_relevance(groups, needed), self._diagonal),
            LONGEST,
            SLACK,
            ReachScratch(np.zeros(n), np.empty(n, np.int64)),
            reached,
        )
        return reached


def _own(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """An array that may be written to, for which the kernel is compiled; one that may not is copied."""
    return column if column.flags.writeable and column.flags.c_contiguous else column.copy()
