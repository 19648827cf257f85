"""Withdrawn publications: a router and its zones answer like one engine, also where something had been held back."""

import random
from typing import Any

import pyarrow as pa
import pytest

from skyband.pipeline.stage.prepare import prepare_rows
from skyband.pipeline.stage.router import Router
from skyband.pipeline.state.spec import Shape
from tests.pipeline.retractions import MAKERS, long_stream, retract
from tests.pipeline.streams import Alone, Batch, Row, raw, shape_of
from tests.pipeline.test_zones import Divided

N_ZONES = (1, 2, 4)


def near(id: str, x: float, **more: Any) -> Row:
    """A subscription to what is near a place."""
    return {"op": "subscribe", "id": id, "k": 1, "score": "euclidean", "point": [x, 0.0]} | more


def point(id: str, ts: int, x: float) -> Row:
    """A publication."""
    return {"id": id, "ts": ts, "point": [x, 0.0]}


class Pair:
    """A divided pipeline and one engine that are given the same, and must answer alike."""

    def __init__(self, shape: Shape) -> None:
        self.divided, self.alone = Divided(shape), Alone(shape._replace(engine="oracle"))
        self.n_batches = 0

    def apply(self, commands: list[Row], publications: list[Row]) -> list[Row]:
        """What both answer."""
        batch = Batch(commands, publications)
        got = self.divided.apply(self.n_batches, raw(batch))
        self.n_batches += 1
        assert got == self.alone.apply(batch)
        return got

    def brief(self, commands: list[Row], publications: list[Row]) -> list[str]:
        """The same as words."""
        rows = self.apply(commands, publications)
        return [f"{row['subscription']} {row['op']} {row['publication']}" for row in rows]

    def owner(self, id: str) -> int:
        """The zone of a subscription."""
        kept = self.divided.router._roster.kept()
        return int(kept.zones[kept.ids.to_pylist().index(id)])


def zones_apart(pair: Pair) -> None:
    """Two subscriptions in two zones, each with a near publication; engines have told their gates."""
    pair.apply([near("west", -2.0), near("east", 2.0)], [point("w", 1, -2.0), point("e", 1, 2.0)])
    assert pair.owner("west") != pair.owner("east")
    pair.divided.refresh()


@pytest.mark.parametrize("trouble", ["none", "router", "saved"])
def test_what_tops_had_kept_out_follows(trouble: str) -> None:
    pair = Pair(shape_of("window", 2))
    zones_apart(pair)
    # Nobody needs it now, and the zones are not sent it but for the time, which the next one brings.
    pair.apply([], [point("second", 2, -1.0), point("clock", 3, 50.0)])
    held = pair.divided.router._ledger.held()
    assert held.rows.field("id").to_pylist() == ["second"]
    assert not held.sent.any()
    if trouble == "router":
        pair.divided.lose_router()
    elif trouble == "saved":
        pair.divided.save_router()
    assert pair.brief([], [retract("w")]) == ["west leave w", "west enter second"]
    assert pair.brief([], [retract("second")]) == ["west leave second", "west enter e"]


def test_a_router_that_was_lost_knows_what_was_handed_over() -> None:
    pair = Pair(shape_of("window", 2))
    zones_apart(pair)
    pair.apply([], [point("second", 2, -1.0), point("clock", 3, 50.0)])
    assert pair.brief([{"op": "resize", "id": "west", "k": 2}], []) == ["west enter second"]
    pair.divided.refresh()
    pair.apply([], [point("third", 3, -0.5), point("clock too", 4, 50.0)])
    pair.divided.lose_router()
    pair.divided.refresh()
    assert pair.brief([], [retract("second")]) == ["west leave second", "west enter third"]


@pytest.mark.parametrize("is_lost", [False, True])
def test_what_no_zone_had_is_withdrawn_for_a_router_that_is_rebuilt_too(is_lost: bool) -> None:
    pair = Pair(shape_of("window", 2, window="time"))
    pair.apply([near("west", -2.0, threshold=1.0), near("east", 2.0, threshold=1.0)], [point("clock", 5, 2.0)])
    pair.apply([], [point("far", 4, 9.0), point("away", 4, 8.0)])
    assert not pair.divided.router._ledger.holders(pa.array(["far", "away"])).any()
    pair.apply([], [retract("far"), retract("away")])
    if is_lost:
        pair.divided.lose_router()
    # Nobody is given it any more, and its id is free.
    assert pair.brief([near("farther", 9.0, threshold=1.0)], []) == []
    assert pair.brief([], [point("far", 5, 9.5)]) == ["farther enter far"]


def test_a_zone_that_has_not_got_it_keeps_its_closer_interest() -> None:
    pair = Pair(shape_of("window", 2))
    zones_apart(pair)
    pair.apply([], [point("better", 1, -2.0), point("other", 1, -1.0)])
    assert pair.divided.router._ledger.holders(pa.array(["better"])).sum() == 1
    pair.apply([], [retract("better")])
    reaches = pair.divided.router._reaches
    assert [reaches[pair.owner(id)].may_widen for id in ("west", "east")] == [False, True]


def test_published_and_withdrawn_in_one_batch() -> None:
    pair = Pair(shape_of("window", 2))
    zones_apart(pair)
    rows = [point("a", 2, -1.9), retract("w"), retract("a"), point("a", 2, -1.0), retract("a", 5), point("b", 4, 2.0)]
    pair.apply([], [*rows, retract("b"), retract("b")])
    assert pair.apply([], [point("a", 6, -2.0)])


