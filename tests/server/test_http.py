"""The routes: what is answered, which problems are told, and that nothing is changed by what is refused."""

import errno
import json
from collections.abc import Callable
from typing import Any

import pytest

from skyband.server import Running
from skyband.server.store.journal import Journal, NoRoom
from tests.server.calling import Reply, arrow, call, ndjson

Ask = Callable[..., Reply]
SUBS = "/v1/streams/s/subscriptions"
PUBS = "/v1/streams/s/publications"


def near(id: Any, x: float = 0.0, k: int = 2) -> dict[str, Any]:
    return {"id": id, "k": k, "score": "euclidean", "point": [x]}


def point(id: Any, ts: int, x: float) -> dict[str, Any]:
    return {"id": id, "ts": ts, "point": [x]}


def top_of(ask: Ask, id: str = "ann") -> list[Any]:
    return [row["publication"] for row in ask("GET", f"{SUBS}/{id}/top").body["top"]]


def test_streams_are_opened_listed_and_dropped(ask: Ask) -> None:
    opened = ask("POST", "/v1/streams", {"name": "places", "family": "geotext", "bounds": [0, 0, 10, 10]})
    assert (opened.status, opened.headers["location"]) == (201, "/v1/streams/places")
    listed = ask("GET", "/v1/streams").body
    assert [stream["name"] for stream in listed["streams"]] == ["places", "s"]
    assert listed["next"] is None
    page = ask("GET", "/v1/streams?limit=1").body
    assert (len(page["streams"]), page["next"]) == (1, "places")
    assert [stream["name"] for stream in ask("GET", "/v1/streams?after=places").body["streams"]] == ["s"]
    assert ask("GET", "/v1/streams/places").body["bounds"] == [0, 0, 10, 10]
    assert ask("DELETE", "/v1/streams/places").status == 204
    assert ask("GET", "/v1/streams/places").status == 404


@pytest.mark.parametrize(
    ("given", "status", "said"),
    [
        ({"name": "s", "family": "window"}, 409, "already"),
        ({"name": "a b", "family": "window"}, 422, "letters, digits"),
        ({"name": "x", "family": "covering"}, 422, "family"),
        ({"name": "x", "family": "window", "engine": "nothing"}, 422, "no engine"),
        ({"name": "x", "family": "window", "window": 7}, 422, "duration"),
        ({"name": "x", "family": "window", "options": {"on_error": "collect"}}, 422, "options"),
        ({"name": "x", "family": "window", "options": {"what": 1}}, 422, "what"),
        ({"name": "x", "family": "window", "clock": "sun"}, 422, "clock"),
        ({"name": "x", "family": "window", "strange": 1}, 422, "strange"),
        ({"family": "window"}, 422, "name"),
    ],
)
def test_a_stream_that_cannot_be_is_refused_with_a_sentence(
    ask: Ask, given: dict[str, Any], status: int, said: str
) -> None:
    answer = ask("POST", "/v1/streams", given)
    assert (answer.status, answer.headers["content-type"]) == (status, "application/problem+json")
    assert said in answer.body["detail"]
    assert len(ask("GET", "/v1/streams").body["streams"]) == 1


def test_rows_come_in_three_formats(ask: Ask) -> None:
    assert ask("POST", SUBS, [near("ann", k=9)]).status == 201
    kinds = ("application/json", "application/x-ndjson", "application/vnd.apache.arrow.stream")
    encoders: tuple[Callable[[Any], bytes], ...] = (lambda rows: json.dumps(rows).encode(), ndjson, arrow)
    for i, (kind, encode) in enumerate(zip(kinds, encoders, strict=True)):
        rows = [point(10 * i + j, i, float(i + j)) for j in range(3)]
        answer = ask("POST", PUBS, encode(rows), {"content-type": kind})
        assert (answer.status, answer.body["published"]) == (200, 3), answer
    assert top_of(ask) == [0, 10, 1, 20, 11, 2, 21, 12, 22]


def test_rejects_name_row_column_value_and_reason(ask: Ask) -> None:
    ask("POST", SUBS, [near("ann")])
    ask("POST", PUBS, [point(1, 1, 1.0)])
    answer = ask("POST", PUBS, [point(2, 2, 0.5), point(3, 3, 0.1) | {"ts": "soon"}])
    assert answer.status == 422
    assert answer.body["type"] == "urn:skyband:problem:rejected"
    assert [(r["row"], r["column"], r["value"]) for r in answer.body["rejects"]] == [(2, "ts", "'soon'")]
    live = ask("POST", PUBS, [point(4, 4, 0.3), point(1, 4, 0.2)])
    assert [(r["row"], r["column"], r["reason"]) for r in live.body["rejects"]] == [(2, "id", "is live already")]
    assert top_of(ask) == [1]


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"[", {}, 400),
        (b"\xff", {}, 400),
        (b"<a/>", {"content-type": "text/xml"}, 415),
        (b"[]", {"content-encoding": "gzip"}, 415),
        (b"x", {"content-type": "application/vnd.apache.arrow.stream"}, 400),
        (b"null", {}, 422),
        (b"[]", {"idempotency-key": "x" * 201}, 400),
    ],
)
def test_bodies_that_cannot_be_read(ask: Ask, body: bytes, headers: dict[str, str], status: int) -> None:
    answer = ask("POST", PUBS, body, headers)
    assert (answer.status, answer.body["status"]) == (status, status), answer


