"""The promise: the running sum of whatever is pushed is the set of tops, through cuts, resumes, modes and crashes."""

import asyncio
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skyband.contract.tops import Id
from skyband.server.push.hub import Hub
from skyband.server.push.listener import Listener
from skyband.server.push.push_request import PushRequest
from skyband.server.store.journal import Journal
from skyband.server.store.record import Record
from skyband.server.store.rows import rows_body
from skyband.server.stream.checkpoint import Checkpoints
from skyband.server.stream.recovery import recover
from skyband.server.stream.spec import StreamSpec
from skyband.server.stream.stream_set import opening
from skyband.server.stream.worker import Worker

KEY = ("t", "s")
NAMES = ["a", "b", "c"]
SPECS = {
    "window": StreamSpec("window", "scan", "40us"),
    "window of two": StreamSpec("window", "scan", {"count": 3}, granularity="publication"),
    "ranges": StreamSpec("ranges", "scan"),
}
RING = 12
OTHERS = ["put", "drop", "resize", "retract", "time", "read", "cut", "die"]


class RunningSum:
    """What somebody knows who has seen events and nothing else."""

    def __init__(self, names: tuple[str, ...] | None, mode: Any, rate: float | None) -> None:
        self.request = PushRequest(KEY, names, mode, rate)
        self.tops: dict[Id, dict[Id, float]] = {}
        self.last: str | None = None
        self.ids: list[str] = []
        self.listener: Listener | None = None

    def see(self, events: list[Any]) -> None:
        """Add events; a change that does not fit fails."""
        for event in events:
            data = json.loads(event.data) if event.data else {}
            if event.kind == "reset" or (event.kind == "snapshot" and self.last is None):
                self.tops = {} if event.kind == "reset" else self.tops
            for told in data.get("tops", []):
                self.tops[told["subscription"]] = {row["publication"]: row["score"] for row in told["top"]}
            for change in data.get("changes", []):
                self._change(change, data.get("net", False))
            for id in data.get("ended", []):
                assert not self.tops.get(id), "one that has ended has left nothing behind"
            if event.id is not None:
                self.last = event.id
                if event.kind == "changes":
                    assert event.id not in self.ids, "an id means one thing, once"
                    self.ids.append(event.id)

    def _change(self, change: dict[str, Any], is_net: bool) -> None:
        top = self.tops.setdefault(change["subscription"], {})
        publication, op = change["publication"], change["op"]
        assert (op == "enter") == (publication not in top), change
        if op == "leave":
            # What is netted upon resuming may not know what was told last of one that has moved since.
            assert is_net or top[publication] == change["score"]
            del top[publication]
        else:
            top[publication] = change["score"]


class Lives:
    """A folder, and the server over it that lives now; it may die at any moment between two verbs."""

    def __init__(self, folder: Path, spec: StreamSpec) -> None:
        self.folder = folder
        self.spec = spec
        self.n_published = 0
        self.now = 0

    async def begin(self) -> None:
        """Recover what there is, and go on."""
        journal, checkpoints = Journal(self.folder / "log"), Checkpoints(self.folder / "checkpoints")
        self.worker = Worker(recover(journal, checkpoints, RING), journal, checkpoints, 10**9)
        self.hub = Hub(self.worker, 1500)
        self.worker.start(asyncio.get_running_loop(), self.hub)

    def end(self) -> None:
        """Die: nothing is written any more."""
        self.worker.stop()

    async def do(self, verb: Any, facts: dict[str, Any] | None = None, rows: Any = None) -> None:
        """Do a verb, which may be refused."""
        body = None if rows is None else rows_body(rows)
        try:
            await self.worker.do(Record(verb, *KEY, 0, facts or {}, body))
        except ValueError:
            return

    async def top(self) -> dict[Id, dict[Id, float]]:
        """What is right."""
        found = await self.worker.ask(lambda streams: streams.get(*KEY).top(None))
        return {id: {row["publication"]: row["score"] for row in top} for id, top in found.items() if top}

    def rows(self, draw: st.DataObject) -> Iterator[dict[str, Any]]:
        """Publications of small numbers, so that ties and simultaneous expiries abound."""
        for _ in range(draw.draw(st.integers(1, 4))):
            self.n_published += 1
            self.now += draw.draw(st.integers(0, 12))
            x = float(draw.draw(st.integers(0, 4)))
            if self.spec.family == "ranges":
                y = draw.draw(st.none() | st.integers(0, 4))
                yield {"id": self.n_published, "ts": self.now, "object": int(x), "x": x, "y": y}
            else:
                yield {"id": self.n_published, "ts": self.now, "point": [x]}

    def question(self, name: str, draw: st.DataObject) -> dict[str, Any]:
        """A subscription."""
        k = draw.draw(st.integers(1, 3))
        at = draw.draw(st.integers(0, 4))
        if self.spec.family == "ranges":
            return {"id": name, "k": k, "lo": at, "hi": at + 2}
        return {"id": name, "k": k, "score": "euclidean", "point": [float(at)]}


