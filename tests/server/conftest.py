"""Servers for tests, each in a thread of this process with a folder of its own."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from skyband.server import Running, make_server_config
from tests.server.calling import WINDOW, Reply, call

Start = Callable[..., Running]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start a server; what the configuration says beside its data and its port may be given."""
    with ExitStack() as stack:

        def begin(**given: Any) -> Running:
            document = {"port": 0, "data": str(tmp_path / "data"), "tick": 0.05} | given
            return stack.enter_context(Running(make_server_config(document)))

        yield begin


@pytest.fixture
def server(start: Start) -> Running:
    """A server with one stream, s, of window."""
    return start(streams={"s": WINDOW})


@pytest.fixture
def ask(server: Running) -> Callable[..., Reply]:
    """Send a request to the server."""
    return lambda *given, **more: call(server.address, *given, **more)
