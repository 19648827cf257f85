"""Webhooks of a running server: their routes, and that messages are the steps of the stream, whatever happens."""

import asyncio
import json
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skyband.client import ChangesEvent, ResetEvent, SnapshotEvent, StandingTops
from skyband.client.stream_event import top_rows
from skyband.client.webhook_message import WebhookMessage, verify_webhook
from skyband.server import BadServerConfig, Running, make_server_config
from skyband.server.push.hub import Hub
from skyband.server.push.listener import Listener
from skyband.server.push.push_request import PushRequest
from tests.server.calling import WINDOW, Reply, call
from tests.server.receiving import ReceivedHook, Receiver
from tests.server.test_kill import Life

Start = Callable[..., Running]
SUBS = "/v1/streams/s/subscriptions"
PUBS = "/v1/streams/s/publications"
HOOKS = "/v1/webhooks"


@pytest.fixture
def ask(start: Start) -> Callable[..., Reply]:
    server = start(streams={"s": WINDOW}, private_webhooks=True)
    return lambda *given, **more: call(server.address, *given, **more)


def near(id: Any, x: float = 0.0, k: int = 2) -> dict[str, Any]:
    return {"id": id, "k": k, "score": "euclidean", "point": [x]}


def point(id: Any, x: float) -> dict[str, Any]:
    return {"id": id, "ts": 1, "point": [x]}


def attempted(ask: Callable[..., Reply], place: str, n: int) -> None:
    """Wait until so many attempts are written down, which is a moment after the receiver has seen them."""
    end = time.monotonic() + 60
    while (found := len(ask("GET", place + "/attempts").body["attempts"])) < n:
        assert time.monotonic() < end, f"{found} of {n} attempts are written down"
        time.sleep(0.01)


def messages(received: list[ReceivedHook], secret: str) -> list[WebhookMessage]:
    return [verify_webhook(secret, got.headers, got.body) for got in received]


def summed(found: list[WebhookMessage]) -> StandingTops:
    """The tops that messages tell, which have to hang together."""
    tops, previous = StandingTops(), None
    for message in found:
        data = message.data
        assert data["previous"] == previous
        if message.type == "top.reset":
            tops.take(ResetEvent(data["reason"]))
            continue
        previous = data["step"]
        if message.type == "top.snapshot":
            parts = {top["subscription"]: top_rows(top["top"]) for top in data["tops"]}
            tops.take(SnapshotEvent(previous, parts))
        else:
            tops.take(ChangesEvent(previous, data["changes"], data.get("ended", []), data.get("net", False)))
    return tops


def test_messages_are_the_tops_and_then_all_steps(ask: Callable[..., Reply]) -> None:
    ask("POST", SUBS, [near("ann"), near("bob", 9.0)])
    ask("POST", PUBS, [point(0, 5.0)])
    with Receiver() as receiver:
        made = ask("POST", HOOKS, {"stream": "s", "url": receiver.url, "subscriptions": ["ann"]})
        assert (made.status, made.headers["location"]) == (201, f"{HOOKS}/{made.body['id']}")
        receiver.until(1)
        for i in range(1, 6):
            ask("POST", PUBS, [point(i, 5.0 - i)])
        found = messages(receiver.until(6), made.body["secret"])
    assert [message.type for message in found] == ["top.snapshot"] + ["top.changes"] * 5
    assert len({message.id for message in found}) == 6
    shown = [row._asdict() for row in summed(found).of("ann")]
    assert shown == ask("GET", SUBS + "/ann/top").body["top"]
    assert list(summed(found)) == ["ann"]
    assert found[-1].data["stream"] == "s"


def test_a_webhook_that_was_made_listens(ask: Callable[..., Reply], monkeypatch: pytest.MonkeyPatch) -> None:
    """What is published at once after the answer is a message of its own, however slowly the webhook begins."""
    listen = Hub.listen

    async def listen_late(self: Hub, request: PushRequest) -> Listener:
        await asyncio.sleep(0.5)
        return await listen(self, request)

    ask("POST", SUBS, [near("ann")])
    monkeypatch.setattr(Hub, "listen", listen_late)
    with Receiver() as receiver:
        made = ask("POST", HOOKS, {"stream": "s", "url": receiver.url})
        ask("POST", PUBS, [point(1, 5.0)])
        found = ordered(receiver.until(2), made.body["secret"])
    assert [message.type for message in found] == ["top.snapshot", "top.changes"]


