"""Durations as text, the same on the command line, in configurations and in Python: 500ms, 10m, 1h30m."""

import datetime
import itertools
import re
from fractions import Fraction

import numpy as np

from skyband.table.reject import shorten

UNITS = {
    "us": 1,
    "µs": 1,
    "ms": 1_000,
    "s": 1_000_000,
    "m": 60_000_000,
    "min": 60_000_000,
    "h": 3_600_000_000,
    "d": 86_400_000_000,
}
# Those of numpy's units whose length is always the same.
_NUMPY_UNITS = {unit: Fraction(UNITS[unit]) for unit in ("us", "ms", "s", "m", "h")} | {
    "D": Fraction(UNITS["d"]),
    "W": Fraction(7 * UNITS["d"]),
    "ns": Fraction(1, 10**3),
    "ps": Fraction(1, 10**6),
    "fs": Fraction(1, 10**9),
    "as": Fraction(1, 10**12),
}
_PART = re.compile(r"(\d{1,20}(?:\.\d{1,20})?)\s*(us|µs|ms|min|s|m|h|d)\s*")


def parse_duration(text: str) -> int:
    """Microseconds of a text such as 500ms, 40m, 1h30m, or a plain number of microseconds."""
    plain = text.strip()
    return int(plain) if re.fullmatch(r"-?[0-9]{1,30}", plain) else parse_with_unit(text)


def parse_with_unit(text: str) -> int:
    """Microseconds of a text such as 500ms, 40m or 1h30m, where a number alone could be meant in another unit."""
    plain = text.strip()
    if not re.fullmatch(f"(?:{_PART.pattern})+", plain, re.ASCII):
        raise ValueError(f"{shorten(text)} is not a duration; write 500ms, 30s, 40m, 1h30m, 2d, or microseconds.")
    parts = _PART.findall(plain)
    sizes = [UNITS[unit] for _, unit in parts]
    if any(later >= earlier for earlier, later in itertools.pairwise(sizes)):
        raise ValueError(f"{shorten(text)} is not a duration; write each unit once, the larger before the smaller.")
    return _whole(text, sum(Fraction(number) * UNITS[unit] for number, unit in parts))


def microseconds(given: datetime.timedelta | np.timedelta64) -> int:
    """Microseconds of a duration of Python, numpy or pandas."""
    if isinstance(given, datetime.timedelta):
        whole = given // datetime.timedelta(microseconds=1)
        return _whole(given, whole + Fraction(getattr(given, "nanoseconds", 0), 1000))
    unit, n_units = np.datetime_data(given.dtype)
    if np.isnat(given) or unit not in _NUMPY_UNITS:
        raise ValueError(f"{shorten(given)} is not a duration of a known length.")
    return _whole(given, int(given.astype(np.int64)) * n_units * _NUMPY_UNITS[unit])


def _whole(given: object, us: Fraction | int) -> int:
    if us != int(us):
        raise ValueError(f"{shorten(given)} is not a duration: it has a fraction of a microsecond.")
    return int(us)


def show_duration(us: int) -> str:
    """A duration in the largest unit that divides it."""
    for unit in ("d", "h", "m", "s", "ms"):
        if us and us % UNITS[unit] == 0:
            return f"{us // UNITS[unit]}{unit}"
    return str(us)
