"""The scan kernel: blocks are independent, so threads may share the work."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import skyband
from skyband.kernels.heap import make_heap
from skyband.kernels.slots import BLOCK
from skyband.topk.delivery_memory import DeliveryMemory
from skyband.topk.kernels.buffer import Buffers
from skyband.topk.kernels.scan import RUN, TILE, Scratch, scan
from skyband.topk.scan import ContinuousScan
from skyband.window import workload as window
from skyband.window.rows import parse_publications

N_BLOCKS = 4


def _filled() -> ContinuousScan:  # type: ignore[type-arg]  # of the window family
    made = window.generate(window.Options(n_subscriptions=N_BLOCKS * BLOCK, n_publications=60, window_n=40, seed=2))
    engine = skyband.open("window", "scan", window=skyband.Window.count(40))
    assert isinstance(engine, ContinuousScan)
    engine.subscribe(made.subscriptions)
    engine.publish(made.publications.slice(0, 30))
    store = engine._opened()
    parsed = parse_publications(made.publications.slice(30), engine.settings)
    store.append(engine._arrivals(parsed.rows))
    engine.now = int(parsed.rows.ts[-1])
    return engine


def _run(engine: ContinuousScan, lo: int, hi: int) -> DeliveryMemory:  # type: ignore[type-arg]  # of the window family
    """Work on some of the blocks, with scratch and room of its own."""
    store, change_log = engine._opened(), DeliveryMemory(engine._rows, room=100_000)
    scratch = Scratch(
        np.zeros(1),
        np.zeros((TILE, BLOCK)),
        np.zeros(RUN),
        np.zeros(BLOCK, np.bool_),
        make_heap(64),
        np.zeros(2, np.int64),
        np.zeros(2, np.int64),
    )
    steps = engine._one_step()._replace(first=store.tail - 30)
    subscribers = engine._subscribers
    assert scan(np.array([lo, 0]), hi, subscribers, store.published, steps, scratch, change_log.told, change_log.ghosts)
    return change_log


def _same(one: Buffers, other: Buffers) -> bool:
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in Buffers._fields)


@pytest.mark.jit_only
def test_threads_on_disjoint_blocks_do_what_one_does() -> None:
    alone, shared = _filled(), _filled()
    told = _run(alone, 0, N_BLOCKS).told
    with ThreadPoolExecutor(2) as threads:
        halves = [threads.submit(_run, shared, lo, lo + 2) for lo in (0, 2)]
        parts = [half.result().told for half in halves]
    assert _same(alone._rows.buffers, shared._rows.buffers)
    n = int(told.length[0])
    assert n > 100
    for column in ("slot", "item", "op", "score", "rank", "first"):
        joined = np.concatenate([getattr(part, column)[: part.length[0]] for part in parts])
        assert np.array_equal(getattr(told, column)[:n], joined)
