"""Access: every route with every scope, tokens and tenants, rates and quotas, and where requests may come from."""

import json
import logging
import re
import shutil
import ssl
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from skyband.server import BadServerConfig, Running, make_server_config
from skyband.server.access import doorway
from skyband.server.access.rate import Bucket, TooFast
from skyband.server.access.token import SCOPES, is_token, new_token
from skyband.server.http.application import make_routes, with_events
from tests.server.calling import WINDOW, Reader, Reply, call

SUBS = "/v1/streams/s/subscriptions"
PUBS = "/v1/streams/s/publications"

# What each route takes. A route that is not listed here, or takes another scope, fails the test.
ROUTES = {
    "GET /healthz": "open",
    "GET /readyz": "open",
    "GET /static/skyband.js": "open",
    "GET /metrics": "operator",
    "GET /v1/streams": "read",
    "POST /v1/streams": "admin",
    "GET /v1/streams/{stream}": "read",
    "DELETE /v1/streams/{stream}": "admin",
    "POST /v1/streams/{stream}/time": "publish",
    "POST /v1/streams/{stream}/publications": "publish",
    "DELETE /v1/streams/{stream}/publications": "publish",
    "GET /v1/streams/{stream}/subscriptions": "read",
    "POST /v1/streams/{stream}/subscriptions": "subscribe",
    "POST /v1/streams/{stream}/subscriptions/preview": "subscribe",
    "GET /v1/streams/{stream}/subscriptions/{id}": "read",
    "PUT /v1/streams/{stream}/subscriptions/{id}": "subscribe",
    "PATCH /v1/streams/{stream}/subscriptions/{id}": "subscribe",
    "DELETE /v1/streams/{stream}/subscriptions/{id}": "subscribe",
    "GET /v1/streams/{stream}/subscriptions/{id}/top": "read",
    "GET /v1/streams/{stream}/explain": "read",
    "GET /v1/streams/{stream}/events": "read",
    "GET /v1/streams/{stream}/ws": "read",
    "GET /v1/webhooks": "admin",
    "POST /v1/webhooks": "admin",
    "GET /v1/webhooks/{id}": "admin",
    "PATCH /v1/webhooks/{id}": "admin",
    "DELETE /v1/webhooks/{id}": "admin",
    "POST /v1/webhooks/{id}/secret": "admin",
    "GET /v1/webhooks/{id}/attempts": "admin",
    "GET /v1/webhooks/{id}/dead": "admin",
    "POST /v1/webhooks/{id}/dead/replay": "admin",
    "DELETE /v1/webhooks/{id}/dead": "admin",
    "GET /v1/tokens": "admin",
    "POST /v1/tokens": "admin",
    "DELETE /v1/tokens/{name}": "admin",
    "POST /v1/tickets": "read",
    "GET /v1/tenants": "operator",
    "PUT /v1/tenants/{name}": "operator",
    "DELETE /v1/tenants/{name}": "operator",
    "GET /v1/audit": "admin",
    "GET /v1/session": "read",
    "POST /v1/session": "read",
    "DELETE /v1/session": "read",
    "GET /v1/console/feed": "read",
    "GET /v1/console/streams/{stream}/covering": "read",
    "GET /v1/console/streams/{stream}/publications": "read",
}
SENT: dict[str, Any] = {
    "POST /v1/streams": {"name": "new", "family": "window", "engine": "scan"},
    "POST /v1/streams/{stream}/time": {"now": 10},
    "POST /v1/streams/{stream}/publications": [],
    "POST /v1/streams/{stream}/subscriptions": [],
    "POST /v1/streams/{stream}/subscriptions/preview": [],
    "PUT /v1/streams/{stream}/subscriptions/{id}": {"id": "ann", "k": 1, "score": "euclidean", "point": [0]},
    "PATCH /v1/streams/{stream}/subscriptions/{id}": {"k": 2},
    "POST /v1/webhooks": {"stream": "s", "url": "https://127.0.0.1/"},
    "PATCH /v1/webhooks/{id}": {},
    "POST /v1/webhooks/{id}/secret": {},
    "POST /v1/webhooks/{id}/dead/replay": {},
    "POST /v1/tokens": {"scopes": ["read"]},
    "PUT /v1/tenants/{name}": {},
}


def near(id: Any, x: float = 0.0, k: int = 2) -> dict[str, Any]:
    return {"id": id, "k": k, "score": "euclidean", "point": [x]}


