"""Scan where the contract suite does not look: long streams, costs, memory, and what is beside the answers."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import skyband
from skyband.contract import AnyEngine
from skyband.ranges.scan import RangesScan
from skyband.ranked.engine import RankedEngine
from skyband.testing.machine import same, through_snapshot
from skyband.topk.delivery_memory import DeliveryMemory
from skyband.topk.scan import ContinuousScan
from skyband.workload import recipe_of


def _workload(family: str, **options: object) -> tuple[pa.Table, pa.Table]:
    recipe = recipe_of(family)
    made = recipe.generate(recipe.options(**options))
    return made.subscriptions, made.publications


def _both(family: str, **options: Any) -> tuple[AnyEngine, AnyEngine]:
    return skyband.open(family, "scan", **options), skyband.open(family, "oracle", **options)


@pytest.mark.few(3)
@pytest.mark.jit_only
@pytest.mark.parametrize("granularity", ["batch", "publication"])
@pytest.mark.parametrize(
    ("family", "options"),
    [
        ("window", {"n_subscriptions": 12, "n_publications": 900, "window_n": 60, "score": "mixed", "dims": 2}),
        ("geotext", {"n_subscriptions": 12, "n_publications": 700, "window_n": 90, "corpus": "reviews"}),
        ("ranges", {"n_subscriptions": 15, "n_objects": 60, "n_events": 300, "delete_share": 0.1}),
    ],
)
def test_a_long_stream_equals_the_oracle(family: str, options: dict[str, object], granularity: str) -> None:
    subscriptions, publications = _workload(family, seed=3, **options)
    scan, oracle = _both(family, granularity=granularity)
    same(scan.subscribe(subscriptions), oracle.subscribe(subscriptions))
    for start in range(0, len(publications), 50):
        batch = publications.slice(start, 50)
        same(scan.publish(batch), oracle.publish(batch))
        scan.check()
        if start == 250:
            scan = through_snapshot(scan)
    same(scan.top(), oracle.top())
    assert scan.counters["delivery"] == oracle.counters["delivery"]


@pytest.mark.parametrize("granularity", ["batch", "publication"])
@pytest.mark.parametrize(
    ("family", "options"),
    [
        ("window", {"n_subscriptions": 300, "n_publications": 24, "window_n": 5, "k": 3, "score": "mixed", "dims": 2}),
        ("ranges", {"n_subscriptions": 300, "n_objects": 12, "n_events": 12, "k": 3, "delete_share": 0.2}),
    ],
)
def test_a_kernel_without_room_goes_on_where_it_stopped(
    family: str, options: dict[str, object], granularity: str
) -> None:
    subscriptions, publications = _workload(family, seed=3, **options)
    scan, oracle = _both(family, granularity=granularity)
    assert isinstance(scan, ContinuousScan | RangesScan)
    scan._change_log = DeliveryMemory(scan._change_log.rows, room=1, earlier=scan._change_log.earlier)
    for verb, rows in (
        ("publish", publications.slice(0, 6)),
        ("subscribe", subscriptions),
        ("publish", publications.slice(6)),
    ):
        same(getattr(scan, verb)(rows), getattr(oracle, verb)(rows))
    gone = subscriptions["id"].combine_chunks()
    same(scan.unsubscribe(gone), oracle.unsubscribe(gone))


def test_each_arrival_is_scored_once_for_each_subscription() -> None:
    subscriptions, publications = _workload("window", n_subscriptions=7, n_publications=40, window_n=1000, seed=1)
    engine = skyband.open("window", window=skyband.Window.count(1000))
    engine.subscribe(subscriptions)
    engine.publish(publications)
    assert engine.counters["scored"] == 7 * 40
    assert engine.counters["refilled"] == 7, "first answers are searched for, and nothing expired since"


@pytest.mark.jit_only
def test_what_is_forgotten_takes_no_memory() -> None:
    subscriptions, publications = _workload("window", n_subscriptions=3, n_publications=4000, window_n=50, seed=1)
    engine = skyband.open("window", window=skyband.Window.count(50))
    engine.subscribe(subscriptions)
    sizes = []
    for start in range(0, 4000, 100):
        engine.publish(publications.slice(start, 100))
        sizes.append(engine.memory()["publications"])
    assert max(sizes[5:]) <= 2 * sizes[4]


def test_a_window_wider_than_time_holds_everything() -> None:
    row = {"id": 1, "k": 2, "score": "euclidean", "point": [0.0], "window_us": 2**63 - 1}
    far = [{"id": 1, "ts": -(2**61), "point": [1.0]}, {"id": 2, "ts": 2**61, "point": [2.0]}]
    for engine in _both("window"):
        engine.subscribe([row])
        assert engine.publish(far)["publication"].to_pylist() == [1, 2]


def test_a_time_out_of_reach_is_rejected() -> None:
    engine = skyband.open("window")
    with pytest.raises(skyband.Rejected, match=r"row 1, column ts"):
        engine.publish([{"id": 1, "ts": 2**62, "point": [1.0]}])
    with pytest.raises(ValueError, match="too far away"):
        engine.advance(2**62)


def test_rows_of_every_size_are_given_back() -> None:
    engine = skyband.open("window")
    row = {"score": "sum", "weights": [1.0]}
    sizes = []
    for _ in range(6):
        engine.subscribe([{"id": i, "k": i % 7 + 1, **row} for i in range(600)])
        engine.check()
        sizes.append(engine.memory()["rows"])
        engine.unsubscribe(list(range(600)))
        engine.check()
        assert engine.n_subscriptions == 0
    assert max(sizes[1:]) <= 1.2 * sizes[0]


def test_terms_of_the_unsubscribed_are_given_back() -> None:
    engine = skyband.open("geotext")
    terms = [f"term{i}" for i in range(40)]
    row = {"k": 1, "x": 0.5, "y": 0.5, "alpha": 0.5, "terms": terms, "weights": [1 / np.sqrt(40)] * 40}
    engine.subscribe([{"id": -1, **row}])
    sizes = []
    for _ in range(6):
        engine.subscribe([{"id": i, **row} for i in range(200)])
        engine.unsubscribe(list(range(200)))
        sizes.append(engine.memory()["questions"])
    assert sizes[-1] == sizes[1]
    engine.publish([{"id": 1, "ts": 1, "x": 0.5, "y": 0.5, "terms": ["term7"], "weights": [1.0]}])
    assert engine.top()["subscription"].to_pylist() == [-1]


def test_words_that_look_alike_to_the_filter_are_told_apart() -> None:
    engine = skyband.open("geotext")
    place = {"x": 0.5, "y": 0.5}
    words = [f"word{i}" for i in range(150)]
    engine.subscribe([{"id": word, "k": 9, "alpha": 1.0, "terms": [word], "weights": [1.0], **place} for word in words])
    changes = engine.publish([{"id": word, "ts": 1, "terms": [word], "weights": [1.0], **place} for word in words])
    assert changes["subscription"].to_pylist() == changes["publication"].to_pylist() == words


def test_a_row_holds_at_least_its_k() -> None:
    with pytest.raises(ValueError, match="of reserve is an integer from"):
        skyband.open("window", reserve=(0, 8))
    subscriptions, publications = _workload("window", n_subscriptions=20, n_publications=60, window_n=12, seed=1, k=3)
    short, oracle = skyband.open("window", reserve=(1, 0)), skyband.open("window", "oracle")
    for engine in (short, oracle):
        engine.subscribe(subscriptions)
    for start in range(0, 60, 3):
        same(short.publish(publications.slice(start, 3)), oracle.publish(publications.slice(start, 3)))
        short.check()


def _some(random: np.random.Generator, numbers: list[float | None], n: int) -> list[float | None]:
    return [numbers[i] for i in random.integers(0, len(numbers), n)]


def _ranked_rows(random: np.random.Generator, first: int, n: int, dims: int) -> list[dict[str, object]]:
    """Subscriptions that tie and overlap, dense and sparse, with huge and open sides."""
    rows: list[dict[str, object]] = []
    for id in range(first, first + n):
        sparse = random.random() < 0.4
        named = random.permutation(dims)[: random.integers(0, dims + 1)] if sparse else np.arange(dims)
        ends = np.sort(random.choice([-1e150, -1.0, 0.0, 0.5, 2.0, 1e150], (len(named), 2)), axis=1)
        row: dict[str, object] = {"id": id, "dims": named.tolist() if sparse else None}
        for name, column in (("lo", 0), ("hi", 1)):
            row[name] = [None if random.random() < 0.3 else end for end in ends[:, column].tolist()]
        row["weights"] = _some(random, [0.0, 1.0, 0.1, 0.7], len(named)) if random.random() < 0.7 else None
        rows.append(row | {"budget": _some(random, [None, None, 0, 1, 2], 1)[0]})
    return rows


def _ranked_events(random: np.random.Generator, dims: int) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for id in range(8):
        point = _some(random, [None, -1.0, 0.0, 0.3, 2.0, 1e150, -1e150], dims)
        upper = [None if x is None or random.random() < 0.5 else max(x, 0.5) for x in point]
        rows.append({"id": id, "ts": id, "point": point, "upper": upper, "k": _some(random, [None, 1, 30], 1)[0]})
    return rows


@pytest.mark.parametrize("dims", [1, 3, 20])
@pytest.mark.parametrize("interval", ["overlap", "inside"])
@pytest.mark.parametrize("fit", ["flat", "centre", "share"])
@pytest.mark.parametrize("combination", ["sum", "min", "max"])
@pytest.mark.parametrize("matching", ["relaxed", "exact"])
def test_every_option_of_ranked_equals_the_oracle(
    matching: str, combination: str, fit: str, interval: str, dims: int
) -> None:
    random = np.random.default_rng(dims)
    emphasis = [0.3, 0.0, 2.0] if dims == 3 else None
    options = {"matching": matching, "combination": combination, "fit": fit, "interval": interval}
    scan, oracle = _both("ranked", k=3, dims=dims, emphasis=emphasis, **options)
    assert isinstance(scan, RankedEngine)
    assert isinstance(oracle, RankedEngine)
    for turn in range(2):
        rows, events = _ranked_rows(random, 20 * turn, 20, dims), _ranked_events(random, dims)
        changed = _ranked_rows(random, 20 * turn, 6, dims)
        for row in changed[::2]:
            row |= {"weights": None}
        for engine in (scan, oracle):
            engine.subscribe(rows)
        same(scan.publish(events), oracle.publish(events))
        for engine in (scan, oracle):
            engine.update(changed)
            engine.unsubscribe([20 * turn + 1, 20 * turn + 9])
        scan.check()
        same(scan.publish(events), oracle.publish(events))
        same(scan.budgets(), oracle.budgets())
