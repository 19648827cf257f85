"""Some parameters of a test are counted, and counting goes on after one that is not."""

from typing import Any

import coverage
import pytest

from tests.counting import MOST, Counting, uncounted


class Item:
    """A test, as far as it is looked at."""

    def __init__(self, nodeid: str, *marks: str) -> None:
        self.nodeid = nodeid
        self.marks = marks

    def iter_markers(self, name: str) -> list[str]:
        return [mark for mark in self.marks if mark == name]


def items(*names: str) -> list[Any]:
    return [Item(name) for name in names]


def test_a_few_parameters_of_each_test_are_counted() -> None:
    many = items(*(f"tests/a.py::test[{i}]" for i in range(10)), "tests/a.py::other", "tests/b.py::test[0]")
    left = uncounted(many)
    assert len(left) == 10 - MOST
    assert {"tests/a.py::test[0]", "tests/a.py::other", "tests/b.py::test[0]"}.isdisjoint(left)


def test_what_is_counted_elsewhere_is_not_counted_here() -> None:
    some: list[Any] = [
        Item("tests/a.py::test"),
        Item("tests/b/c.py::test"),
        Item("tests/b/c.py::slow", "jit_only"),
        Item("tests/d.py::test"),
    ]
    assert uncounted(some, ("tests/a.py", "tests/b")) == {"tests/a.py::test", "tests/b/c.py::test"}
    assert uncounted(some) == set()


def test_counting_pauses_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []

    class Counts:
        def stop(self) -> None:
            said.append("stop")

        def start(self) -> None:
            said.append("start")

    monkeypatch.setattr(coverage.Coverage, "current", Counts)
    monkeypatch.delenv("SKYBAND_COUNTED_ELSEWHERE", raising=False)
    counting, many = Counting(), items(*(f"tests/a.py::test[{i}]" for i in range(5)))
    counting.pytest_collection_modifyitems(many)
    for item in many:
        running = counting.pytest_runtest_protocol(item)
        next(running)
        said.append(item.nodeid[-2])
        with pytest.raises(StopIteration):
            running.send(True)
    assert said == ["0", *(word for i in "1234" for word in ("stop", i, "start"))]
