"""What the first publications cost where subscriptions come first, and batches that leave little of what was there."""

import numpy as np
import pyarrow as pa
import pytest

import skyband
from skyband.contract import AnyEngine
from skyband.geotext.engine import Geotext
from skyband.table import UNBOUNDED, Window
from skyband.testing import check_stream
from skyband.topk.banded import Banded
from skyband.workload.recipe import recipe_of

N, N_LIVE, K = 300, 4000, 5
WINDOWS = pytest.mark.parametrize("window", [Window.count(N_LIVE), UNBOUNDED], ids=["window", "unbounded"])


def begun(family: str, window: Window, batch: int, n: int = N_LIVE) -> tuple[AnyEngine, pa.Table]:
    """An engine that was subscribed to first, and then told of so many publications."""
    recipe = recipe_of(family)
    words = {"vocabulary": 2000} if family == "geotext" else {}
    made = recipe.generate(recipe.options(n_subscriptions=N, n_publications=n, window_n=N_LIVE, seed=3, **words))
    asked = made.subscriptions.select(
        [name for name in made.subscriptions.column_names if not name.startswith("window")]
    )
    asked = asked.set_column(asked.column_names.index("k"), "k", pa.array(np.full(N, K)))
    engine = skyband.open(family, "blocks", window=window)
    engine.subscribe(asked)
    for first in range(0, n, batch):
        engine.publish(made.publications.slice(first, batch))
    return engine, asked


def first_ones(n: int, n_kept: int) -> float:
    """How many of n that come in random order are among the best so many on arrival."""
    return n_kept * (1 + float(np.log(n / n_kept)))


@WINDOWS
@pytest.mark.parametrize("family", ["window", "geotext"])
def test_gates_narrow_while_a_window_fills(family: str, window: Window) -> None:
    engine, asked = begun(family, window, 10)
    # What a search looks for, k where nothing ends; a row may hold what more than that leaves of it before it is cut.
    depth = K if window is UNBOUNDED else 3 * (K + 2 * int(np.ceil(np.sqrt(K))) + 2)
    assert engine.counters["candidates"] / N < 1.3 * first_ones(N_LIVE, depth)
    assert isinstance(engine, Banded)
    assert engine.row_length <= (K if window is UNBOUNDED else 17)
    fresh = skyband.open(family, "blocks", window=window)
    engine.check()
    fresh.subscribe(asked)
    recipe = recipe_of(family)
    words = {"vocabulary": 2000} if family == "geotext" else {}
    made = recipe.generate(recipe.options(n_subscriptions=N, n_publications=N_LIVE, window_n=N_LIVE, seed=3, **words))
    fresh.publish(made.publications)
    assert fresh.top().equals(engine.top())


@WINDOWS
@pytest.mark.parametrize("family", ["window", "geotext"])
def test_a_first_batch_that_is_large_is_searched(family: str, window: Window) -> None:
    engine, _ = begun(family, window, 1000, n=1000)
    assert engine.counters["candidates"] == 0
    # Once when they subscribed, and once now.
    assert engine.counters["reevaluated"] == 2 * N
    # Brute force, which is what routing to rows without a gate comes to, scores all pairs.
    assert engine.counters["scored"] < N * 1000 / 3
    assert isinstance(engine, Banded)
    assert len(engine._found.slot) < N * 1000 / 10


@pytest.mark.parametrize("family", ["window", "geotext"])
def test_a_batch_as_large_as_the_window_is_offered_to_gates_that_are_narrow(family: str) -> None:
    engine, _ = begun(family, Window.count(1000), 1000, n=1000)
    before = engine.counters
    recipe = recipe_of(family)
    words = {"vocabulary": 2000} if family == "geotext" else {}
    made = recipe.generate(recipe.options(n_subscriptions=N, n_publications=2000, window_n=1000, seed=3, **words))
    engine.publish(made.publications.slice(1000))
    assert 0 < engine.counters["candidates"] / N < 20
    assert engine.counters["reevaluated"] - before["reevaluated"] < N / 4


def test_a_first_batch_is_offered_to_boolean_subscriptions() -> None:
    engine = skyband.open("window", "blocks", window=Window.count(1000))
    asked = [{"id": i, "k": 3, "score": "euclidean", "point": [i / 100, 0.5], "threshold": 0.02} for i in range(100)]
    engine.subscribe(asked)
    places = np.random.default_rng(1).random((500, 2)).tolist()
    engine.publish([{"id": i, "ts": i, "point": place} for i, place in enumerate(places)])
    assert engine.counters["reevaluated"] == 100
    assert 0 < engine.counters["candidates"] < 500


@pytest.mark.parametrize("family", ["window", "geotext"])
def test_floods_answer_a_stream_like_the_oracle(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in (Banded, Geotext):
        monkeypatch.setattr(kind, "flood", 1)
        monkeypatch.setattr(kind, "flood_share", 0.2)
    for seed in range(6):
        check_stream(family, seed, names=("blocks",))
