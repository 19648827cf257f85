"""What threads are worth: twins with one thread and two, whose answers and counters have to be equal."""

from typing import Any

import pyarrow as pa
import pytest

from skyband.bench import Row, threads
from skyband.bench.runner import WrongAnswer
from skyband.bench.threads import ThreadPlan, thread_rows
from skyband.testing.thread import eager

PLAN = ThreadPlan((300, 600), (1, 2), 300, 40, 60, 200, 2, 1e9)


def quiet(said: str) -> None:
    pass


def named(row: Row) -> tuple[str, int, str]:
    return row["parameters"]["label"], row["parameters"]["n_subscriptions"], row["algorithm"]


@pytest.mark.jit_only
def test_the_index_and_scan_are_measured_with_one_thread_and_two() -> None:
    with eager():
        rows = list(thread_rows(PLAN, quiet))
    sized = [("window uniform, blocks", n) for n in (300, 600)] + [("window uniform, scan", 300)]
    sized += [("geotext, blocks", n) for n in (300, 600)] + [("geotext, scan", 300)]
    sized += [("ranked, scored", n) for n in (300, 600)] + [("ranked, scan", 300)]
    assert [named(row) for row in rows] == [(*each, name) for each in sized for name in ("1 thread", "2 threads")]
    assert all(len(row["latencies"]) == PLAN.n_rounds for row in rows)
    used = [row["measures"].get("bytes.threads", 0.0) for row in rows if "blocks" in row["parameters"]["label"]]
    assert all(one == 0.0 < two for one, two in zip(used[::2], used[1::2], strict=True))


@pytest.mark.jit_only
def test_answers_that_differ_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(engine: Any, batches: list[pa.Table]) -> Any:
        return lambda turn: engine.publish(batches[turn].slice(engine.threads - 1))

    monkeypatch.setattr(threads, "_publisher", wrong)
    with pytest.raises(WrongAnswer, match="window uniform, blocks: the answers differ"):
        next(thread_rows(PLAN, quiet))


def test_counters_that_differ_are_found() -> None:
    class Counting:
        def __init__(self, n: int) -> None:
            self.counters = {"scored": n}

    twins: Any = {"1 thread": Counting(1), "2 threads": Counting(2)}
    with pytest.raises(WrongAnswer, match="the counters differ"):
        threads._compare_counters(twins, "window")
