"""Explanations of ranges: equal objects in their order, boxes, deletions, and what each engine keeps."""

import pytest

import skyband
from skyband.contract import AnyEngine

ENGINES = ["oracle", "scan", "paint"]


def opened(name: str) -> AnyEngine:
    """An engine with objects of which two are equal and one was deleted."""
    engine = skyband.open("ranges", name)
    engine.subscribe(
        [{"id": "ann", "k": 1, "lo": 0.0, "hi": 10.0}, {"id": "eve", "k": 2, "lo": 10.0, "hi": float("inf")}]
    )
    rows = [("tea", 5.0, 3.0), ("ale", 6.0, 3.0), ("rum", 12.5, 1.0), ("gin", 1.0, 7.0), ("oil", 2.0, 2.0)]
    engine.publish([{"id": i, "ts": i, "object": name, "x": x, "y": y} for i, (name, x, y) in enumerate(rows)])
    engine.publish([{"id": 9, "ts": 9, "object": "oil", "x": None, "y": None}])
    return engine


@pytest.mark.parametrize("name", ENGINES)
def test_of_equal_objects_the_larger_one_is_better(name: str) -> None:
    engine = opened(name)
    tea, ale = engine.explain("ann", "tea"), engine.explain("ann", "ale")
    assert (tea.rank, tea.in_top, tea.missed_by) == (1, True, None)
    assert (ale.rank, ale.in_top, ale.missed_by) == (2, False, 0.0)
    assert "the order of equal scores decides" in ale.text
    previewed = engine.preview({"id": "new", "k": 5, "lo": 0.0, "hi": 10.0})
    assert previewed["publication"].to_pylist() == ["tea", "ale", "gin"]


@pytest.mark.parametrize("name", ENGINES)
def test_outside_of_the_range_and_above_the_last_place(name: str) -> None:
    engine = opened(name)
    gin, rum = engine.explain("ann", "gin"), engine.explain("ann", "rum")
    assert (gin.rank, gin.kth_score, gin.missed_by, gin.n_ahead) == (3, 3.0, 4.0, 2)
    assert (rum.matches, rum.rank, rum.conditions[0].outside_by) == (False, None, 2.5)
    open_above = engine.explain("eve", "rum").conditions[0]
    assert (open_above.met, open_above.low, open_above.high) == (True, 10.0, None)


@pytest.mark.parametrize("name", ENGINES)
def test_what_was_deleted_is_told_from_what_never_was(name: str) -> None:
    engine = opened(name)
    assert engine.explain("ann", "oil").state == "deleted"
    assert engine.explain("ann", "soy").state == "unknown"
    with pytest.raises(ValueError, match="The ids of objects are text here, and 7 is not"):
        engine.explain("ann", 7)


@pytest.mark.parametrize("name", ["scan", "paint"])
def test_a_row_holds_its_members_and_prunes_the_rest(name: str) -> None:
    engine = opened(name)
    bounds = {object: engine.explain("ann", object).bound for object in ("tea", "rum")}
    assert (bounds["tea"].place, bounds["tea"].pruned) == (1, False)
    assert (bounds["rum"].place, bounds["rum"].pruned) == (None, True)
