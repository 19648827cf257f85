"""Push: snapshot, ready and changes in order; resuming, netting, slow readers and every way that a connection ends."""

import asyncio
import json
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pyarrow as pa
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from skyband.server import Running
from skyband.server.push.listener import AttachedTo, EveryListener, LatestListener, Pushed
from skyband.server.push.push_request import PushRequest
from skyband.server.stream.numbered import NumberedStep, StepId
from tests.server.calling import WINDOW, Reader, Reply, call

Ask = Callable[..., Reply]
SUBS = "/v1/streams/s/subscriptions"
PUBS = "/v1/streams/s/publications"
EVENTS = "/v1/streams/s/events"


def near(id: Any, x: float = 0.0, k: int = 2) -> dict[str, Any]:
    return {"id": id, "k": k, "score": "euclidean", "point": [x]}


def point(id: Any, x: float) -> dict[str, Any]:
    return {"id": id, "ts": 1, "point": [x]}


def shown(event: Any) -> list[tuple[Any, ...]]:
    return [(row["subscription"], row["op"], row["publication"], row["rank"]) for row in event.data["changes"]]


def test_a_snapshot_comes_first_then_ready_then_news(server: Running, ask: Ask) -> None:
    ask("POST", SUBS, [near("ann"), near("bob")])
    ask("POST", PUBS, [point(1, 1.0)])
    with Reader(server.address, EVENTS + "?subscriptions=ann") as reader:
        snapshot, ready = reader.next(), reader.next()
        top = [{"rank": 1, "publication": 1, "score": 1.0}]
        assert (snapshot.kind, snapshot.data["tops"]) == ("snapshot", [{"subscription": "ann", "top": top}])
        assert (snapshot.id, ready.kind, ready.id, ready.data["now"]) == (None, "ready", ready.data["step"], 1)
        step = ask("POST", PUBS, [point(2, 0.5)]).body["step"]
        news = reader.next()
        assert (news.kind, news.id, news.data["step"]) == ("changes", step, step)
        assert shown(news) == [("ann", "enter", 2, 1)]
        assert news.data["changes"][0]["first"] is True


def test_one_connection_carries_many_subscriptions_or_all(server: Running, ask: Ask) -> None:
    ask("POST", SUBS, [near("a,b"), near("ann"), near("bob", 9.0)])
    with (
        Reader(server.address, EVENTS) as everything,
        Reader(server.address, EVENTS + "?subscription=a,b&subscriptions=bob,") as some,
    ):
        for reader in (everything, some):
            reader.until("ready")
        ask("POST", PUBS, [point(1, 1.0)])
        assert [row[0] for row in shown(everything.next())] == ["a,b", "ann", "bob"]
        assert [row[0] for row in shown(some.next())] == ["a,b", "bob"]
        ask("POST", SUBS, [near("new")])
        assert [row[0] for row in shown(everything.next())] == ["new"]
        ask("DELETE", SUBS + "/bob")
        ended = some.next()
        assert (shown(ended), ended.data["ended"]) == ([("bob", "leave", 1, None)], ["bob"])


def test_who_listens_to_the_same_is_sent_one_text(server: Running, ask: Ask) -> None:
    ask("POST", SUBS, [near("ann"), near("bob", 1.0)])
    asked = ["", "", "?subscriptions=ann", "?subscriptions=bob", "?subscriptions=bob,ann"]
    with ExitStack() as stack:
        readers = [stack.enter_context(Reader(server.address, EVENTS + query)) for query in asked]
        for reader in readers:
            reader.until("ready")
        ask("POST", PUBS, [point(1, 1.0)])
        told = [[row[0] for row in shown(reader.next())] for reader in readers]
        assert told == [["ann", "bob"], ["ann", "bob"], ["ann"], ["bob"], ["ann", "bob"]]
        ask("DELETE", SUBS + "/ann")
        ended = [reader.next().data["ended"] for i, reader in enumerate(readers) if i != 3]
        assert ended == [["ann"]] * 4
    step = Pushed(NumberedStep(StepId("e", 1), pa.table({}), ("bob",)), {"ann": ["1"]}, {}, {}, None, {})
    assert step.event_for(["ann", "bob"]) is step.event_for(("ann", "bob"))
    assert step.event_for(["ann"]).data == '{"step":"e.1","changes":[1]}'
    assert step.event_for(["ann", "bob"]).data == '{"step":"e.1","changes":[1],"ended":["bob"]}'