class Guarded:
    """A server that has tokens: for each scope, for another tenant, and one for everything."""

    def __init__(self, start: Callable[..., Running], **given: Any) -> None:
        self.server = start(streams={"s": WINDOW}, **given)
        self.admin = ""
        self.admin = self.token("admin", list(SCOPES))["token"]
        call(self.server.address, "POST", SUBS, [near("ann")], token=self.admin)

    def ask(self, method: str, path: str, body: Any = None, token: str | None = None, **more: Any) -> Reply:
        """Send a request with a token, or with none."""
        return call(self.server.address, method, path, body, token=token, **more)

    def token(self, title: str, scopes: list[str], **more: Any) -> dict[str, Any]:
        """A new token."""
        answer = self.ask("POST", "/v1/tokens", {"title": title, "scopes": scopes} | more, self.admin or None)
        assert answer.status == 201, answer
        made: dict[str, Any] = answer.body
        return made


@pytest.fixture
def guarded(start: Callable[..., Running]) -> Guarded:
    return Guarded(start)


def status_of(guarded: Guarded, route: str, token: str | None, sent: Any = None) -> int:
    """What a route answers; of events, whether they begin."""
    method, path = route.split(" ")
    path = path.replace("{stream}", "s").replace("{id}", "ann").replace("{name}", "unheard-of")
    if path.endswith(("/events", "/feed")):
        with Reader(guarded.server.address, path, token=token) as reader:
            return reader.status
    if path.endswith("/ws"):
        try:
            headers = {"authorization": f"Bearer {token}"} if token else {}
            with connect(guarded.server.address.replace("http", "ws") + path, additional_headers=headers):
                return 101
        except InvalidStatus as refused:
            return refused.response.status_code
    if path.endswith("/explain"):
        path += "?subscription=ann&publication=7"
    if route.endswith("/publications") and method != "POST":
        path += "?id=none"
    return guarded.ask(method, path, SENT.get(route, sent), token).status


def test_the_table_has_every_route() -> None:
    document = with_events(make_routes().openapi())
    found = {
        f"{method.upper()} {path}": verb["x-scope"]
        for path, verbs in document["paths"].items()
        for method, verb in verbs.items()
    }
    assert found == ROUTES


def test_every_route_takes_its_scope_and_no_other(guarded: Guarded) -> None:
    tokens = {scope: guarded.token(scope, [scope])["token"] for scope in SCOPES}
    # What takes something away comes last.
    for route, needed in sorted(ROUTES.items(), key=lambda item: item[0].startswith("DELETE")):
        for scope, token in tokens.items():
            allowed = needed in ("open", scope) or (needed == "operator" and scope == "admin")
            status = status_of(guarded, route, token)
            assert (status not in (401, 403)) == allowed, (route, scope, status)
            assert status < 500, (route, scope)
        assert (status_of(guarded, route, None) == 401) == (needed != "open"), route
        assert (status_of(guarded, route, new_token().text) == 401) == (needed != "open"), route


def test_the_audit_trail_begins_at_no_number_that_cannot_be(guarded: Guarded) -> None:
    assert guarded.ask("GET", f"/v1/audit?before={2**70}", token=guarded.admin).status == 422


def test_another_tenant_sees_and_changes_nothing(guarded: Guarded) -> None:
    guarded.ask("PUT", "/v1/tenants/other", {"limits": {"streams": 1}}, guarded.admin)
    other = guarded.token("other", list(SCOPES), tenant="other")["token"]
    before = guarded.ask("GET", "/v1/streams/s", token=guarded.admin).body
    for route, needed in ROUTES.items():
        status = status_of(guarded, route, other)
        if "{stream}" in route:
            assert status == 404, route
        if needed == "operator":
            assert status == 403, route
    assert guarded.ask("GET", "/v1/streams/s", token=guarded.admin).body == before
    assert guarded.ask("GET", "/v1/streams", token=other).body["streams"][0]["name"] == "new"
    assert guarded.ask("GET", "/v1/streams/new", token=guarded.admin).status == 404
    mine = [(line["action"], line["tenant"]) for line in guarded.ask("GET", "/v1/audit", token=other).body["audit"]]
    assert mine == [("log-in", "other"), ("make-token", "other"), ("open", "other")]
    assert guarded.ask("POST", "/v1/streams", {"name": "x", "family": "window"}, other).body["type"].endswith(":quota")
    assert guarded.ask("POST", "/v1/tokens", {"scopes": ["read"], "tenant": "default"}, other).status == 403
    assert guarded.ask("DELETE", "/v1/tenants/other", token=guarded.admin).status == 204
    assert guarded.ask("GET", "/v1/streams", token=other).status == 401
    assert guarded.ask("DELETE", "/v1/tenants/default", token=guarded.admin).status == 404


