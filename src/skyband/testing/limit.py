"""Time limits: an action that never ends fails its test, and shows the input that did it.

Python raises in its main thread when the time is up. That does not reach a kernel which never returns, so a second
thread waits a little longer, writes the input down, and ends the process: kernels let go of the interpreter's lock.
Compiling kernels, which the first action of an engine may have to do, does not count.

It is the processor's time that is limited, since a loop that never ends takes all it can get, and a test on a machine
that has other work, or that was stopped for a while, takes long and is right. What waits for ever takes none of it, so
that the clock on the wall has a limit too, many times as long.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from skyband.kernels.compiling import compile_seconds

SECONDS = float(os.environ.get("SKYBAND_ACTION_SECONDS", "60"))
GRACE = 5.0
WAITING = 30.0
EXIT_CODE = 70


class TimeIsUp(AssertionError):
    """An action took longer than it may."""


def _never() -> str:
    return ""


class _Clock:
    """Time that passes while nothing is being compiled: the processor's, and WAITING times as much on the wall."""

    def __init__(self, limit: float) -> None:
        self._end = self._taken() + limit
        self._last = time.monotonic() + WAITING * limit

    @staticmethod
    def _taken() -> float:
        return time.process_time() - compile_seconds()

    def left(self) -> float:
        """How much of the limit is left."""
        return min(self._end - self._taken(), self._last - time.monotonic())


class _Watch:
    """What is going on and until when; one thread looks at it."""

    def __init__(self) -> None:
        self.clock: _Clock | None = None
        self.describe: Callable[[], str] = str
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._look, name="time limit", daemon=True)
            self._thread.start()

    def _look(self) -> None:
        while (clock := self.clock) is None or clock.left() > -GRACE:
            time.sleep(0.5)
        print(f"\nA kernel never returned.\n{self.describe()}", file=sys.__stderr__, flush=True)
        os._exit(EXIT_CODE)


_watch = _Watch()


@contextmanager
def time_limit(describe: Callable[[], str], seconds: float | None = None) -> Iterator[None]:
    """Let what is done within take no longer; `describe` tells what it was, as code that does it again.

    Not to be nested; for the main thread.
    """
    limit = SECONDS if seconds is None else seconds
    clock = _Clock(limit)

    def stop(signum: int, frame: FrameType | None) -> None:
        if clock.left() > 0.0:
            signal.setitimer(signal.ITIMER_REAL, max(clock.left(), 0.01))
        else:
            raise TimeIsUp(f"This took more than {limit:g} s.\n{describe()}")

    _watch.describe, _watch.clock = describe, clock
    _watch.start()
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, limit)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
        _watch.clock = None
