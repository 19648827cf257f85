"""The clock of a broker: microseconds that never go back, not even from one life to the next, and never leap.

It follows the clock of the machine as long as that goes on evenly. If that goes back, this one goes on at half the pace
until it is met again; if it leaps ahead by more than `LEAP`, at twice the pace. Publications get their times from it,
and others have been told "all up to this time has been sent", which must stay true.

Time goes no further than the journal has noted beforehand, so that a broker that starts again knows how far it was.
Where the journal cannot be written, time stands still.
"""

import logging
import time
from collections.abc import Callable

LEAP = 10_000_000
"""As far behind the clock of the machine as this, it simply catches up."""
WORTH_A_WORD = 1_000_000
AHEAD = 2_000_000
"""So far ahead of now the journal notes that time may go on."""

logger = logging.getLogger("skyband.broker")


def machine_time() -> int:
    """The clock of the machine."""
    return time.time_ns() // 1000


def steady_time() -> int:
    """Time that passes evenly from some beginning, also while the machine sleeps, where that can be told."""
    source = getattr(time, "CLOCK_BOOTTIME", None) or time.CLOCK_MONOTONIC
    return time.clock_gettime_ns(source) // 1000


class BrokerClock:
    """Time as one broker has it; `lease` says how far the journal lets it go, as of when it is asked."""

    def __init__(
        self,
        lease: Callable[[], int],
        machine: Callable[[], int] = machine_time,
        steady: Callable[[], int] = steady_time,
    ) -> None:
        self._lease, self._machine, self._steady = lease, machine, steady
        self._last = steady()
        self.last = self._unleased = max(machine(), lease())
        self.is_off = False

    @property
    def offset(self) -> int:
        """How far it is ahead of the clock of the machine; negative if that is ahead."""
        return self.last - self._machine()

    def ahead(self) -> int:
        """Up to when time may go on, once this is durable."""
        return self.last + AHEAD

    def now(self) -> int:
        """The time, never before any that was told."""
        steady = self._steady()
        passed, self._last = max(steady - self._last, 0), steady
        behind = self._machine() - self._unleased
        self._note(behind - passed)
        if behind < passed // 2:
            passed //= 2
        elif behind - passed <= LEAP:
            passed = behind
        else:
            passed *= 2
        self._unleased += passed
        self.last = max(self.last, min(self._unleased, self._lease()))
        return self.last

    def _note(self, behind: int) -> None:
        """Say once that the clock of the machine has leapt, and once that it is met again."""
        was_off = self.is_off
        self.is_off = abs(behind) > WORTH_A_WORD if was_off else not -WORTH_A_WORD <= behind <= LEAP
        if self.is_off and not was_off:
            logger.warning(
                "The clock of this machine is %.1f s %s the broker's time, which goes on at %s the pace until they "
                "agree: set the clock right, and start the broker anew if its time is wrong.",
                abs(behind) / 1e6,
                "behind" if behind < 0 else "ahead of",
                "half" if behind < 0 else "twice",
            )
        elif was_off and not self.is_off:
            logger.warning("The clock of this machine and the broker's time agree again.")