def test_what_was_missed_is_told_to_one_who_resumes(server: Running, ask: Ask) -> None:
    ask("POST", SUBS, [near("ann"), near("bob", 9.0, 1)])
    with Reader(server.address, EVENTS + "?subscriptions=ann") as reader:
        last = reader.until("ready")[-1].id
    ask("POST", PUBS, [point(1, 1.0)])
    ask("PUT", SUBS + "/bob", near("bob", 5.0, 1))
    ask("POST", PUBS, [point(2, 2.0)])
    with Reader(server.address, EVENTS + "?subscriptions=ann", last) as reader:
        missed = reader.until("ready")
        assert [shown(event) for event in missed[:-1]] == [[("ann", "enter", 1, 1)], [("ann", "enter", 2, 2)]]
    with Reader(server.address, f"{EVENTS}?subscriptions=ann&mode=latest&last_event_id={last}") as reader:
        netted, ready = reader.until("ready")
        assert shown(netted) == [("ann", "enter", 1, 1), ("ann", "enter", 2, 2)]
        assert netted.data["net"] is True
        assert netted.id == ready.id
    with Reader(server.address, EVENTS + "?subscriptions=ann", ready.id) as reader:
        assert [event.kind for event in reader.until("ready")] == ["ready"]


@pytest.mark.parametrize(
    ("last", "said"),
    [("0000.1", "another epoch"), ("nonsense", "no id"), ("{epoch}.999", "has not been"), ("{epoch}.0", "too old")],
)
def test_what_cannot_be_resumed_is_reset_and_told_anew(start: Callable[..., Running], last: str, said: str) -> None:
    server = start(streams={"s": WINDOW}, limits={"ring": 3})
    call(server.address, "POST", SUBS, [near("ann")])
    for i in range(9):
        step = call(server.address, "POST", PUBS, [point(i, 9.0 - i)]).body["step"]
    last = last.format(epoch=step.partition(".")[0])
    with Reader(server.address, EVENTS + "?subscriptions=ann", last) as reader:
        reset, snapshot, ready = reader.until("ready")
        assert (reset.kind, said in reset.data["reason"], reset.id) == ("reset", True, None)
        assert [row["publication"] for row in snapshot.data["tops"][0]["top"]] == [8, 7]
        assert ready.id == step


def test_resuming_goes_on_after_the_server_was_stopped(start: Callable[..., Running]) -> None:
    first = start(streams={"s": WINDOW}, checkpoint_every=2)
    call(first.address, "POST", SUBS, [near("ann")])
    with Reader(first.address, EVENTS + "?subscriptions=ann") as reader:
        last = reader.until("ready")[-1].id
        for i in range(4):
            call(first.address, "POST", PUBS, [point(i, 9.0 - i)])
        told = [reader.next() for _ in range(4)]
        first.__exit__(None, None, None)
        closing = reader.next()
        assert (closing.kind, closing.data["reason"], closing.data["resumable"]) == ("closing", "stopping", True)
        assert list(reader.rest()) == []
    second = start(streams={"s": WINDOW})
    with Reader(second.address, EVENTS + "?subscriptions=ann", last) as reader:
        assert reader.until("ready")[:-1] == told


def test_a_restored_folder_begins_a_new_epoch(start: Callable[..., Running], tmp_path: Any) -> None:
    first = start(streams={"s": WINDOW})
    call(first.address, "POST", SUBS, [near("ann")])
    last = call(first.address, "POST", PUBS, [point(1, 1.0)]).body["step"]
    first.__exit__(None, None, None)
    with Running(first.config, restored=True) as second, Reader(second.address, EVENTS, last) as reader:
        assert [event.kind for event in reader.until("ready")] == ["reset", "snapshot", "ready"]


