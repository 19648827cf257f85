"""Traces: a span for each request and each verb, sent to whoever collects them, without rows or secrets."""

import http.client
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from skyband.server import BadServerConfig, Running
from skyband.server import trace as trace_module
from tests.server.calling import WINDOW, call

PUBS = "/v1/streams/s/publications"
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
SECRET = "a-secret-id"


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    """What is sent to a collector."""
    from skyband.server import telemetry

    exporter = InMemorySpanExporter()
    monkeypatch.setattr(telemetry, "make_exporter", lambda target: exporter)
    return exporter


def spans_of(start: Callable[..., Running], sent: InMemorySpanExporter, *calls: tuple[Any, ...]) -> list[ReadableSpan]:
    """The spans of some calls, once the server has stopped."""
    server = start(streams={"s": WINDOW}, traces="http://127.0.0.1:1")
    for given in calls:
        call(server.address, *given)
    server.__exit__(None, None, None)
    # An exporter that was shut down keeps what it has.
    return list(sent.get_finished_spans())


def test_a_request_and_its_verb_are_spans(start: Callable[..., Running], sent: InMemorySpanExporter) -> None:
    row = {"id": SECRET, "ts": 1, "point": [1.0]}
    verb, request = spans_of(start, sent, ("POST", PUBS, [row], {"traceparent": PARENT}))
    assert request.name == "POST /v1/streams/{stream}/publications"
    assert request.parent is not None
    assert f"{request.parent.trace_id:032x}" in PARENT
    assert dict(request.attributes or {}) == {
        "http.request.method": "POST",
        "http.route": "/v1/streams/{stream}/publications",
        "http.response.status_code": 200,
    }
    assert verb.name == "skyband publish"
    assert verb.parent is not None
    assert verb.parent.span_id == request.context.span_id
    attributes = dict(verb.attributes or {})
    assert (attributes["skyband.stream"], attributes["skyband.rows"], attributes["skyband.steps"]) == ("s", 1, 1)
    assert SECRET not in verb.to_json() + request.to_json()


def test_what_fails_is_marked_without_its_rows(
    start: Callable[..., Running], sent: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = {"id": SECRET, "ts": "soon", "point": [1.0]}

    def broken(*_: Any) -> Any:
        raise RuntimeError(SECRET)

    monkeypatch.setattr("skyband.server.http.publications.read_body", broken)
    (failed,) = spans_of(start, sent, ("POST", PUBS, [bad]))
    assert failed.status.status_code == StatusCode.ERROR
    assert SECRET not in failed.to_json()


def test_rejected_rows_are_not_in_spans(start: Callable[..., Running], sent: InMemorySpanExporter) -> None:
    verb, request = spans_of(start, sent, ("POST", PUBS, [{"id": SECRET, "ts": "soon", "point": [1.0]}]))
    assert (verb.status.status_code, verb.status.description) == (StatusCode.ERROR, "Rejected")
    assert (request.attributes or {})["http.response.status_code"] == 422
    assert SECRET not in verb.to_json() + request.to_json()


def test_connections_that_last_are_no_spans(start: Callable[..., Running], sent: InMemorySpanExporter) -> None:
    assert spans_of(start, sent, ("GET", "/v1/streams/s/events?subscriptions=nobody")) == []


def test_spans_are_sent_to_a_collector(start: Callable[..., Running]) -> None:
    posted: list[tuple[str, bytes]] = []

    class Collecting(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            posted.append((self.path, self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            return

    collector = HTTPServer(("127.0.0.1", 0), Collecting)
    threading.Thread(target=collector.serve_forever, args=(0.05,), daemon=True).start()
    server = start(streams={"s": WINDOW}, traces=f"http://127.0.0.1:{collector.server_address[1]}")
    call(server.address, "GET", "/v1/streams")
    server.__exit__(None, None, None)
    collector.shutdown()
    collector.server_close()
    assert [path for path, _ in posted] == ["/v1/traces"]
    assert b"GET /v1/streams" in posted[0][1]


def test_a_collector_that_is_not_there_stops_nobody(start: Callable[..., Running]) -> None:
    server = start(streams={"s": WINDOW}, traces="http://127.0.0.1:1")
    assert call(server.address, "POST", PUBS, [{"id": 1, "ts": 1, "point": [1.0]}]).status == 200


def test_without_the_packages_it_is_said_what_to_install(
    start: Callable[..., Running], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace_module, "NEEDED", ("there.is.none",))
    with pytest.raises(BadServerConfig, match=r"skyband\[otel\]"):
        start(traces="environment")
    assert call(start().address, "GET", "/healthz").status == http.client.OK
