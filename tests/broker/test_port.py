"""The port for clients: what may be asked, how it is refused, and following across all that happens."""

import asyncio
import json
import socket
import ssl
import urllib.error
import urllib.request
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from skyband.broker import (
    AsyncBrokerClient,
    BrokerRefused,
    BrokerUnreachable,
    ChangesTold,
    NetworkChart,
    RunningBroker,
    TopsTold,
)
from skyband.broker.port.access import token_digest
from tests.broker.certificates import Authority
from tests.broker.processes import at, eventually, near
from tests.broker.threads import asking, chart_of, running

ALONE = ("berlin",)


def talk(broker: RunningBroker, *lines: Any) -> list[dict[str, Any]]:
    """What is answered to lines that no client of ours sends."""
    with socket.create_connection(("127.0.0.1", broker.ports.clients or 0)) as place, place.makefile("rwb") as file:
        for line in lines:
            file.write(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n")
        file.flush()
        return [json.loads(file.readline()) for _ in lines]


def get(broker: RunningBroker, path: str) -> tuple[int, str]:
    """What is answered at the port for operations."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{broker.ports.operations}{path}", timeout=60) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


@pytest.fixture
def chart(tmp_path: Path) -> NetworkChart:
    return chart_of(tmp_path, ALONE)


def test_everything_that_may_be_asked(chart: NetworkChart) -> None:
    with running(chart, "berlin") as (broker,), asking(broker) as client:
        client.subscribe([near("ann", 0, 0), near(7, 9, 9, k=1)])
        assert client.subscriptions() == ["ann", 7]
        done = client.publish([at(i, i, i) for i in range(5)])
        assert [row.id for row in done] == [0, 1, 2, 3, 4]
        assert [b.number - a.number for a, b in pairwise(done)] == [1] * 4
        assert [b.ts >= a.ts for a, b in pairwise(done)] == [True] * 4
        eventually(lambda: {entry.publication for entry in client.top(["ann"]).rows} == {0, 1})
        client.retract([0])
        eventually(lambda: [entry.publication for entry in client.top(["ann"]).rows] == [1, 2])
        (entry,) = client.top([7]).rows
        assert (entry.publication, entry.origin, entry.rank) == (4, "berlin", 1)
        client.unsubscribe(["ann"])
        assert client.subscriptions() == [7]
        client.unsubscribe([7])
        assert not eventually(lambda: [state for state in [client.drain()] if not state.n_subscriptions])[0].is_free
        with pytest.raises(BrokerRefused, match="about to leave"):
            client.publish([at(99, 0, 0)])


def test_rows_that_are_refused_are_named_and_the_others_taken(chart: NetworkChart) -> None:
    with running(chart, "berlin") as (broker,), asking(broker) as client:
        with pytest.raises(BrokerRefused, match="3 numbers where 2 are expected") as refused:
            client.publish([at(1, 0, 0), {"id": 2, "point": [0, 0, 0]}, at(1, 1, 1), at(3, 1, 1)])
        assert [row.id for row in refused.value.rows] == [2, 1]
        assert "is live already" in refused.value.rows[1].reason
        client.subscribe([near("s", 0, 0)])
        with pytest.raises(BrokerRefused, match="'s' is already registered"):
            client.subscribe([near("s", 0, 0)])
        with pytest.raises(BrokerRefused, match="wider than the horizon"):
            client.subscribe([near("wide", 0, 0, window=10**12)])
        with pytest.raises(BrokerRefused, match="'nobody' is not registered here"):
            client.unsubscribe(["nobody"])
        with pytest.raises(BrokerRefused, match="The publication 5 is not known here"):
            client.retract([5])
        assert len(client.publish([at(4, 1, 1)])) == 1


def test_a_request_with_the_same_key_is_done_once(chart: NetworkChart) -> None:
    request = {"do": "publish", "key": "k", "rows": [at(1, 0, 0), at(2, 0, 0)]}
    with running(chart, "berlin") as (broker,):
        first, again = talk(broker, request | {"n": 1}, request | {"n": 2})
        assert first["done"] == again["done"]
    with running(chart, "berlin") as (broker,):
        (later,) = talk(broker, request)
        assert later["done"] == first["done"]
        with asking(broker) as client:
            assert client.status()["home"]["publications"] == 2


def test_following_goes_on_after_a_restart(chart: NetworkChart) -> None:
    with running(chart, "berlin") as (broker,), asking(broker) as client:
        client.subscribe([near("s", 0, 0, k=1)])
        events = client.follow(["s"])
        first = next(events)
        assert isinstance(first, TopsTold)
        client.publish([at(1, 5, 5)])
        told = next(events)
        assert isinstance(told, ChangesTold)
        assert [(change.number, change.publication, change.op) for change in told.changes] == [(0, 1, "enter")]
        client.publish([at(2, 1, 1)])
        after = next(events)
        assert isinstance(after, ChangesTold)
        assert [change.number for change in after.changes] == [1, 2]
        events.close()
    with running(chart, "berlin") as (broker,), asking(broker) as client:
        events = client.follow(["s"], told.cursor)
        assert next(events) == after
        events.close()


@pytest.mark.parametrize("cursor", ["nonsense", "berlin/other/0", "oslo/abc/5", "berlin/{}/999", "berlin/{}/-1"])
def test_a_cursor_that_does_not_fit_begins_with_the_tops(cursor: str, chart: NetworkChart) -> None:
    with running(chart, "berlin") as (broker,), asking(broker) as client:
        client.subscribe([near("s", 0, 0)])
        events = client.follow(cursor=cursor.format(broker.driver.journal.name))
        told = next(events)
        assert isinstance(told, TopsTold)
        assert told.why.endswith("These are the tops of now: changes follow.")
        assert len(told.why) > 50
        events.close()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"GET / HTTP/1.1\n", "Each line is one JSON object"),
        (b"[" * 100_000 + b"\n", "Each line is one JSON object"),
        (b"\xff\xfe\n", "Each line is one JSON object"),
        ({"do": "dance"}, '"do" is one of hello, publish'),
        ({"do": "publish", "rows": 5}, '"rows" is a list of objects'),
        ({"do": "publish", "rows": [{"point": [0, 0]}]}, 'Row 0 needs an "id"'),
        ({"do": "publish", "rows": [{"id": True}]}, 'Row 0 needs an "id"'),
        ({"do": "publish", "rows": [{"id": 2**70}]}, 'Row 0 needs an "id"'),
        ({"do": "publish", "rows": [{"id": 1, "ts": 5}]}, "leave it out"),
        ({"do": "publish", "rows": [{"id": "x" * 70_000}]}, "a row may have"),
        ({"do": "publish", "rows": [{"id": "\ud800"}]}, "not Unicode"),
        ({"do": "publish", "rows": [], "key": 5}, '"key" is a text'),
        ({"do": "retract", "ids": [1.5]}, '"ids" is a list'),
        ({"do": "top", "ids": "ann"}, '"ids" is a list'),
    ],
)
def test_what_cannot_be_asked(line: Any, said: str, tmp_path: Path) -> None:
    with running(chart_of(tmp_path, ALONE, limits={"frame": "64KiB"}), "berlin") as (broker,):
        answer, status = talk(broker, line, {"do": "status", "n": 5})
        assert said in answer["refused"]
        assert status["done"]["broker"] == "berlin"


def test_a_line_without_end_is_hung_up_on(tmp_path: Path) -> None:
    with running(chart_of(tmp_path, ALONE, limits={"frame": "64KiB"}), "berlin") as (broker,):
        (answer,) = talk(broker, b"x" * 300_000 + b"\n")
        assert "too long" in answer["refused"]


def test_tokens(tmp_path: Path) -> None:
    chart = chart_of(tmp_path, ALONE, clients={"tokens": {"ann": token_digest("secret")}})
    with running(chart, "berlin") as (broker,):
        assert "Nobody is let in" in talk(broker, {"do": "status"})[0]["refused"]
        with asking(broker, token="wrong") as client, pytest.raises(BrokerRefused, match="Nobody is let in"):
            client.status()
        with asking(broker, token="secret") as client:
            assert client.status()["broker"] == "berlin"


def test_a_full_disk_is_told_and_goes_on_when_there_is_room(chart: NetworkChart) -> None:
    with running(chart, "berlin") as (broker,), asking(broker) as client:
        client.subscribe([near("s", 0, 0)])
        client.publish([at(1, 0, 0)])
        broker.driver.journal.limit(1)
        waiting = {"do": "publish", "key": "k", "rows": [at(f"{i} {'x' * 1000}", 1, 1) for i in range(100)]}
        with socket.create_connection(("127.0.0.1", broker.ports.clients or 0)) as place, place.makefile("rwb") as file:
            file.write(json.dumps(waiting).encode() + b"\n")
            file.flush()
            eventually(lambda: broker.driver.trouble)
            (answer,) = talk(broker, {"do": "publish", "rows": [at(3, 0, 0)]})
            (row,) = answer["done"]["rows"]
            assert "until there is room on its disk" in row["refused"]
            assert row["again"]
            assert get(broker, "/health")[0] == 503
            broker.driver.journal.limit(1_000_000)
            assert [set(row) for row in json.loads(file.readline())["done"]["rows"]] == [{"id", "number", "ts"}] * 100
        client.publish([at(4, 0, 0)])
        assert get(broker, "/health") == (200, '{"healthy": true, "reasons": []}')
        eventually(lambda: [entry.publication for entry in client.top().rows] == [4, 1])


def test_figures_and_what_else_is_at_the_port_for_operations(tmp_path: Path) -> None:
    with running(chart_of(tmp_path), "berlin", "oslo") as (berlin, oslo), asking(berlin) as here, asking(oslo) as there:
        here.subscribe([near("s", 0, 0)])
        there.publish([at(1, 0, 0)])
        eventually(lambda: here.top().rows)
        code, text = get(berlin, "/metrics")
        assert code == 200
        figures = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
        assert figures['skyband_broker_link_up{peer="oslo",strategy="covering"}'] == "1"
        assert float(figures['skyband_broker_link_bytes_in_total{peer="oslo",strategy="covering"}']) > 0
        assert figures['skyband_broker_sent_frames_total{kind="Proxy",peer="oslo",strategy="covering"}'] == "1"
        assert figures['skyband_broker_changes_total{strategy="covering"}'] == "1"
        assert json.loads(get(berlin, "/status")[1])["broker"] == "berlin"
        assert get(berlin, "/nothing")[0] == 404
        with socket.create_connection(("127.0.0.1", berlin.ports.operations or 0)) as place:
            place.sendall(b"x" * 100_000)
        assert get(berlin, "/health")[0] == 200


def test_clients_with_certificates(tmp_path: Path) -> None:
    """The port asks for certificates of an authority for clients, even on this machine."""
    authority = Authority(tmp_path)
    for name in ("berlin", "ann"):
        authority.sign(name)
    tls = {"authority": "authority.pem", "certificate": "{name}.pem", "key": "{name}.key"}
    chart = chart_of(tmp_path, ALONE, tls=tls, clients={"authority": "authority.pem"})
    context = ssl.create_default_context(cafile=str(authority.file))
    context.check_hostname = False
    with running(chart, "berlin") as (broker,):
        with asking(broker, seconds=0.5, tls=context) as client, pytest.raises(BrokerUnreachable):
            client.status()
        with asking(broker, seconds=0.5) as client, pytest.raises(BrokerUnreachable):
            client.status()
        context.load_cert_chain(tmp_path / "ann.pem", tmp_path / "ann.key")
        with asking(broker, tls=context) as client:
            assert client.status()["broker"] == "berlin"


def test_a_client_with_a_loop(chart: NetworkChart) -> None:
    async def talk_to(address: str) -> list[Any]:
        async with AsyncBrokerClient(address) as client:
            await client.subscribe([near("s", 0, 0)])
            await client.publish([at(1, 0, 0)])
            async for event in client.follow():
                if isinstance(event, ChangesTold) or event.rows:  # type: ignore[union-attr]
                    break
            return [entry.publication for entry in (await client.top()).rows]

    with running(chart, "berlin") as (broker,):
        assert asyncio.run(talk_to(broker.address)) == [1]
