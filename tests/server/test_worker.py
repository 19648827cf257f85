"""The thread of the streams: it outlives whatever fails around it, and answers everybody."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from skyband.server.push.hub import Hub
from skyband.server.store.journal import Journal
from skyband.server.store.record import Record
from skyband.server.store.rows import rows_body
from skyband.server.stream.checkpoint import Checkpoints
from skyband.server.stream.recovery import recover
from skyband.server.stream.spec import StreamSpec
from skyband.server.stream.stream_set import StreamSet, opening
from skyband.server.stream.worker import Worker

SPEC = StreamSpec("window", "scan")


def publication(i: int) -> Record:
    return Record("publish", "t", "s", i, {}, rows_body([{"id": i, "ts": i, "point": [0.0]}]))


def working(folder: Path, work: Callable[[Worker, Hub], Awaitable[Any]], every: int = 10**9) -> Any:
    """Do some work with a thread over a folder, and end it."""

    async def run() -> Any:
        journal, checkpoints = Journal(folder / "log"), Checkpoints(folder / "checkpoints")
        worker = Worker(recover(journal, checkpoints, 100), journal, checkpoints, every)
        hub = Hub(worker, 1000)
        worker.start(asyncio.get_running_loop(), hub)
        try:
            await worker.do(opening("t", "s", SPEC, 0))
            return await work(worker, hub)
        finally:
            worker.stop()

    return asyncio.run(run())


def test_a_step_that_cannot_be_pushed_is_done_and_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError

    async def work(worker: Worker, hub: Hub) -> list[int]:
        monkeypatch.setattr(hub, "push", fail)
        done = await asyncio.gather(*[worker.do(publication(i)) for i in range(3)])
        return [result.steps[0].id.number for result in done]

    assert working(tmp_path, work) == [1, 2, 3]


def test_what_is_due_may_fail_without_harm(tmp_path: Path) -> None:
    def fail(_: StreamSet) -> list[Record]:
        raise RuntimeError

    async def work(worker: Worker, _: Hub) -> int:
        worker.remind(fail)
        return (await worker.do(publication(1))).steps[0].id.number

    assert working(tmp_path, work) == 1


def test_who_cannot_be_attached_is_told(tmp_path: Path) -> None:
    def fail(_: object) -> None:
        raise RuntimeError("not attached")

    async def work(worker: Worker, _: Hub) -> int:
        with pytest.raises(RuntimeError, match="not attached"):
            await worker.ask(len, fail)
        return int(await worker.ask(len))

    assert working(tmp_path, work) == 1


def test_a_checkpoint_that_cannot_be_written_stops_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError("no room")

    monkeypatch.setattr(Checkpoints, "write", fail)

    async def work(worker: Worker, _: Hub) -> int:
        for i in range(3):
            done = await worker.do(publication(i))
        return done.steps[0].id.number

    assert working(tmp_path, work, every=1) == 3
    assert Checkpoints(tmp_path / "checkpoints").offsets() == []
    monkeypatch.undo()


def test_a_verb_that_is_not_admitted_is_not_written(tmp_path: Path) -> None:
    def refuse(_: StreamSet) -> None:
        raise ValueError("not today")

    async def work(worker: Worker, _: Hub) -> int:
        with pytest.raises(ValueError, match="not today"):
            await worker.do(publication(1), admit=refuse)
        return worker.journal.end

    assert working(tmp_path, work) == 1
