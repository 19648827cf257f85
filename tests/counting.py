"""Branches are counted in some runs of a test: while they are, plain Python takes nearly three times as long.

Of a test with parameters, MOST are counted, spread evenly, and the others run at full speed. So do those that the run
without the JIT counts as well: SKYBAND_COUNTED_ELSEWHERE names their files and folders.
"""

import os
from collections.abc import Generator, Iterable

import coverage
import pytest

from tests.choosing import by_test, spread

MOST = 1


def uncounted(items: Iterable[pytest.Item], elsewhere: tuple[str, ...] = ()) -> set[str]:
    """The tests, by name, whose branches are not counted; what is counted elsewhere lies below these places."""
    items = list(items)
    there = [item for item in items if item.nodeid.startswith(elsewhere)]
    left = {item.nodeid for item in there if not any(item.iter_markers("jit_only"))}
    for same in by_test(items):
        left |= {item.nodeid for item in same} - {item.nodeid for item in spread(same, MOST)}
    return left


class Counting:
    """Pauses the counting of branches, if there is any, during the tests that are not counted."""

    def __init__(self) -> None:
        self._uncounted: set[str] = set()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Choose among what is run."""
        self._uncounted = uncounted(items, tuple(os.environ.get("SKYBAND_COUNTED_ELSEWHERE", "").split()))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Run a test, counted or not."""
        counts = coverage.Coverage.current() if item.nodeid in self._uncounted else None
        if counts is None:
            return (yield)
        counts.stop()
        try:
            return (yield)
        finally:
            counts.start()