def test_runs_stay_apart_in_a_zone_that_nothing_is_withdrawn_from() -> None:
    pair = Pair(shape_of("window", 2, window="time"))
    pair.apply([near("west", -2.0, threshold=1.0), near("east", 2.0, threshold=1.0)], [point("w", 1, -2.0)])
    told = pair.brief(
        [], [point("e1", 2, 2.0), retract("w"), point("e2", 2, 2.0), retract("none"), point("e3", 2, 2.0)]
    )
    assert told == [
        *("east enter e1", "west leave w"),
        *("east leave e1", "east enter e2", "east leave e2", "east enter e3"),
    ]


@pytest.mark.parametrize("is_lost", [False, True])
def test_a_place_is_kept_for_count_windows_that_come_later(is_lost: bool) -> None:
    pair = Pair(shape_of("window", 2))
    zones_apart(pair)
    pair.apply([], [point("a", 2, -1.0), point("b", 3, 9.0), point("c", 4, -1.5)])
    pair.apply([], [point("d", 4, 9.5), retract("b"), retract("d")])
    if is_lost:
        pair.divided.lose_router()
    # Of the last four, two were withdrawn.
    commands = [near(f"last at {x}", x, k=9, window_n=4) for x in (-2.0, 2.0)]
    told = pair.brief(commands, [])
    assert told == [f"last at {x} enter {id}" for x, ids in ((-2.0, "ca"), (2.0, "ac")) for id in ids]


@pytest.mark.parametrize("n_zones", N_ZONES)
@pytest.mark.parametrize("is_saved", [False, True])
def test_a_place_is_kept_in_a_count_window(n_zones: int, is_saved: bool) -> None:
    pair = Pair(shape_of("window", n_zones, window="count"))
    rows = [point(id, ts, float(ts)) for ts, id in enumerate("abcd")]
    pair.apply([near("s", 0.0, k=4)], [*rows, retract("b")])
    if is_saved:
        pair.divided.save_router()
    pair.apply([], [point("b", 1, 0.5)])
    if is_saved:
        pair.divided.save_router()
    # The first of that id is over now, and the second is not: its id is still taken.
    pair.apply([], [point("e", 5, 5.0), point("b", 6, 6.0)])
    assert pair.brief([], [point("f", 7, 7.0), point("b", 8, 8.0)])


def test_time_advances_before_a_retraction() -> None:
    pair = Pair(shape_of("window", 2, window="time"))
    pair.apply([near("west", -2.0), near("east", 2.0)], [point("w", 1, -2.0), point("e", 3, 2.0)])
    told = pair.brief([], [retract("e", 6), retract("w", 2)])
    assert told == ["west leave w", "west enter e", "west leave e", "east leave e"]
    assert pair.divided.router.now == 6
    assert pair.apply([], [point("w", 1, -2.0)]) == []


def test_counts() -> None:
    shape = shape_of("window", 2, window="time")
    router = Router(shape)
    rows = [point("a", 1, 0.0), point("b", 2, 0.0), retract("a"), retract("a"), retract("x"), retract("b", 7)]
    first = router.route(0, prepare_rows(raw(Batch([], rows)), shape)).report
    assert (first.publications, first.retracted, first.retracted_late, first.dead) == (2, 1, 3, 0)
    rows = [point("a", 7, 0.0), point("b", 8, 0.0), retract("a"), retract("a"), retract("x"), retract("b", 8)]
    second = router.route(1, prepare_rows(raw(Batch([], rows)), shape)).report
    assert (second.publications, second.retracted, second.retracted_late, second.copies) == (2, 2, 2, 2)


def test_a_state_of_an_earlier_version_goes_on() -> None:
    pair = Pair(shape_of("window", 2))
    zones_apart(pair)
    pair.apply([], [point("second", 2, -1.0), point("third", 2, -0.5), point("clock", 3, 50.0)])
    router = pair.divided.router
    # Zones have what the ledger of that version did not note.
    router._hand_over(0, pa.array([], router._said_type))
    tables = router.save()
    tables["ledger-live"] = tables["ledger-live"].drop_columns(["retracted"])
    tables["ledger-time"] = tables["ledger-time"].drop_columns(["in_doubt"])
    pair.divided.router = Router(router.shape)
    pair.divided.router.load(tables)
    assert pair.divided.router._ledger.holders(pa.array(["second"])).all()
    pair.divided.save_router()
    assert pair.divided.router._ledger.holders(pa.array(["second"])).all()
    pair.apply([], [retract("second"), retract("w")])
    pair.apply([], [retract("third")])


@pytest.mark.few(3)
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("n_zones", N_ZONES)
@pytest.mark.parametrize("window", ["none", "time", "count"])
@pytest.mark.parametrize("family", sorted(MAKERS))
def test_long_streams(family: str, window: str, n_zones: int, seed: int) -> None:
    pair, rng = Pair(shape_of(family, n_zones, window=window)), random.Random(seed)
    for batch in long_stream(family, window, seed):
        trouble = rng.choice(["", "", "", "refresh", "refresh", "router", "saved", "zone"])
        if trouble == "refresh" and n_zones > 1:
            pair.divided.refresh()
        elif trouble == "router":
            pair.divided.lose_router()
        elif trouble == "saved":
            pair.divided.save_router()
        elif trouble == "zone":
            pair.divided.lose_zone(rng.randrange(n_zones))
        pair.apply(*batch)
    assert pair.alone.engine.counters["retracted"] > 0
