"""Durations as text, the same on the command line, in configurations and in Python: 500ms, 10m, 1h30m."""

import re

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
_PART = re.compile(r"(\d{1,20}(?:\.\d{1,20})?)\s*(us|µs|ms|min|s|m|h|d)\s*")


def parse_duration(text: str) -> int:
    """Microseconds of a text such as 500ms, 40m, 1h30m, or a plain number of microseconds."""
    plain = text.strip()
    if re.fullmatch(r"-?[0-9]{1,30}", plain):
        return int(plain)
    if not re.fullmatch(f"(?:{_PART.pattern})+", plain, re.ASCII):
        raise ValueError(f"{text!r} is not a duration; write 500ms, 30s, 40m, 1h30m, 2d, or microseconds.")
    return round(sum(float(number) * UNITS[unit] for number, unit in _PART.findall(plain)))


def show_duration(us: int) -> str:
    """A duration in the largest unit that divides it."""
    for unit in ("d", "h", "m", "s", "ms"):
        if us and us % UNITS[unit] == 0:
            return f"{us // UNITS[unit]}{unit}"
    return str(us)