def test_latest_nets_what_happened_between_two_events(server: Running, ask: Ask) -> None:
    ask("POST", SUBS, [near("ann", k=1)])
    with Reader(server.address, EVENTS + "?subscriptions=ann&mode=latest&rate=1") as reader:
        reader.until("ready")
        ask("POST", PUBS, [point(0, 100.0)])
        assert shown(reader.next()) == [("ann", "enter", 0, 1)]
        for i in range(1, 9):
            ask("POST", PUBS, [point(i, 9.0 - i)])
        found = [reader.next()]
        while found[-1].data["changes"][-1]["publication"] != 8:
            found.append(reader.next())
        assert len(found) < 8
        assert all(event.data["net"] for event in found)
        assert [row[1] for event in found for row in shown(event)] == ["leave", "enter"] * len(found)


def test_nothing_is_told_in_latest_where_all_is_as_it_was() -> None:
    async def run() -> list[Any]:
        listener = LatestListener(PushRequest(("t", "s"), mode="latest"), most_bytes=600)
        listener.begin(AttachedTo(frozenset(["ann"]), StepId("e", 0), [], {"ann": ((0, 1.0),)}))
        for i, top in enumerate([((1, 0.5),), ((0, 1.0),)], 1):
            step = NumberedStep(StepId("e", i), pa.table({}))
            listener.offer(Pushed(step, {}, {"ann": top}, {"ann": [top[0][0]]}, i, {}), ["ann"])
        waiting = asyncio.create_task(listener.next())
        await asyncio.sleep(0.01)
        assert not waiting.done()
        step = NumberedStep(StepId("e", 3), pa.table({}), ("ann",))
        listener.offer(Pushed(step, {}, {"ann": ()}, {}, 3, {}), ["ann"])
        return await waiting

    (event,) = asyncio.run(run())
    told = json.loads(event.data)
    assert (event.id, [(row["op"], row["publication"]) for row in told["changes"]]) == ("e.3", [("leave", 0)])
    assert told["ended"] == ["ann"]


def test_a_reader_that_stalls_is_told_to_resume_and_nobody_else_waits(start: Callable[..., Running]) -> None:
    server = start(streams={"s": WINDOW}, limits={"queued": "8KiB"}, stall=0.3)
    call(server.address, "POST", SUBS, [near("ann", k=100)])
    slow = Reader(server.address, EVENTS + "?subscriptions=ann", reads=False)
    with Reader(server.address, EVENTS + "?subscriptions=ann") as quick:
        quick.until("ready")
        n = 400
        for i in range(n):
            rows = [point(100 * i + j, 1e6 - 100 * i - j) for j in range(100)]
            call(server.address, "POST", PUBS, rows)
            assert len(quick.next().data["changes"]) in (100, 200)
            if "skyband_connections 1\n" in call(server.address, "GET", "/metrics").body:
                break
        assert i < n - 1, "the slow reader was never cut off"
    slow.close()


def test_a_slow_reader_of_every_step_gets_all_up_to_the_end(server: Running, ask: Ask) -> None:
    """What waits when it becomes too much is sent all the same, so that the last id seen has no hole before it."""

    async def run() -> list[Any]:
        listener = EveryListener(PushRequest(("t", "s")), most_bytes=600)
        listener.ids = None
        for i in range(1, 100):
            step = NumberedStep(StepId("e", i), pa.table({}))
            listener.offer(Pushed(step, {"ann": ['{"x":1}'] * 5}, {}, {}, None, {}), ["ann"])
        return await listener.next() + await listener.next()

    events = asyncio.run(run())
    assert [event.id for event in events[:-1]] == [f"e.{i}" for i in range(1, len(events))]
    assert events[-1].kind == "closing"
    assert json.loads(events[-1].data)["reason"] == "overflow"
    assert 2 <= len(events) < 10


def test_signs_of_life_carry_the_id_to_resume_from(start: Callable[..., Running]) -> None:
    server = start(streams={"s": WINDOW}, beat=0.1)
    call(server.address, "POST", SUBS, [near("ann"), near("far", 1e9, 1)])
    with Reader(server.address, EVENTS + "?subscriptions=far", beats=True) as reader:
        reader.until("ready")
        call(server.address, "POST", PUBS, [point(1, 1e9)])
        reader.until("changes")
        step = call(server.address, "POST", PUBS, [point(2, 1.0)]).body["step"]
        while (event := reader.next()).id != step:
            assert event.kind == "beat"


