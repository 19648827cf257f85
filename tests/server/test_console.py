"""The console: its files and their policy, its feed, and the sessions of browsers."""

import re
from collections.abc import Callable

import pytest

from skyband.server import Running
from skyband.server.console.recent import RecentPublications
from skyband.server.console.static_file import POLICY, static_files
from skyband.server.store.rows import rows_body
from tests.server.calling import WINDOW, Reader, Reply, call
from tests.server.conftest import Start

Ask = Callable[..., Reply]
ANN = {"id": "ann", "k": 2, "score": "euclidean", "point": [0.0]}
FEED = "/v1/console/feed?stream=s&subscription=ann"


def publish(ask: Ask, *ids: int) -> None:
    rows = [{"id": id, "ts": id, "point": [float(id)], "text": f"number {id}"} for id in ids]
    assert ask("POST", "/v1/streams/s/publications", rows).status == 200


def admin_token(server: Running) -> str:
    made = call(server.address, "POST", "/v1/tokens", {"title": "a person", "scopes": ["read", "admin"]})
    return str(made.body["token"])


def test_every_file_is_sent_with_the_policy(server: Running, ask: Ask) -> None:
    for path, file in static_files().items():
        sent = ask("GET", path)
        assert sent.status == 200, path
        assert sent.headers["content-security-policy"] == POLICY
        assert sent.headers["content-type"] == file.kind
        assert ask("GET", path, headers={"if-none-match": file.tag}).status == 304


def test_the_policy_names_no_other_address_and_lets_nothing_inline() -> None:
    assert "unsafe" not in POLICY
    assert not re.search(r"https?:|\*", POLICY)


def test_pages_name_no_other_address_and_have_no_inline_code() -> None:
    for path, file in static_files().items():
        if "/vendor/" in path or not file.kind.startswith("text/"):
            continue
        text = file.data.decode()
        assert not re.search(r"(src|href|from|import|url)\s*[=(]?\s*[\"'(](https?:)?//", text), path
        assert "innerHTML" not in text, path
        if path.endswith(".html"):
            assert not re.search(r"<script(?![^>]*\ssrc=)|\son\w+=|<style|\sstyle=", text), path


def test_no_other_file_can_be_asked_for(ask: Ask) -> None:
    for path in ("/console/../feed.py", "/console/%2e%2e/feed.py", "/console/nothing.js", "/console"):
        assert ask("GET", path).status == 404


def test_a_page_needs_no_token_and_tells_nothing(server: Running) -> None:
    admin_token(server)
    assert call(server.address, "GET", "/").status == 200
    for path in ("/v1/session", "/v1/console/feed", "/v1/console/streams/s/publications?id=1"):
        assert call(server.address, "GET", path).status == 401


def test_the_feed_tells_tops_rows_and_vitals(server: Running, ask: Ask) -> None:
    publish(ask, 1)
    ask("POST", "/v1/streams/s/subscriptions", [ANN])
    with Reader(server.address, FEED) as reader:
        seen = {event.kind: event.data for event in (reader.next() for _ in range(5))}
        assert [entry["publication"] for entry in seen["snapshot"]["tops"][0]["top"]] == [1]
        assert seen["published"]["rows"] == [{"id": 1, "ts": 1, "point": [1.0], "text": "number 1"}]
        assert seen["vitals"]["streams"][0]["published"] == 1
        assert seen["vitals"]["engine"]["counters"]["publications"] == 1
        publish(ask, 2)
        assert [row["op"] for row in reader.until("changes")[-1].data["changes"]] == ["enter"]


def test_the_feed_resumes_where_it_was_broken_off(server: Running, ask: Ask) -> None:
    ask("POST", "/v1/streams/s/subscriptions", [ANN])
    with Reader(server.address, FEED) as reader:
        reader.until("ready")
        last = reader.last
    publish(ask, 1)
    with Reader(server.address, FEED, last=last) as reader:
        missed = reader.until("changes")
    assert "snapshot" not in [event.kind for event in missed]
    assert [row["publication"] for row in missed[-1].data["changes"]] == [1]


