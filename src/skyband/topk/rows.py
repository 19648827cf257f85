"""What continuous top-k needs of the rows of a family, whatever else they hold."""

from typing import Protocol

from skyband.contract.rows import Batch
from skyband.kernels.array import Floats, Int64s
from skyband.table import Windows


class TopSubscriptions(Batch, Protocol):
    """Subscriptions to the k best of a window; `threshold` is NaN for one that is not Boolean."""

    @property
    def k(self) -> Int64s:
        """How many each asks for."""

    @property
    def window(self) -> Windows:
        """How long publications are live for each."""

    @property
    def threshold(self) -> Floats:
        """The score that a Boolean subscription asks for."""


class TimedPublications(Batch, Protocol):
    """Publications that are live from a time on."""

    @property
    def ts(self) -> Int64s:
        """When each was published."""
