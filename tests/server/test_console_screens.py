"""The screens of the console in a real Chromium, on a city that is being published to."""

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from skyband.demo.hosted import keep_publishing
from skyband.server import Running, make_server_config
from tests.server.browser import Page, find_chromium, open_browser
from tests.server.calling import WINDOW, call

# What is to be read on each screen once it shows what it is for.
SHOWN = {
    "overview": "/[1-9]/.test(document.querySelector('.stat-value')?.innerText) && !!document.querySelector('.u-wrap')",
    "tops": "document.querySelectorAll('.top .entry .what').length >= 3",
    "map": "/[1-9]/.test(document.querySelector('.map-count')?.textContent)",
    "explain": "/is in the top|is not in the top/.test(document.querySelector('.verdict')?.textContent)",
    "editor": "document.querySelectorAll('.editor .top .entry').length",
    "engine": "/publications/.test(document.querySelector('.panel table')?.textContent)",
    "webhooks": "/no webhook yet/.test(document.body.innerText)",
    "tokens": "/no token yet/.test(document.body.innerText)",
    "pipeline": "/runs no pipeline/.test(document.body.innerText)",
    "overlay": "/no overlay/.test(document.body.innerText)",
}
LIVE = "document.documentElement.dataset.fresh === 'live'"
STALE = "document.documentElement.dataset.fresh === 'stale'"

pytestmark = pytest.mark.jit_only


class Shown(NamedTuple):
    """A browser, and the server whose console it shows."""

    page: Page
    address: str


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    find_chromium()
    config = make_server_config({"port": 0, "data": str(tmp_path_factory.mktemp("city"))})
    with Running(config, beside=keep_publishing) as server, open_browser() as page:
        page.open(server.address)
        page.until("!!document.querySelector('.choice select')", 120)
        yield Shown(page, server.address)


@pytest.mark.parametrize("screen", SHOWN)
def test_every_screen_shows_what_it_is_for(shown: Shown, screen: str) -> None:
    page, address = shown
    page.complaints.clear()
    page.asked.clear()
    for width, height, theme in ((1280, 800, "dark"), (390, 844, "light")):
        page.open(f"{address}/#/{screen}", width, height, theme)
        page.until(f"{LIVE} && ({SHOWN[screen]})")
        assert page.run("document.querySelectorAll('h1').length") == 1
        assert page.run("document.documentElement.scrollWidth <= innerWidth"), "the page is wider than the window"
        assert page.nameless() == []
        assert page.faint() == []
    assert page.complaints == []
    assert [url for url in page.asked if not url.startswith((address, "about:", "data:"))] == []


def test_one_connection_carries_everything(shown: Shown) -> None:
    page, address = shown
    page.open(f"{address}/#/tops")
    page.until(SHOWN["tops"])
    page.asked.clear()
    for screen in ("map", "engine", "overview", "tops"):
        page.run(f"location.hash = location.hash.replace(/#.[a-z]+/, '#/{screen}')")
        page.until(SHOWN[screen])
    assert [url for url in page.asked if "/feed" in url or "/events" in url] == []


def test_tops_are_those_of_the_server(shown: Shown) -> None:
    page, address = shown
    page.open(f"{address}/#/tops?stream=city&show=jazz-lover")
    page.until("document.querySelectorAll('.top .entry').length")
    for _ in range(50):
        asked = call(address, "GET", "/v1/streams/city/subscriptions/jazz-lover/top").body["top"]
        seen = page.run("[...document.querySelectorAll('.top .entry')].map((it) => it.dataset.id)")
        if seen == [str(entry["publication"]) for entry in asked]:
            return
    raise AssertionError("The page and the server never showed the same top.")


def test_a_pause_holds_the_tops_and_counts_what_comes(shown: Shown) -> None:
    page, address = shown
    page.open(f"{address}/#/tops")
    page.until(SHOWN["tops"])
    press(page, "p")
    page.until("/Paused at/.test(document.body.innerText)")
    page.until("/[1-9]\\d* changes since/.test(document.body.innerText)")
    press(page, "p")
    page.until("!/Paused at/.test(document.body.innerText)")


def test_keys_lead_to_every_screen(shown: Shown) -> None:
    page, address = shown
    page.open(f"{address}/#/overview")
    page.until(SHOWN["overview"])
    press(page, "?")
    keys = page.until("[...document.querySelectorAll('.help dt')].slice(0, 10).map((it) => it.innerText.at(-1))")
    press(page, "Escape")
    page.until("!document.querySelector('dialog')")
    for key, screen in zip(keys, SHOWN, strict=True):
        press(page, "g")
        press(page, key)
        page.until(f"location.hash.startsWith('#/{screen}')")


