"""Servers for tests, each in a thread of this process with a folder of its own."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from skyband.demo.hosted import keep_publishing
from skyband.server import Running, make_server_config
from tests.server.browser import Page, find_chromium, open_browser
from tests.server.calling import WINDOW, Reply, call

Start = Callable[..., Running]
DEMO_STREAMS = {"city", "sensors", "stocks", "visitors"}


class Shown(NamedTuple):
    """A browser, and the server whose console it shows."""

    page: Page
    address: str


@pytest.fixture(scope="session")
def chromium() -> Iterator[Page]:
    """A real Chromium with one page, for all tests of a process."""
    find_chromium()
    with open_browser() as page:
        yield page


@pytest.fixture
def page(chromium: Page) -> Page:
    """The page of the browser; nothing that was there before is held against a test."""
    chromium.command("Page.navigate", url="about:blank")
    chromium.until("location.href === 'about:blank'")
    chromium.complaints.clear()
    chromium.asked.clear()
    return chromium


@pytest.fixture(scope="session")
def city(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server on which the demo is played: a city, and a small stream for each other family."""
    config = make_server_config({"port": 0, "data": str(tmp_path_factory.mktemp("city"))})
    with Running(config, beside=keep_publishing) as server:
        wait_for_the_demo(server.address)
        yield server.address


def wait_for_the_demo(address: str) -> None:
    """Wait until every stream of the demo is there and has its subscribers: a page that asks sooner is told 404."""
    end = time.monotonic() + 120
    while True:
        streams = call(address, "GET", "/v1/streams").body["streams"]
        if {stream["name"] for stream in streams if stream["subscriptions"]} >= DEMO_STREAMS:
            return
        assert time.monotonic() < end, f"only {streams} are there"
        time.sleep(0.05)


@pytest.fixture
def shown(page: Page, city: str) -> Shown:
    """The console of the demo."""
    return Shown(page, city)


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
