"""One simulated day, step by step; stopped cleanly by Ctrl-C."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from skyband.demo.frame import Camera, Frame
from skyband.demo.ledger import DayLedger
from skyband.demo.runner import DayRunner
from skyband.demo.scene import STEP, Scene, steps
from skyband.demo.watcher import Watcher


def play(scene: Scene, runner: DayRunner, watcher: Watcher) -> DayLedger:
    """Publish the day; returns its ledger, of a part of the day if somebody pressed Ctrl-C."""
    ledger, camera = DayLedger(), Camera(scene)
    batches = steps(scene.messages)
    with stopping() as stop:
        for number, (minute, begin, end) in enumerate(batches, 1):
            answer = runner.step(minute - STEP, scene.publications.slice(begin, end - begin))
            ledger.add(answer, end - begin)
            camera.follow(answer.changes, number)

            def take(minute: int = minute, end: int = end) -> Frame:
                return camera.take(ledger, minute, end)

            watcher.show(take, minute, number / len(batches))
            if stop.is_set():
                break
        ledger.close(runner.end(minute))
    return ledger


@contextmanager
def stopping() -> Iterator[threading.Event]:
    """An event that the first Ctrl-C sets, so that a batch is never cut in half; the second interrupts as usual."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = signal.getsignal(signal.SIGINT)

    def set_stop(number: int, frame: object) -> None:
        stop.set()
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, set_stop)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)
