"""Values on the command line."""

import pytest

from skyband.cli.value import parse_instant, parse_numbers, show_instant


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
    with pytest.raises(ValueError, match="neither an integer of microseconds nor an ISO 8601 time"):
        parse_instant("9" * 5000)
    with pytest.raises(ValueError, match="not a list of numbers"):
        parse_numbers("1,x")
    assert parse_numbers("1,-2.5") == (1.0, -2.5)