def test_what_another_tenant_has_is_not_there_by_any_route(guarded: Guarded) -> None:
    guarded.ask("PUT", "/v1/tenants/other", {}, guarded.admin)
    other = guarded.token("other", list(SCOPES), tenant="other")["token"]
    mine = guarded.token("mine", ["read"])
    hook = guarded.ask("POST", "/v1/webhooks", {"stream": "s", "url": "https://1.1.1.1/"}, guarded.admin).body["id"]
    kept = [guarded.ask("GET", path, token=guarded.admin).body for path in ("/v1/tokens", "/v1/webhooks", SUBS)]
    for route in ROUTES:
        if "{" not in route or ("{name}" in route and "tenants" in route):
            continue
        method, path = route.split(" ")
        path = path.replace("webhooks/{id}", f"webhooks/{hook}").replace("{name}", mine["name"])
        assert status_of(guarded, f"{method} {path}", other, SENT.get(route)) == 404, route
    assert [guarded.ask("GET", path, token=guarded.admin).body for path in ("/v1/tokens", "/v1/webhooks", SUBS)] == kept
    assert guarded.ask("GET", "/v1/streams", token=mine["token"]).status == 200


def test_tokens_and_tenants_come_in_pages(guarded: Guarded) -> None:
    titles = [f"number {i}" for i in range(5)]
    for title in titles:
        guarded.token(title, ["read"])
        guarded.ask("PUT", f"/v1/tenants/{title.replace(' ', '-')}", {}, guarded.admin)

    def listed(path: str, noun: str, name: str) -> list[str]:
        found: list[str] = []
        after: str | None = ""
        while after is not None:
            page = guarded.ask("GET", f"{path}?limit=2&after={after}", token=guarded.admin).body
            assert len(page[noun]) <= 2
            found += [each[name] for each in page[noun]]
            after = page["next"]
        return found

    assert listed("/v1/tokens", "tokens", "title") == ["admin", *titles]
    assert listed("/v1/tenants", "tenants", "name") == ["default", *(title.replace(" ", "-") for title in titles)]


def test_a_prefix_shows_and_changes_its_own_subscriptions_alone(guarded: Guarded) -> None:
    own = guarded.token("own", ["subscribe", "read", "publish", "admin"], prefix="b-")["token"]
    assert guarded.ask("POST", SUBS, [near("b-1"), near("ann2")], own).status == 403
    assert guarded.ask("POST", SUBS, [near("b-1")], own).status == 201
    for method, path, body in (
        ("GET", SUBS + "/ann", None),
        ("GET", SUBS + "/ann/top", None),
        ("PUT", SUBS + "/ann", near("ann")),
        ("PATCH", SUBS + "/ann", {"k": 1}),
        ("DELETE", SUBS + "/ann", None),
        ("GET", "/v1/streams/s/events?subscriptions=ann", None),
        ("GET", "/metrics", None),
    ):
        assert guarded.ask(method, path, body, own).status == 403, path
    assert [row["id"] for row in guarded.ask("GET", SUBS, token=own).body["subscriptions"]] == ["b-1"]
    with Reader(guarded.server.address, "/v1/streams/s/events", token=own) as reader:
        assert [top["subscription"] for top in reader.next().data["tops"]] == ["b-1"]
        last = reader.next().id
        answer = guarded.ask("POST", PUBS + "?rows=true", [{"id": 1, "ts": 1, "point": [0]}], own)
        assert [row["subscription"] for row in answer.body["rows"]] == ["b-1"]
        assert [row["subscription"] for row in reader.next().data["changes"]] == ["b-1"]
    with Reader(guarded.server.address, "/v1/streams/s/events", last, own) as reader:
        assert [row["subscription"] for row in reader.next().data["changes"]] == ["b-1"]
    assert guarded.ask("POST", "/v1/tokens", {"scopes": ["read"]}, own).status == 403
    assert guarded.ask("POST", "/v1/tokens", {"scopes": ["read"], "prefix": "b-x"}, own).status == 201


def test_a_token_is_shown_once_and_its_hash_alone_is_kept(guarded: Guarded) -> None:
    made = guarded.token("shown", ["read"], ttl="1h")
    assert is_token(made["token"])
    listed = guarded.ask("GET", "/v1/tokens", token=guarded.admin)
    assert [token["title"] for token in listed.body["tokens"]] == ["admin", "shown"]
    assert listed.body["tokens"][1]["expires"] - listed.body["tokens"][1]["created"] == 3_600_000_000
    everything = b"".join(path.read_bytes() for path in guarded.server.config.data.rglob("*") if path.is_file())
    for text in (made["token"], guarded.admin):
        assert text.encode() not in everything
        assert text.encode()[13:56] not in everything
        assert text not in json.dumps(listed.body)


