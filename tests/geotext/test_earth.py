"""Messages on Earth: every engine against the oracle, and a flat map on which nothing is too far apart."""

import pickle
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import skyband
from skyband.contract.registry import engines
from skyband.geotext.rows import parse_publications, parse_subscriptions
from skyband.kernels.earth import HALF_CIRCUMFERENCE, MAP, MAP_DIAGONAL
from skyband.kernels.sphere import on_earth
from skyband.table import Bounds, Settings
from skyband.topk.great_circle import great_circle
from skyband.zoning.admission import interest

NAMES = [engine.name for engine in engines() if engine.family == "geotext" and engine.exact]
WORDS = ["a", "b", "c", "d", "e", "f", "g"]


def _place(draw: random.Random) -> dict[str, float]:
    at = draw.random()
    x, y = draw.uniform(-180.0, 180.0), draw.uniform(-90.0, 90.0)
    if at < 0.3:
        x, y = draw.choice((-180.0, 180.0, 0.0, 90.0, -90.0)), draw.choice((-90.0, 90.0, 0.0))
    elif at < 0.5:
        x, y = draw.choice((-1, 1)) * (180.0 - draw.random() * 1e-3), draw.uniform(-1.0, 1.0)
    elif at < 0.8:
        x, y = 13.0 + draw.random() * 0.2, 52.0 + draw.random() * 0.2
    return {"x": x, "y": y}


def _words(draw: random.Random, most: int) -> dict[str, Any]:
    terms = draw.sample(WORDS, draw.randint(1, most))
    counts = [draw.randint(1, 3) for _ in terms]
    length = sum(n * n for n in counts) ** 0.5
    return {"terms": terms, "weights": [n / length for n in counts]}


def _subscriptions(draw: random.Random, first: int) -> pa.Table:
    number, words, whole = pa.float64(), pa.list_(pa.string()), pa.int64()
    columns = {"id": whole, "k": whole, "x": number, "y": number, "alpha": number, "threshold": number}
    columns |= {"window_us": whole, "window_n": whole, "terms": words, "weights": pa.list_(number)}
    rows = []
    for id in range(first, first + 8):
        row: dict[str, Any] = {"id": id, "k": draw.choice((1, 2, 5)), "alpha": draw.choice((0.0, 0.3, 0.9, 1.0))}
        row |= {"threshold": draw.choice((None, None, 0.5, 0.9, 0.999999))} | _place(draw) | _words(draw, 3)
        rows.append(row | {draw.choice(("window_us", "window_n", "terms")): draw.choice((3, 10, 60))} | _words(draw, 3))
    return pa.Table.from_pylist(rows, pa.schema(list(columns.items())))


def _rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return sorted(tuple(str(value) for value in row.values()) for row in table.to_pylist())


@pytest.mark.few(6)
@pytest.mark.parametrize("granularity", ["batch", "publication"])
@pytest.mark.parametrize("name", NAMES)
def test_engines_answer_as_the_oracle(name: str, granularity: Any, tmp_path: Path) -> None:
    draw = random.Random(f"{name} {granularity}")
    engine = skyband.open("geotext", name, granularity=granularity, bounds="geographic")
    oracle = skyband.open("geotext", "oracle", granularity=granularity, bounds=Bounds.geographic())
    n_asked = n_said = now = 0
    for step in range(12):
        if step % 4 == 1:
            table, n_asked = _subscriptions(draw, n_asked), n_asked + 8
            assert _rows(engine.subscribe(table)) == _rows(oracle.subscribe(table))
        messages = []
        for _ in range(draw.choice((1, 5, 30))):
            n_said, now = n_said + 1, now + draw.choice((0, 1))
            messages.append({"id": n_said, "ts": now} | _place(draw) | _words(draw, 4))
        assert _rows(engine.publish(messages)) == _rows(oracle.publish(messages))
        assert _rows(engine.top()) == _rows(oracle.top())
        if step == 6:
            engine.snapshot(tmp_path / "snapshot")
            engine = type(engine).restore(tmp_path / "snapshot")
            assert engine.settings.bounds == Bounds.geographic()


def test_nothing_is_farther_apart_on_the_map_than_on_earth() -> None:
    random = np.random.default_rng(2)
    places = np.column_stack([random.uniform(-180, 180, 400), np.degrees(np.arcsin(random.uniform(-1, 1, 400)))])
    steps = random.normal(size=(400, 2)) * 10.0 ** random.uniform(-9, 2, (400, 1))
    others = np.clip(places + steps, [-180, -90], [180, 90])
    others[::4, 0] = -places[::4, 0]
    here, there = on_earth(places)[3:], on_earth(others)[3:]
    assert (np.array(MAP[:2]) <= here.T).all()
    assert (np.array(MAP[2:]) >= here.T).all()
    assert np.hypot(MAP[2] - MAP[0], MAP[3] - MAP[1]) >= MAP_DIAGONAL
    on_map = np.sqrt(((here - there) ** 2).sum(axis=0)) / MAP_DIAGONAL
    on_globe = [great_circle(*pair) / HALF_CIRCUMFERENCE for pair in zip(places.tolist(), others.tolist(), strict=True)]
    assert (on_map <= np.array(on_globe) + 1e-15).all()


def test_bounds_are_declared_geographic_in_several_ways() -> None:
    earth = Bounds.geographic()
    unpickled = pickle.loads(pickle.dumps(earth))
    for given in ("geographic", earth, Bounds.parse("geographic"), Bounds.of(earth.plain), unpickled):
        assert Settings(bounds=given).bounds == earth
    plane = Bounds(-180, -90, 180, 90)
    assert earth != plane
    assert plane != earth
    assert not plane.is_geographic
    assert earth.is_geographic
    assert Bounds.of(plane.plain) == plane
    assert repr(earth) == "Bounds.geographic()"
    assert hash(earth) == hash(Bounds.geographic())
    assert earth.diagonal == HALF_CIRCUMFERENCE
    with pytest.raises(ValueError, match='or "geographic", not'):
        Settings(bounds="lunar")


def test_places_off_the_earth_are_rejected() -> None:
    engine = skyband.open("geotext", "blocks", bounds="geographic", on_error="collect")
    engine.publish([{"id": 0, "ts": 0, "x": 181.0, "y": 0.0, "terms": ["a"], "weights": [1.0]}])
    (reject,) = engine.rejects
    assert (reject.column, reject.reason) == ("x", "x must lie within the bounds, -180 to 180")


def test_zones_admit_whatever_may_be_an_answer() -> None:
    draw = random.Random(3)
    for _ in range(30):
        engine = skyband.open("geotext", "oracle", bounds="geographic")
        table = _subscriptions(draw, 0).drop_columns(["window_n"])
        parsed = engine.settings
        rows = parse_subscriptions(table, parsed).rows
        engine.subscribe(table)
        messages = pa.Table.from_pylist([{"id": i, "ts": i} | _place(draw) | _words(draw, 3) for i in range(20)])
        engine.publish(messages)
        admitted = interest("geotext", rows, parsed).admits(parse_publications(messages, parsed).rows, 0)
        assert set(engine.top()["publication"].to_pylist()) <= set(np.flatnonzero(admitted).tolist())
