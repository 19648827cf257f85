"""Values on the command line: durations, instants, bounds, lists, files to write, and cells to print."""

import datetime
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    ParamType = click.ParamType[Any]
else:  # not generic in all versions that we take
    ParamType = click.ParamType

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def parse_instant(text: str) -> int:
    """Microseconds since 1970 of an integer or an ISO 8601 time, which is UTC where it names no zone."""
    if re.fullmatch(r"-?[0-9]{1,30}", text):
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


def plain_value(value: Any) -> Any:
    """A value as JSON has it: times are ISO 8601 in UTC."""
    if isinstance(value, datetime.datetime):
        moment = value if value.tzinfo else value.replace(tzinfo=datetime.UTC)
        return show_instant((moment - EPOCH) // datetime.timedelta(microseconds=1))
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, list | tuple):
        return [plain_value(each) for each in value]
    if isinstance(value, dict):
        return {str(key): plain_value(each) for key, each in value.items()}
    return value if isinstance(value, str | int | float | None) else str(value)


def cell_text(given: Any) -> str:
    """A value in a cell; ids and times are integers without commas."""
    value = plain_value(given)
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, bool | list | dict) else str(value)


def parse_numbers(text: str) -> tuple[float, ...]:
    """Numbers between commas."""
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise ValueError(f"{text!r} is not a list of numbers between commas.") from None


class ParsedValue(ParamType):
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


def _parse_duration(text: str) -> int:
    # Imported when it is called: `skyband --help` should not wait for Arrow.
    from skyband.table.duration import parse_duration

    return parse_duration(text)


def _parse_bounds(text: str) -> Any:
    from skyband.table import Bounds

    return Bounds.parse(text)


def window_duration(low: int = 1) -> ParsedValue:
    """The length of a window."""
    return ParsedValue("duration", _parse_duration, low)


INSTANT = ParsedValue("time", parse_instant)
NUMBERS = ParsedValue("numbers", parse_numbers)
BOUNDS = ParsedValue("x0,y0,x1,y1", _parse_bounds)


def target(*formats: str) -> ParsedValue:
    """A file to write, in one of these formats; told by its suffix before any work starts."""

    def parse(text: str) -> Path:
        from skyband.replay.table_file import format_of

        format_of(Path(text), formats)
        return Path(text)

    return ParsedValue("file", parse)
