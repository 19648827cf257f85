"""The screens of the console in a real Chromium, on streams of every family that are being published to."""

import re
import subprocess
import sys
from collections.abc import Callable

import pytest

from skyband.server import Running
from tests.server.axe import faults
from tests.server.browser import Page
from tests.server.calling import WINDOW, call
from tests.server.conftest import Shown

# What is to be read on each screen once it shows what it is for.
SHOWN = {
    "overview": "/[1-9]/.test(document.querySelector('.stat-value')?.innerText) && !!document.querySelector('.u-wrap')",
    "tops": "document.querySelectorAll('.top .entry .what').length >= 3",
    "map": "/[1-9]/.test(document.querySelector('.map-count')?.textContent)",
    "explain": "/is in the top|is not in the top/.test(document.querySelector('.verdict')?.textContent)",
    "editor": "document.querySelectorAll('.editor .top .entry').length",
    "covering": "/are not boxes/.test(document.body.innerText)",
    "engine": "/publications/.test(document.querySelector('.panel table')?.textContent)",
    "webhooks": "/no webhook yet/.test(document.body.innerText)",
    "tokens": "/no token yet/.test(document.body.innerText)",
    "pipeline": "/knows of no pipeline/.test(document.body.innerText)",
    "overlay": "/knows of no overlay/.test(document.body.innerText)",
}
# Screens that are drawn otherwise for other streams.
COUNTED = "/[1-9]/.test(document.querySelector('.map-count')?.textContent)"
OTHERWISE = {
    "map?stream=stocks": "/is among the lowest/.test(document.querySelectorAll('.map-count')[1]?.textContent)",
    "map?stream=visitors": "document.querySelector('.advert .fit') && document.querySelector('.budgets li')",
    "map?stream=sensors": f"{COUNTED} && document.querySelectorAll('.map-axes select').length === 2",
    "covering?stream=stocks": "document.querySelector('.forest .member .n') && document.querySelector('.box')",
    "tops?stream=visitors": "document.querySelector('.panel tbody tr')",
}
# Every day each screen is seen in some of the four looks that it has, and in the soak in all.
LOOKS = {
    "wide and dark": (1280, 800, "dark"),
    "wide and light": (1280, 800, "light"),
    "narrow and light": (390, 844, "light"),
    "narrow and dark": (390, 844, "dark"),
}
VIEWS = SHOWN | OTHERWISE
FOCUSED = """(({ activeElement: it }) =>
  [it.className || it.tagName, getComputedStyle(it).outlineStyle, it.textContent])(document)"""
LIVE = "document.documentElement.dataset.fresh === 'live'"
EMPTY = {
    "overview": "There is no stream yet",
    "tops": "There is no stream yet",
    "map": "There is no stream yet",
    "explain": "Choose a publication",
    "editor": "There is no stream yet",
    "covering": "There is no stream yet",
    "engine": "There is no stream yet",
    "webhooks": "There is no webhook yet",
    "tokens": "There is no token yet",
    "pipeline": "This server knows of no pipeline",
    "overlay": "This server knows of no overlay",
}

pytestmark = pytest.mark.jit_only


@pytest.mark.few(10)
@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("view", VIEWS)
def test_every_screen_shows_what_it_is_for(shown: Shown, view: str, look: str) -> None:
    page, address = shown
    page.open(f"{address}/#/{view}", *LOOKS[look])
    page.until(f"{LIVE} && ({VIEWS[view]})", 240)
    assert page.run("document.querySelectorAll('h1').length") == 1
    assert page.run("document.documentElement.scrollWidth <= innerWidth"), "the page is wider than the window"
    assert page.nameless() == []
    assert page.faint() == []
    assert faults(page) == []
    if view != "covering":
        check_copies(page, address)
    assert page.complaints == []
    assert [url for url in page.asked if not url.startswith((address, "about:", "data:"))] == []


def check_copies(page: Page, address: str) -> None:
    """What a view is copied as is a request to this server, in both languages."""
    page.run("navigator.clipboard.writeText = (text) => ((window.copied ??= []).push(text), Promise.resolve())")
    for kind in ("curl", "python"):
        page.run(f"document.querySelector('[data-copy={kind}]').click()")
    curl, python = page.until("window.copied?.length === 2 && window.copied")
    assert f"{address}/v1/" in curl
    assert f'"{address}/v1/' in python
    compile(python, "copied", "exec")


def test_accessibility_is_really_looked_at(shown: Shown) -> None:
    page, address = shown
    page.open(f"{address}/#/overview")
    page.until(SHOWN["overview"])
    page.run("document.querySelector('h1').after(document.createElement('button'))")
    assert "button-name" in [fault.partition(":")[0] for fault in faults(page)]


