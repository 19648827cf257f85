"""What `make test` leaves out, `make soak` takes, and nothing is left out by both."""

from typing import Any, cast

import pytest

from tests.choosing import Choice, beneath, has_changed, room_of, spread


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
    assert not set(names(SLOW)) & set(names(Choice("ci", set()).for_soak(ITEMS)))
    assert [room_of("tests/topk/kernels/test_x.py::test"), room_of("tests/kernels/test_x.py::test")] == ["topk", None]


def test_without_the_jit_four_parameters_of_a_kernel_and_two_of_anything_else() -> None:
    left = names(Choice("coverage").left_out(ITEMS))
    assert left == names([*ENGINES[1:6], KERNELS[3], SLOW[3]])
    assert Choice("ci", set()).left_out(ITEMS) == []
