"""How long compiling has taken in this process, for those who measure anything else."""

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
