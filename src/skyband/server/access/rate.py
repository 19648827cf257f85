"""Rates: how much may be asked for within a second, kept by a bucket that fills at that rate and holds two seconds."""

import time
from collections.abc import Callable

HELD_SECONDS = 2.0


class TooFast(Exception):
    """More was asked for than the rate allows; after so many seconds there is room."""

    def __init__(self, what: str, rate: float, seconds: float) -> None:
        super().__init__(f"More than {rate:g} {what} per second were asked for.")
        self.seconds = seconds


class Bucket:
    """One rate. What is larger than the bucket is taken when it is full, and paid for after that."""

    def __init__(self, what: str, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.what = what
        self.rate = rate
        self._clock = clock
        self._left = rate * HELD_SECONDS
        self._at = clock()

    def take(self, n: float = 1) -> None:
        """Take so many, or raise `TooFast`; a rate of 0 allows any number."""
        if not self.rate:
            return
        now = self._clock()
        self._left = min(self._left + (now - self._at) * self.rate, self.rate * HELD_SECONDS)
        self._at = now
        needed = min(n, self.rate * HELD_SECONDS)
        if self._left < needed:
            raise TooFast(self.what, self.rate, (needed - self._left) / self.rate)
        self._left -= n


class TenantRates:
    """The buckets of all tenants; one whose limits have changed is made anew."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._buckets: dict[tuple[str, str], Bucket] = {}

    def take(self, tenant: str, what: str, rate: float, n: float = 1) -> None:
        """Take from the bucket of a tenant."""
        found = self._buckets.get((tenant, what))
        if found is None or found.rate != rate:
            found = self._buckets[tenant, what] = Bucket(what, rate, self._clock)
        found.take(n)