def test_a_stream_that_is_dropped_says_so(server: Running, ask: Ask) -> None:
    with Reader(server.address, EVENTS) as reader:
        reader.until("ready")
        ask("DELETE", "/v1/streams/s")
        closing = reader.next()
        assert (closing.kind, closing.data["reason"], closing.data["resumable"]) == ("closing", "dropped", False)
        assert list(reader.rest()) == []


def test_events_of_ranked_are_matches(server: Running, ask: Ask) -> None:
    ask("POST", "/v1/streams", {"name": "r", "family": "ranked"})
    ask("POST", "/v1/streams/r/subscriptions", [{"id": "a", "lo": [0], "hi": [5]}])
    assert ask("GET", "/v1/streams/r/events?mode=latest").status == 422
    with Reader(server.address, "/v1/streams/r/events?subscriptions=a") as reader:
        reader.until("ready")
        ask("POST", "/v1/streams/r/publications", [{"id": 1, "ts": 1, "point": [3]}])
        assert reader.next().data["changes"] == [{"event": 1, "subscription": "a", "score": 1.0, "rank": 1}]


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("?subscriptions=nobody", 404),
        ("?mode=some", 422),
        ("?rate=5", 422),
        ("?mode=latest&rate=x", 422),
        ("?mode=latest&rate=0", 422),
        ("?mode=latest&rate=nan", 422),
        ("?strange=1", 422),
    ],
)
def test_what_cannot_be_listened_to(ask: Ask, query: str, status: int) -> None:
    answer = ask("GET", EVENTS + query)
    assert (answer.status, answer.headers["content-type"]) == (status, "application/problem+json")


def test_connections_are_forgotten_when_readers_go(server: Running, ask: Ask) -> None:
    readers = [Reader(server.address, EVENTS) for _ in range(5)]
    for reader in readers:
        reader.until("ready")
    assert "skyband_connections 5\n" in ask("GET", "/metrics").body
    for reader in readers:
        reader.close()
    deadline = time.monotonic() + 60
    while "skyband_connections 0\n" not in ask("GET", "/metrics").body:
        assert time.monotonic() < deadline


def test_a_websocket_has_the_same_envelopes(server: Running, ask: Ask) -> None:
    ask("POST", SUBS, [near("ann")])
    place = server.address.replace("http", "ws") + "/v1/streams/s/ws?subscriptions=ann"
    with connect(place) as socket, Reader(server.address, EVENTS + "?subscriptions=ann") as reader:
        for event in reader.until("ready"):
            assert json.loads(socket.recv(60)) == {"event": event.kind, "id": event.id, "data": event.data}
        ask("POST", PUBS, [point(1, 1.0)])
        event = reader.next()
        assert json.loads(socket.recv(60)) == {"event": event.kind, "id": event.id, "data": event.data}
    with connect(place + f"&last_event_id={reader.last}") as socket:
        assert json.loads(socket.recv(60))["event"] == "ready"
        ask("DELETE", "/v1/streams/s")
        assert json.loads(socket.recv(60))["event"] == "closing"
        with pytest.raises(ConnectionClosed):
            socket.recv(60)


@pytest.mark.parametrize(
    ("path", "origin", "status"),
    [
        ("/v1/streams/none/ws", None, 404),
        ("/v1/streams/s/ws?mode=some", None, 422),
        ("/v1/streams", None, 422),
        ("/v1/streams/s/ws", "https://elsewhere.example", 403),
    ],
)
def test_a_websocket_that_cannot_be_is_refused(server: Running, path: str, origin: Any, status: int) -> None:
    with pytest.raises(InvalidStatus) as refused:
        connect(server.address.replace("http", "ws") + path, origin=origin)
    assert refused.value.response.status_code == status
    assert json.loads(refused.value.response.body or b"")["status"] == status