@pytest.mark.parametrize("body", [b"", b"[]", b" "])
def test_a_body_without_rows_publishes_nothing(ask: Ask, body: bytes) -> None:
    assert ask("POST", PUBS, body).body["published"] == 0
    assert ask("POST", SUBS, body).body["subscribed"] == 0
    assert ask("POST", SUBS + "/preview", body).body["tops"] == []
    assert ask("PUT", SUBS + "/ann", body).status == 422


def test_a_verb_with_the_same_key_is_done_once(ask: Ask) -> None:
    ask("POST", SUBS, [near("ann")])
    first = ask("POST", PUBS, [point(1, 1, 1.0)], {"idempotency-key": "one"})
    again = ask("POST", PUBS, [point(1, 1, 1.0)], {"idempotency-key": "one"})
    assert (again.status, again.body) == (200, first.body | {"repeated": True})
    other = ask("POST", PUBS, [point(2, 1, 1.0)], {"idempotency-key": "one"})
    assert (other.status, other.body["type"]) == (422, "urn:skyband:problem:key-used")


def test_subscriptions_are_listed_read_replaced_changed_and_withdrawn(ask: Ask) -> None:
    ask("POST", PUBS, [point(i, i, float(i)) for i in range(5)])
    answer = ask("POST", SUBS + "?rows=true", [near("ann"), near("bob", 4.0, 1), near("a/b")])
    assert [(row["subscription"], row["publication"]) for row in answer.body["rows"]][:3] == [
        ("ann", 0),
        ("ann", 1),
        ("bob", 4),
    ]
    page = ask("GET", SUBS + "?limit=2").body
    assert ([row["id"] for row in page["subscriptions"]], page["next"]) == (["a/b", "ann"], "ann")
    assert [row["id"] for row in ask("GET", SUBS + "?after=ann").body["subscriptions"]] == ["bob"]
    read = ask("GET", SUBS + "/bob")
    assert read.body == near("bob", 4.0, 1)
    assert ask("GET", SUBS + "/bob", headers={"if-none-match": read.headers["etag"]}).status == 304
    assert ask("PUT", SUBS + "/bob", near("bob", 0.0, 1)).status == 200
    assert ask("GET", SUBS + "/bob", headers={"if-none-match": read.headers["etag"]}).status == 200
    assert top_of(ask, "bob") == [0]
    assert ask("PUT", SUBS + "/new", near("new", 3.0, 1)).status == 201
    assert ask("PATCH", SUBS + "/bob", {"k": 3}).body["changes"] == 2
    assert top_of(ask, "bob") == [0, 1, 2]
    assert ask("GET", SUBS + "/bob").body["k"] == 3
    assert ask("DELETE", SUBS + "/bob").body["unsubscribed"] == 1
    assert ask("GET", SUBS + "/bob").status == 404
    assert ask("DELETE", SUBS + "/bob").status == 404


def test_subscriptions_may_have_integers_as_ids(ask: Ask) -> None:
    ask("POST", SUBS, [near(7), near(10)])
    ask("POST", PUBS, [point("a", 1, 1.0)])
    assert ask("GET", SUBS + "/7/top").body["subscription"] == 7
    assert [row["id"] for row in ask("GET", SUBS + "?after=7").body["subscriptions"]] == [10]
    assert ask("GET", SUBS + "?after=x").status == 422
    assert ask("PUT", SUBS + "/7", near(7, 1.0)).status == 200
    assert ask("PUT", SUBS + "/8", near(7, 1.0)).status == 422
    assert ask("GET", SUBS + "/x").status == 404
    assert ask("DELETE", PUBS + "?id=a&id=b").body["retracted"] == 1
    assert ask("GET", SUBS + "/7/top").body["top"] == []


def test_a_top_is_told_again_only_after_a_step(ask: Ask) -> None:
    ask("POST", SUBS, [near("ann")])
    first = ask("GET", SUBS + "/ann/top")
    tag = {"if-none-match": first.headers["etag"]}
    assert ask("GET", SUBS + "/ann/top", headers=tag).status == 304
    ask("POST", PUBS, [point(1, 1, 1.0)])
    assert ask("GET", SUBS + "/ann/top", headers=tag).body["top"] == [{"rank": 1, "publication": 1, "score": 1.0}]


