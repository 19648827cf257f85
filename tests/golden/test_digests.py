"""Every engine says to every stream what it said when the digests were stored.

`python -m tests.golden.write digests` stores them anew, see README.md in this folder.
"""

import pytest

from tests.golden.telling import DIGESTS, Digests, all_entries, engines, load, tell

STORED = load(DIGESTS)
# These may answer otherwise than the oracle, and say so.
INEXACT = ("window/pa",)


@pytest.mark.parametrize("key", STORED)
def test_digests_are_what_they_were(key: str) -> None:
    family, engine = key.split("/")[:2]
    found = tell(all_entries([(family, engine)])[key]).digests()
    other = [name for name in Digests._fields if getattr(found, name) != getattr(STORED[key], name)]
    assert not other, f"other {' and '.join(other)}: compare what `python -m tests.golden.telling {key!r}` prints"


def test_every_engine_and_mode_has_digests() -> None:
    now = all_entries(engines())
    assert [key for key in now if key not in STORED] == [], "these have no digests: an engine or a mode is new"
    assert [key for key in STORED if key not in now] == [], "these have digests: an engine or a mode is gone"


def test_exact_engines_say_what_the_oracle_says() -> None:
    differing = []
    for key, told in STORED.items():
        family, engine, mode = key.split("/")[:3]
        oracle = STORED.get(f"{family}/oracle/{mode}", told)
        if f"{family}/{engine}" not in INEXACT and told.answers != oracle.answers:
            differing.append(key)
    assert differing == []
