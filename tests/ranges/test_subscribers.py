"""Tops that are kept somewhere else, from messages alone, are the engine's."""

import pickle
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import skyband
from skyband.contract import Granularity
from skyband.ranges import workload as ranges
from skyband.ranges.engine import RangesPaint
from skyband.ranges.rows import SUBSCRIPTIONS
from skyband.ranges.subscribers import SubscriberTable
from skyband.ranges.wire import message_schema, read_messages
from skyband.testing.machine import same
from skyband.topk.kernels.buffer import make_told

Row = dict[str, Any]


def _open(**options: Any) -> RangesPaint:
    engine = skyband.open("ranges", "paint", **options)
    assert isinstance(engine, RangesPaint)
    return engine


def _workload(**options: Any) -> tuple[pa.Table, pa.Table]:
    made = ranges.generate(ranges.Options(seed=4, **options))
    return made.subscriptions, made.publications


@pytest.mark.parametrize("granularity", ["batch", "publication"])
@pytest.mark.parametrize(
    ("dims", "options"),
    [
        (1, {}),
        (1, {"algorithm": "dense"}),
        (1, {"algorithm": "unicast"}),
        (1, {"epsilon": 1.0}),
        (1, {"batch": False}),
        (2, {}),
        (2, {"algorithm": "unicast"}),
    ],
    ids=str,
)
def test_tops_from_messages_alone(dims: int, options: Row, granularity: Granularity) -> None:
    subscriptions, publications = _workload(
        n_subscriptions=30, n_objects=25, n_events=60, dims=dims, k=3, delete_share=0.2, move_share=0.1
    )
    engine = _open(granularity=granularity, **options)
    engine.publish(publications.slice(0, 20))
    engine.subscribe(subscriptions)
    afar = SubscriberTable(subscriptions, engine.top())
    same(afar.top(), engine.top())
    before = dict(engine.counters)
    for start in range(20, 85, 5):
        # Through bytes, as a network would have it.
        sent = pickle.loads(pickle.dumps(engine.messages(publications.slice(start, 5)).messages))
        afar.receive(sent)
        same(afar.top(), engine.top())
    for name, count in afar.counters.items():
        assert engine.counters.get(name, 0) - before.get(name, 0) == count


KS = (1, 2, 3, 30)


def _colliding(random: np.random.Generator, n_batches: int, dims: int) -> list[list[Row]]:
    """Batches of changes to a few objects at a few places: ties, moves, deletions and births."""
    rows: list[Row] = []
    for i in range(5 * n_batches):
        place = random.integers(0, 6, dims).astype(float).tolist()
        y = None if random.random() < 0.2 else float(random.integers(0, 4))
        rows.append({"id": i, "ts": i, "object": int(random.integers(0, 9)), "y": y})
        rows[-1]["x"] = place if dims > 1 else place[0]
    return [rows[start : start + 5] for start in range(0, len(rows), 5)]


def _asked(random: np.random.Generator, n: int, dims: int) -> list[Row]:
    rows = []
    for i in range(n):
        lo, hi = np.sort(random.choice([-np.inf, 0.0, 1.0, 2.5, 4.0, np.inf], (2, dims)), axis=0)
        lo[1:] = -np.inf
        ends = (lo.tolist(), hi.tolist()) if dims > 1 else (float(lo[0]), float(hi[0]))
        rows.append({"id": i, "k": KS[i % len(KS)], "lo": ends[0], "hi": ends[1]})
    return rows