def test_a_view_is_copied_as_a_request_that_works(shown: Shown) -> None:
    page, address = shown
    page.open(f"{address}/#/engine")
    page.until(SHOWN["engine"])
    page.run("navigator.clipboard.writeText = (text) => { window.copied = text; return Promise.resolve(); }")
    for kind in ("curl", "python"):
        page.run(f"document.querySelector('[data-copy={kind}]').click()")
        page.until(f"document.querySelector('[data-copy={kind}]').textContent === 'Copied'")
        text = page.run("window.copied")
        if kind == "curl":
            found = re.search(r"'(http\S+)'", text)
            assert found is not None
            assert call(address, "GET", found[1].removeprefix(address)).body["name"] == "city"
        else:
            done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
            assert "'name': 'city'" in done.stdout


def test_a_subscription_is_written_previewed_and_registered(shown: Shown) -> None:
    page, address = shown
    page.open(f"{address}/#/editor")
    page.until(SHOWN["editor"])
    page.run("""(() => {
      const area = document.querySelector("textarea");
      area.value = JSON.stringify({ ...JSON.parse(area.value), id: "written", k: 2 });
      area.dispatchEvent(new Event("input", { bubbles: true }));
    })()""")
    page.until("document.querySelectorAll('.editor .top .entry').length === 2")
    page.run("[...document.querySelectorAll('button')].find((it) => it.textContent === 'Register').click()")
    page.until("/It is registered/.test(document.body.innerText)")
    assert call(address, "GET", "/v1/streams/city/subscriptions/written").body["k"] == 2


def test_a_server_that_was_killed_is_seen_to_be_gone_and_resumed(tmp_path: Path) -> None:
    find_chromium()
    port = free_port()
    config = tmp_path / "serve.yaml"
    config.write_text(json.dumps({"port": port, "data": "data", "streams": {"s": WINDOW}}))
    address = f"http://127.0.0.1:{port}"
    process = begin(config)
    try:
        call(
            address, "POST", "/v1/streams/s/subscriptions", [{"id": "ann", "k": 9, "score": "euclidean", "point": [0]}]
        )
        publish(address, 1)
        with open_browser() as page:
            page.open(f"{address}/#/tops?stream=s&show=ann")
            page.until(f"{LIVE} && {ids('1')}")
            kill(process)
            page.until(f"{STALE} && /What you see is from/.test(document.body.innerText)")
            assert page.run("Number(getComputedStyle(document.querySelector('.view')).opacity)") < 1
            page.asked.clear()
            process = begin(config)
            publish(address, 2)
            publish(address, 3)
            page.until(f"{LIVE} && {ids('1,2,3')}")
            assert any("last_event_id=" in url for url in page.asked)
            assert [text for text in page.complaints if not text.startswith("network:")] == []
    finally:
        kill(process)


def test_a_token_lets_a_browser_in(tmp_path: Path) -> None:
    find_chromium()
    config = make_server_config({"port": 0, "data": str(tmp_path), "streams": {"s": WINDOW}})
    with Running(config) as server, open_browser() as page:
        made = call(server.address, "POST", "/v1/tokens", {"title": "ann", "scopes": ["read", "admin"]}).body
        page.open(f"{server.address}/#/tokens")
        page.until("!!document.querySelector('#token')")
        assert page.nameless() == []
        page.run(f"""(() => {{
          const box = document.querySelector("#token");
          box.value = "{made["token"]}";
          box.dispatchEvent(new Event("input", {{ bubbles: true }}));
        }})()""")
        page.run("new Promise((done) => setTimeout(() => done(document.querySelector('.login button').click()), 100))")
        page.until("/yours/.test(document.querySelector('tbody')?.textContent)")
        assert page.run("document.cookie") == ""
        assert made["token"] not in page.run("JSON.stringify(localStorage) + location.href + document.body.innerHTML")
        call(server.address, "DELETE", f"/v1/tokens/{made['name']}", token=made["token"])
        page.until("!!document.querySelector('#token')")


def press(page: Page, key: str) -> None:
    page.command("Input.dispatchKeyEvent", type="keyDown", key=key, text=key if len(key) == 1 else "")
    page.command("Input.dispatchKeyEvent", type="keyUp", key=key)


def ids(wanted: str) -> str:
    return f"[...document.querySelectorAll('.top .entry')].map((it) => it.dataset.id).sort().join() === '{wanted}'"


def publish(address: str, id: int) -> None:
    assert call(address, "POST", "/v1/streams/s/publications", [{"id": id, "ts": id, "point": [id]}]).status == 200


def free_port() -> int:
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        return int(place.getsockname()[1])


def begin(config: Path) -> subprocess.Popen[str]:
    """A server in a process of its own, which answers."""
    command = [sys.executable, "-m", "skyband", "serve", str(config), "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ))
    assert process.stdout is not None
    while line := process.stdout.readline():
        if "address" in line:
            return process
    raise AssertionError("The server did not begin.")


def kill(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()
    assert process.stdout is not None
    process.stdout.close()
