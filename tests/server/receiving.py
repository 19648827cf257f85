"""A receiver of webhooks for tests, which answers as it is told to."""

import ssl
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, Self


class ReceivedHook(NamedTuple):
    """A request as it came."""

    path: str
    headers: dict[str, str]
    body: bytes


class _Quiet(ThreadingHTTPServer):
    def handle_error(self, *_: Any) -> None:
        """Connections that are broken off are what some tests are about."""


class Receiver:
    """Answers with the status that `answers` gives for each request, 200 unless it is told otherwise.

    As long as the `gate` is not set, no answer is given.
    """

    def __init__(
        self,
        answers: Callable[[int], int | tuple[int, dict[str, str]]] = lambda n: 200,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.received: list[ReceivedHook] = []
        self.answers = answers
        self.gate = threading.Event()
        self.gate.set()
        outer = self

        class _Answering(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                outer.received.append(ReceivedHook(self.path, {k.lower(): v for k, v in self.headers.items()}, body))
                given = outer.answers(len(outer.received))
                status, headers = given if isinstance(given, tuple) else (given, {})
                outer.gate.wait(60)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                return

        self._server = _Quiet(("127.0.0.1", 0), _Answering)
        if tls is not None:
            # The handshake is made on the thread of the connection, where it may fail.
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/hook?a=b"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def until(self, n: int, seconds: float = 60) -> list[ReceivedHook]:
        """What was received, once it is as many."""
        end = time.monotonic() + seconds
        while len(self.received) < n:
            assert time.monotonic() < end, f"{len(self.received)} of {n} requests have come"
            time.sleep(0.01)
        return list(self.received)
