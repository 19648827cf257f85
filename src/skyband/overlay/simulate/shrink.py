"""Shrinking: the shortest scenario found that still goes wrong, and what happens in it."""

from collections.abc import Callable, Iterator
from typing import Any

from skyband.overlay.simulate.scenario import CALM, SECOND, Scenario, Weather

GoesWrong = Callable[[Scenario], bool]


def shrink(scenario: Scenario, goes_wrong: GoesWrong, most_runs: int = 300) -> Scenario:
    """A smaller scenario that goes wrong too: in calmer weather, with fewer crashes, fewer requests, and less time.

    Longer runs of requests are left out first, and at most so many scenarios are tried.
    """
    attempt = Attempt(scenario, goes_wrong, most_runs)
    shorten(attempt)
    for weather in calmer(scenario.weather):
        attempt.take(attempt.smallest.without(weather=weather))
    leave_out_crashes(attempt)
    leave_out_requests(attempt)
    leave_out_crashes(attempt)
    shorten(attempt)
    return attempt.smallest


class Attempt:
    """The smallest scenario so far, and how many may still be tried."""

    def __init__(self, scenario: Scenario, goes_wrong: GoesWrong, n_left: int) -> None:
        self.smallest, self._goes_wrong, self.n_left = scenario, goes_wrong, n_left

    def take(self, *smaller: Scenario) -> bool:
        """Take the first of these that goes wrong too; tells whether any does."""
        for scenario in smaller:
            if self.n_left > 0 and scenario != self.smallest:
                self.n_left -= 1
                if self._goes_wrong(scenario):
                    self.smallest = scenario
                    return True
        return False


def calmer(weather: Weather) -> Iterator[Weather]:
    """Calmer weather: none of it, or one trouble less."""
    parts: dict[str, Any] = {"lost": 0.0, "repeated": 0.0, "slow": {}, "partitions": ()}
    yield CALM
    for name, calm in parts.items():
        weather = Weather(**(vars(weather) | {name: calm}))
        yield weather


def shorten(attempt: Attempt) -> None:
    """End sooner, as far as that goes by halves, and not before all has been asked for."""
    last = max((request.at for request in attempt.smallest.requests), default=0)
    while attempt.smallest.settled // 2 > max(last, SECOND):
        if not attempt.take(attempt.smallest.without(settled=attempt.smallest.settled // 2)):
            return


def leave_out_crashes(attempt: Attempt) -> None:
    """Leave out one crash after another, the last one first."""
    for i in reversed(range(len(attempt.smallest.crashes))):
        crashes = attempt.smallest.crashes
        attempt.take(attempt.smallest.without(crashes=(*crashes[:i], *crashes[i + 1 :])))


def leave_out_requests(attempt: Attempt) -> None:
    """Leave out runs of requests, half of them at first and single ones in the end."""
    length = len(attempt.smallest.requests)
    while length:
        start = 0
        while start < len(attempt.smallest.requests):
            if not attempt.take(*without_requests(attempt.smallest, start, length)):
                start += length
        length //= 2


def without_requests(scenario: Scenario, start: int, length: int) -> Iterator[Scenario]:
    """A scenario without a run of requests; crashes at syncs come as much earlier, or stay where they are."""
    requests = (*scenario.requests[:start], *scenario.requests[start + length :])
    n_less = len(scenario.requests) - len(requests)
    earlier = tuple(
        crash._replace(at=max(1, crash.at - n_less)) if crash.at_sync else crash for crash in scenario.crashes
    )
    yield scenario.without(requests=requests, crashes=earlier)
    yield scenario.without(requests=requests)