def test_one_connection_carries_everything(shown: Shown) -> None:
    page, address = shown
    page.open(f"{address}/#/tops?stream=city")
    page.until(SHOWN["tops"])
    page.asked.clear()
    for screen in ("map", "engine", "pipeline", "overlay", "overview", "tops"):
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
    page.open(f"{address}/#/tops?stream=city")
    page.until(SHOWN["tops"])
    page.press("p")
    page.until("/Paused at/.test(document.body.innerText)")
    page.until("/[1-9]\\d* changes since/.test(document.body.innerText)")
    page.press("p")
    page.until("!/Paused at/.test(document.body.innerText)")


def test_what_has_changed_is_told_again(shown: Shown) -> None:
    page, address = shown
    page.open(f"{address}/#/tops?stream=city")
    page.until("document.querySelector('.history')", 120)
    page.run("document.querySelector('.history').open = true")
    page.until("/entered|left|moved/.test(document.querySelector('.history tbody').innerText)")


def test_keys_lead_to_every_screen(shown: Shown) -> None:
    page, address = shown
    page.open(f"{address}/#/overview?stream=city")
    page.until(SHOWN["overview"])
    page.press("?")
    keys = page.until(
        f"[...document.querySelectorAll('.help dt')].slice(0, {len(SHOWN)}).map((it) => it.innerText.at(-1))"
    )
    page.press("Escape")
    page.until("!document.querySelector('dialog')")
    for key, screen in zip(keys, SHOWN, strict=True):
        # Both have to come within a moment, which a busy machine may miss.
        for _ in range(10):
            page.press("g")
            page.press(key)
            if page.run(f"location.hash.startsWith('#/{screen}')"):
                break
        page.until(f"location.hash.startsWith('#/{screen}')")


def test_the_keyboard_reaches_everything(shown: Shown) -> None:
    page, address = shown
    page.open(f"{address}/#/map?stream=city")
    page.until(SHOWN["map"])
    found = []
    for _ in range(80):
        page.press("Tab")
        seen = page.run(FOCUSED)
        if seen[0] == "BODY":
            break
        found.append(seen)
    words = " ".join(f"{name} {text}" for name, _, text in found)
    for part in ("skip", "Overlay", "CANVAS", "Copy as curl", "+"):
        assert part in words
    assert {outline for _, outline, _ in found} == {"solid"}, "what has the focus is not seen"
    page.run("document.querySelector('canvas').focus()")
    page.press("+")
    page.press("ArrowLeft")
    page.press("0")


def test_what_is_copied_works(shown: Shown) -> None:
    page, address = shown
    page.open(f"{address}/#/engine?stream=city")
    page.until(SHOWN["engine"])
    page.run("navigator.clipboard.writeText = (text) => { window.copied = text; return Promise.resolve(); }")
    page.press("c")
    found = re.search(r"'(http\S+)'", page.until("window.copied"))
    assert found is not None
    assert call(address, "GET", found[1].removeprefix(address)).body["name"] == "city"
    page.run("document.querySelector('[data-copy=python]').click()")
    done = subprocess.run(
        [sys.executable, "-c", page.until("/import/.test(window.copied) && window.copied")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "'name': 'city'" in done.stdout


def test_a_subscription_is_written_previewed_and_registered(shown: Shown) -> None:
    page, address = shown
    page.open(f"{address}/#/editor?stream=city")
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


def test_an_empty_server_says_what_to_do_next(page: Page, start: Callable[..., Running]) -> None:
    server = start()
    for screen, title in EMPTY.items():
        page.open(f"{server.address}/#/{screen}", 390, 844)
        page.until(f"{LIVE} && document.querySelector('.empty h2')?.innerText === '{title}'")
        assert page.run("document.querySelector('.empty p').innerText.length") > 20
    assert page.complaints == []


def test_a_stream_without_subscriptions_says_what_to_do_next(page: Page, start: Callable[..., Running]) -> None:
    streams = {"s": WINDOW, "r": {"family": "ranges", "engine": "scan"}, "a": {"family": "ranked", "engine": "scan"}}
    server = start(streams=streams)
    for view in ("tops?stream=s", "map?stream=a", "covering?stream=r", "tops?stream=a"):
        page.open(f"{server.address}/#/{view}")
        page.until(f"{LIVE} && /Nobody has subscribed yet/.test(document.querySelector('.empty h2')?.innerText)")
    assert page.complaints == []


def test_a_token_lets_a_browser_in(page: Page, start: Callable[..., Running]) -> None:
    server = start(streams={"s": WINDOW})
    made = call(server.address, "POST", "/v1/tokens", {"title": "ann", "scopes": ["read", "admin"]}).body
    page.open(f"{server.address}/#/tokens")
    page.until("!!document.querySelector('#token')")
    assert page.nameless() == []
    assert faults(page) == []
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
