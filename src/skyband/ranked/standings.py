"""Where all subscriptions stand with an event: engines of the ranked family as witnesses, and one more subscription."""

from typing import NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.contract import take
from skyband.kernels.array import Floats, Int64s
from skyband.kernels.id_order import labels
from skyband.ranked.kernels.fitting import UNMATCHED, Rule
from skyband.ranked.kernels.parts import HI, KEY, LO, Parts
from skyband.ranked.kernels.standings import score_owners
from skyband.ranked.rows import Publications, Subscriptions


class AskingEvent(NamedTuple):
    """An event: from where to where it reaches in each dimension, and how many subscriptions it asks for."""

    low: Floats
    high: Floats
    k: int


class Standings(NamedTuple):
    """One subscription, which is one row, and all others that are registered.

    `k` is what events ask for that bring none of their own, and `search` how the engine finds the best ones.
    """

    asked: Subscriptions
    others: Subscriptions
    rule: Rule
    now: int | None
    k: int
    engine: str
    search: str

    @classmethod
    def of(
        cls, asked: Subscriptions, registered: Subscriptions, rule: Rule, now: int | None, k: int, engine: str, how: str
    ) -> Self:
        """The standings of a subscription among those that are registered, itself taken out."""
        is_other = np.asarray(pc.not_equal(registered.ids.cast(asked.ids.type), asked.ids[0]))
        others = registered if is_other.all() else take(registered, np.flatnonzero(is_other))
        return cls(asked, others, rule, now, k, engine, how)

    def event(self, rows: Publications, i: int) -> AskingEvent:
        """An event of a batch."""
        dims, most = rows.points.shape[1], int(self.asked.dim.max(initial=-1)) + 1
        if most > dims or self.asked.dims not in (0, dims):
            raise ValueError(
                f"The event has {dims} dimensions, and the subscription {max(most, self.asked.dims)}: "
                "both need as many."
            )
        return AskingEvent(rows.points[i], rows.upper[i], int(rows.k[i]) or self.k)

    def scores(self, event: AskingEvent) -> Floats:
        """The scores of all others, UNMATCHED for those that do not match, and behind them that of the subscription."""
        return np.concatenate([scores_of(rows, event, self.rule) for rows in (self.others, self.asked)])

    def budgets(self) -> Int64s:
        """How often each may still be answered with, in the same order."""
        return np.concatenate([self.others.budget, self.asked.budget])

    def order(self, scores: Floats, budgets: Int64s) -> Int64s:
        """The places of those that match and have not used up their budgets, best first."""
        competing = np.flatnonzero((scores != UNMATCHED) & (budgets != 0))
        ids = pa.concat_arrays([self.others.ids.cast(self.asked.ids.type), self.asked.ids])
        return competing[np.lexsort((-labels(ids)[competing], -scores[competing]))]


def scores_of(rows: Subscriptions, event: AskingEvent, rule: Rule) -> Floats:
    """The score of each subscription for an event, UNMATCHED where it does not match."""
    scores = np.empty(len(rows.offsets) - 1)
    fact = np.zeros((len(rows.lo), 4))
    fact[:, LO], fact[:, HI], fact[:, KEY] = rows.lo, rows.hi, rows.weight
    parts = Parts(fact, rows.dim.astype(np.int32), rows.weight.astype(np.float64), np.zeros(0, np.int64))
    low, high = np.ascontiguousarray(event.low), np.ascontiguousarray(event.high)
    score_owners(parts, rows.offsets.astype(np.int64), low, high, rule._replace(keyed=False), scores)
    return scores