def test_nothing_is_lost_or_made_twice_when_the_server_is_stopped(start: Start) -> None:
    secret, down = "", [False]
    with Receiver(lambda n: 500 if down[0] else 200) as receiver:
        for run in range(3):
            server = start(streams={"s": WINDOW}, private_webhooks=True)
            if not run:
                call(server.address, "POST", SUBS, [near("ann", k=3)])
                made = call(server.address, "POST", HOOKS, {"stream": "s", "url": receiver.url}).body
                secret = made["secret"]
                receiver.until(1)
            down[0] = run == 1
            for i in range(4):
                call(server.address, "POST", PUBS, [point(10 * run + i, 50.0 - 10 * run - i)])
            if down[0]:
                receiver.until(6)
            else:
                top = call(server.address, "GET", SUBS + "/ann/top").body["top"]
                while len(found := ordered(list(receiver.received), secret)) < 1 + 4 * (run + 1):
                    time.sleep(0.02)
                assert [row._asdict() for row in summed(found).of("ann")] == top
            server.__exit__(None, None, None)
    assert len(found) == 13


def ordered(received: list[ReceivedHook], secret: str) -> list[WebhookMessage]:
    """Each message once, in the order of the steps; one that came twice has to say the same."""
    kept: dict[str, WebhookMessage] = {}
    for message in messages(received, secret):
        assert kept.setdefault(message.id, message) == message
    return sorted(kept.values(), key=lambda each: int(each.data["step"].rpartition(".")[2]))


def test_nothing_is_lost_or_made_twice_when_the_server_is_killed(tmp_path: Path) -> None:
    chance, n = random.Random(7), 0
    with Receiver() as receiver:
        for life in range(3):
            server = Life(tmp_path, "private_webhooks: true\n")
            if not life:
                call(server.address, "POST", SUBS, [near("ann", k=3)])
                secret = call(server.address, "POST", HOOKS, {"stream": "s", "url": receiver.url}).body["secret"]
                receiver.until(1)
            for _ in range(chance.randrange(5, 25)):
                n += 1
                assert call(server.address, "POST", PUBS, [point(n, 1000.0 - n)]).status == 200
            if life < 2:
                server.kill()
        try:
            top = call(server.address, "GET", SUBS + "/ann/top").body["top"]
            end = time.monotonic() + 60
            while len(found := ordered(list(receiver.received), secret)) < 1 + n:
                assert time.monotonic() < end, f"{len(found)} of {1 + n} messages have come"
                time.sleep(0.05)
        finally:
            server.kill()
    assert [row._asdict() for row in summed(found).of("ann")] == top
    assert len(found) == 1 + n


def test_latest_sends_the_difference_to_the_newest_tops(ask: Callable[..., Reply]) -> None:
    ask("POST", SUBS, [near("ann", k=1)])
    with Receiver() as receiver:
        made = ask("POST", HOOKS, {"stream": "s", "url": receiver.url, "mode": "latest"}).body
        receiver.until(1)
        receiver.gate.clear()
        for i in range(20):
            ask("POST", PUBS, [point(i, 30.0 - i)])
        receiver.gate.set()
        top = ask("GET", SUBS + "/ann/top").body["top"]
        while True:
            found = messages(list(receiver.received), made["secret"])
            if [row._asdict() for row in summed(found).of("ann")] == top:
                break
            time.sleep(0.02)
    # The one with the tops, one that was under way meanwhile, and one that waited.
    assert len(found) <= 3


