"""Durations as text."""

import pytest

from skyband.table.duration import parse_duration, parse_with_unit, show_duration


@pytest.mark.parametrize(
    ("text", "us"),
    [("7", 7), ("500ms", 500_000), ("1.5s", 1_500_000), ("40m", 2_400_000_000), ("40min", 2_400_000_000),
     ("1h30m", 5_400_000_000), ("2d", 172_800_000_000), ("3us", 3), ("3µs", 3), ("-4", -4), (" 4 m", 240_000_000)],
)  # fmt: skip
def test_durations(text: str, us: int) -> None:
    assert parse_duration(text) == us


@pytest.mark.parametrize("text", ["", "m", "1h-3m", "-5m", "five", "1e3", "3mm", "9" * 400 + "d", "٣s"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration; write 500ms"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [("10m10m", "write each unit once, the larger before the smaller."),
     ("10m10min", "write each unit once, the larger before the smaller."),
     ("1m1h", "write each unit once, the larger before the smaller."),
     ("1.0000001s", "it has a fraction of a microsecond.")],
)  # fmt: skip
def test_durations_that_may_be_a_mistake(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=rf"^'{text}' is not a duration[;:] {why}$"):
        parse_duration(text)


@pytest.mark.parametrize("text", ["7", "-4", " 600 ", "0"])
def test_a_number_alone_is_no_duration_where_a_unit_is_needed(text: str) -> None:
    assert parse_duration(text) == int(text)
    with pytest.raises(ValueError, match="is not a duration; write 500ms"):
        parse_with_unit(text)


def test_long_durations_keep_their_digits() -> None:
    assert parse_duration("99999999999999999999d") == 99_999_999_999_999_999_999 * 86_400_000_000
    assert parse_duration("0.000001s") == 1


@pytest.mark.parametrize("us", [0, 1, 1000, 60_000_000, 5_400_000_000, 7 * 86_400_000_000])
def test_durations_are_shown_as_they_are_read(us: int) -> None:
    assert parse_duration(show_duration(us)) == us
