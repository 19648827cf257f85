"""Backup and restore, as docs/serve.md describes them: a copy of the folder has everything, and begins new epochs."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skyband.server import Running, make_server_config
from skyband.server.access.token import SCOPES
from tests.server.calling import Reader, Reply, call
from tests.server.receiving import Receiver
from tests.server.test_kill import Life

SUBS = "/v1/streams/s/subscriptions"
PUBS = "/v1/streams/s/publications"


def near(id: Any, k: int = 2) -> dict[str, Any]:
    return {"id": id, "k": k, "score": "euclidean", "point": [0.0]}


def point(id: int, x: float) -> dict[str, Any]:
    return {"id": id, "ts": id, "point": [x]}


def filled(address: str, hook: str) -> Callable[..., Reply]:
    """A server with something of everything, and how to ask it."""
    token = call(address, "POST", "/v1/tokens", {"scopes": list(SCOPES)}).body["token"]

    def ask(method: str, path: str, body: Any = None, at: str = address, **more: Any) -> Reply:
        return call(at, method, path, body, token=token, **more)

    ask("PUT", "/v1/tenants/other", {"limits": {"k": 7}})
    ask("POST", SUBS, [near("ann"), near("bob", 1)])
    ask("POST", SUBS + "?ttl=1h", [near("guest")])
    ask("POST", "/v1/webhooks", {"stream": "s", "url": hook})
    for i in range(7):
        assert ask("POST", PUBS, [point(i, float(9 - i))], headers={"idempotency-key": str(i)}).status == 200
    return ask


def what_it_has(ask: Callable[..., Reply], at: str) -> list[Any]:
    """All that has to be there again, but for epochs, and where the webhook is."""
    hooks = [hook | {"cursor": None} for hook in ask("GET", "/v1/webhooks", at=at).body["webhooks"]]
    tops = [ask("GET", f"{SUBS}/{id}/top", at=at).body["top"] for id in ("ann", "bob", "guest")]
    tokens = [token | {"used": None} for token in ask("GET", "/v1/tokens", at=at).body["tokens"]]
    rest = [ask("GET", path, at=at).body for path in (SUBS, "/v1/tenants", "/v1/audit")]
    return [hooks, tops, tokens, rest]


@pytest.mark.parametrize("ends", ["stopped", "killed"])
def test_a_copy_has_everything_and_begins_a_new_epoch(tmp_path: Path, ends: str) -> None:
    (tmp_path / "one").mkdir()
    with Receiver() as receiver:
        life = Life(tmp_path / "one", "private_webhooks: true\n")
        ask = filled(life.address, receiver.url)
        had = what_it_has(ask, life.address)
        receiver.until(8)
        last = ask("GET", SUBS + "/ann/top").body["step"]
        # A snapshot of the file system is what a crash would leave.
        if ends == "stopped":
            life.process.terminate()
            life.process.wait()
        life.kill()
        shutil.copytree(tmp_path / "one" / "skyband-data", tmp_path / "copy")
        again = Life(tmp_path / "one", "private_webhooks: true\n")
        ask("POST", PUBS, [point(100, 0.0)], at=again.address)
        again.kill()
        config = make_server_config({"port": 0, "data": str(tmp_path / "copy"), "private_webhooks": True})
        with Running(config, restored=True) as server:
            assert what_it_has(ask, server.address) == had
            step = ask("GET", SUBS + "/ann/top", at=server.address).body["step"]
            assert step.partition(".")[0] != last.partition(".")[0]
            ticket = ask("POST", "/v1/tickets", at=server.address).body["ticket"]
            with Reader(server.address, f"/v1/streams/s/events?ticket={ticket}", last) as reader:
                assert [event.kind for event in reader.until("ready")] == ["reset", "snapshot", "ready"]
            repeated = ask("POST", PUBS, [point(6, 3.0)], at=server.address, headers={"idempotency-key": "6"})
            assert repeated.body["repeated"]
            ask("POST", PUBS, [point(7, 0.5)], at=server.address)
            # What was sent after the copy may have arrived or not; what is news now comes after a reset.
            n = 8
            while b'"publication":7' not in (body := receiver.until(n)[-1].body.replace(b" ", b"")):
                n += 1
            assert b'"op":"enter"' in body
            assert any(b'"top.reset"' in hook.body for hook in receiver.received)
