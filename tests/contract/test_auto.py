"""The engine that is taken when none is named goes over to an index when there are many subscriptions."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import skyband
from skyband.contract import AnyEngine, engines, find_engine
from skyband.contract.auto import Auto
from skyband.contract.family import published_families
from skyband.replay import replay
from skyband.table import Rejected

FAMILIES = published_families()
ROWS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "window": ({"k": 2, "score": "euclidean", "point": [0.0, 0.0]}, {"point": [1.0, 2.0]}),
    "geotext": (
        {"k": 2, "x": 0.1, "y": 0.2, "terms": ["a"], "weights": [1.0], "alpha": 0.5},
        {"x": 0.3, "y": 0.4, "terms": ["a"], "weights": [1.0]},
    ),
    "ranges": ({"k": 2, "lo": [0.0], "hi": [1.0]}, {"object": 7, "x": [0.5], "y": 1.0}),
    "ranked": ({"lo": [0.0], "hi": [1.0], "score": [1.0]}, {"point": [0.5]}),
}


def _asked(family: str, n: int, first: int = 0) -> list[dict[str, Any]]:
    return [{"id": first + i} | ROWS[family][0] for i in range(n)]


def _said(family: str, id: int) -> list[dict[str, Any]]:
    return [{"id": id, "ts": id} | ROWS[family][1]]


def _many(family: str) -> str:
    kind = find_engine(family, "auto")
    assert issubclass(kind, Auto)
    return kind.many


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_has_one_and_it_is_the_default(family: str) -> None:
    opened = skyband.open(family)
    assert isinstance(opened, Auto)
    assert (opened.name, opened.taken) == ("auto", "scan")
    assert find_engine(family, opened.many).exact


@pytest.mark.parametrize("family", FAMILIES)
def test_it_goes_over_when_there_are_too_many_and_stays(family: str) -> None:
    engine = skyband.open(family, most_scanned=3)
    engine.subscribe(_asked(family, 3))
    engine.publish(_said(family, 0))
    n_before = engine.counters["publications"]
    assert engine.taken == "scan"
    engine.subscribe(_asked(family, 1, first=3))
    assert engine.taken == _many(family)
    assert engine.n_subscriptions == 4
    assert engine.counters["publications"] == n_before == 1
    engine.unsubscribe([0, 1, 2, 3])
    engine.subscribe(_asked(family, 1))
    assert engine.taken == _many(family)
    engine.check()


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("n", [1, 5])
def test_a_snapshot_goes_on_with_the_engine_that_was_at_work(family: str, n: int, tmp_path: Path) -> None:
    engine = skyband.open(family, most_scanned=3)
    engine.subscribe(_asked(family, n))
    engine.publish(_said(family, 0))
    engine.snapshot(tmp_path / "then")
    again = skyband.restore(tmp_path / "then")
    assert (again.name, again.taken) == ("auto", engine.taken)
    assert (again.now, again.most_scanned) == (engine.now, 3)
    assert again.counters["publications"] == 1
    assert again.publish(_said(family, 1)).equals(engine.publish(_said(family, 1)))


def test_the_number_depends_on_dimensions_and_scores() -> None:
    def taken(n: int, dims: int, score: str = "euclidean", zeros: bool = False) -> str:
        points = np.zeros((n, dims)) + (np.arange(dims) == 0 if zeros else 1.0)
        engine = skyband.open("window")
        engine.subscribe({"id": range(n), "k": [1] * n, "score": [score] * n, "point": points.tolist()})
        return engine.taken

    assert [taken(501, 2), taken(501, 8), taken(4001, 8)] == ["blocks", "scan", "blocks"]
    assert [taken(8001, 17, "cosine"), taken(8001, 17, "cosine", zeros=True)] == ["scan", "blocks"]


def test_a_run_knows_how_many_there_will_be_and_says_what_it_took(tmp_path: Path) -> None:
    summary = replay(_said("window", 1), _asked("window", 501))
    assert summary.engine == "blocks"
    assert replay(_said("window", 1), _asked("window", 2)).engine == "scan"


def test_bad_rows_and_options_are_refused_as_ever() -> None:
    with pytest.raises(ValueError, match="The engine auto of the family window has no option 'kmax'"):
        skyband.open("window", kmax=3)
    with pytest.raises(ValueError, match="most_scanned"):
        skyband.open("window", most_scanned=-1)
    engine = skyband.open("window", most_scanned=1)
    with pytest.raises(Rejected):
        engine.subscribe([*_asked("window", 2), {"id": 9, "k": 0, "score": "euclidean", "point": [0.0, 0.0]}])
    assert (engine.taken, engine.n_subscriptions) == ("scan", 0)
    with pytest.raises(AttributeError):
        getattr(engine, "no_such_thing")  # noqa: B009


def test_emphasis_and_updates_of_ranked_go_along() -> None:
    engines = [skyband.open("ranked", name, k=3, emphasis=[2.0]) for name in ("auto", "scan")]
    engines.append(skyband.open("ranked", k=3, emphasis=[2.0], most_scanned=1))
    for engine in engines:
        engine.subscribe(_asked("ranked", 1))
        engine.subscribe(_asked("ranked", 1, first=1))
        engine.update([{"id": 0, "weights": [5.0]}])
    first, second, third = (engine.publish(_said("ranked", 1)) for engine in engines)
    assert first.equals(second)
    assert first.equals(third)
    assert len(first) == 2


def test_what_only_the_engine_at_work_has_can_be_read() -> None:
    engine: AnyEngine = skyband.open("ranked", k=3)
    assert engine.k == 3  # type: ignore[attr-defined]
    assert {kind.family for kind in engines() if issubclass(kind, Auto)} == set(FAMILIES)
