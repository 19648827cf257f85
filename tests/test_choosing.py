"""What `make test` leaves out, `make soak` takes, and nothing is left out by both."""

from typing import Any, cast

import pytest

from tests import choosing
from tests.choosing import (
    PIPELINE,
    Choice,
    benchmarks_of,
    beneath,
    has_changed,
    is_as_it_was,
    places_of_benchmarks,
    places_of_engines,
    places_of_tests,
    room_of,
    secondary,
    spread,
)


class Item:
    """A test as pytest collects one, as far as choosing looks at it."""

    def __init__(self, nodeid: str, *marks: pytest.MarkDecorator) -> None:
        self.nodeid = nodeid
        self.marks = [mark.mark for mark in marks]

    def iter_markers(self, name: str) -> list[pytest.Mark]:
        return [mark for mark in self.marks if mark.name == name]

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        return next(iter(self.iter_markers(name)), None)


def names(chosen: Any) -> list[str]:
    return [item.nodeid for item in chosen]


ENGINES = [Item(f"tests/contract/test_it.py::test_one[{i}]", pytest.mark.few(3)) for i in range(7)]
KERNELS = [Item(f"tests/topk/kernels/test_heap.py::test_one[{i}]") for i in range(5)]
SLOW = [Item(f"tests/topk/kernels/test_heap.py::test_slow[{i}]", pytest.mark.jit_only) for i in range(5)]
ITEMS = cast("list[pytest.Item]", ENGINES + KERNELS + SLOW)


def test_some_of_many_are_spread_evenly() -> None:
    assert spread(range(7), 3) == [0, 3, 6]
    assert spread("ab", 3) == ["a", "b"]
    assert spread("abc", 1) == ["a"]
    assert spread("", 2) == []


def test_a_few_parameters_are_taken_and_the_soak_takes_the_others() -> None:
    left = names(Choice("ci", set()).for_soak(ITEMS))
    assert [name for name in left if "contract" in name] == names(ENGINES[i] for i in (1, 2, 4, 5))
    assert names(Choice("soak").for_soak(ITEMS)) == left
    assert Choice("dev").for_soak(ITEMS) == []


def test_kernels_are_compiled_where_they_have_changed() -> None:
    assert set(names(KERNELS)) <= set(names(Choice("ci", {"src/skyband/topk/engine.py"}).for_soak(ITEMS)))
    for changed in (
        "src/skyband/topk/kernels/heap.py",
        "src/skyband/kernels/sort.py",
        "tests/topk/kernels/test_heap.py",
    ):
        assert not set(names(KERNELS)) & set(names(Choice("ci", {changed}).for_soak(ITEMS)))
    assert not has_changed("topk", {"src/skyband/window/kernels/sparse.py"})
    assert has_changed("window", {"src/skyband/topk/kernels/band.py"})
    assert beneath("window") >= {"window/kernels/", "topk/kernels/", "kernels/"}
    assert set(names(SLOW)) <= set(names(Choice("ci", set()).for_soak(ITEMS)))
    assert [room_of("tests/topk/kernels/test_x.py::test"), room_of("tests/kernels/test_x.py::test")] == ["topk", None]


RANKED = Item("tests/bench/test_ranked.py::test_trees")
MUCH = Item("tests/bench/test_ranked.py::test_rows[ranked]", pytest.mark.toy("ranked"))
TOY = Item("tests/bench/test_suite.py::test_rows[scan]", pytest.mark.toy("scan"))
ON_SPARK = Item("tests/bench/test_suite.py::test_rows[pipeline]", pytest.mark.toy("pipeline"))
NAMED = Item("tests/pipeline/test_cluster.py::test_submit", pytest.mark.changed("src/skyband/pipeline/", "a.lock"))
OTHER = Item("tests/bench/test_runner.py::test_runner")
COSTLY = cast("list[pytest.Item]", [RANKED, MUCH, TOY, ON_SPARK, NAMED, OTHER])


