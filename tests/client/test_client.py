"""The clients against a running server: every call, events across lost connections, and rows in both formats."""

import asyncio
import datetime
import queue
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from skyband.client import (
    AsyncClient,
    ChangesEvent,
    Client,
    ClosingEvent,
    ReadyEvent,
    ResetEvent,
    ServerProblem,
    SnapshotEvent,
    StandingTops,
    StreamOver,
    TopRow,
    Unreachable,
    VerbDone,
)
from skyband.client import asking as asking_module
from skyband.client.row_body import row_body
from skyband.contract.explanation import Explanation
from skyband.server import Running
from tests.client.relay import Relay
from tests.server.calling import WINDOW
from tests.server.conftest import server, start  # noqa: F401  # fixtures

Start = Callable[..., Running]


@pytest.fixture
def client(server: Running) -> Iterator[Client]:  # noqa: F811
    with Client(server.address) as client:
        yield client


def near(id: Any, x: float = 0.0, k: int = 2) -> dict[str, Any]:
    return {"id": id, "k": k, "score": "euclidean", "point": [x]}


def point(id: Any, x: float, ts: int = 1) -> dict[str, Any]:
    return {"id": id, "ts": ts, "point": [x]}


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hardly wait between two attempts."""
    monkeypatch.setattr(asking_module, "FIRST_PAUSE", 0.01)


def test_all_calls(client: Client) -> None:
    opened = client.open_stream("t", "window", window="10m")
    assert [stream["name"] for stream in client.streams()] == ["s", "t"]
    assert client.stream("t")["family"] == opened["family"] == "window"
    assert client.subscribe("t", [near("ann"), near("a b/c", 9.0, 1)], ttl="1h").rows == 2
    done = client.publish("t", [point(i, float(i)) for i in range(5)])
    assert (done.rows, done.changes, done.late) == (5, 3, 0)
    assert client.top("t", "ann") == [TopRow(1, 0, 0.0), TopRow(2, 1, 1.0)]
    assert client.put("t", near("ann", 4.0, 1)).rows == 1
    assert client.top("t", "ann") == [TopRow(1, 4, 0.0)]
    assert client.resize("t", "ann", 2).changes == 1
    assert client.preview("t", [near("x", 2.0, 1)]) == {"x": [TopRow(1, 2, 0.0)]}
    why = client.explain("t", "ann", 0)
    assert (why.in_top, why.rank, why.score, why.missed_by) == (False, 5, 4.0, 3.0)
    assert Explanation.of(why.as_dict()) == why
    assert [row["id"] for row in client.subscriptions("t")] == ["a b/c", "ann"]
    assert client.retract("t", [4, 77]).rows == 1
    assert client.top("t", "ann")[0].publication == 3
    assert client.unsubscribe("t", "ann").rows == 1
    assert client.advance("t", 600_000_001).changes == 1
    assert client.send("GET", "/v1/streams", limit=1)["next"] == "s"
    client.drop_stream("t")
    with pytest.raises(ServerProblem) as told:
        client.stream("t")
    assert (told.value.status, told.value.kind) == (404, "no-stream")


def test_all_calls_of_the_async_client_are_those_of_the_other() -> None:
    names = [name for name in vars(Client) if not name.startswith("_")]
    assert [name for name in vars(AsyncClient) if not name.startswith("_")] == names


def test_rejects_are_told_with_rows_of_either_format(client: Client) -> None:
    for n in (3, 200):
        rows = [point(i, float(i)) for i in range(n)]
        rows[2]["ts"] = "soon"
        with pytest.raises(ServerProblem) as told:
            client.publish("s", rows)
        assert told.value.kind == "rejected"
        assert [(each["row"], each["column"]) for each in told.value.rejects] == [(3, "ts")]


def rows_of_time() -> list[dict[str, Any]]:
    return [{"id": 1, "ts": datetime.datetime(2026, 1, 1), "point": np.array([1.0])}]


@pytest.mark.parametrize(
    "rows",
    [
        pa.table({"id": range(250), "ts": [1] * 250, "point": [[float(i)] for i in range(250)]}),
        pa.record_batch({"id": range(3), "ts": [1] * 3, "point": [[float(i)] for i in range(3)]}),
        [point(i, float(i)) for i in range(250)],
        (point(i, float(i)) for i in range(250)),
        point(0, 0.0),
        rows_of_time(),
        [],
    ],
    ids=["table", "batch", "rows", "generator", "one", "times", "none"],
)
def test_rows_are_sent_as_they_come(client: Client, rows: Any) -> None:
    n = rows.num_rows if hasattr(rows, "num_rows") else 1 if isinstance(rows, dict) else None
    n = n if n is not None else len(rows) if isinstance(rows, list) else 250
    client.subscribe("s", near("ann", k=1))
    done = client.publish("s", rows, batch_rows=100)
    assert (done.rows, done.step is None) == (n, n == 0)


def test_many_rows_go_as_a_table_with_all_their_columns() -> None:
    rows: list[Mapping[str, Any]] = [{"id": 0}, *({"id": i, "x": i / 2} for i in range(1, 100))]
    content, kind, n = row_body(rows)
    assert (kind, n) == ("application/vnd.apache.arrow.stream", 100)
    table = pa.ipc.open_stream(content).read_all()
    assert table["x"].to_pylist() == [None, *(i / 2 for i in range(1, 100))]
    assert row_body(rows[:99]).media_type == "application/json"


def test_what_cannot_be_sent_is_named(client: Client) -> None:
    with pytest.raises(TypeError, match="cannot be sent"):
        client.publish("s", [{"id": object()}])
    with pytest.raises(ValueError, match="batch_rows"):
        client.publish("s", [point(1, 1.0)], batch_rows=0)


def test_a_verb_whose_answer_was_lost_is_done_once(server: Running, quick: None) -> None:  # noqa: F811
    with Relay(server.address) as relay, Client(relay.address) as through, Client(server.address) as direct:
        direct.subscribe("s", near("ann", k=9))
        send = through._transport.send

        def lossy(call: Any) -> Any:
            reply = send(call)
            if reply.status == 200 and not lost:
                lost.append(call)
                raise Unreachable("The answer was lost.")
            return reply

        lost: list[Any] = []
        through._transport.send = lossy  # type: ignore[method-assign]
        assert through.publish("s", [point(1, 1.0)]).rows == 1
        assert lost
        assert direct.top("s", "ann") == [TopRow(1, 1, 1.0)]


def test_a_server_that_is_not_there_is_named(quick: None) -> None:
    with Client("http://127.0.0.1:9", seconds=1) as client, pytest.raises(Unreachable, match="cannot be reached"):
        client.streams()


def test_tops_are_the_servers_across_cut_connections(server: Running, quick: None) -> None:  # noqa: F811
    told, chance = StandingTops(), np.random.default_rng(1)
    with Relay(server.address) as relay, Client(server.address) as client, Client(relay.address) as lossy:
        client.subscribe("s", [near("ann", 5.0, 3), near("bob", 2.0, 2)])
        with lossy.follow("s") as events:
            n = 0
            for event in events:
                told.take(event)
                if isinstance(event, ReadyEvent) and n >= 40:
                    break
                if isinstance(event, ReadyEvent | ChangesEvent) and n < 40:
                    client.publish("s", [point(10 * n + i, float(chance.integers(0, 9)), n * 10**8) for i in range(2)])
                    client.publish("s", [point(-n - 1, float(5 - n % 3), n * 10**8)])
                    n += 1
                if n % 8 == 0 or n == 40:
                    relay.cut()
            while told.of("ann") != client.top("s", "ann") or told.of("bob") != client.top("s", "bob"):
                told.take(next(events))
        assert relay.n_connections > 3
        assert len(told.of("ann")) == 3


def test_who_goes_on_from_an_id_is_told_what_was_missed(client: Client) -> None:
    client.subscribe("s", near("ann"))
    with client.follow("s", "ann") as events:
        assert [type(next(events)) for _ in range(2)] == [SnapshotEvent, ReadyEvent]
        client.publish("s", point(1, 1.0))
        next(events)
    # The event that was given last counts as seen once the next is asked for.
    last = events.last
    client.publish("s", point(2, 0.5))
    with client.follow("s", "ann", last=last) as events:
        missed = [next(events), next(events)]
    assert [row["publication"] for event in missed if isinstance(event, ChangesEvent) for row in event.changes] == [
        1,
        2,
    ]
    with client.follow("s", last="0000.1") as events:
        assert isinstance(next(events), ResetEvent)


def test_a_stream_that_is_dropped_is_over(client: Client) -> None:
    client.subscribe("s", near("ann"))
    with client.follow("s", mode="latest", rate=50) as events:
        while not isinstance(next(events), ReadyEvent):
            pass
        client.publish("s", point(1, 1.0))
        event = next(events)
        assert isinstance(event, ChangesEvent)
        assert event.net
        client.drop_stream("s")
        assert isinstance(next(events), ClosingEvent)
        with pytest.raises(StreamOver, match="dropped"):
            next(events)
    with pytest.raises(ServerProblem), client.follow("s") as events:
        next(events)


def test_a_function_is_called_with_each_event(client: Client) -> None:
    heard: queue.Queue[Any] = queue.Queue()
    client.subscribe("s", near("ann"))
    with client.call_back(heard.put, "s", "ann") as calling:
        assert [type(heard.get(timeout=60)) for _ in range(2)] == [SnapshotEvent, ReadyEvent]
        done = client.publish("s", point(1, 1.0))
        assert heard.get(timeout=60).step == done.step
    assert heard.empty()
    assert calling.last is not None

    def fail(event: object) -> None:
        raise KeyError("ann")

    failing = client.call_back(fail, "s")
    with pytest.raises(KeyError):
        failing.join()


def test_the_async_client(server: Running, quick: None) -> None:  # noqa: F811
    async def use(relay: Relay) -> StandingTops:
        told = StandingTops()
        async with AsyncClient(relay.address) as client:
            assert (await client.subscribe("s", [near("ann", 3.0)])).rows == 1
            async with client.follow("s", "ann") as events:
                n = 0
                async for event in events:
                    told.take(event)
                    if isinstance(event, ReadyEvent | ChangesEvent) and n < 5:
                        await client.publish("s", [point(n, float(n))])
                        n += 1
                        relay.cut()
                    elif told.of("ann") == await client.top("s", "ann") and n == 5:
                        break
            heard: asyncio.Queue[Any] = asyncio.Queue()
            task = asyncio.create_task(client.call_back(heard.put, "s"))
            assert isinstance(await asyncio.wait_for(heard.get(), 60), SnapshotEvent)
            task.cancel()
            with pytest.raises(ServerProblem):
                await client.stream("none")
            assert await client.publish("s", []) == VerbDone(None)
        return told

    with Relay(server.address) as relay:
        told = asyncio.run(use(relay))
    assert [row.publication for row in told.of("ann")] == [3, 4]


def test_a_token_is_shown(start: Start) -> None:  # noqa: F811
    server = start(streams={"s": WINDOW})  # noqa: F811
    with Client(server.address) as first:
        token = first.send("POST", "/v1/tokens", {"title": "all", "scopes": ["admin", "read"]})["token"]
        with pytest.raises(ServerProblem) as told:
            first.streams()
        assert told.value.status == 401
    with Client(server.address, token) as known:
        assert [stream["name"] for stream in known.streams()] == ["s"]
