"""Connections: nobody is waited for without end, and nothing is read without end."""

import contextlib
import http.client
import json
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from skyband.server import Running
from skyband.server.http import body, connection
from tests.server.calling import Reply, call

PUBS = "/v1/streams/s/publications"


def test_no_body_is_taken_without_end(start: Callable[..., Running]) -> None:
    server = start(streams={"s": {"family": "window"}}, limits={"body": 1000})

    def post(path: str, chunked: bool) -> Reply:
        sent = b'{"now": 1, "more": "' + b"x" * 5000 + b'"}'
        if not chunked:
            return call(server.address, "POST", path, sent)
        with raw(server.address) as place:
            head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            parts = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (sent[:500], sent[500:]))
            place.sendall(head.encode() + b"Transfer-Encoding: chunked\r\n\r\n" + parts + b"0\r\n\r\n")
            answer = http.client.HTTPResponse(place)
            answer.begin()
            return Reply(answer.status, json.loads(answer.read()), {})

    for path in ("/v1/streams/s/time", PUBS):
        for chunked in (False, True):
            refused = post(path, chunked)
            assert (refused.status, refused.body["type"]) == (413, "urn:skyband:problem:too-long"), (path, chunked)


def raw(address: str) -> socket.socket:
    """A connection over which anything can be said."""
    return socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2])), timeout=60)


def test_who_does_not_go_on_is_not_waited_for(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "HEAD_SECONDS", 0.2)
    for said in (b"", b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-More: "):
        with raw(server.address) as place:
            place.sendall(said)
            assert ended(place) == b""
    monkeypatch.undo()
    monkeypatch.setattr(body, "BODY_SECONDS", 0.2)
    for path, kind in ((PUBS, "x-ndjson"), ("/v1/streams/s/time", "json")):
        with raw(server.address) as place:
            head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/{kind}\r\n"
            place.sendall(head.encode() + b"Content-Length: 99\r\n\r\n{")
            told = place.recv(65536)
            assert told.startswith(b"HTTP/1.1 408 "), told
    with raw(server.address) as place:
        place.sendall(b"GET /v1/streams HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert place.recv(65536).startswith(b"HTTP/1.1 200 ")
    assert call(server.address, "GET", "/readyz").status == 200


@pytest.mark.parametrize(
    "said", [b"nonsense\r\n\r\n", b"GET /v1/\x00 HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\n: x\r\n\r\n"]
)
def test_what_is_not_http_is_told_so_as_a_problem(server: Running, said: bytes) -> None:
    with raw(server.address) as place:
        place.sendall(said)
        answer = http.client.HTTPResponse(place)
        answer.begin()
        told = json.loads(answer.read())
        assert (answer.status, answer.headers["content-type"]) == (400, "application/problem+json")
        assert told["status"] == 400
        answer.close()


def test_a_head_without_end_is_broken_off(server: Running) -> None:
    with raw(server.address) as place:
        place.sendall(b"GET /healthz HTTP/1.1\r\n")
        with contextlib.suppress(OSError):
            for i in range(100_000):
                place.sendall(b"x-%d: %s\r\n" % (i, b"y" * 1000))
        assert ended(place) == b""


def ended(place: socket.socket) -> bytes:
    """What comes until the connection has ended."""
    try:
        return b"".join(iter(lambda: place.recv(65536), b""))
    except ConnectionError:
        return b""


def test_more_connections_are_held_than_the_system_gives_by_default(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "skyband", "serve", "--data", str(tmp_path / "data"), "--port", "0", "--json"]
    process = subprocess.Popen(
        ["sh", "-c", 'ulimit -Sn 96; exec "$@"', "sh", *words], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    address = json.loads("".join(process.stdout.readline() for _ in range(4)))["address"]
    call(address, "POST", "/v1/streams", {"name": "s", "family": "window"})
    with contextlib.ExitStack() as stack:
        for _ in range(150):
            reader = stack.enter_context(raw(address))
            reader.sendall(b"GET /v1/streams/s/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert reader.recv(9) == b"HTTP/1.1 "
        assert "skyband_connections 150\n" in call(address, "GET", "/metrics").body
        process.terminate()
        process.communicate()