def test_a_subscription_that_was_changed_meanwhile_is_left_alone(ask: Ask) -> None:
    ask("POST", SUBS, [near("ann", k=1)])
    tag = ask("GET", SUBS + "/ann").headers["etag"]
    for known in (tag, f'"other", W/{tag}', "*"):
        assert ask("GET", SUBS + "/ann", headers={"if-none-match": known}).status == 304
    old = {"if-match": tag}
    assert ask("PATCH", SUBS + "/ann", {"k": 2}, old).status == 200
    for method, body in (("PUT", near("ann", 5.0)), ("PATCH", {"k": 3}), ("DELETE", None)):
        refused = ask(method, SUBS + "/ann", body, old)
        assert (refused.status, refused.body["type"]) == (412, "urn:skyband:problem:changed"), method
    assert ask("GET", SUBS + "/ann").body["k"] == 2
    new = {"if-match": ask("GET", SUBS + "/ann").headers["etag"]}
    assert ask("PUT", SUBS + "/ann", near("ann", 5.0), new).status == 200
    assert ask("PUT", SUBS + "/bob", near("bob"), {"if-match": "*"}).status == 412
    assert ask("DELETE", SUBS + "/ann", headers={"if-match": "*"}).status == 200


def test_a_preview_registers_nothing(ask: Ask) -> None:
    ask("POST", PUBS, [point(i, i, float(i)) for i in range(3)])
    answer = ask("POST", SUBS + "/preview", [near("ann", 2.0, 1), near("far", 9.0, 1)])
    assert [(top["subscription"], [row["publication"] for row in top["top"]]) for top in answer.body["tops"]] == [
        ("ann", [2]),
        ("far", [2]),
    ]
    assert ask("GET", SUBS).body["subscriptions"] == []
    assert ask("POST", SUBS + "/preview", [near("ann", k=0)]).status == 422


def test_time_passes_when_it_is_told_to(ask: Ask) -> None:
    ask("POST", SUBS, [near("ann")])
    ask("POST", PUBS, [point(1, 0, 1.0)])
    assert ask("POST", "/v1/streams/s/time", {"now": 599_999_999}).body["changes"] == 0
    assert ask("POST", "/v1/streams/s/time", {"now": "1970-01-01T00:10:00"}).body["changes"] == 1
    assert top_of(ask) == []
    assert ask("POST", "/v1/streams/s/time", {"now": 5}).status == 422
    assert ask("POST", "/v1/streams/s/time", {"now": "soon"}).status == 422


def test_every_family_is_served(ask: Ask) -> None:
    for name, given, subscription, publication in (
        ("geotext", {}, {"id": "a", "k": 1, "x": 0, "y": 0, "terms": ["t"], "alpha": 0.5},
         {"id": 1, "ts": 1, "x": 0.1, "y": 0, "terms": ["t"], "weights": [1.0]}),
        ("ranges", {}, {"id": "a", "k": 1, "lo": 0, "hi": 5}, {"id": 1, "ts": 1, "object": "o", "x": 1, "y": 2}),
        ("ranked", {"options": {"k": 3}}, {"id": "a", "lo": [0], "hi": [5]}, {"id": 1, "ts": 1, "point": [3]}),
    ):  # fmt: skip
        assert ask("POST", "/v1/streams", {"name": name, "family": name} | given).status == 201
        assert ask("POST", f"/v1/streams/{name}/subscriptions", [subscription]).status == 201
        answer = ask("POST", f"/v1/streams/{name}/publications?rows=true", [publication])
        assert [row["subscription"] for row in answer.body["rows"]] == ["a"], answer
    assert ask("GET", "/v1/streams/ranked/subscriptions/a/top").status == 422
    asked = [subscription, subscription | {"id": "far", "lo": [4]}]
    previewed = ask("POST", "/v1/streams/ranked/subscriptions/preview", asked).body["tops"]
    assert [(top["subscription"], [row["publication"] for row in top["top"]]) for top in previewed] == [
        ("a", [1]),
        ("far", []),
    ]
    for name, explained in (("geotext", 1), ("ranges", "o"), ("ranked", 1)):
        why = ask("GET", f"/v1/streams/{name}/explain?subscription=a&publication={explained}").body
        assert (why["in_top"], why["rank"], why["family"]) == (True, 1, name), why


