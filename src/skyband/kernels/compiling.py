"""What compiling takes: said when it begins, once in a process, and counted for those who measure anything else."""

import logging
import sys
import time

from numba.core import event


# Numba has no types, so that to mypy this is a subclass of anything.
class _Stopwatch(event.Listener):  # type: ignore[misc]
    """Runs while anything is being compiled; what is compiled on the way to something else is within its time."""

    def __init__(self) -> None:
        self._n_open = 0
        self._since = 0.0
        self._total = 0.0

    def on_start(self, event: object) -> None:
        """Compiling begins."""
        if self._n_open == 0:
            self._since = time.monotonic()
        self._n_open += 1

    def on_end(self, event: object) -> None:
        """Compiling ends."""
        self._n_open -= 1
        if self._n_open == 0:
            self._total += time.monotonic() - self._since

    def seconds(self) -> float:
        """How long it has run."""
        return self._total + (time.monotonic() - self._since if self._n_open else 0.0)


_stopwatch: _Stopwatch | None = None


def compile_seconds() -> float:
    """How long compiling has taken since this was first asked."""
    global _stopwatch
    if _stopwatch is None:
        _stopwatch = _Stopwatch()
        event.register("numba:compile", _stopwatch)
    return _stopwatch.seconds()


NOTICE = (
    "Skyband compiles what it needs on this machine, once: about 10 s for few subscriptions, half a minute for many. "
    "`skyband warm` does it ahead."
)
_is_told = False


def tell_of_compiling() -> None:
    """Say that something has to be compiled: to whoever sits at the terminal, and to the log `skyband`."""
    global _is_told
    if _is_told:
        return
    _is_told = True
    logging.getLogger("skyband").info(NOTICE)
    if sys.stderr is not None and sys.stderr.isatty():
        print(NOTICE, file=sys.stderr, flush=True)
