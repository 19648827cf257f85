"""Values on the command line."""

import pytest

from skyband.cli.value import parse_duration, parse_instant, parse_numbers, show_duration, show_instant


@pytest.mark.parametrize(
    ("text", "us"),
    [("7", 7), ("500ms", 500_000), ("1.5s", 1_500_000), ("40m", 2_400_000_000), ("40min", 2_400_000_000),
     ("1h30m", 5_400_000_000), ("2d", 172_800_000_000), ("3us", 3), ("3µs", 3), ("-4", -4)],
)  # fmt: skip
def test_durations(text: str, us: int) -> None:
    assert parse_duration(text) == us


@pytest.mark.parametrize("text", ["", "m", "4 m", "1h-3m", "-5m", "five", "1e3", "3mm"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration; write 500ms"):
        parse_duration(text)


@pytest.mark.parametrize("us", [0, 1, 1000, 60_000_000, 5_400_000_000, 7 * 86_400_000_000])
def test_durations_are_shown_as_they_are_read(us: int) -> None:
    assert parse_duration(show_duration(us)) == us


@pytest.mark.parametrize(
    ("text", "us"),
    [("-3", -3), ("1970-01-01", 0), ("1970-01-01T00:00:01", 1_000_000), ("1970-01-01 01:00:00.000001+01:00", 1)],
)
def test_instants(text: str, us: int) -> None:
    assert parse_instant(text) == us
    assert parse_instant(show_instant(us)) == us


def test_what_is_neither() -> None:
    with pytest.raises(ValueError, match="neither an integer of microseconds nor an ISO 8601 time"):
        parse_instant("noon")
    with pytest.raises(ValueError, match="not a list of numbers"):
        parse_numbers("1,x")
    assert parse_numbers("1,-2.5") == (1.0, -2.5)
