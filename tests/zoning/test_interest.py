"""Interests: they never rule out what reaches a subscription, alone, joined, grouped tightly and read back."""

import math
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skyband.contract.rows import take
from skyband.geotext import zoning as geotext
from skyband.table import Bounds, Settings, Window
from skyband.zoning import GROUPS, Interest, group, interest
from tests.zoning import world
from tests.zoning.world import FAMILIES, Row, Style

NOW = 100
FOR_EVER = np.iinfo(np.int64).max
FAMILY = pytest.mark.parametrize("family", FAMILIES)


def few_groups(n: int) -> Any:
    """Make interests of no more than so many groups."""
    return mock.patch.multiple(group, GROUPS=n), mock.patch.multiple(geotext, FEWEST=n, MOST=n)


def some_rows(data: st.DataObject, family: str, style: Style) -> tuple[list[Row], list[Row]]:
    kinds = (world.SUBSCRIPTION[family], world.PUBLICATION[family])
    found = [
        data.draw(st.lists(kind(style), min_size=least, max_size=7)) for kind, least in zip(kinds, (2, 1), strict=True)
    ]
    return found[0], found[1]


def check(whole: Interest, parts: list[Interest], publications: Any, wanted: set[int], most: int) -> None:
    """The wanted rows are admitted by an interest, by its text read back, and by its parts joined."""
    admitted = whole.admits(publications, NOW)
    assert wanted <= set(np.flatnonzero(admitted).tolist())
    assert Interest.from_json(whole.to_json()).admits(publications, NOW).tolist() == admitted.tolist()
    joined = Interest.nothing(whole.family)
    apart = np.zeros(len(admitted), np.bool_)
    for part in parts:
        joined = joined.joined(part)
        apart |= part.admits(publications, NOW)
    assert wanted <= set(np.flatnonzero(joined.admits(publications, NOW)).tolist())
    assert not (apart & ~joined.admits(publications, NOW)).any()
    if sum(len(part.groups.kind) for part in parts) <= most:
        assert joined.admits(publications, NOW).tolist() == apart.tolist()


@FAMILY
@pytest.mark.parametrize("most", [1, 3, GROUPS])
@given(data=st.data())
def test_what_reaches_somebody_is_admitted(family: str, most: int, data: st.DataObject) -> None:
    style = data.draw(world.styles())
    settings = world.settings_of(family, style.bounds)
    asked, said = some_rows(data, family, style)
    subscriptions = world.subscriptions_of(family, asked, settings)
    publications = world.publications_of(family, said, settings)
    wanted = {j for _, j in world.alone(family, asked, said, settings)}
    first, second = few_groups(most)
    with first, second:
        each = [interest(family, take(subscriptions, np.array([i])), settings) for i in range(len(asked))]
        check(interest(family, subscriptions, settings), each, publications, wanted, most)


@pytest.mark.parametrize("family", ["window", "geotext"])
@pytest.mark.parametrize("most", [1, 3, GROUPS])
@given(data=st.data())
def test_what_is_as_good_as_the_worst_is_admitted(family: str, most: int, data: st.DataObject) -> None:
    style = data.draw(world.styles())
    settings = world.settings_of(family, style.bounds)
    asked, said = some_rows(data, family, style)
    subscriptions = world.subscriptions_of(family, asked, settings)
    publications = world.publications_of(family, said, settings)
    scores = world.alone(family, asked, said, settings)
    worst, until = [], []
    for i in range(len(asked)):
        its = [score for (sub, _), score in scores.items() if sub == i]
        # A score of its own, so that ties are the rule.
        worst.append(data.draw(st.sampled_from([math.nan, 0.5, *its, *its])))
        until.append(data.draw(st.sampled_from([NOW - 1, NOW, FOR_EVER])))
    wanted = set()
    for (i, j), score in scores.items():
        is_open = asked[i]["threshold"] is not None or math.isnan(worst[i]) or until[i] < NOW
        if is_open or world.is_at_least(score, worst[i], world.is_ascending(asked[i])):
            wanted.add(j)
    first, second = few_groups(most)
    with first, second:
        worsts, untils = world.columns(worst, until)
        each = [
            interest(family, take(subscriptions, np.array([i])), settings, worsts[i : i + 1], untils[i : i + 1])
            for i in range(len(asked))
        ]
        check(interest(family, subscriptions, settings, worsts, untils), each, publications, wanted, most)


