"""Indexes of subscriptions: whom may a publication reach?"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from skyband.kernels.array import Floats, Int8s, Int64s
from skyband.kernels.growth import grown
from skyband.kernels.room import ample
from skyband.topk.kernels.candidate import Candidates, make_candidates
from skyband.topk.kernels.score import Contents, Questions


class Index(Protocol):
    """Whom may a publication reach? What is asked differs by family, so each adds subscriptions in its own way."""

    def remove(self, slots: Int64s) -> None:
        """Give up subscriptions."""

    def adjust(self, slots: Int64s, gates: Floats) -> None:
        """Gates have moved."""

    def route(self, contents: Contents, lo: int, hi: int, into: Candidates, threads: int = 1) -> Candidates:
        """Add every pair of a subscription and a publication from lo to hi that is within the gate.

        By publication, for each subscription. Returns the candidates, in larger arrays where they had no room. The work
        may be divided among threads.
        """

    @property
    def n_bytes(self) -> int: ...

    def check(self) -> None:
        """Assert the invariants."""


def larger(candidates: Candidates) -> Candidates:
    """The same candidates with more than twice the room."""
    twice = make_candidates(ample(2 * len(candidates.slot), 2 * len(candidates.slot) + 64))
    n = int(candidates.length[0])
    for old, new in zip(candidates[2:], twice[2:], strict=True):
        new[:n] = old[:n]
    return twice._replace(length=candidates.length, counts=candidates.counts)


def extended(into: Candidates, parts: Sequence[Candidates]) -> Candidates:
    """The candidates, with those of parts behind them in their order."""
    n = int(into.length[0])
    n_all = n + sum(int(part.length[0]) for part in parts)
    while len(into.slot) < n_all:
        into = larger(into)
    for part in parts:
        n_more = int(part.length[0])
        for to, its in zip(into[2:], part[2:], strict=True):
            to[n : n + n_more] = its[:n_more]
        n += n_more
        into.counts[0] += part.counts[0]
    into.length[0] = n
    return into


class PointIndex(Index, Protocol):
    """An index of subscriptions to points."""

    def add(self, slots: Int64s, kinds: Int8s, centres: Floats, weights: Floats, norms: Floats, gates: Floats) -> None:
        """Take in new subscriptions."""


class WordIndex(Index, Protocol):
    """An index of subscriptions to places and words. `counters` adds up what each bound has saved."""

    def add(self, slots: Int64s, questions: Questions, gates: Floats) -> None:
        """Take in new subscriptions; questions are by slot."""

    @property
    def counters(self) -> dict[str, int]: ...


class ByKind:
    """An index that leaves some kinds of score to one index and the others to another."""

    def __init__(self, one: PointIndex, other: PointIndex, kinds: Sequence[int]) -> None:
        self.one = one
        self.other = other
        self._is_other = np.isin(np.arange(8), kinds)
        self._kind = np.zeros(0, np.int8)

    @property
    def n_bytes(self) -> int:
        return self._kind.nbytes + self.one.n_bytes + self.other.n_bytes

    def add(self, slots: Int64s, kinds: Int8s, centres: Floats, weights: Floats, norms: Floats, gates: Floats) -> None:
        """Take in new subscriptions."""
        self._kind = grown(self._kind, int(slots.max()) + 1)
        self._kind[slots] = kinds
        for index, some in self._shares(slots):
            index.add(slots[some], kinds[some], centres[some], weights[some], norms[some], gates[some])

    def remove(self, slots: Int64s) -> None:
        """Give up subscriptions."""
        for index, some in self._shares(slots):
            index.remove(slots[some])

    def adjust(self, slots: Int64s, gates: Floats) -> None:
        """Gates have moved."""
        for index, some in self._shares(slots):
            index.adjust(slots[some], gates[some])

    def _shares(self, slots: Int64s) -> list[tuple[PointIndex, Int64s]]:
        other = self._is_other[self._kind[slots]]
        shares = [(self.one, np.flatnonzero(~other)), (self.other, np.flatnonzero(other))]
        return [(index, some) for index, some in shares if len(some)]

    def route(self, contents: Contents, lo: int, hi: int, into: Candidates, threads: int = 1) -> Candidates:
        """Add the pairs of both."""
        return self.other.route(contents, lo, hi, self.one.route(contents, lo, hi, into, threads), threads)

    def check(self) -> None:
        """Assert the invariants of both."""
        self.one.check()
        self.other.check()
