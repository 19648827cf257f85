"""A server that is being started tells the truth: it lives, it is not ready, and everybody else is to come again."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from skyband.client import Client
from skyband.server import Running, make_server_config
from skyband.server import run as run_module
from skyband.server import service as service_module
from skyband.server.stream.recovery import recover
from tests.server.calling import WINDOW, call


class SlowRecovery:
    """A server whose recovery goes on until it is let end."""

    def __init__(self, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.address = ""
        self.begun, self.may_end = threading.Event(), threading.Event()
        self.failure: BaseException | None = None
        bind = run_module.bind

        def slowly(*given: Any) -> Any:
            self.begun.set()
            assert self.may_end.wait(60)
            if self.failure is not None:
                raise self.failure
            return recover(*given)

        def noted(*given: Any) -> socket.socket:
            place = bind(*given)
            self.address = f"http://127.0.0.1:{place.getsockname()[1]}"
            return place

        monkeypatch.setattr(service_module, "recover", slowly)
        monkeypatch.setattr(run_module, "bind", noted)
        self.running = Running(make_server_config({"port": 0, "data": str(data), "streams": {"s": WINDOW}}))

    @contextmanager
    def starting(self) -> Iterator[None]:
        """While it recovers; afterwards it runs until it is stopped."""
        opening = threading.Thread(target=self.running.__enter__)
        opening.start()
        try:
            assert self.begun.wait(60)
            yield
        finally:
            self.may_end.set()
            opening.join()


@pytest.fixture
def slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SlowRecovery:
    return SlowRecovery(tmp_path / "data", monkeypatch)


def test_recovery_is_told(slow: SlowRecovery) -> None:
    with slow.starting():
        assert call(slow.address, "GET", "/healthz").status == 200
        unready = call(slow.address, "GET", "/readyz")
        assert (unready.status, unready.body["troubles"]) == (503, ["The streams are being recovered."])
        asked = call(slow.address, "GET", "/v1/streams")
        assert (asked.status, asked.body["type"], asked.headers["retry-after"]) == (
            503,
            "urn:skyband:problem:starting",
            "1",
        )
        with pytest.raises(InvalidStatus) as refused:
            connect(slow.address.replace("http", "ws") + "/v1/streams/s/ws")
        assert refused.value.response.status_code == 503
    assert call(slow.address, "GET", "/readyz").status == 200
    assert call(slow.address, "GET", "/v1/streams/s").status == 200
    slow.running.__exit__(None, None, None)


def test_a_client_waits_until_the_server_is_ready(slow: SlowRecovery) -> None:
    with slow.starting(), Client(slow.address) as client:
        threading.Timer(0.2, slow.may_end.set).start()
        assert [stream["name"] for stream in client.streams()] == ["s"]
    slow.running.__exit__(None, None, None)


def test_a_recovery_that_fails_ends_the_server_with_the_reason(slow: SlowRecovery) -> None:
    slow.failure = ValueError("The log begins at record 7.")
    slow.may_end.set()
    with pytest.raises(ValueError, match="begins at record 7"), slow.running:
        pass
    with pytest.raises(ConnectionError):
        call(slow.address, "GET", "/healthz")