def test_a_revoked_token_is_shut_out_and_its_connections_end(guarded: Guarded) -> None:
    made = guarded.token("short", ["read"])
    with Reader(guarded.server.address, "/v1/streams/s/events", token=made["token"]) as reader:
        reader.until("ready")
        assert guarded.ask("DELETE", f"/v1/tokens/{made['name']}", token=guarded.admin).status == 204
        assert reader.until("closing")[-1].data["reason"] == "token"
    assert guarded.ask("GET", "/v1/streams", token=made["token"]).status == 401
    assert guarded.ask("DELETE", "/v1/tokens/nobody", token=guarded.admin).status == 404


def test_an_expired_token_is_shut_out_and_its_connections_end(
    guarded: Guarded, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = guarded.token("short", ["read"], ttl="1h")
    with Reader(guarded.server.address, "/v1/streams/s/events", token=made["token"]) as reader:
        reader.until("ready")
        monkeypatch.setattr(doorway, "now_us", lambda: made["expires"])
        assert reader.until("closing")[-1].data["reason"] == "token"
    assert guarded.ask("GET", "/v1/streams", token=made["token"]).status == 401


def test_tokens_that_were_mistyped_are_known_by_their_checksum() -> None:
    text = new_token().text
    assert is_token(text)
    for i in range(len(text)):
        assert not is_token(text[:i] + ("x" if text[i] != "x" else "y") + text[i + 1 :])
    assert not is_token(text[:-1])
    assert not is_token(text + "0")


def test_a_ticket_lets_in_once(guarded: Guarded) -> None:
    reads = guarded.token("reads", ["read"])["token"]
    ticket = guarded.ask("POST", "/v1/tickets", token=reads).body["ticket"]
    place = f"{guarded.server.address.replace('http', 'ws')}/v1/streams/s/ws?ticket={ticket}"
    with connect(place) as socket:
        assert json.loads(socket.recv(60))["event"] == "snapshot"
    with pytest.raises(InvalidStatus) as refused:
        connect(place)
    assert refused.value.response.status_code == 401
    assert guarded.ask("GET", f"/v1/streams?ticket={ticket}").status == 401


def test_what_was_done_is_written_down_without_secrets(guarded: Guarded) -> None:
    guarded.ask("POST", "/v1/streams", {"name": "t", "family": "window"}, guarded.admin)
    guarded.ask("DELETE", "/v1/streams/t", token=guarded.admin)
    lines = guarded.ask("GET", "/v1/audit", token=guarded.admin).body
    assert [(line["action"], line["target"]) for line in lines["audit"][:2]] == [("drop", "t"), ("open", "t")]
    assert lines["audit"][0]["token"] == guarded.admin[4:12]
    assert guarded.admin not in json.dumps(lines)
    page = guarded.ask("GET", "/v1/audit?limit=1", token=guarded.admin).body
    rest = guarded.ask("GET", f"/v1/audit?before={page['next']}", token=guarded.admin).body
    assert page["audit"] + rest["audit"] == lines["audit"]


def test_logs_have_no_secrets(guarded: Guarded, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        ticket = guarded.ask("POST", "/v1/tickets", token=guarded.admin).body["ticket"]
        guarded.ask("GET", f"/v1/streams/s/events?ticket={ticket}&mode=some")
        guarded.ask("POST", PUBS, [{"id": "secret-row", "ts": 1, "point": "x"}], guarded.admin)
    assert "POST /v1/tickets 201" in caplog.text
    for secret in (guarded.admin, ticket, "secret-row"):
        assert secret not in caplog.text


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"host": "localhost:1"}, 200),
        ({"host": "[::1]:1"}, 200),
        ({"host": "rebound.example"}, 403),
        ({"origin": "https://elsewhere.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "https://allowed.example"}, 200),
    ],
)
def test_pages_of_other_sites_are_kept_out(
    start: Callable[..., Running], headers: Mapping[str, str], status: int
) -> None:
    server = start(origins=["https://allowed.example"])
    answer = call(server.address, "GET", "/v1/streams", headers=headers)
    assert answer.status == status
    own = {"origin": server.address}
    assert call(server.address, "GET", "/v1/streams", headers=own).status == 200


