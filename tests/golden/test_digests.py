"""Every engine says to every stream what it said when the digests were stored.

`python -m tests.golden.write digests` stores them anew, see README.md in this folder.
"""

from collections.abc import Iterable

import pytest

from tests.choosing import places_of_engines
from tests.golden.telling import DIGESTS, Digests, all_entries, engines, load, tell

STORED = load(DIGESTS)
# These may answer otherwise than the oracle, and say so.
INEXACT = ("window/pa",)


def one_each(keys: Iterable[str]) -> set[str]:
    """The first of every engine, which has no options; each engine in every mode is what the contract suite takes."""
    return {key for key in keys if key == next(other for other in keys if other.split("/")[:2] == key.split("/")[:2])}


ALWAYS = one_each(list(STORED))


def where(key: str) -> tuple[str, ...]:
    """The folders for which a digest is compared if they change, and all of them are where the streams do."""
    return (*places_of_engines(key.split("/")[0]), "tests/golden/")


@pytest.mark.parametrize(
    "key",
    [pytest.param(key, marks=() if key in ALWAYS else pytest.mark.changed(*where(key))) for key in STORED],
)
def test_digests_are_what_they_were(key: str) -> None:
    family, engine = key.split("/")[:2]
    found = tell(all_entries([(family, engine)])[key]).digests()
    other = [name for name in Digests._fields if getattr(found, name) != getattr(STORED[key], name)]
    assert not other, f"other {' and '.join(other)}: compare what `python -m tests.golden.telling {key!r}` prints"


def test_every_engine_and_mode_has_digests() -> None:
    now = all_entries(engines())
    assert [key for key in now if key not in STORED] == [], "these have no digests: an engine or a mode is new"
    assert [key for key in STORED if key not in now] == [], "these have digests: an engine or a mode is gone"


def test_every_engine_is_compared_whatever_has_changed() -> None:
    assert sorted(key.split("/")[:2] for key in ALWAYS) == sorted(map(list, engines()))


def test_exact_engines_say_what_the_oracle_says() -> None:
    differing = []
    for key, told in STORED.items():
        family, engine, mode = key.split("/")[:3]
        oracle = STORED.get(f"{family}/oracle/{mode}", told)
        if f"{family}/{engine}" not in INEXACT and told.answers != oracle.answers:
            differing.append(key)
    assert differing == []