def test_a_subscription_with_a_time_to_live_says_goodbye(ask: Ask) -> None:
    assert ask("POST", SUBS + "?ttl=100ms", [near("ann")]).status == 201
    ask("POST", SUBS + "?ttl=1h", [near("bob")])
    assert ask("GET", SUBS + "/bob").body["expires_at"] > 0
    while ask("GET", SUBS + "/ann").status == 200:
        pass
    assert ask("GET", SUBS + "/bob").status == 200
    assert ask("PATCH", SUBS + "/bob", {"ttl": "100ms"}).status == 200
    while ask("GET", SUBS + "/bob").status == 200:
        pass
    assert ask("POST", SUBS + "?ttl=forever", [near("ann")]).status == 422


def test_a_stream_may_follow_the_clock(ask: Ask) -> None:
    ask("POST", "/v1/streams", {"name": "w", "family": "window", "window": "1s", "clock": "wall"})
    ask("POST", "/v1/streams/w/subscriptions", [near("ann")])
    ask("POST", "/v1/streams/w/publications", [point(1, 0, 1.0)])
    while ask("GET", "/v1/streams/w/subscriptions/ann/top").body["top"]:
        pass
    assert ask("GET", "/v1/streams/w").body["now"] > 10**15


def test_a_full_disk_is_told_and_survived(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    ask("POST", SUBS, [near("ann")])

    def fail(*_: object) -> None:
        raise NoRoom(errno.ENOSPC, "The disk is full")

    monkeypatch.setattr(Journal, "append", fail)
    answer = ask("POST", PUBS, [point(1, 1, 1.0)])
    assert (answer.status, answer.body["type"]) == (507, "urn:skyband:problem:no-room")
    assert ask("GET", SUBS + "/ann/top").body["top"] == []
    monkeypatch.undo()
    assert ask("POST", PUBS, [point(1, 1, 1.0)]).status == 200
    assert top_of(ask) == [1]


def test_what_was_acknowledged_is_there_when_the_server_runs_again(start: Callable[..., Running]) -> None:
    first = start(streams={"s": {"family": "window"}}, checkpoint_every=3)
    call(first.address, "POST", SUBS, [near("ann")])
    for i in range(5):
        last = call(first.address, "POST", PUBS, [point(i, i, float(9 - i))], {"idempotency-key": str(i)})
    first.__exit__(None, None, None)
    second = start(streams={"s": {"family": "window"}})
    answer = call(second.address, "GET", SUBS + "/ann/top").body
    assert ([row["publication"] for row in answer["top"]], answer["step"]) == ([4, 3], last.body["step"])
    again = call(second.address, "POST", PUBS, [point(4, 4, 5.0)], {"idempotency-key": "4"})
    assert again.body == last.body | {"repeated": True}


def test_a_second_server_is_kept_off_the_folder(start: Callable[..., Running]) -> None:
    start()
    with pytest.raises(ValueError, match="another writer"):
        start()


def test_health_is_told_and_everything_is_counted(ask: Ask) -> None:
    assert ask("GET", "/healthz").body == {"status": "ok"}
    assert ask("GET", "/readyz").status == 200
    ask("POST", PUBS, [point(1, 1, 1.0)])
    text = ask("GET", "/metrics").body
    assert 'skyband_rows_total{verb="publish"} 1' in text
    assert 'skyband_steps{stream="s",tenant="default"} 1' in text
    assert 'skyband_request_seconds_count{route="/v1/streams/{stream}/publications"} 1' in text


def test_a_damaged_stream_is_not_ready(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    from skyband.contract import Engine

    monkeypatch.setattr(Engine, "publish", lambda *_: 1 / 0)
    assert ask("POST", PUBS, [point(1, 1, 1.0)]).status == 503
    assert ask("GET", "/readyz").body["troubles"] == ["A stream is damaged."]
    monkeypatch.undo()
    assert ask("POST", PUBS, [point(1, 1, 1.0)]).status == 503


def test_the_document_describes_every_route(ask: Ask) -> None:
    document = ask("GET", "/openapi.json").body
    assert set(document["paths"]["/v1/streams/{stream}/subscriptions/{id}"]) == {"get", "put", "patch", "delete"}
    assert "text/event-stream" in json.dumps(document["paths"]["/v1/streams/{stream}/events"])
    assert all("x-scope" in verb for path in document["paths"].values() for verb in path.values())


def test_addresses_that_lead_nowhere(ask: Ask) -> None:
    assert ask("GET", "/v1/nothing").body["status"] == 404
    assert ask("PATCH", "/v1/streams").body["status"] == 405
    assert ask("GET", "/v1/streams/none/subscriptions/ann/top").body["type"] == "urn:skyband:problem:no-stream"
    assert ask("POST", "/v1/streams/none/publications", []).status == 404
    assert ask("GET", "/v1/streams/s/subscriptions/ann/top").body["type"] == "urn:skyband:problem:no-subscription"
    assert ask("GET", "/v1/streams?limit=0").status == 422
