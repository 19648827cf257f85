"""What ranked engines share: options, emphasis, updates and budgets."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import skyband
from skyband.contract import engines
from skyband.ranked.engine import RankedEngine
from skyband.table import Rejected, Settings
from skyband.testing.machine import through_snapshot

NAMES = [engine.name for engine in engines() if engine.family == "ranked"]
BOX = {"lo": [0.0, 0.0], "hi": [1.0, 1.0]}


def opened(name: str, **options: Any) -> RankedEngine:
    engine = skyband.open("ranked", name, **options)
    assert isinstance(engine, RankedEngine)
    return engine


def scores(engine: RankedEngine, *points: list[float | None], **more: Any) -> list[dict[Any, float]]:
    """For each point whom it reaches, with which score."""
    rows = [{"id": i, "ts": 0, "point": point} | more for i, point in enumerate(points)]
    found: list[dict[Any, float]] = [{} for _ in points]
    for match in engine.publish(rows).to_pylist():
        found[match["event"]][match["subscription"]] = match["score"]
    return found


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"k": 0}, "k is an integer from 1 to 1000000, not 0."),
        ({"k": 2.5}, "k is an integer from 1 to 1000000, not 2.5."),
        ({"k": True}, "k is an integer from 1 to 1000000, not True."),
        ({"matching": "any"}, "matching is relaxed or exact, not 'any'."),
        ({"combination": "product"}, "combination is sum, min or max, not 'product'."),
        ({"fit": "round"}, "fit is flat, centre or share, not 'round'."),
        ({"interval": "within"}, "interval is overlap or inside, not 'within'."),
        ({"emphasis": [1.0, -1.0]}, "Emphasis has a number from 0 to 1e150 for each dimension, not [1.0, -1.0]."),
        ({"emphasis": []}, "Emphasis has a number from 0 to 1e150 for each dimension, not []."),
        ({"emphasis": [float("nan")]}, "Emphasis has a number from 0 to 1e150 for each dimension, not [nan]."),
        ({"emphasis": "much"}, "Emphasis is a list of numbers, one a dimension, not 'much'."),
        ({"emphasis": 3}, "Emphasis is a list of numbers, one a dimension, not 3."),
        ({"dims": 0}, "dims is an integer from 1 to 1000000, not 0."),
        ({"dims": 3, "emphasis": [1.0]}, "There are 3 dimensions, and emphasis has a number for each, not 1."),
    ],
)
def test_options_are_checked(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011  # the sentence is compared
        skyband.open("ranked", "oracle", **options)
    assert str(caught.value) == sentence


@pytest.mark.parametrize("name", NAMES)
def test_options_are_kept(name: str, tmp_path: Path) -> None:
    options = {"k": 3, "matching": "exact", "combination": "max", "fit": "share", "interval": "inside"}
    engine = opened(name, **options, emphasis=np.array([1, 2]))
    with pytest.raises(ValueError, match="no standing answer"):
        engine.top()
    engine.snapshot(tmp_path / "state")
    again = skyband.restore(tmp_path / "state")
    assert isinstance(again, RankedEngine)
    # An engine may have options of its own beside them.
    assert again._options().items() >= (options | {"emphasis": [1.0, 2.0]}).items()
    assert again._options() == engine._options()
    assert again.settings.dims == 2


@pytest.mark.parametrize("name", NAMES)
def test_emphasis_multiplies_weights_once(name: str) -> None:
    engine = opened(name, emphasis=[2.0, 0.0])
    engine.subscribe([{"id": "a", "weights": [3.0, 5.0]} | BOX, {"id": "open", "lo": [None] * 2, "hi": [None] * 2}])
    # Open and of no weight by the emphasis: not asked about.
    engine.subscribe([{"id": "b", "lo": [None, None], "hi": [None, None], "weights": [0.0, 4.0]}])
    for _ in range(2):
        assert scores(engine, [0.5, 0.5], [None, 0.5]) == [{"a": 6.0}, {"a": 0.0}]
        restored = through_snapshot(engine)
        assert isinstance(restored, RankedEngine)
        engine = restored
    engine.update([{"id": "a", "lo": [0.0, 0.0], "hi": [2.0, 2.0]}])
    assert scores(engine, [1.5, 1.5]) == [{"a": 6.0}]
    engine.update([{"id": "a", "weights": [1.0], "dims": [0]}])
    assert scores(engine, [1.5, 1.5]) == [{"a": 2.0}]


@pytest.mark.parametrize("name", NAMES)
def test_updates_replace_what_they_give(name: str) -> None:
    engine = opened(name, dims=3)
    engine.subscribe([{"id": 1, "lo": [0.0, 0.0], "hi": [1.0, 1.0], "weights": [1.0, 2.0], "dims": [0, 1]}])
    assert scores(engine, [0.0, 0.0, 0.0]) == [{1: 3.0}]
    assert engine.update([{"id": 1, "weights": [4.0, 5.0, 6.0]}]).num_rows == 0
    assert scores(engine, [0.0, 9.0, None]) == [{1: 10.0}]
    # Dimension 2 is new, dimension 0 keeps its weight, dimension 1 is not asked about any more.
    engine.update([{"id": 1, "lo": [5.0, 5.0], "hi": [6.0, 6.0], "dims": [2, 0]}])
    assert scores(engine, [5.0, 0.0, 5.0], [5.0, 0.0, 0.0]) == [{1: 10.0}, {1: 4.0}]
    engine.update([{"id": 1, "lo": [5.0], "hi": [6.0], "weights": [0.5], "dims": [1], "budget": 1}])
    assert scores(engine, [5.0, 5.0, 5.0], [5.0, 5.0, 5.0]) == [{1: 0.5}, {}]
    assert engine.n_subscriptions == 1
    engine.check()


@pytest.mark.parametrize("name", NAMES)
def test_updates_of_strangers_are_rejected(name: str) -> None:
    engine = opened(name)
    engine.subscribe([{"id": "a"} | BOX])
    rows = [{"id": "a", "budget": 5}, {"id": "b", "budget": 5}, {"id": "a", "budget": 6}]
    with pytest.raises(Rejected) as caught:
        engine.update(rows)
    assert [(r.row, r.reason) for r in caught.value.rejects] == [
        (2, "is not registered"),
        (3, "id is already in row 1"),
    ]
    assert engine.budgets().to_pylist() == [{"id": "a", "budget": None}]
    engine.on_error = "collect"
    engine.update(rows)
    assert engine.budgets().to_pylist() == [{"id": "a", "budget": 5}]
    assert engine.update([]).num_rows == 0


def test_updates_are_answered_in_the_form_they_come_in() -> None:
    engine = opened("scan")
    engine.subscribe([{"id": "a"} | BOX])
    assert isinstance(engine.update({"id": "a", "budget": 5}), skyband.AnswerRows)
    assert isinstance(engine.update(pa.table({"id": ["a"], "budget": [5]})), pa.Table)


@pytest.mark.parametrize("name", NAMES)
def test_budgets_are_used_up_in_the_order_of_the_batch(name: str) -> None:
    engine = opened(name, k=1)
    engine.subscribe([{"id": id, "budget": budget} | BOX for id, budget in ((1, None), (2, 1), (3, 2), (4, 0))])
    assert engine.budgets().to_pydict() == {"id": [1, 2, 3, 4], "budget": [None, 1, 2, 0]}
    points: list[list[float | None]] = [[0.0, 0.0]] * 5
    assert [list(found) for found in scores(engine, *points)] == [[3], [3], [2], [1], [1]]
    restored = through_snapshot(engine)
    assert isinstance(restored, RankedEngine)
    assert restored.budgets([3, 1]).to_pydict() == {"id": [3, 1], "budget": [0, None]}
    restored.update([{"id": 3, "budget": 1}])
    assert [list(found) for found in scores(restored, *points[:2])] == [[3], [1]]
    assert restored.n_subscriptions == 4
    with pytest.raises(Rejected, match="is not registered"):
        restored.budgets([9])


@pytest.mark.parametrize("name", NAMES)
def test_budgets_of_nobody(name: str) -> None:
    table = opened(name).budgets()
    assert table.num_rows == 0
    assert table.schema == pa.schema([("id", pa.string()), ("budget", pa.int64())])


@pytest.mark.parametrize("name", NAMES)
def test_an_event_may_bring_its_own_k(name: str) -> None:
    engine = opened(name, k=2)
    engine.subscribe([{"id": id} | BOX for id in range(5)])
    rows = [{"id": i, "ts": 0, "point": [0.0, 0.0], "k": k} for i, k in enumerate([None, 1, 4, 99])]
    found = engine.publish(rows)["event"].to_pylist()
    assert [found.count(i) for i in range(4)] == [2, 1, 4, 5]


@pytest.mark.parametrize("name", NAMES)
def test_the_number_of_dimensions_is_learned(name: str) -> None:
    sparse = {"id": "sparse", "lo": [0.0], "hi": [1.0], "dims": [1]}
    engine = opened(name)
    with pytest.raises(Rejected, match="once the number of dimensions is known"):
        engine.subscribe([sparse])
    engine.publish([{"id": 1, "ts": 0, "point": [0.0, 0.0]}])
    engine.subscribe([sparse])
    assert scores(engine, [9.0, 1.0], [1.0, 9.0]) == [{"sparse": 1.0}, {}]
    other = opened(name)
    other.subscribe([{"id": "dense", "dims": None} | BOX, sparse])
    assert other.settings.dims == 2
    with pytest.raises(Rejected, match="where 2 are expected"):
        other.publish([{"id": 1, "ts": 0, "point": [0.0]}])
    assert type(other)(Settings(dims=7)).settings.dims == 7


@pytest.mark.parametrize("name", NAMES)
def test_hundreds_of_dimensions(name: str) -> None:
    random = np.random.default_rng(5)
    engine, oracle = opened(name, dims=300, k=5), opened("oracle", dims=300, k=5)
    rows = []
    for id in range(60):
        dims = random.choice(300, 4, replace=False)
        lo = random.integers(0, 4, 4).astype(float)
        rows.append({"id": id, "dims": dims.tolist(), "lo": lo.tolist(), "hi": (lo + 1).tolist()})
    points = random.integers(0, 5, (12, 300)).astype(float)
    points[random.random(points.shape) < 0.3] = np.nan
    events = {"id": np.arange(12), "ts": np.arange(12), "point": points}
    for each in (engine, oracle):
        each.subscribe(rows)
    assert engine.publish(events).equals(oracle.publish(events))
