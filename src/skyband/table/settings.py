"""What a batch is read against: windows, the bounds of the space, dimensions and words."""

import datetime
import math
from collections.abc import Sequence
from enum import IntEnum
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from skyband.kernels.array import Int8s, Int64s
from skyband.kernels.earth import HALF_CIRCUMFERENCE, MAP
from skyband.table.argument import check_integer, is_integer, is_number
from skyband.table.duration import microseconds, parse_duration, show_duration
from skyband.table.reject import shorten


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

    >>> Window.time("90s"), Window.time(1500), Window.count(1000), Window.of(None)
    (Window.time("90s"), Window.time(1500), Window.count(1000), Window.of(None))
    """

    __slots__ = ()

    def __new__(cls, kind: WindowKind, size: int) -> Self:
        if kind == WindowKind.UNBOUNDED and not (is_integer(size) and size == 0):
            raise ValueError(f"An unbounded window has size 0, not {shorten(size)}.")
        if kind != WindowKind.UNBOUNDED and not (is_integer(size) and 0 < size < 2**63):
            raise ValueError(f"A window must be a positive 64-bit integer, not {shorten(size)}.")
        return super().__new__(cls, WindowKind(kind), int(size))

    def __repr__(self) -> str:
        if self.kind == WindowKind.TIME:
            length = show_duration(self.size)
            return f"Window.time({self.size})" if length.isdigit() else f'Window.time("{length}")'
        return f"Window.count({self.size})" if self.kind == WindowKind.COUNT else "Window.of(None)"

    def __str__(self) -> str:
        if self.kind == WindowKind.TIME:
            length = show_duration(self.size)
            return f"{length}us" if length.isdigit() else length
        return f"{self.size:,} publications" if self.kind == WindowKind.COUNT else "unbounded"

    @classmethod
    def of(cls, given: "WindowLike") -> "Window":
        """What is meant by a window, by a duration such as "10m" or a timedelta, and by None, which is no window."""
        if given is None:
            return UNBOUNDED
        if isinstance(given, Window):
            return given
        if isinstance(given, str | datetime.timedelta | np.timedelta64):
            return cls.time(given)
        raise ValueError(
            f'window is a duration such as "90s", "10m" or "1h30m", a timedelta, Window.time(us), Window.count(n) or '
            f"None, not {shorten(given)}."
        )

    @classmethod
    def time(cls, us: int | str | datetime.timedelta | np.timedelta64) -> Self:
        """A window of that many microseconds, or of a duration such as "10m" or a timedelta."""
        if isinstance(us, str):
            return cls(WindowKind.TIME, parse_duration(us))
        if isinstance(us, datetime.timedelta | np.timedelta64):
            return cls(WindowKind.TIME, microseconds(us))
        return cls(WindowKind.TIME, us)

    @classmethod
    def count(cls, n: int) -> Self:  # type: ignore[override]  # tuple.count has no use here
        """A window of the last `n` publications."""
        return cls(WindowKind.COUNT, n)


UNBOUNDED = Window(WindowKind.UNBOUNDED, 0)
MOST_DIMS = 1_000_000
WindowLike = Window | str | datetime.timedelta | np.timedelta64 | None


class Windows(NamedTuple):
    """The windows of a batch of subscriptions, one entry each; size 0 when unbounded."""

    kind: Int8s
    size: Int64s


FARTHEST_CORNER = 1e150
GEOGRAPHIC = "geographic"


class _Bounds(NamedTuple):
    x_min: float
    y_min: float
    x_max: float
    y_max: float


class Bounds(_Bounds):
    """The rectangle in which places lie; its edges belong to it."""

    __slots__ = ()

    def __new__(cls, x_min: float, y_min: float, x_max: float, y_max: float) -> Self:
        given: tuple[Any, ...] = (x_min, y_min, x_max, y_max)
        if not all(_is_corner(corner) for corner in given):
            raise ValueError(f"Bounds must be four finite numbers of magnitude at most 1e150, not {shorten(given)}.")
        corners = (float(x_min), float(y_min), float(x_max), float(y_max))
        if corners[0] >= corners[2] or corners[1] >= corners[3]:
            raise ValueError(f"Bounds must have x_min < x_max and y_min < y_max, not {corners}.")
        return super().__new__(cls, *corners)

    @classmethod
    def geographic(cls) -> "Bounds":
        """The whole Earth: x is longitude and y latitude, in degrees, and distances are along its surface."""
        return Geographic()

    @classmethod
    def of(cls, given: Any) -> "Bounds":
        """What is meant by bounds, by "geographic", and by four numbers; the inverse of `plain`."""
        if isinstance(given, Bounds):
            return given
        return Geographic() if given == GEOGRAPHIC else cls(*given)

    @property
    def is_geographic(self) -> bool:
        """Whether places are longitudes and latitudes on Earth."""
        return False

    @property
    def plain(self) -> list[float] | str:
        """Four numbers, or "geographic", as files have them."""
        return list(self)

    @property
    def flat(self) -> tuple[float, float, float, float]:
        """The rectangle that an index divides; for the Earth that of its flat map, see `skyband.kernels.sphere`."""
        return (self.x_min, self.y_min, self.x_max, self.y_max)

    @classmethod
    def parse(cls, text: str) -> "Bounds":
        """Bounds written as "x_min,y_min,x_max,y_max" or "geographic"."""
        if text.strip() == GEOGRAPHIC:
            return Geographic()
        try:
            x_min, y_min, x_max, y_max = (float(part) for part in text.split(","))
        except ValueError:
            message = f'Bounds are written as four numbers "x_min,y_min,x_max,y_max" or "geographic", not {text!r}.'
            raise ValueError(message) from None
        return cls(x_min, y_min, x_max, y_max)

    @property
    def diagonal(self) -> float:
        """The largest distance between two places."""
        dx, dy = self.x_max - self.x_min, self.y_max - self.y_min
        return math.sqrt(dx * dx + dy * dy)


class Geographic(Bounds):
    """The whole Earth, as `Bounds.geographic()` declares it."""

    __slots__ = ()

    def __new__(cls, *_: float) -> Self:  # corners are given where a copy is unpickled
        return super().__new__(cls, -180.0, -90.0, 180.0, 90.0)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Geographic)

    def __ne__(self, other: object) -> bool:
        return not isinstance(other, Geographic)

    def __hash__(self) -> int:
        return hash(GEOGRAPHIC)

    def __repr__(self) -> str:
        return "Bounds.geographic()"

    @property
    def is_geographic(self) -> bool:
        return True

    @property
    def plain(self) -> str:
        return GEOGRAPHIC

    @property
    def flat(self) -> tuple[float, float, float, float]:
        return MAP

    @property
    def diagonal(self) -> float:
        """Half the circumference, in metres."""
        return HALF_CIRCUMFERENCE


class WordModel(Protocol):
    """Something that splits text into words and weighs them."""

    def tokens(self, text: str) -> list[str]:
        """The words of a text, in order, repeated as often as they occur."""

    def weigh(self, tokens: Sequence[str]) -> tuple[list[str], list[float]]:
        """The distinct words in order of first occurrence, and their weights: positive, of unit length."""


class _Settings(NamedTuple):
    dims: int | None
    window: Window
    bounds: Bounds
    words: WordModel | None


class Settings(_Settings):
    """What a table cannot say of itself; `dims` of None takes the dimensions of the first valid row."""

    __slots__ = ()

    def __new__(
        cls,
        dims: int | None = None,
        window: WindowLike = UNBOUNDED,
        bounds: Bounds | Sequence[float] | str | None = None,
        words: WordModel | None = None,
    ) -> Self:
        if dims is not None:
            dims = check_integer("dims", dims, 1, MOST_DIMS)
        if words is not None and not all(callable(getattr(words, name, None)) for name in ("tokens", "weigh")):
            raise ValueError(f"words is a skyband.Words, or has the methods tokens and weigh, not {shorten(words)}.")
        return super().__new__(cls, dims, Window.of(window), _bounds(bounds), words)


def _is_corner(given: Any) -> bool:
    return is_number(given) and bool(-FARTHEST_CORNER <= given <= FARTHEST_CORNER)


def _bounds(given: Bounds | Sequence[float] | str | None) -> Bounds:
    if isinstance(given, Bounds):
        return given
    if given is None:
        return Bounds(0, 0, 1, 1)
    if (isinstance(given, str) and given == GEOGRAPHIC) or (isinstance(given, list | tuple) and len(given) == 4):
        return Bounds.of(given)
    raise ValueError(f'bounds is a skyband.Bounds(x_min, y_min, x_max, y_max) or "geographic", not {shorten(given)}.')