@pytest.mark.parametrize("family", ["window", "geotext"])
@given(data=st.data())
def test_a_worst_holds_until_a_member_expires(family: str, data: st.DataObject) -> None:
    """What is not admitted up to some time is in no top by then, whatever expires on the way."""
    style = data.draw(world.styles())
    settings = world.settings_of(family, style.bounds, data.draw(st.sampled_from([Window.time(4), Settings().window])))
    asked, said = some_rows(data, family, style)
    asked = [row | {"window_us": data.draw(st.sampled_from([None, 2, 6]))} for row in asked]
    engine = world.find_oracle(family)(settings, granularity="publication", on_error="raise")
    subscriptions = world.subscriptions_of(family, asked, settings)
    engine.subscribe([{"id": i} | row for i, row in enumerate(asked)])
    times = [data.draw(st.integers(90, NOW - 2)) for _ in said]
    engine.publish([{"id": j, "ts": ts} | row for j, (ts, row) in enumerate(zip(times, said, strict=True))])
    last = {
        "id": 99,
        "ts": data.draw(st.integers(engine.now - 1, NOW)),
        **data.draw(world.PUBLICATION[family](style)),
    }

    worst, until = np.full(len(asked), math.nan), np.full(len(asked), FOR_EVER)
    for row in engine.top().to_pylist():
        i = row["subscription"]
        if row["rank"] == subscriptions.k[i]:
            worst[i] = row["score"]
        if subscriptions.window.size[i]:
            until[i] = min(until[i], times[row["publication"]] + subscriptions.window.size[i] - 1)
    found = interest(family, subscriptions, settings, worst, until)
    is_admitted = bool(found.admits(world.publications_of(family, [last], settings), NOW)[0])

    changes = engine.publish([last]).to_pylist()
    for now in range(engine.now, NOW + 1):
        changes += engine.advance(now).to_pylist()
    assert is_admitted or not any(change["publication"] == 99 for change in changes)


@pytest.mark.parametrize("family", ["window", "geotext"])
def test_windows_by_count_need_everything(family: str) -> None:
    rows: dict[str, Row] = {
        "window": {"k": 1, "score": "euclidean", "point": [0.0, 0.0], "threshold": 0.1},
        "geotext": {"k": 1, "x": 0.0, "y": 0.0, "terms": ["a"], "alpha": 0.5},
    }
    said: dict[str, Row] = {
        "window": {"point": [5.0, 5.0]},
        "geotext": {"x": 1.0, "y": 1.0, "terms": ["b"], "weights": [1.0]},
    }
    row = rows[family]
    settings = world.settings_of(family)
    publications = world.publications_of(family, [said[family]], settings)
    assert not interest(family, world.subscriptions_of(family, [row], settings), settings).admits(publications, NOW)[0]
    by_count = settings._replace(window=Window.count(3))
    for counted, its in ((row | {"window_n": 3}, settings), (row, by_count), (row | {"window_us": 3}, by_count)):
        subscriptions = world.subscriptions_of(family, [counted], its)
        assert interest(family, subscriptions, its).is_everything
        assert interest(family, subscriptions, its).admits(publications, NOW).all()
        nobody = take(subscriptions, np.zeros(0, np.int64))
        assert not interest(family, nobody, its).admits(publications, NOW).any()


