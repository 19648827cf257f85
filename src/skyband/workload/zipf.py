"""Zipfian ranks: rank r of n, counted from 0, has a probability proportional to 1 / (r + 1) ** skew.

The first ranks have a table of cumulated weights. Beyond it a rank's weight is the integral over its unit
interval, which has a closed inverse and differs from the weight by less than one part in a billion; so n
may be the size of a vocabulary or of a space of many dimensions.
"""

import math

import numpy as np

from skyband.kernels.array import Floats

HEAD = 65_536


class Zipf:
    """A Zipfian distribution over n ranks; n may exceed what an integer holds, so ranks are doubles."""

    def __init__(self, n: float, skew: float) -> None:
        self.n = n
        self.skew = skew
        self.head = np.cumsum(np.arange(1, min(n, HEAD) + 1, dtype=np.float64) ** -skew)
        self.edge = len(self.head) + 0.5
        self.total = float(self.head[-1]) + (self._integral(n + 0.5) if n > HEAD else 0.0)

    def draw(self, stream: np.random.Generator, size: int) -> Floats:
        """Ranks from 0 to n - 1."""
        masses = stream.random(size) * self.total
        ranks = np.searchsorted(self.head, masses, side="right").astype(np.float64)
        tail = masses >= self.head[-1]
        ranks[tail] = np.floor(self._inverse(masses[tail] - self.head[-1]) - 0.5)
        return np.minimum(ranks, self.n - 1)

    def probabilities(self, ranks: Floats) -> Floats:
        """The probability of each rank."""
        return np.asarray((ranks + 1.0) ** -self.skew / self.total)

    def _integral(self, end: float) -> float:
        """The weight between the edge of the table and `end`."""
        if self.skew == 1.0:
            return math.log(end / self.edge)
        power = 1.0 - self.skew
        return float((end**power - self.edge**power) / power)

    def _inverse(self, masses: Floats) -> Floats:
        """Where the weight after the edge of the table reaches these masses."""
        if self.skew == 1.0:
            return np.asarray(self.edge * np.exp(masses))
        power = 1.0 - self.skew
        base = self.edge**power + power * masses
        return np.asarray(np.maximum(base, np.finfo(np.float64).tiny) ** (1.0 / power))
