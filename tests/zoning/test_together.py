"""Interests side by side say what each of them says alone, of the same publications."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skyband.contract.rows import take
from skyband.zoning import Interest, Together, interest
from tests.zoning import world
from tests.zoning.world import FAMILIES

NOW = 100


def drawn(data: st.DataObject, family: str, subscriptions: Any, settings: Any) -> Interest:
    """The interest of some of the subscriptions, of nobody or of everything; perhaps with the worst of tops."""
    kind = data.draw(st.sampled_from(["some", "some", "some", "full", "nothing", "everything", "joined"]))
    if kind in ("nothing", "everything"):
        return Interest.nothing(family) if kind == "nothing" else Interest.everything(family)
    if kind == "joined":
        return drawn(data, family, subscriptions, settings).joined(drawn(data, family, subscriptions, settings))
    n = len(subscriptions.ids)
    chosen = sorted(data.draw(st.sets(st.integers(0, n - 1), min_size=1)))
    rows = take(subscriptions, np.array(chosen))
    if kind == "some" or family not in ("window", "geotext"):
        return interest(family, rows, settings)
    worst = [data.draw(st.sampled_from([math.nan, 0.0, 0.3, 0.5, 0.9, 1.0])) for _ in chosen]
    until = [data.draw(st.sampled_from([NOW - 1, NOW, 2**62])) for _ in chosen]
    return interest(family, rows, settings, np.array(worst), np.array(until))


@pytest.mark.parametrize("family", FAMILIES)
@given(data=st.data())
def test_like_each_alone(family: str, data: st.DataObject) -> None:
    style = data.draw(world.styles())
    settings = world.settings_of(family, style.bounds)
    kinds = (world.SUBSCRIPTION[family](style), world.PUBLICATION[family](style))
    asked, said = (
        data.draw(st.lists(kind, min_size=least, max_size=7)) for kind, least in zip(kinds, (1, 0), strict=True)
    )
    subscriptions = world.subscriptions_of(family, asked, settings)
    publications = world.publications_of(family, said, settings)
    interests = [drawn(data, family, subscriptions, settings) for _ in range(data.draw(st.integers(1, 4)))]
    together = Together(interests)
    # Twice, since what is left in the room of a kernel would be found by the next.
    for now in (NOW, NOW + 1, NOW):
        found = together.admits(publications, now)
        assert found.shape == (len(said), len(interests))
        for column, each in zip(found.T, interests, strict=True):
            assert column.tolist() == each.admits(publications, now).tolist()


def test_they_are_the_very_ones() -> None:
    one, other = Interest.nothing("geotext"), Interest.everything("geotext")
    together = Together([one, other])
    assert together.are([one, other])
    assert not together.are([other, one])
    assert not together.are([one])
    assert not together.are([one, Interest.everything("geotext")])
