"""Requests to end what has no end of its own: Ctrl-C and SIGTERM, heard now and answered when it suits."""

import signal
import threading
from types import FrameType
from typing import Any, Self


class Requests:
    """Ctrl-C and SIGTERM while a stream runs: the first asks it to end, a second Ctrl-C is an interrupt."""

    def __init__(self) -> None:
        self.asked: int | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        # Only the main thread may set handlers, and a process that was told to ignore Ctrl-C goes on doing so.
        if threading.main_thread() is threading.current_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.asked is not None and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.asked = number if self.asked is None else self.asked
