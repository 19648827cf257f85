"""The score `geodesic`: every engine against the oracle, at the date line, the poles and antipodes too."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import skyband
from skyband.contract.registry import engines
from skyband.covering.region import Kind, bounding_boxes, contains, make_regions
from skyband.kernels.earth import HALF_CIRCUMFERENCE
from skyband.topk.great_circle import great_circle

EXACT = [engine.name for engine in engines() if engine.family == "window" and engine.exact]
SCORES = ["geodesic", "geodesic", "geodesic", "euclidean", "sum", "cosine", "chebyshev"]


def _place(draw: random.Random) -> list[float]:
    """A place; often one of few, with several names."""
    at = draw.random()
    if at < 0.3:
        return [draw.choice((-180.0, 180.0, 0.0, 90.0, -90.0)), draw.choice((-90.0, 90.0, 0.0))]
    if at < 0.5:
        return [draw.choice((-1, 1)) * (180.0 - draw.random() * 1e-3), draw.uniform(-1.0, 1.0)]
    return [draw.uniform(-180.0, 180.0), draw.uniform(-90.0, 90.0)]


def _point(draw: random.Random) -> list[float]:
    return _place(draw) if draw.random() < 0.9 else [draw.uniform(-400.0, 400.0), draw.uniform(-200.0, 200.0)]


def _subscription(draw: random.Random, id: int) -> dict[str, Any]:
    score = draw.choice(SCORES)
    row: dict[str, Any] = {"id": id, "score": score, "k": draw.choice((1, 2, 5)), "point": None, "weights": None}
    row["weights" if score == "sum" else "point"] = _place(draw)
    row |= {"window_us": None, "window_n": None, "threshold": None}
    row |= {draw.choice(("window_us", "window_n", "nothing")): draw.choice((3, 10, 60))}
    row.pop("nothing", None)
    if draw.random() < 0.3:
        row["threshold"] = 10.0 ** draw.uniform(4.0, 7.4) if score == "geodesic" else draw.choice((0.5, 60.0))
    return row


def _table(rows: list[dict[str, Any]]) -> pa.Table:
    vector = pa.list_(pa.float64())
    schema = {"id": pa.int64(), "score": pa.string(), "k": pa.int64(), "point": vector, "weights": vector}
    schema |= {"window_us": pa.int64(), "window_n": pa.int64(), "threshold": pa.float64()}
    return pa.Table.from_pylist(rows, pa.schema(list(schema.items())))


def _sorted(table: pa.Table) -> list[dict[str, Any]]:
    return sorted(table.to_pylist(), key=lambda row: (row["subscription"], row["rank"]))


@pytest.mark.few(8)
@pytest.mark.parametrize("granularity", ["batch", "publication"])
@pytest.mark.parametrize("name", EXACT)
def test_engines_answer_as_the_oracle(name: str, granularity: Any, tmp_path: Path) -> None:
    draw = random.Random(f"{name} {granularity}")
    engine = skyband.open("window", name, granularity=granularity)
    oracle = skyband.open("window", "oracle", granularity=granularity)
    n_asked = n_published = now = 0
    for step in range(14):
        if step % 4 == 1:
            table = _table([_subscription(draw, n_asked + i) for i in range(5)])
            n_asked += 5
            assert _rows(engine.subscribe(table)) == _rows(oracle.subscribe(table))
        rows = []
        for _ in range(draw.choice((1, 5, 30))):
            n_published, now = n_published + 1, now + draw.choice((0, 1))
            rows.append({"id": n_published, "ts": now, "point": _point(draw)})
        assert _rows(engine.publish(rows)) == _rows(oracle.publish(rows))
        assert _sorted(engine.top()) == _sorted(oracle.top())
        if step == 8:
            engine.snapshot(tmp_path / "snapshot")
            engine = type(engine).restore(tmp_path / "snapshot")


def _rows(changes: pa.Table) -> list[tuple[Any, ...]]:
    rows = changes.to_pylist()
    return sorted(tuple(str(value) for value in row.values()) for row in rows)


@pytest.mark.jit_only
@pytest.mark.parametrize("name", ["blocks", "tma"])
def test_searches_and_grids_over_many_places(name: str) -> None:
    """As many as it takes to have cells, in the store and in the index of subscriptions, a quarter off the Earth."""
    random = np.random.default_rng(7)
    engine, scan = (skyband.open("window", name, window=skyband.Window.count(2000)) for name in (name, "scan"))
    places = np.clip(random.normal(size=(40, 2)) * 60.0, [-180.0, -90.0], [180.0, 90.0])
    subscriptions = [{"id": i, "score": "geodesic", "k": 3, "point": places[i].tolist()} for i in range(40)]
    for each in (engine, scan):
        each.subscribe(subscriptions)
    for step in range(12):
        points = random.normal(size=(500, 2)) * [150.0, 50.0]
        rows = [{"id": 500 * step + i, "ts": step, "point": points[i].tolist()} for i in range(500)]
        assert _rows(engine.publish(rows)) == _rows(scan.publish(rows))
    # Blocks score their 64 seats at once, of which 40 are taken here.
    at_once = 64 / 40 if name == "blocks" else 1
    assert engine.counters["scored"] < at_once * scan.counters["scored"]


@pytest.mark.parametrize("name", ["scan", "blocks"])
def test_publications_may_be_there_before_anybody_asks(name: str) -> None:
    for n_before in range(1, 12):
        engine = skyband.open("window", name)
        rows = [{"id": i, "ts": i, "point": [float(i), 0.0]} for i in range(60)]
        for row in rows[:n_before]:
            engine.publish([row])
        engine.subscribe([{"id": 0, "score": "geodesic", "k": 1, "point": [-1.0, 0.0]}])
        for row in rows[n_before:]:
            engine.publish([row])
        assert engine.top()["publication"].to_pylist() == [0]


def test_a_threshold_is_in_metres() -> None:
    engine = skyband.open("window", "blocks")
    berlin, paris, sydney = [13.405, 52.52], [2.3522, 48.8566], [151.2093, -33.8688]
    engine.subscribe([{"id": "near", "score": "geodesic", "point": berlin, "threshold": 900_000.0}])
    engine.publish([{"id": 1, "ts": 1, "point": paris}, {"id": 2, "ts": 2, "point": sydney}])
    assert engine.top()["publication"].to_pylist() == [1]
    assert engine.top()["score"].to_pylist() == [great_circle(berlin, paris)]


def test_equal_distances_are_ranked_by_recency() -> None:
    for name in EXACT:
        engine = skyband.open("window", name)
        engine.subscribe([{"id": 0, "score": "geodesic", "k": 3, "point": [180.0, 0.0]}])
        points = [[-179.0, 0.0], [179.0, 0.0], [180.0, 1.0], [-180.0, -1.0], [0.0, 0.0]]
        engine.publish([{"id": i, "ts": i, "point": point} for i, point in enumerate(points)])
        assert engine.top()["publication"].to_pylist() == [3, 2, 1], name


@pytest.mark.parametrize(
    ("point", "reason"),
    [
        ([181.0, 0.0], "geodesic needs a longitude from -180 to 180 and a latitude from -90 to 90"),
        ([0.0, -90.5], "geodesic needs a longitude from -180 to 180 and a latitude from -90 to 90"),
        ([100.0, 100.0], "geodesic needs a longitude from -180 to 180 and a latitude from -90 to 90"),
        ([0.0, 0.0, 0.0], "geodesic needs a longitude and a latitude"),
        ([1.0], "geodesic needs a longitude and a latitude"),
        (None, "geodesic needs a point"),
        ([float("nan"), 0.0], "point must hold finite numbers of magnitude at most 1e150"),
    ],
)
def test_subscriptions_that_are_no_places_are_rejected(point: list[float] | None, reason: str) -> None:
    engine = skyband.open("window", "blocks", on_error="collect")
    rows = [{"id": 0, "score": "geodesic", "k": 1, "point": point, "weights": [1.0]}]
    engine.subscribe(rows)
    (reject,) = engine.rejects
    assert (reject.row, reject.column, reject.reason) == (1, "point", reason)


@pytest.mark.jit_only
def test_caps_cover_caps() -> None:
    random = np.random.default_rng(11)
    for _ in range(200):
        n = 30
        spread = 10.0 ** random.uniform(-3, 2)
        middle = np.array([random.choice([-180.0, 179.0, 0.0]), random.choice([-90.0, 89.0, 0.0])])
        places = np.clip(middle + random.normal(size=(n, 2)) * spread, [-180, -90], [180, 90])
        limits = np.minimum(10.0 ** random.uniform(2, 7.5, n), 1.1 * HALF_CIRCUMFERENCE)
        caps = make_regions(Kind.CAP, places, 1.0, limits)
        i, j = np.divmod(np.arange(n * n), n)
        covered = contains(caps, i, caps, j).reshape(n, n)
        box = bounding_boxes(caps)
        points = np.clip(middle + random.normal(size=(n, 2)) * spread, [-180, -90], [180, 90]).tolist()
        inside = np.array([[great_circle(place, point) for point in points] for place in places.tolist()])
        inside = inside <= limits[:, None]
        assert not (covered[:, :, None] & inside[None] & ~inside[:, None]).any()
        held = ((box.lo[:, None] <= points) & (points <= box.hi[:, None])).all(axis=2)
        assert not (inside & ~held).any()
        assert covered.diagonal().all()
    with pytest.raises(ValueError, match="a longitude and a latitude"):
        make_regions(Kind.CAP, [[0.0, 0.0, 0.0]], 1.0, 1.0)
