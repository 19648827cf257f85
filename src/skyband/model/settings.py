"""What a batch is read against: windows, the bounds of the space, dimensions and words."""

import math
from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray


class WindowKind(IntEnum):
    """What a window counts: nothing, microseconds or publications."""

    UNBOUNDED = 0
    TIME = 1
    COUNT = 2


class _Window(NamedTuple):
    kind: WindowKind
    size: int


class Window(_Window):
    """How long a publication stays live: for a time, for a number of publications, or for ever.

    The size is in microseconds for a time window, in publications for a count window, and 0 for ever.
    """

    __slots__ = ()

    def __new__(cls, kind: WindowKind, size: int) -> Self:
        if kind == WindowKind.UNBOUNDED and size != 0:
            raise ValueError(f"An unbounded window has size 0, not {size}.")
        if kind != WindowKind.UNBOUNDED and not 0 < size < 2**63:
            raise ValueError(f"A window must be a positive 64-bit integer, not {size}.")
        return super().__new__(cls, WindowKind(kind), size)

    @classmethod
    def time(cls, us: int) -> Self:
        """A window of that many microseconds."""
        return cls(WindowKind.TIME, us)

    @classmethod
    def count(cls, n: int) -> Self:  # type: ignore[override]  # tuple.count has no use here
        """A window of the last `n` publications."""
        return cls(WindowKind.COUNT, n)


UNBOUNDED = Window(WindowKind.UNBOUNDED, 0)


class Windows(NamedTuple):
    """The windows of a batch of subscriptions, one entry each; size 0 when unbounded."""

    kind: NDArray[np.int8]
    size: NDArray[np.int64]


class _Bounds(NamedTuple):
    x_min: float
    y_min: float
    x_max: float
    y_max: float


class Bounds(_Bounds):
    """The rectangle in which places lie; its edges belong to it."""

    __slots__ = ()

    def __new__(cls, x_min: float, y_min: float, x_max: float, y_max: float) -> Self:
        corners = (float(x_min), float(y_min), float(x_max), float(y_max))
        if not all(abs(corner) <= 1e150 for corner in corners):
            raise ValueError(f"Bounds must be four finite numbers of magnitude at most 1e150, not {corners}.")
        if corners[0] >= corners[2] or corners[1] >= corners[3]:
            raise ValueError(f"Bounds must have x_min < x_max and y_min < y_max, not {corners}.")
        return super().__new__(cls, *corners)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Bounds written as "x_min,y_min,x_max,y_max"."""
        try:
            x_min, y_min, x_max, y_max = (float(part) for part in text.split(","))
        except ValueError:
            message = f'Bounds are written as four numbers "x_min,y_min,x_max,y_max", not {text!r}.'
            raise ValueError(message) from None
        return cls(x_min, y_min, x_max, y_max)

    @property
    def diagonal(self) -> float:
        """The largest distance between two places."""
        dx, dy = self.x_max - self.x_min, self.y_max - self.y_min
        return math.sqrt(dx * dx + dy * dy)


class WordModel(Protocol):
    """Something that splits text into words and weighs them."""

    def tokens(self, text: str) -> list[str]:
        """The words of a text, in order, repeated as often as they occur."""

    def weigh(self, tokens: Sequence[str]) -> tuple[list[str], list[float]]:
        """The distinct words in order of first occurrence, and their weights: positive, of unit length."""


class Settings(NamedTuple):
    """What a table cannot say of itself; `dims` of None takes the dimensions of the first valid row."""

    dims: int | None = None
    window: Window = UNBOUNDED
    bounds: Bounds = Bounds(0, 0, 1, 1)
    words: WordModel | None = None