def test_a_named_site_is_told_that_it_may_read(start: Callable[..., Running]) -> None:
    server = start(origins=["https://allowed.example"])
    asked = call(server.address, "OPTIONS", "/v1/streams", headers={"origin": "https://allowed.example"})
    assert (asked.status, asked.headers["access-control-allow-origin"]) == (204, "https://allowed.example")
    assert "access-control-allow-origin" not in call(server.address, "GET", "/v1/streams").headers


def test_every_answer_has_the_headers_that_keep_browsers_safe(guarded: Guarded) -> None:
    for path in ("/healthz", "/v1/streams", "/nowhere", "/openapi.json"):
        headers = guarded.ask("GET", path).headers
        assert headers["content-security-policy"].startswith("default-src 'none'")
        assert (headers["x-content-type-options"], headers["cache-control"]) == ("nosniff", "no-store")
        assert "server" not in headers


def test_limits_are_in_force(start: Callable[..., Running]) -> None:
    limits = {"body": 2000, "rows": 10, "k": 5, "streams": 2, "subscriptions": 3, "connections": 1}
    server = start(streams={"s": WINDOW}, limits=limits)

    def ask(*given: Any) -> Reply:
        return call(server.address, *given)

    rows = [{"id": i, "ts": 1, "point": [0]} for i in range(11)]
    assert ask("POST", PUBS, rows).body["type"].endswith(":quota")
    assert ask("POST", PUBS, [rows[0] | {"note": "x" * 3000}]).status == 413
    assert ask("POST", SUBS, [near("a", k=6)]).body["rejects"][0]["reason"] == "k must be at most 5 here"
    assert ask("POST", SUBS, [near(i) for i in range(4)]).body["type"].endswith(":quota")
    assert ask("POST", SUBS, [near(i) for i in range(3)]).status == 201
    assert ask("PATCH", SUBS + "/1", {"k": 6}).body["type"].endswith(":quota")
    assert ask("POST", "/v1/streams", {"name": "t", "family": "window"}).status == 201
    assert ask("POST", "/v1/streams", {"name": "u", "family": "window"}).body["type"].endswith(":quota")
    with Reader(server.address, "/v1/streams/s/events") as reader:
        reader.until("ready")
        assert ask("GET", "/v1/streams/s/events").status == 403


def test_more_than_the_rate_is_told_when_to_come_again(start: Callable[..., Running]) -> None:
    server = start(streams={"s": WINDOW}, limits={"published": 1})
    many, one = ([{"id": i, "ts": 1, "point": [0]} for i in ids] for ids in (range(1000), [1000]))
    assert call(server.address, "POST", PUBS, many).status == 200
    refused = call(server.address, "POST", PUBS, one)
    assert (refused.status, int(refused.headers["retry-after"]) > 100) == (429, True)


def test_a_bucket_holds_two_seconds_and_fills_again() -> None:
    now = [0.0]
    bucket = Bucket("things", 10, lambda: now[0])
    for _ in range(20):
        bucket.take()
    with pytest.raises(TooFast) as refused:
        bucket.take()
    assert refused.value.seconds == pytest.approx(0.1)
    now[0] += 0.1
    bucket.take()
    now[0] += 100
    bucket.take(50)
    now[0] += 2.9
    with pytest.raises(TooFast):
        bucket.take()
    Bucket("things", 0).take(1e9)


def test_other_machines_are_answered_only_with_tokens(tmp_path: Any) -> None:
    config = make_server_config({"port": 0, "host": "0.0.0.0", "data": str(tmp_path)})
    with pytest.raises(BadServerConfig, match="there is no token yet"), Running(config):
        pass


def test_the_folder_is_for_nobody_else(guarded: Guarded) -> None:
    data = guarded.server.config.data
    assert data.stat().st_mode & 0o777 == 0o700
    assert (data / "metadata.sqlite").stat().st_mode & 0o777 == 0o600
    assert re.fullmatch(r"[\w.-]+", data.name)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_tls_is_spoken_where_a_certificate_is_given(start: Callable[..., Running], tmp_path: Path) -> None:
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    words = "req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1"
    made = ["openssl", *words.split(), "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(made, check=True, capture_output=True)
    server = start(certificate=str(certificate), private_key=str(key))
    assert server.address.startswith("https://127.0.0.1:")
    context = ssl.create_default_context(cafile=certificate)
    with urlopen(server.address + "/v1/streams", context=context, timeout=20) as answer:
        assert json.loads(answer.read()) == {"streams": [], "next": None}
        assert answer.headers["strict-transport-security"] == "max-age=31536000"
