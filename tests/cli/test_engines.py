"""`skyband engines`: every registered engine."""

from skyband.contract import engines
from tests.cli.calling import call, document, failure


def test_all_are_listed() -> None:
    said = document("engines")
    assert [(row["family"], row["engine"], row["good_for"]) for row in said] == [
        (engine.family, engine.name, engine.good_for) for engine in engines()
    ]
    lines = call("engines", "window").stdout.splitlines()
    assert lines[0].split() == ["family", "engine", "good", "for"]
    assert {line.split()[0] for line in lines[1:]} == {"window"}


def test_an_unknown_family() -> None:
    assert "there is no family 'x'; there are geotext, ranges, ranked, window." in failure("engines", "x", code=2)