async def act(lives: Lives, sums: list[RunningSum], draw: st.DataObject) -> None:
    """One thing that may happen."""
    name, one = draw.draw(st.sampled_from(NAMES)), draw.draw(st.sampled_from(sums))
    match draw.draw(st.sampled_from(["publish"] * 4 + OTHERS)):
        case "publish":
            await lives.do("publish", rows=list(lives.rows(draw)))
        case "put":
            await lives.do("put", rows=[lives.question(name, draw)])
        case "drop":
            await lives.do("unsubscribe", {"ids": [name]})
        case "resize":
            await lives.do("resize", {"ids": [name], "k": draw.draw(st.integers(1, 3))})
        case "retract":
            await lives.do("retract", {"ids": [draw.draw(st.integers(1, lives.n_published + 1))]})
        case "time":
            lives.now += draw.draw(st.integers(0, 30))
            await lives.do("advance", {"now": lives.now})
        case "read":
            await read(one)
        case "cut":
            cut(lives, one)
            await attach(lives, one)
        case "die":
            if draw.draw(st.booleans()):
                lives.worker.checkpoint()
            for each in sums:
                cut(lives, each)
            lives.end()
            await lives.begin()
            for each in sums:
                await attach(lives, each)


async def attach(lives: Lives, one: RunningSum) -> None:
    """Listen, from where one was."""
    one.listener = await lives.hub.listen(one.request._replace(last=one.last))


def cut(lives: Lives, one: RunningSum) -> None:
    """Lose what waits on the way."""
    assert one.listener is not None
    lives.hub.leave(one.listener)


async def read(one: RunningSum) -> bool:
    """See what waits, if anything does; says whether there was anything."""
    assert one.listener is not None
    try:
        events = await asyncio.wait_for(one.listener.next(), 0.01)
    except TimeoutError:
        return False
    one.see(events)
    return bool(events)


async def tell_all(lives: Lives, one: RunningSum) -> None:
    """See everything; one that was cut off for being slow resumes."""
    while True:
        while await read(one):
            pass
        assert one.listener is not None
        if not one.listener.closed:
            return
        cut(lives, one)
        await attach(lives, one)


async def check(folder: Path, spec: StreamSpec, draw: st.DataObject) -> None:
    lives = Lives(folder, spec)
    await lives.begin()
    await lives.worker.do(opening(*KEY, spec, 0))
    for name in NAMES:
        await lives.do("put", rows=[lives.question(name, draw)])
    sums = [
        RunningSum(names, mode, rate)
        for names, mode, rate in (
            (None, "every", None),
            (("a", "b"), "every", None),
            (None, "latest", None),
            (("b",), "latest", 300.0),
        )
    ]
    for one in sums:
        await attach(lives, one)
        # One who has seen nothing has nothing to resume from, and may not name what has ended meanwhile.
        await read(one)
    for _ in range(draw.draw(st.integers(1, 25))):
        await act(lives, sums, draw)
    right = await lives.top()
    for one in sums:
        await tell_all(lives, one)
        names = one.request.names or NAMES
        assert {id: top for id, top in one.tops.items() if top} == {id: right[id] for id in names if id in right}
    lives.end()


@pytest.mark.parametrize("name", SPECS)
@settings(max_examples=25)
@given(draw=st.data())
def test_the_running_sum_is_the_top(name: str, draw: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(check(Path(folder), SPECS[name], draw))


@pytest.mark.soak
@pytest.mark.parametrize("name", SPECS)
@settings(max_examples=1000)
@given(draw=st.data())
def test_the_running_sum_is_the_top_for_long(name: str, draw: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(check(Path(folder), SPECS[name], draw))