def test_webhooks_are_listed_changed_and_removed(ask: Callable[..., Reply]) -> None:
    ask("POST", SUBS, [near("ann")])
    with Receiver() as first, Receiver() as second:
        made = ask("POST", HOOKS, {"stream": "s", "url": first.url, "title": "one"}).body
        place = f"{HOOKS}/{made['id']}"
        first.until(1)
        attempted(ask, place, 1)
        (listed,) = ask("GET", HOOKS).body["webhooks"]
        assert (listed["title"], listed["state"]) == ("one", "enabled")
        assert not {"secret", "known", "tenant"} & set(listed)
        assert ask("PATCH", place, {"url": second.url, "title": "two"}).body["title"] == "two"
        ask("POST", PUBS, [point(1, 1.0)])
        second.until(1)
        attempted(ask, place, 2)
        assert ask("PATCH", place, {"state": "disabled"}).body["reason"] == "It was disabled by request."
        ask("POST", PUBS, [point(2, 0.5)])
        assert ask("PATCH", place, {"state": "enabled"}).body["reason"] is None
        found = [*messages(first.received, made["secret"]), *messages(second.until(2), made["secret"])]
        assert [row.publication for row in summed(found).of("ann")] == [2, 1]
        attempted(ask, place, 3)
        attempts = ask("GET", place + "/attempts?limit=2").body
        assert ([each["status"] for each in attempts["attempts"]], attempts["next"] is None) == ([200, 200], False)
        assert len(ask("GET", f"{place}/attempts?before={attempts['next']}").body["attempts"]) == 1
        assert ask("GET", f"{place}/attempts?before={2**70}").status == 422
        assert ask("DELETE", place).status == 204
        assert ask("GET", place).body["type"] == "urn:skyband:problem:no-webhook"
        assert [line["action"] for line in ask("GET", "/v1/audit").body["audit"]][:2] == [
            "remove-webhook",
            "change-webhook",
        ]


def test_a_secret_is_replaced_while_both_sign(ask: Callable[..., Reply]) -> None:
    ask("POST", SUBS, [near("ann")])
    with Receiver() as receiver:
        made = ask("POST", HOOKS, {"stream": "s", "url": receiver.url}).body
        receiver.until(1)
        place = f"{HOOKS}/{made['id']}/secret"
        second = ask("POST", place, {}).body["secret"]
        ask("POST", PUBS, [point(1, 1.0)])
        both = receiver.until(2)[1]
        assert {verify_webhook(secret, both.headers, both.body).id for secret in (made["secret"], second)}
        third = ask("POST", place, {"overlap": "0"}).body["secret"]
        ask("POST", PUBS, [point(2, 1.0)])
        last = receiver.until(3)[2]
        assert verify_webhook(third, last.headers, last.body)
        assert len(last.headers["webhook-signature"].split(" ")) == 1
        assert ask("POST", place, {"overlap": "8d"}).status == 422


def test_what_nobody_took_is_kept_and_sent_again(ask: Callable[..., Reply]) -> None:
    ask("POST", SUBS, [near("ann")])
    with Receiver(lambda n: 410 if n == 1 else 200) as receiver:
        made = ask("POST", HOOKS, {"stream": "s", "url": receiver.url}).body
        place = f"{HOOKS}/{made['id']}"
        while ask("GET", place).body["state"] == "enabled":
            time.sleep(0.02)
        (dead,) = ask("GET", place + "/dead").body["dead"]
        assert (dead["kind"], json.loads(dead["body"])["type"]) == ("top.snapshot", "top.snapshot")
        ask("PATCH", place, {"state": "enabled"})
        assert ask("POST", place + "/dead/replay", {"ids": [dead["id"]]}).body == {"replayed": 1}
        again = messages(receiver.until(2), made["secret"])
        assert [message.id for message in again] == [dead["id"]] * 2
        attempted(ask, place, 2)
        assert ask("DELETE", place + "/dead").body == {"dropped": 0}
    metrics = ask("GET", "/metrics").body
    assert 'skyband_webhook_attempts_total{outcome="arrived"} 1' in metrics
    assert 'skyband_webhook_messages{state="dead"} 0' in metrics


def test_a_webhook_whose_stream_is_dropped_is_disabled(ask: Callable[..., Reply]) -> None:
    ask("POST", SUBS, [near("ann")])
    with Receiver() as receiver:
        place = f"{HOOKS}/{ask('POST', HOOKS, {'stream': 's', 'url': receiver.url}).body['id']}"
        receiver.until(1)
        ask("DELETE", "/v1/streams/s")
        while (hook := ask("GET", place).body)["state"] == "enabled":
            time.sleep(0.02)
        assert hook["reason"] == "The stream was dropped."


