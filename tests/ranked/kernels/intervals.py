"""Sets of intervals that are hard in one way or another, and brute force over them."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from skyband.ranked.kernels.parts import END, HI, KEY, LO, OWNER, Parts

Floats: TypeAlias = npt.NDArray[np.float64]
Ends: TypeAlias = tuple[Floats, Floats]
Case: TypeAlias = Callable[[np.random.Generator, int], Ends]


def lattice(random: np.random.Generator, n: int) -> Ends:
    lo = random.integers(0, 12, n).astype(float)
    return lo, lo + random.integers(0, 5, n)


def scattered(random: np.random.Generator, n: int) -> Ends:
    lo = random.uniform(-1, 1, n)
    return lo, lo + random.exponential(0.2, n)


def nested(random: np.random.Generator, n: int) -> Ends:
    half = np.arange(1.0, n + 1)
    return -half, half


def disjoint(random: np.random.Generator, n: int) -> Ends:
    lo = 2 * random.permutation(n).astype(np.float64)
    return lo, lo + 1.0


def touching(random: np.random.Generator, n: int) -> Ends:
    lo = random.permutation(n).astype(np.float64)
    return lo, lo + 1.0


def equal(random: np.random.Generator, n: int) -> Ends:
    return np.full(n, 1.0), np.full(n, 3.0)


def one_point(random: np.random.Generator, n: int) -> Ends:
    return np.full(n, 7.0), np.full(n, 7.0)


def points(random: np.random.Generator, n: int) -> Ends:
    lo = random.integers(0, 9, n) / 3
    return lo, lo.copy()


def open_sides(random: np.random.Generator, n: int) -> Ends:
    lo, hi = lattice(random, n)
    lo[random.random(n) < 0.4] = -np.inf
    hi[random.random(n) < 0.4] = np.inf
    return lo, hi


def open_left(random: np.random.Generator, n: int) -> Ends:
    return np.full(n, -np.inf), random.uniform(-1, 1, n)


def open_all(random: np.random.Generator, n: int) -> Ends:
    return np.full(n, -np.inf), np.full(n, np.inf)


def huge(random: np.random.Generator, n: int) -> Ends:
    ends = random.choice([-1e150, -1e140, -1e38, -1.0, -1e-150, -0.0, 0.0, 1e-150, 1.0, 1e38, 1e140, 1e150], (2, n))
    return ends.min(axis=0), ends.max(axis=0)


def close(random: np.random.Generator, n: int) -> Ends:
    """Ends that are the same when they are rounded to 32 bits."""
    ends = 0.1 + random.integers(0, 20, (2, n)) * 1e-12
    return ends.min(axis=0), ends.max(axis=0)


ROUND_CASES: list[Case] = [lattice, nested, disjoint, touching, equal, one_point, points]
CASES: list[Case] = [*ROUND_CASES, scattered, open_sides, open_left, open_all, huge, close]


def make_parts(case: Case, random: np.random.Generator, n: int, n_dims: int, n_keys: int) -> Parts:
    """Parts of n owners, each of which has one in most of the dimensions."""
    owner, dim = np.nonzero(random.random((n, n_dims)) < (1.0 if n_dims == 1 else 0.7))
    fact = np.zeros((len(owner), 4))
    for d in range(n_dims):
        fact[dim == d, LO], fact[dim == d, HI] = case(random, int((dim == d).sum()))
    fact[:, KEY], fact[:, OWNER] = random.integers(0, n_keys, len(owner)) / 4, owner
    label = random.permutation(n).astype(np.int64) * 10 - n
    return Parts(fact, dim.astype(np.int32), fact[:, KEY].copy(), label)


def bury(parts: Parts, ids: npt.NDArray[np.int32]) -> None:
    """Let parts die: nothing meets them any more."""
    parts.fact[ids, LO], parts.fact[ids, HI] = np.inf, -np.inf


def values_for(parts: Parts, random: np.random.Generator) -> list[float]:
    """Values at ends, next to them, between and beyond."""
    ends = np.unique(parts.fact[:, :2])
    ends = random.permutation(ends[np.isfinite(ends)])[:25]
    near = [ends, np.nextafter(ends, -np.inf), np.nextafter(ends, np.inf), ends / 2 + random.permutation(ends) / 2]
    return [*np.concatenate(near).tolist(), -1e200, 1e200, -np.inf, np.inf, 0.0]


def stabbed(parts: Parts, ids: npt.NDArray[np.int32], dim: int, value: float) -> list[int]:
    """The parts that a value meets, in order."""
    fact = parts.fact
    met = [int(p) for p in ids if parts.dim[p] == dim and fact[p, LO] <= value <= fact[p, HI]]
    return sorted(met, key=lambda p: (-fact[p, KEY], -parts.label[int(fact[p, OWNER])]))


def drawn(
    step: Callable[[Any, Parts, Any], int], tree: object, parts: Parts, cursor: npt.NDArray[np.int64]
) -> list[int]:
    """All that a cursor gives."""
    found = []
    while (part := step(tree, parts, cursor)) != END:
        found.append(int(part))
        assert len(found) <= len(parts.fact), "The cursor does not come to its end."
    assert step(tree, parts, cursor) == END
    return found