def test_a_feed_without_a_stream_tells_how_the_server_is(server: Running) -> None:
    with Reader(server.address, "/v1/console/feed") as reader:
        vitals = reader.next()
    assert (vitals.kind, vitals.data["engine"]) == ("vitals", None)


def test_one_who_sees_some_subscriptions_is_not_shown_what_is_published(server: Running, ask: Ask) -> None:
    publish(ask, 1)
    made = ask("POST", "/v1/tokens", {"scopes": ["read"], "prefix": "ann"}).body["token"]
    with Reader(server.address, "/v1/console/feed?stream=s", token=made) as reader:
        kinds = [reader.next().kind for _ in range(4)]
    assert "published" not in kinds
    rows = call(server.address, "GET", "/v1/console/streams/s/publications?id=1", token=made)
    other = call(server.address, "GET", "/v1/console/feed?stream=s&subscription=bob", token=made)
    assert (rows.status, other.status) == (403, 403)


def test_rows_are_found_by_id(ask: Ask) -> None:
    publish(ask, 1, 2)
    publish(ask, 3)
    found = ask("GET", "/v1/console/streams/s/publications?id=1&id=3&id=7").body["rows"]
    assert sorted(row["text"] for row in found) == ["number 1", "number 3"]


def test_an_answer_is_explained(ask: Ask) -> None:
    ask("POST", "/v1/streams/s/subscriptions", [ANN])
    publish(ask, 1, 2, 3)
    why = ask("GET", "/v1/streams/s/explain?subscription=ann&publication=1").body
    why_not = ask("GET", "/v1/streams/s/explain?subscription=ann&publication=3").body
    assert (why["in_top"], why["rank"], why["n_competing"]) == (True, 1, 3)
    assert (why_not["in_top"], why_not["rank"], why_not["missed_by"]) == (False, 3, 1.0)
    assert ask("GET", "/v1/streams/s/explain?subscription=bob&publication=1").status == 404


def test_rows_are_found_after_a_restart(start: Start) -> None:
    server = start(streams={"s": WINDOW})
    publish(lambda *given: call(server.address, *given), 1)
    server.__exit__(None, None, None)
    found = call(start().address, "GET", "/v1/console/streams/s/publications?id=1")
    assert [row["text"] for row in found.body["rows"]] == ["number 1"]


def test_a_session_stands_for_its_token(server: Running) -> None:
    token = admin_token(server)
    begun = call(server.address, "POST", "/v1/session", token=token)
    kept = begun.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(kept.split("; "))
    assert token not in kept
    cookie = {"cookie": kept.partition(";")[0]}
    assert call(server.address, "GET", "/v1/session", headers=cookie).body["scopes"] == ["admin", "read"]
    name = begun.body["token"]
    assert call(server.address, "DELETE", f"/v1/tokens/{name}", headers=cookie).status == 204
    assert call(server.address, "GET", "/v1/session", headers=cookie).status == 401


@pytest.mark.parametrize("change", [lambda text: text[:-1], lambda text: text.replace(".", "A."), lambda text: "x=1"])
def test_a_session_that_was_changed_lets_nobody_in(server: Running, change: Callable[[str], str]) -> None:
    token = admin_token(server)
    cookie = call(server.address, "POST", "/v1/session", token=token).headers["set-cookie"].partition(";")[0]
    assert call(server.address, "GET", "/v1/session", headers={"cookie": change(cookie)}).status == 401


def test_a_session_outlives_a_restart(start: Start) -> None:
    server = start()
    token = admin_token(server)
    cookie = call(server.address, "POST", "/v1/session", token=token).headers["set-cookie"].partition(";")[0]
    server.__exit__(None, None, None)
    assert call(start().address, "GET", "/v1/session", headers={"cookie": cookie}).status == 200


def test_only_so_many_bytes_are_held() -> None:
    recent, key = RecentPublications(most_bytes=100), ("default", "s")
    for id in range(20):
        recent.note(key, rows_body([{"id": id}]), 1)
    _, rows = recent.since(key, 0, 1000)
    assert [row["id"] for row in rows] == list(range(20 - len(rows), 20))
    assert 0 < len(rows) < 12
    assert recent.n_rows[key] == 20
    assert recent.since(key, 0, 2)[1] == rows[-2:]