@pytest.mark.parametrize(
    ("given", "status", "said"),
    [
        ({"url": "http://127.0.0.1/"}, 422, "stream"),
        ({"stream": "s", "url": "nothing"}, 422, "url begins with"),
        ({"stream": "none", "url": "http://127.0.0.1/"}, 404, "no stream"),
        ({"stream": "s", "url": "http://127.0.0.1/", "subscriptions": ["bob"]}, 404, "no subscription 'bob'"),
        ({"stream": "s", "url": "http://127.0.0.1/", "rate": 3}, 422, "mode latest"),
        ({"stream": "s", "url": "http://127.0.0.1/", "mode": "none"}, 422, "mode"),
        ({"stream": "s", "url": "http://no-such-host.invalid/"}, 422, "not known"),
        ({"stream": "s", "url": "http://127.0.0.1/", "strange": 1}, 422, "strange"),
    ],
)
def test_what_no_webhook_can_be(ask: Callable[..., Reply], given: dict[str, Any], status: int, said: str) -> None:
    answer = ask("POST", HOOKS, given)
    assert answer.status == status
    assert said in answer.body["detail"]
    assert ask("GET", HOOKS).body["webhooks"] == []


def test_private_addresses_are_refused_unless_they_are_allowed(start: Start, tmp_path: Path) -> None:
    address = start(streams={"s": WINDOW}).address
    for url in ("http://example.org/", "https://127.0.0.1/", "https://localhost/"):
        assert call(address, "POST", HOOKS, {"stream": "s", "url": url}).status == 422
    with pytest.raises(BadServerConfig, match="private_webhooks"):
        make_server_config({"private_webhooks": "yes"})


def test_the_file_of_the_secrets_is_the_owners_alone(start: Start) -> None:
    server = start(streams={"s": WINDOW})
    assert (server.config.data / "webhooks.sqlite").stat().st_mode & 0o777 == 0o600


def test_webhooks_end_with_their_tenant(ask: Callable[..., Reply]) -> None:
    token = ask("POST", "/v1/tokens", {"scopes": ["admin"]}).body["token"]

    def other() -> str:
        ask("PUT", "/v1/tenants/other", {}, token=token)
        made: str = ask("POST", "/v1/tokens", {"scopes": ["admin"], "tenant": "other"}, token=token).body["token"]
        ask("POST", "/v1/streams", {"name": "t", **WINDOW}, token=made)
        return made

    first = other()
    with Receiver() as receiver:
        assert ask("POST", HOOKS, {"stream": "t", "url": receiver.url}, token=first).status == 201
    assert ask("DELETE", "/v1/tenants/other", token=token).status == 204
    assert ask("GET", HOOKS, token=other()).body["webhooks"] == []


def test_webhooks_of_others_are_not_there(start: Start) -> None:
    address = start(streams={"s": WINDOW}, private_webhooks=True).address
    token = call(address, "POST", "/v1/tokens", {"scopes": ["admin", "subscribe", "publish"]}).body["token"]

    def ask(*given: Any, **more: Any) -> Reply:
        return call(address, *given, **{"token": token} | more)

    ask("POST", SUBS, [near("a.1"), near("b.1")])
    narrow = ask("POST", "/v1/tokens", {"scopes": ["admin"], "prefix": "a."}).body["token"]
    ask("PUT", "/v1/tenants/other", {})
    other = ask("POST", "/v1/tokens", {"scopes": ["admin"], "tenant": "other"}).body["token"]
    with Receiver() as receiver:
        wide = ask("POST", HOOKS, {"stream": "s", "url": receiver.url}).body["id"]
        given = {"stream": "s", "url": receiver.url}
        assert ask("POST", HOOKS, given | {"subscriptions": ["b.1"]}, token=narrow).status == 403
        made = ask("POST", HOOKS, given, token=narrow).body
        for foreign in (narrow, other):
            assert ask("GET", f"{HOOKS}/{wide}", token=foreign).status == 404
            assert ask("DELETE", f"{HOOKS}/{wide}", token=foreign).status == 404
        assert [hook["id"] for hook in ask("GET", HOOKS, token=narrow).body["webhooks"]] == [made["id"]]
        ask("POST", PUBS, [point(1, 1.0)])
        found = [got for got in receiver.until(4) if made["id"] in got.headers["webhook-id"]]
        assert list(summed(messages(found, made["secret"]))) == ["a.1"]
