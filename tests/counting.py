"""Branches are counted in some runs of a test: while they are, plain Python takes nearly three times as long.

Of a test with parameters, MOST are counted, spread evenly, and the others run at full speed.
"""

from collections.abc import Generator, Iterable

import coverage
import pytest

from tests.choosing import by_test, spread

MOST = 1


def uncounted(items: Iterable[pytest.Item]) -> set[str]:
    """The tests, by name, whose branches are not counted."""
    left = set()
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
        self._uncounted = uncounted(items)

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
