"""One simulated day through an engine, batch by batch; stopped cleanly by Ctrl-C."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

import skyband
from skyband.contract import AnyEngine
from skyband.demo.city import bounds
from skyband.demo.day import MIDNIGHT, MINUTE
from skyband.demo.frame import Camera, Frame
from skyband.demo.ledger import Ledger
from skyband.demo.scene import Scene, steps
from skyband.demo.subscriber import TWO_HOURS
from skyband.demo.watcher import Watcher


def open_engine() -> AnyEngine:
    """The engine of the demo, empty."""
    window = skyband.Window.time(TWO_HOURS)
    return skyband.open("geotext", "scan", window=window, bounds=bounds())


def warm_up(scene: Scene) -> None:
    """Run a few rows through an engine, so that every kernel is compiled before the clock starts."""
    engine = open_engine()
    engine.subscribe(scene.subscriptions.slice(0, 50))
    few = scene.publications.slice(0, 50)
    engine.publish(few)
    engine.top([0])
    engine.advance(MIDNIGHT + 24 * 60 * MINUTE)


def play(scene: Scene, engine: AnyEngine, watcher: Watcher) -> Ledger:
    """Publish the day; returns its ledger, of a part of the day if somebody pressed Ctrl-C."""
    ledger, camera = Ledger(), Camera(scene)
    engine.subscribe(scene.subscriptions)
    batches = steps(scene.messages)
    with stopping() as stop:
        for number, (minute, begin, end) in enumerate(batches, 1):
            changes, seconds = _step(engine, scene.publications.slice(begin, end - begin), minute)
            ledger.add(changes, end - begin, seconds)
            camera.follow(changes, number)

            def take(minute: int = minute, end: int = end) -> Frame:
                return camera.take(engine, ledger, minute, end)

            watcher.show(take, minute, number / len(batches))
            if stop.is_set():
                break
    return ledger


def _step(engine: AnyEngine, batch: pa.Table, minute: int) -> tuple[pa.Table, float]:
    began = time.perf_counter()
    arrived = engine.publish(batch)
    passed = engine.advance(MIDNIGHT + minute * MINUTE)
    changes = pa.concat_tables([part for part in (arrived, passed) if len(part)] or [passed])
    return changes, time.perf_counter() - began


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
