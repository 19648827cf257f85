"""How well events fit, against exact fractions."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from skyband.ranked.kernels.fitting import (
    CENTRE,
    FLAT,
    MAX,
    MIN,
    SHARE,
    SUM,
    UNMATCHED,
    Rule,
    factor,
    make_rule,
    meets,
    score_parts,
)
from skyband.ranked.kernels.parts import HI, KEY, LO, Parts

INF, NAN = math.inf, math.nan
ENDS = [-INF, -1e150, -2.0, 0.0, 5e-324, 1e-323, 0.3, 1.0, 1e150, 1.5e308, INF]
VALUES = [-1e150, -2.0, 0.0, 5e-324, 0.3, 0.7, 1.0, 1e150]


def intervals(numbers: list[float]) -> list[tuple[float, float]]:
    return [(a, b) for a, b in itertools.product(numbers, repeat=2) if a <= b]


def naive_factor(lo: float, hi: float, low: float, high: float, fit: int) -> float:
    """The factor without rounding, where it is not 1 by definition."""
    if fit == CENTRE and -INF < lo < hi < INF:
        a, b = Fraction(lo), Fraction(hi)
        value = min(max((Fraction(low) + Fraction(high)) / 2, a), b)
        return float(1 - abs(value - (a + b) / 2) / ((b - a) / 2))
    if fit == SHARE and low < high:
        return float((Fraction(min(high, hi)) - Fraction(max(low, lo))) / (Fraction(high) - Fraction(low)))
    return 1.0


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("fit", [FLAT, CENTRE, SHARE])
def test_factors_lie_between_0_and_1_and_are_the_fractions(fit: int, inside: bool) -> None:
    for (lo, hi), (low, high) in itertools.product(intervals(ENDS), intervals(VALUES)):
        shared = lo <= low and high <= hi if inside else lo <= high and low <= hi
        assert meets(lo, hi, low, high, inside) == shared
        if not shared:
            continue
        found = factor(lo, hi, low, high, fit)
        assert 0.0 <= found <= 1.0
        # Among the subnormal numbers a half is rounded by as much as it is large.
        if max(abs(lo), abs(hi)) > 1e-300 and max(abs(low), abs(high)) > 1e-300:
            assert found == pytest.approx(naive_factor(lo, hi, low, high, fit), abs=1e-12)


@pytest.mark.parametrize("inside", [False, True])
def test_a_missing_dimension_meets_open_parts_alone(inside: bool) -> None:
    for lo, hi in intervals(ENDS):
        assert meets(lo, hi, NAN, NAN, inside) == (lo == -INF and hi == INF)
    for fit in (FLAT, CENTRE, SHARE):
        assert factor(-INF, INF, NAN, NAN, fit) == 1.0


def naive_score(rows: list[tuple[int, float, float, float]], low: list[float], high: list[float], rule: Rule) -> float:
    """The contributions as a list, and what is made of them."""
    met = [meets(lo, hi, low[j], high[j], rule.inside) for j, lo, hi, _ in rows]
    if not (all(met) if rule.exact else any(met)):
        return UNMATCHED
    given = [
        weight * factor(lo, hi, low[j], high[j], rule.fit) if is_met else 0.0
        for (j, lo, hi, weight), is_met in zip(rows, met, strict=True)
    ]
    if rule.combination == SUM:
        total = 0.0
        for contribution in given:
            total += contribution
        return total
    return {MIN: min, MAX: max}[rule.combination](given, default=0.0)


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("combination", [SUM, MIN, MAX])
def test_scores_equal_those_of_lists(combination: int, exact: bool) -> None:
    random = np.random.default_rng(combination)
    choices = np.array([-INF, -1.0, 0.0, 0.5, 1.0, 1e150, INF])
    n_matched = 0
    for turn in range(300):
        n = int(random.integers(0, 4))
        dims = np.sort(random.choice(4, n, replace=False)).astype(np.int32)
        fact = np.zeros((n + 1, 4))
        fact[1:, [LO, HI]] = np.sort(random.choice(choices, (n, 2)), axis=1)
        weights = random.choice([0.0, 0.1, 0.7, 1e150], n + 1)
        # In relaxed matching the key of a part is its weight.
        fact[:, KEY] = np.nan if exact else weights
        low, high = np.sort(random.choice(choices[1:-1], (2, 4)), axis=0)
        low[random.random(4) < 0.2] = NAN
        high[np.isnan(low)] = NAN
        parts = Parts(fact, np.concatenate([[9], dims]).astype(np.int32), weights, np.zeros(1, np.int64))
        rule = Rule(turn % 3, turn % 2 == 0, combination, exact)
        rows = [(int(dims[i]), fact[i + 1, LO], fact[i + 1, HI], weights[i + 1]) for i in range(n)]
        wanted = naive_score(rows, low.tolist(), high.tolist(), rule)
        leading = dims.tolist() == list(range(n))
        assert score_parts(parts, 1, n, False, low, high, rule) == wanted
        assert score_parts(parts, 1, n, leading, low, high, rule) == wanted
        n_matched += wanted != UNMATCHED
    assert 20 < n_matched < 300


def test_rules_are_made_of_words() -> None:
    assert make_rule("flat", "overlap", "sum", "relaxed") == Rule(FLAT, False, SUM, False)
    assert make_rule("centre", "inside", "min", "exact") == Rule(CENTRE, True, MIN, True)
    assert make_rule("share", "overlap", "max", "exact") == Rule(SHARE, False, MAX, True)