def test_boolean_subscriptions_are_never_full() -> None:
    """Matches are ranked by recency: one that scores worse than a full top enters all the same."""
    settings = world.settings_of("window")
    row = {"k": 1, "score": "euclidean", "point": [0.0, 0.0]}
    publications = world.publications_of("window", [{"point": [x, 0.0]} for x in (0.5, 1.5, 2.5)], settings)
    worst, until = world.columns([0.5], [FOR_EVER])
    for threshold, expected in ((None, [True, False, False]), (2.0, [True, True, False])):
        subscriptions = world.subscriptions_of("window", [row | {"threshold": threshold}], settings)
        assert interest("window", subscriptions, settings, worst, until).admits(publications, NOW).tolist() == expected


def test_a_shared_word_counts_however_little_it_weighs() -> None:
    settings = world.settings_of("geotext")
    here = {"x": 0.5, "y": 0.5}
    row = here | {"k": 1, "terms": ["a", "b"], "weights": [1.0, 1e-300], "alpha": 1.0, "threshold": 0.5}
    said = [here | {"terms": ["c", word], "weights": [1.0, 1e-300]} for word in ("b", "d")]
    assert set(world.alone("geotext", [row], said, settings)) == {(0, 0)}
    found = interest("geotext", world.subscriptions_of("geotext", [row], settings), settings)
    assert found.admits(world.publications_of("geotext", said, settings), NOW).tolist() == [True, False]


@FAMILY
def test_nothing_and_everything(family: str) -> None:
    settings = world.settings_of(family)
    said: dict[str, Row] = {
        "window": {"point": [0.0, 0.0]},
        "geotext": {"x": 0.0, "y": 0.0, "terms": ["a"], "weights": [1.0]},
        "ranges": {"object": 1, "x": [0.0, 0.0], "y": 0.0},
        "ranked": {"point": [0.0, 0.0, 0.0]},
    }
    publications = world.publications_of(family, [said[family], said[family] | {"id": 7}], settings)
    nothing, everything = Interest.nothing(family), Interest.everything(family)
    assert nothing.admits(publications, NOW).tolist() == [False, False]
    assert everything.admits(publications, NOW).tolist() == [True, True]
    assert nothing.joined(everything).is_everything
    assert everything.joined(nothing).is_everything
    assert not nothing.joined(nothing).admits(publications, NOW).any()
    for one in (nothing, everything):
        assert Interest.from_json(one.to_json()).admits(publications, NOW).tolist() == [one is everything] * 2
    assert everything.admits(take(publications, np.zeros(0, np.int64)), NOW).tolist() == []


def test_groups_stay_few() -> None:
    random = np.random.default_rng(1)
    settings = Settings()
    rows = [{"k": 1, "score": "euclidean", "point": point} for point in random.random((1_000, 2)).tolist()]
    subscriptions = world.subscriptions_of("window", rows, settings)
    worst, until = np.full(1_000, 0.001), np.full(1_000, FOR_EVER)
    whole = interest("window", subscriptions, settings, worst, until)
    assert len(whole.groups.kind) == 64
    joined = Interest.nothing("window")
    sizes = []
    for part in np.split(np.arange(1_000), 100):
        joined = joined.joined(interest("window", take(subscriptions, part), settings, worst[part], until[part]))
        sizes.append(len(joined.groups.kind))
    assert sizes[11] == 120
    assert max(sizes) <= 128
    assert sizes[-1] >= 64
    assert joined.size() < 10_000


def test_places_far_from_all_are_ruled_out() -> None:
    """Two crowds and nothing in between: the groups do not span the gap."""
    random = np.random.default_rng(2)
    points = np.concatenate([random.random((300, 2)), random.random((300, 2)) + 9.0])
    rows = [{"k": 1, "score": "chebyshev", "point": point, "threshold": 0.5} for point in points.tolist()]
    subscriptions = world.subscriptions_of("window", rows, Settings())
    said = [{"point": [x, x]} for x in (0.5, 1.4, 1.6, 5.0, 8.4, 8.6, 9.9, 11.0)]
    publications = world.publications_of("window", said, Settings())
    admitted = interest("window", subscriptions, Settings()).admits(publications, NOW)
    assert admitted.tolist() == [True, True, False, False, False, True, True, False]


