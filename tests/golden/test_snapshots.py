"""Snapshots that an earlier commit wrote are restored, and go on as if nothing had happened.

`python -m tests.golden.write snapshots` writes them anew, see README.md in this folder.
"""

import pytest

import skyband
from tests.choosing import places_of_engines
from tests.golden.halves import FILE, place, rest, snapshot_entries, tell_rest
from tests.golden.telling import engines, load

STORED = load(FILE)


def where(key: str) -> tuple[str, ...]:
    """The folders for which a snapshot is read if they change: what is as it was reads it as before."""
    return (*places_of_engines(key.split("/")[0]), "tests/golden/")


@pytest.mark.parametrize("key", [pytest.param(key, marks=pytest.mark.changed(*where(key))) for key in STORED])
def test_a_stored_snapshot_goes_on(key: str) -> None:
    entry = snapshot_entries([(key.split("/")[0], key.split("/")[1])])[key]
    engine = skyband.restore(place(entry))
    found = tell_rest(engine, rest(entry))
    assert found.answers == STORED[key].answers, "other answers than those of the engine that was not interrupted"
    assert found.costs == STORED[key].costs, "the same answers, but other counters"


def test_every_engine_has_a_snapshot() -> None:
    now = snapshot_entries(engines())
    assert [key for key in now if key not in STORED] == [], "these have no snapshot: an engine is new"
    assert [key for key in STORED if key not in now] == [], "these have a snapshot: an engine is gone"