def test_benchmarks_of_a_room_are_tested_where_it_or_they_have_changed() -> None:
    assert [benchmarks_of(item) for item in COSTLY] == ["ranked", "ranked", None, "pipeline", None, None]
    assert "src/skyband/topk/kernels/" in places_of_benchmarks("window")
    for path, left in {
        "src/skyband/ranked/tiers.py": [ON_SPARK, NAMED],
        "src/skyband/kernels/heap.py": [NAMED],
        "src/skyband/bench/runner.py": [NAMED],
        "src/skyband/pipeline/run.py": [RANKED, MUCH],
        "a.lock": [RANKED, MUCH, ON_SPARK],
        "README.md": [RANKED, MUCH, ON_SPARK, NAMED],
    }.items():
        found = names(Choice("ci", {path}).for_soak(COSTLY))
        assert found == names(left), path
    assert names(Choice("soak").for_soak(COSTLY)) == names([RANKED, MUCH, ON_SPARK, NAMED])


def test_quick_takes_nothing_that_is_for_a_place_alone() -> None:
    items = cast("list[pytest.Item]", [NAMED, OTHER])
    assert Choice("ci", {"src/skyband/pipeline/run.py"}).for_soak(items) == []
    assert Choice("quick", {"src/skyband/pipeline/run.py"}).for_soak(items) == items[:1]


IN_ROOM = [Item(f"tests/covering/test_region.py::test_claims[{i}]") for i in range(7)]


def test_parameters_of_a_room_are_all_run_where_it_or_what_it_is_built_on_has_changed() -> None:
    items, rest = cast("list[pytest.Item]", IN_ROOM), names(IN_ROOM[1:])
    for path, left in {
        "src/skyband/covering/region.py": [],
        "src/skyband/table/window.py": [],
        "src/skyband/ranked/engine.py": [],
        "tests/covering/test_region.py": [],
        "tests/window/test_engine.py": rest,
        "src/skyband/cli/warm.py": rest,
    }.items():
        assert names(Choice("ci", {path}).for_soak(items)) == left, path
    assert names(Choice("soak").for_soak(items)) == rest
    assert Choice("dev").for_soak(items) == []
    assert "src/skyband/ranges/" not in places_of_tests("tests/window/test_engine.py::test_it")
    assert places_of_tests("tests/contract/test_contract.py::test_it[window]") == ()
    assert set(places_of_engines("window")) < set(places_of_tests("tests/window/test_engine.py::test_it"))


def test_without_the_jit_three_parameters_of_a_kernel_and_one_of_anything_else() -> None:
    left = names(Choice("coverage").left_out(ITEMS))
    assert left == names([*ENGINES[1:], KERNELS[1], KERNELS[3], SLOW[1], SLOW[3]])
    assert Choice("ci", set()).left_out(ITEMS) == []


def test_secondary_tests_of_the_pipeline_are_run_where_it_has_changed() -> None:
    items = cast("list[pytest.Item]", [Item("tests/pipeline/test_failures.py::test_full_disk", secondary)])
    for place in PIPELINE:
        path = place if place.endswith(".lock") else f"{place}it.py"
        assert not Choice("ci", {path}).for_soak(items), path
    assert Choice("ci", {"src/skyband/window/grid.py"}).for_soak(items) == items
    assert Choice("soak").for_soak(items) == items


@pytest.mark.parametrize(
    ("changed", "same"),
    [
        (None, set()),
        ({"README.md", "src/skyband/cli/show.py"}, {"window", "geotext", "ranges", "ranked"}),
        ({"src/skyband/window/grid.py"}, {"geotext", "ranges", "ranked"}),
        ({"src/skyband/topk/store.py"}, set()),
        ({"tests/contract/test_contract.py"}, set()),
    ],
)
def test_engines_are_as_they_were(changed: set[str] | None, same: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing, "changed_files", lambda root: changed)
    is_as_it_was.cache_clear()
    assert {family for family in choosing.FAMILIES if is_as_it_was(family, "tests/contract/")} == same
    is_as_it_was.cache_clear()