@pytest.mark.parametrize("granularity", ["batch", "publication"])
@pytest.mark.parametrize("options", [{}, {"servers": 3}, {"epsilon": 0.5}, {"batch": False}, {"shape": "1.5"}], ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_dense_tells_those_whom_it_does_not_know(seed: int, options: Row, granularity: Granularity) -> None:
    random, dims = np.random.default_rng(seed), 2 if "shape" in options else 1
    engine = _open(algorithm="dense", ks=KS, granularity=granularity, **options)
    oracle = skyband.open("ranges", "oracle")
    subscriptions = _asked(random, 24, dims)
    oracle.subscribe(subscriptions)
    afar = SubscriberTable(subscriptions, engine.top())
    for batch in _colliding(random, 25, dims):
        told = engine.messages(batch)
        assert told.changes.num_rows == engine.n_subscriptions == 0
        afar.receive(told.messages)
        oracle.publish(batch)
        same(afar.top(), oracle.top())
    engine.check()


def test_what_dense_sends_does_not_depend_on_who_is_here() -> None:
    random = np.random.default_rng(6)
    alone, asked = _open(algorithm="dense", ks=KS), _open(algorithm="dense", ks=KS)
    asked.subscribe(_asked(random, 24, 1))
    for batch in _colliding(random, 10, 1):
        sent = alone.messages(batch).messages
        same(sent, asked.messages(batch).messages)
        assert set(sent["k"].to_pylist()) <= set(KS)


def test_who_comes_later_is_answered_once_and_told_from_then_on() -> None:
    random = np.random.default_rng(5)
    engine, oracle = _open(algorithm="dense", ks=KS), skyband.open("ranges", "oracle")
    batches, subscriptions = _colliding(random, 20, 1), _asked(random, 12, 1)
    for batch in batches[:8]:
        engine.publish(batch)
        oracle.publish(batch)
    for each in (engine, oracle):
        each.subscribe(subscriptions)
    afar = SubscriberTable(subscriptions, engine.top())
    engine.unsubscribe([row["id"] for row in subscriptions])
    for batch in batches[8:]:
        afar.receive(engine.messages(batch).messages)
        oracle.publish(batch)
        same(afar.top(), oracle.top())


def test_only_some_of_the_subscriptions_are_here() -> None:
    subscriptions, publications = _workload(n_subscriptions=20, n_objects=20, n_events=40, k=2, delete_share=0.2)
    rows = [row | {"k": 1 + i % 4} for i, row in enumerate(subscriptions.to_pylist())]
    engine = _open()
    engine.subscribe(rows)
    here = [row for row in rows if row["k"] != 2][::2]
    afar = SubscriberTable(here, engine.top())
    for start in range(0, 60, 10):
        afar.receive(engine.messages(publications.slice(start, 10)).messages)
        same(afar.top(), engine.top([row["id"] for row in here]))


def test_a_table_that_starts_with_nothing() -> None:
    engine = _open()
    rows = [{"id": i, "k": 2, "lo": float(i), "hi": 5.0} for i in range(3)]
    engine.subscribe(rows)
    afar = SubscriberTable(rows, engine.top())
    assert afar.top().num_rows == 0
    afar.receive(engine.messages([{"id": 1, "ts": 1, "object": "tea", "x": 1.0, "y": 1.0}]).messages)
    same(afar.top(), engine.top())
    assert afar.counters == {"received": 2, "discarded": 0}


@pytest.mark.parametrize("seed", range(3))
def test_a_table_takes_and_gives_up_subscriptions(seed: int) -> None:
    """The sum of the changes that it tells is what the oracle has, at every step."""
    random, told = np.random.default_rng(seed), dict[Any, dict[Any, float]]()
    engine, oracle = _open(algorithm="dense", ks=KS), skyband.open("ranges", "oracle")
    afar = SubscriberTable(SUBSCRIPTIONS.empty_table(), dims=1)
    for i, batch in enumerate(_colliding(random, 20, 1)):
        changes = [afar.hear(read_messages(engine.messages(batch).messages, 1))]
        oracle.publish(batch)
        rows = [row | {"id": 10 * i + row["id"]} for row in _asked(random, 3, 1)]
        oracle.subscribe(rows)
        changes.append(afar.subscribe(rows, oracle.top([row["id"] for row in rows])))
        gone = [10 * (i // 2)] if i % 2 else []
        if gone:
            oracle.unsubscribe(gone)
        changes.append(afar.unsubscribe(gone))
        afar.check()
        assert afar.top().sort_by("subscription").equals(oracle.top().sort_by("subscription"))
        for change in (change for table in changes for change in table.table().to_pylist()):
            top = told.setdefault(change["subscription"], {})
            if change["op"] == "leave":
                assert top.pop(change["publication"]) == change["score"]
            else:
                assert (change["op"] == "move") == (change["publication"] in top)
                top[change["publication"]] = change["score"]
        wanted: dict[Any, dict[Any, float]] = {}
        for row in oracle.top().to_pylist():
            wanted.setdefault(row["subscription"], {})[row["publication"]] = row["score"]
        assert {id: top for id, top in told.items() if top} == wanted


def test_only_what_is_subscribed_can_be_given_up() -> None:
    afar = SubscriberTable([{"id": 1, "k": 1, "lo": 0.0, "hi": 1.0}])
    with pytest.raises(KeyError, match="7 is not subscribed here"):
        afar.unsubscribe([7])
    assert afar.unsubscribe([1]).table().num_rows == 0


def test_bad_subscriptions_are_named() -> None:
    with pytest.raises(skyband.Rejected, match="row 1, column k"):
        SubscriberTable([{"id": 1, "k": 0, "lo": 0.0, "hi": 1.0}], _open().top())


def test_a_kernel_without_room_goes_on_where_it_stopped() -> None:
    subscriptions, publications = _workload(n_subscriptions=300, n_objects=12, n_events=24, k=3, delete_share=0.2)
    engine, oracle = _open(granularity="publication"), skyband.open("ranges", "oracle", granularity="publication")
    engine._subscribers.change_log.told = make_told(1)
    for verb, rows in (
        ("publish", publications.slice(0, 6)),
        ("subscribe", subscriptions),
        ("publish", publications.slice(6)),
    ):
        same(getattr(engine, verb)(rows), getattr(oracle, verb)(rows))
        engine._subscribers.change_log.told = make_told(6)
    engine.check()


@pytest.mark.parametrize("dims", [1, 3])
def test_an_empty_table_of_messages(dims: int) -> None:
    wired = read_messages(message_schema(pa.int64(), pa.string(), dims).empty_table(), dims)
    assert wired.messages.length[0] == 0
    assert wired.messages.low.shape == (0, 2 * dims)


@pytest.mark.jit_only
@pytest.mark.parametrize("granularity", ["batch", "publication"])
def test_many_subscriptions_equal_scan(granularity: Granularity) -> None:
    subscriptions, publications = _workload(
        n_subscriptions=2000, n_objects=60, n_events=120, k=4, delete_share=0.1, move_share=0.2
    )
    engine = _open(granularity=granularity)
    scan = skyband.open("ranges", "scan", granularity=granularity)
    for start in range(0, 180, 30):
        batch = publications.slice(start, 30)
        same(engine.publish(batch), scan.publish(batch))
        if start == 30:
            same(engine.subscribe(subscriptions), scan.subscribe(subscriptions))
        if start == 90:
            gone = subscriptions["id"].combine_chunks().take(pa.array(np.arange(0, 2000, 3)))
            same(engine.unsubscribe(gone), scan.unsubscribe(gone))
    same(engine.top(), scan.top())
    assert engine.counters["delivery"] == scan.counters["delivery"]
    engine.check()
