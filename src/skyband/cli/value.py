"""Values on the command line: durations, instants, bounds, lists, and files to write."""

import datetime
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    ParamType = click.ParamType[Any]
else:  # not generic in all versions that we take
    ParamType = click.ParamType

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
PART = re.compile(r"(\d+(?:\.\d+)?)(us|µs|ms|min|s|m|h|d)")
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def parse_duration(text: str) -> int:
    """Microseconds of a text such as 500ms, 40m, 1h30m, or a plain number of microseconds."""
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    parts = PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise ValueError(f"{text!r} is not a duration; write 500ms, 30s, 40m, 1h30m, 2d, or microseconds.")
    return round(sum(float(number) * UNITS[unit] for number, unit in parts))


def show_duration(us: int) -> str:
    """A duration in the largest unit that divides it."""
    for unit in ("d", "h", "m", "s", "ms"):
        if us and us % UNITS[unit] == 0:
            return f"{us // UNITS[unit]}{unit}"
    return str(us)


def parse_instant(text: str) -> int:
    """Microseconds since 1970 of an integer or an ISO 8601 time, which is UTC where it names no zone."""
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    try:
        moment = datetime.datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is neither an integer of microseconds nor an ISO 8601 time.") from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.UTC)
    return (moment - EPOCH) // datetime.timedelta(microseconds=1)


def show_instant(us: int) -> str:
    """An instant as ISO 8601 in UTC."""
    return (EPOCH + datetime.timedelta(microseconds=us)).isoformat().replace("+00:00", "Z")


def parse_numbers(text: str) -> tuple[float, ...]:
    """Numbers between commas."""
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise ValueError(f"{text!r} is not a list of numbers between commas.") from None


class Parsed(ParamType):
    """A value that a function reads from its text; its ValueError is shown to the user."""

    def __init__(self, name: str, parse: Callable[[str], Any], low: float | None = None) -> None:
        self.name = name
        self.parse = parse
        self.low = low

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        try:
            read = self.parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)
        if self.low is not None and read < self.low:
            self.fail(f"{value} is less than {self.low}.", param, ctx)
        return read


def _parse_bounds(text: str) -> Any:
    from skyband.model import Bounds

    return Bounds.parse(text)


def window_duration(low: int = 1) -> Parsed:
    """The length of a window."""
    return Parsed("duration", parse_duration, low)


INSTANT = Parsed("time", parse_instant)
NUMBERS = Parsed("numbers", parse_numbers)
BOUNDS = Parsed("x0,y0,x1,y1", _parse_bounds)


def target(*formats: str) -> Parsed:
    """A file to write, in one of these formats; told by its suffix before any work starts."""

    def parse(text: str) -> Path:
        from skyband.replay.table_file import format_of

        format_of(Path(text), formats)
        return Path(text)

    return Parsed("file", parse)
