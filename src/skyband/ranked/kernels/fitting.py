"""How well an event fits a subscription of the ranked family: the one definition that all engines but the oracle use.

An event is an interval [low, high] in each dimension, a point where both are equal, NaN where the dimension is missing.
A part that is *met* contributes its weight times a *factor* between 0 and 1; the contributions are combined in the
order of the parts, which is that of their dimensions. Nothing here overflows: ends are halved before they are added.
"""

from typing import NamedTuple

import numpy as np

from skyband.kernels.array import Floats
from skyband.kernels.compile import inlined
from skyband.ranked.kernels.parts import HI, KEY, LO, Parts

FLAT, CENTRE, SHARE = range(3)
SUM, MIN, MAX = range(3)

# The score of a subscription that an event does not match; scores are not negative.
UNMATCHED = -1.0


class Rule(NamedTuple):
    """What an engine was told: how parts are met, weighted and combined, and whether all of them have to be met.

    If parts are `keyed` by their weights, these are at hand; otherwise they lie apart.
    """

    fit: int
    inside: bool
    combination: int
    exact: bool
    keyed: bool = False


@inlined
def meets(lo: float, hi: float, low: float, high: float, inside: bool) -> bool:
    """Whether a part is met; one that is open on both sides is, even where the dimension is missing."""
    if inside:
        return (lo <= low and high <= hi) or (lo == -np.inf and hi == np.inf)
    return (lo <= high and low <= hi) or (lo == -np.inf and hi == np.inf)


@inlined
def factor(lo: float, hi: float, low: float, high: float, fit: int) -> float:
    """The share of its weight that a met part contributes."""
    if fit == CENTRE:
        return _nearness(lo, hi, low, high)
    if fit == SHARE:
        return _overlap(lo, hi, low, high)
    return 1.0


@inlined
def _nearness(lo: float, hi: float, low: float, high: float) -> float:
    """1 in the middle of the part, 0 at its ends."""
    if lo == -np.inf or hi == np.inf:
        return 1.0
    half = hi / 2.0 - lo / 2.0
    # Two different ends whose halves are equal exist among the subnormal numbers.
    if half <= 0.0:
        return 1.0
    value = low if low == high else low / 2.0 + high / 2.0
    value = min(max(value, lo), hi)
    return max(0.0, 1.0 - abs(value - (lo / 2.0 + hi / 2.0)) / half)


@inlined
def _overlap(lo: float, hi: float, low: float, high: float) -> float:
    """How much of the event's interval lies in the part."""
    whole = high / 2.0 - low / 2.0
    # A missing dimension is not greater than anything.
    if not whole > 0.0:
        return 1.0
    return (min(high, hi) / 2.0 - max(low, lo) / 2.0) / whole


@inlined
def score_parts(
    parts: Parts,
    first: int,
    n: int,
    leading: bool,
    low: Floats,
    high: Floats,
    rule: Rule,
) -> float:
    """The score of the subscription with the n parts from `first` on for an event, or UNMATCHED.

    If they are `leading` they are about the first n dimensions.
    """
    fact, dims, weights = parts.fact, parts.dim, parts.weight
    fit, inside, combination = rule.fit, rule.inside, rule.combination
    n_met = 0
    score = 0.0
    for i in range(n):
        p = first + i
        j = i if leading else np.int64(dims[p])
        lo, hi = fact[p, LO], fact[p, HI]
        given = 0.0
        if meets(lo, hi, low[j], high[j], inside):
            n_met += 1
            weight = fact[p, KEY] if rule.keyed else weights[p]
            given = weight * factor(lo, hi, low[j], high[j], fit)
        elif rule.exact:
            return UNMATCHED
        score = combined(score, given, i == 0, combination)
    return score if n_met > 0 or rule.exact else UNMATCHED


@inlined
def combined(score: float, given: float, is_first: bool, combination: int) -> float:
    """The score with one more contribution."""
    if combination == SUM:
        return score + given
    if is_first:
        return given
    return min(score, given) if combination == MIN else max(score, given)


def make_rule(fit: str, interval: str, combination: str, matching: str) -> Rule:
    """The rule that an engine was told in words."""
    fits, combinations = ("flat", "centre", "share"), ("sum", "min", "max")
    return Rule(fits.index(fit), interval == "inside", combinations.index(combination), matching == "exact")