def test_deletions_are_admitted_by_nobody() -> None:
    settings = world.settings_of("ranges")
    subscriptions = world.subscriptions_of(
        "ranges", [{"k": 1, "lo": [0.0, -math.inf], "hi": [1.0, math.inf]}], settings
    )
    said: list[Row] = [
        {"object": 1, "x": [1.0, 1e150], "y": 0.0},
        {"object": 2, "x": [math.nextafter(1.0, 2.0), 0.0], "y": 0.0},
        {"object": 3, "x": None, "y": None},
        {"object": 4, "x": [1.0, 0.0], "y": None},
    ]
    admitted = interest("ranges", subscriptions, settings).admits(world.publications_of("ranges", said, settings), NOW)
    assert admitted.tolist() == [True, False, False, False]


def test_parts_open_on_both_sides_and_no_parts_are_met_by_all() -> None:
    settings = world.settings_of("ranked")
    part = {"dims": [1], "lo": [0.0], "hi": [1.0]}
    whole = {"dims": [0], "lo": [None], "hi": [None], "weights": [1.0]}
    for row, is_everything in ((part, False), (whole, True), ({"dims": [], "lo": [], "hi": []}, True)):
        subscriptions = world.subscriptions_of("ranked", [part, row], settings)
        assert interest("ranked", subscriptions, settings).is_everything == is_everything
    said: list[Row] = [
        {"point": [0.5, None, 0.5]},
        {"point": [None, 1.0, None]},
        {"point": [None, -1.0, None], "upper": [None, 0.0, None]},
        {"point": [None, -1.0, None], "upper": [None, -0.5, None]},
        {"point": [None, -1.0, None], "upper": [None, 3.0, None]},
    ]
    publications = world.publications_of("ranked", said, settings)
    found = interest("ranked", world.subscriptions_of("ranked", [part], settings), settings)
    admitted = found.admits(publications, NOW)
    assert admitted.tolist() == [False, True, True, False, True]
    # Events that were parsed with fewer dimensions lack the others.
    narrow = world.publications_of("ranked", [{"point": [0.5]}], Settings(dims=1))
    assert not found.admits(narrow, NOW).any()


def test_what_cannot_be_is_said() -> None:
    settings = world.settings_of("window")
    row = {"k": 1, "score": "euclidean", "point": [0.0, 0.0], "threshold": 1.0}
    subscriptions = world.subscriptions_of("window", [row], settings)
    one, times = np.zeros(1), np.zeros(1, np.int64)
    with pytest.raises(ValueError, match="must be given together"):
        interest("window", subscriptions, settings, worst=one)
    with pytest.raises(ValueError, match="for each of the 1 subscriptions"):
        interest("window", subscriptions, settings, np.zeros(2), times)
    with pytest.raises(ValueError, match="not 'covering'"):
        Interest.nothing("covering")
    with pytest.raises(ValueError, match="cannot be joined with one of geotext"):
        Interest.nothing("window").joined(Interest.nothing("geotext"))
    line = settings._replace(dims=1)
    other = interest("window", world.subscriptions_of("window", [row | {"point": [0.0]}], line), line)
    with pytest.raises(ValueError, match="different dimensions"):
        interest("window", subscriptions, settings).joined(other)
    asked = [{"k": 1, "x": 0.0, "y": 0.0, "terms": ["a"], "alpha": 0.5}]
    here, there = (
        interest("geotext", world.subscriptions_of("geotext", asked, its), its)
        for its in (world.settings_of("geotext"), world.settings_of("geotext", Bounds(0, 0, 5, 5)))
    )
    with pytest.raises(ValueError, match="different bounds"):
        here.joined(there)
    for text in ("", "[]", "{}", '{"format": "skyband-interest", "version": 0}'):
        with pytest.raises(ValueError, match="not an interest of version 1"):
            Interest.from_json(text)
