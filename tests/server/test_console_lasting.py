"""The console over time: it resumes after sleep and crashes, is never stale unseen, and draws only what has changed."""

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from skyband.server import Running
from tests.server.browser import Page
from tests.server.calling import WINDOW, call

LIVE = "document.documentElement.dataset.fresh === 'live'"
STALE = "document.documentElement.dataset.fresh === 'stale'"
ANN = {"id": "ann", "k": 9, "score": "euclidean", "point": [0]}
# Counts what is drawn, what is asked to be drawn, and what is connected to, from the beginning of a page.
COUNTING = """(() => {
  const counted = (window.counted = { drawn: 0, feeds: 0, frames: [], late: [] });
  const { clearRect } = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.clearRect = function (...given) {
    if (this.canvas.isConnected) counted.drawn += 1;
    return clearRect.apply(this, given);
  };
  const Source = window.EventSource;
  window.EventSource = class extends Source {
    constructor(...given) {
      super(...given);
      counted.feeds += 1;
    }
  };
})()"""
# True after three times that the server has told how it is, in which nothing was drawn and no element has changed.
STILL = """(async () => {
  const { known } = await import("/console/store.js");
  window.still ??= { changes: 0 };
  if (!still.watcher) {
    still.watcher = new MutationObserver((seen) => (still.changes += seen.length));
    const all = { subtree: true, childList: true, attributes: true, characterData: true };
    still.watcher.observe(document.querySelector(".view"), all);
  }
  const now = `${counted.drawn} ${still.changes}`;
  if (still.of !== now) Object.assign(still, { of: now, at: known.vitals.at });
  return known.vitals.at - still.at > 2.5;
})()"""

pytestmark = pytest.mark.jit_only


@contextmanager
def counting(page: Page) -> Iterator[None]:
    """Count what pages draw that are opened within the block."""
    made = page.command("Page.addScriptToEvaluateOnNewDocument", source=COUNTING)
    try:
        yield
    finally:
        page.command("Page.removeScriptToEvaluateOnNewDocument", identifier=made["identifier"])


def publish(address: str, *ids: int) -> None:
    rows = [{"id": id, "ts": id, "point": [id, id]} for id in ids]
    assert call(address, "POST", "/v1/streams/s/publications", rows).status == 200


def ids(wanted: str) -> str:
    return f"[...document.querySelectorAll('.top .entry')].map((it) => it.dataset.id).sort().join() === '{wanted}'"


def test_a_server_that_was_killed_is_seen_to_be_gone_and_resumed(page: Page, tmp_path: Path) -> None:
    config = tmp_path / "serve.yaml"
    port = free_port()
    config.write_text(json.dumps({"port": port, "data": "data", "streams": {"s": WINDOW}}))
    address = f"http://127.0.0.1:{port}"
    process = begin(config)
    try:
        call(address, "POST", "/v1/streams/s/subscriptions", [ANN | {"point": [0, 0]}])
        publish(address, 1)
        page.open(f"{address}/#/tops?stream=s&show=ann")
        page.until(f"{LIVE} && {ids('1')}")
        kill(process)
        page.until(f"{STALE} && /What you see is from/.test(document.body.innerText)")
        page.until("Number(getComputedStyle(document.querySelector('.view')).opacity) < 1")
        page.asked.clear()
        process = begin(config)
        publish(address, 2)
        publish(address, 3)
        page.until(f"{LIVE} && {ids('1,2,3')}")
        assert any("last_event_id=" in url for url in page.asked)
        assert [text for text in page.complaints if not text.startswith("network:")] == []
    finally:
        kill(process)


def test_a_page_that_slept_is_never_shown_as_live_and_goes_on(page: Page, start: Callable[..., Running]) -> None:
    address = start(streams={"s": WINDOW}).address
    call(address, "POST", "/v1/streams/s/subscriptions", [ANN | {"point": [0, 0]}])
    publish(address, 1)
    page.open(f"{address}/#/tops?stream=s&show=ann")
    page.until(f"{LIVE} && {ids('1')}")
    page.asked.clear()
    # A machine that sleeps runs nothing, while its clock goes on; what was sent meanwhile is lost with the connection.
    page.run("""(() => {
      const now = performance.now.bind(performance);
      performance.now = () => now() + 3600e3;
      document.dispatchEvent(new Event("visibilitychange"));
    })()""")
    publish(address, 2)
    publish(address, 3)
    page.until(f"{LIVE} && {ids('1,2,3')}")
    assert any("last_event_id=" in url for url in page.asked)
    assert page.complaints == []


def test_a_connection_over_which_nothing_comes_is_as_lost_as_one_that_was_closed(
    page: Page, start: Callable[..., Running]
) -> None:
    server = start(streams={"s": WINDOW})
    call(server.address, "POST", "/v1/streams/s/subscriptions", [ANN | {"point": [0, 0]}])
    with Muted(server.address) as relay:
        publish(server.address, 1)
        page.open(f"{relay.address}/#/tops?stream=s&show=ann")
        page.until(f"{LIVE} && {ids('1')}")
        relay.mute()
        publish(server.address, 2)
        page.until(f"{STALE} && /Not live/.test(document.querySelector('.stale-notice')?.innerText)")
        assert page.run(ids("1")), "what is stale is still shown"
        page.asked.clear()
        relay.speak()
        page.run("document.querySelector('.stale-notice button').click()")
        page.until(f"{LIVE} && {ids('1,2')}")
        assert any("last_event_id=" in url for url in page.asked)


@pytest.mark.parametrize("screen", ["map", "tops", "overview"])
def test_nothing_is_drawn_where_nothing_has_changed(page: Page, start: Callable[..., Running], screen: str) -> None:
    address = start(streams={"s": WINDOW}).address
    call(address, "POST", "/v1/streams/s/subscriptions", [ANN | {"point": [0, 0]}])
    publish(address, 1, 2, 3)
    with counting(page):
        page.open(f"{address}/#/{screen}?stream=s&show=ann")
        page.until(f"{LIVE} && document.querySelector('.panel, .map')")
        if screen != "overview":
            page.until(STILL, 120)
            drawn = page.run("counted.drawn")
            assert (drawn > 0) == (screen == "map")
            publish(address, 4)
            page.until(f"counted.drawn > {drawn}" if screen == "map" else ids("1,2,3,4"))
            page.until(STILL, 120)
        assert page.run("counted.feeds") == 1


def test_who_wants_no_motion_gets_none(page: Page, start: Callable[..., Running]) -> None:
    address = start(streams={"s": WINDOW}).address
    call(address, "POST", "/v1/streams/s/subscriptions", [ANN | {"point": [0, 0]}])
    publish(address, 1)
    with counting(page):
        page.open(f"{address}/#/tops?stream=s&show=ann", calm=True)
        page.until(f"{LIVE} && {ids('1')}")
        publish(address, 2)
        page.until(ids("1,2"))
        assert page.run("document.getAnimations().filter((it) => it.playState === 'running').length") == 0
        page.open(f"{address}/#/map?stream=s&show=ann", calm=True)
        page.until(f"{LIVE} && /2 live/.test(document.querySelector('.map-count')?.textContent)")
        drawn = page.run("counted.drawn")
        publish(address, 3)
        page.until("/3 live/.test(document.querySelector('.map-count')?.textContent)")
        page.until(STILL, 120)
        # A ring that grows for two seconds would be a hundred pictures.
        assert page.run("counted.drawn") - drawn < 12


TURNS = ("map", "tops", "webhooks")


class Load(NamedTuple):
    """How much a test asks of a page: points that are there, and for how long more come, so many per second."""

    points: int
    seconds: float
    per_second: int = 50


def test_a_short_load_is_shown_as_it_comes(page: Page, start: Callable[..., Running]) -> None:
    seen = under_load(page, start().address, Load(2000, 4))
    assert seen["feeds"] == 1
    assert seen["last"] == seen["published"]


@pytest.mark.soak
def test_ten_minutes_of_load_drop_no_frames_and_take_no_more_room(
    page: Page, start: Callable[..., Running], tmp_path: Path
) -> None:
    minutes = float(os.environ.get("SKYBAND_SOAK_MINUTES", 10))
    seen = under_load(page, start().address, Load(10_000, 60 * minutes))
    Path("build").mkdir(exist_ok=True)
    Path("build/console-soak.json").write_text(json.dumps(seen, indent=1))
    print(json.dumps({name: value for name, value in seen.items() if name != "minutes"}))
    assert seen["feeds"] == 1
    assert seen["last"] == seen["published"]
    for screen in ("map", "tops"):
        its = [minute for minute in seen["minutes"] if minute["screen"] == screen]
        # Held against a screen on which nothing moves, since a busy machine is late with that as well.
        assert late_share(seen, screen) <= late_share(seen, "webhooks") + 0.02, seen["minutes"]
        # The first minute of each is left out: what is drawn with is being made.
        first, last = its[min(1, len(its) - 1)]["bytes"], its[-1]["bytes"]
        assert last <= 1.1 * first + 2**20, its


def late_share(seen: dict[str, Any], screen: str) -> float:
    """How many of the frames of a screen were late."""
    its = [minute for minute in seen["minutes"] if minute["screen"] == screen]
    late, frames = (sum(int(minute[name]) for minute in its) for name in ("late", "frames"))
    return late / max(1, frames)


def under_load(page: Page, address: str, load: Load) -> dict[str, Any]:
    """Show the map, the tops, and a still screen in turns while publications come, and say what was seen."""
    window = f"{load.points // load.per_second}s"
    spec = {"name": "s", "family": "window", "engine": "scan", "window": window, "clock": "wall"}
    assert call(address, "POST", "/v1/streams", spec).status == 201
    readers = [{"id": f"r{i}", "k": 10, "score": "euclidean", "point": [i / 20, 0.5]} for i in range(20)]
    assert call(address, "POST", "/v1/streams/s/subscriptions", readers).status == 201
    now = time.time_ns() // 1000
    before = [row(now - i * 1_000_000 // load.per_second, -i) for i in range(load.points, 0, -1)]
    for begin in range(0, load.points, 500):
        assert call(address, "POST", "/v1/streams/s/publications", before[begin : begin + 500]).status == 200
    seen: dict[str, Any] = {"minutes": []}
    with counting(page), publishing(address, load.per_second) as published:
        page.open(f"{address}/#/map?stream=s&show=r0,r7,r13")
        page.until(f"{LIVE} && /[1-9]/.test(document.querySelector('.map-count')?.textContent)", 120)
        page.run(FRAMES)
        ends, turn = time.monotonic() + load.seconds, 0
        while time.monotonic() < ends:
            screen = TURNS[turn % len(TURNS)]
            page.run(f"location.hash = location.hash.replace(/#.[a-z]+/, '#/{screen}')")
            page.until("document.querySelector('.map, .top .entry, .fields')")
            page.run("frames.begin()")
            time.sleep(min(60.0, load.seconds / 6))
            seen["minutes"].append(page.run("frames.end()") | {"screen": screen, "bytes": page.held_bytes()})
            turn += 1
    last = published[-1]
    page.until(f"import('/console/store.js').then(({{ known }}) => known.arrivals.at(-1).id === '{last}')", 60)
    told = "import('/console/store.js').then(({ known }) => Number(known.arrivals.at(-1).id))"
    return seen | {"published": last, "last": page.run(told), "feeds": page.run("counted.feeds")}


# Frames since `begin`, and how many came so late that one was left out before them at 30 per second.
FRAMES = """(() => {
  const found = { n: 0, late: 0, worst: 0, at: 0 };
  const look = (now) => {
    if (found.at) {
      const took = now - found.at;
      found.n += 1;
      if (took > 67) found.late += 1;
      found.worst = Math.max(found.worst, took);
    }
    found.at = now;
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
  window.frames = {
    begin: () => Object.assign(found, { n: 0, late: 0, worst: 0, at: 0, since: performance.now() }),
    end: () => {
      const per_second = (1000 * found.n) / (performance.now() - found.since);
      return { frames: found.n, late: found.late, worst_ms: found.worst, per_second };
    },
  };
})()"""


def row(ts: int, number: int) -> dict[str, Any]:
    """A publication at a place that follows from its number."""
    return {"id": ts, "ts": ts, "point": [(number * 0.7548776662) % 1.0, (number * 0.5698402909) % 1.0]}


@contextmanager
def publishing(address: str, per_second: int) -> Iterator[list[int]]:
    """Publish within the block, ten times a second, on a thread of its own; the ids are added to a list."""
    ending, told = threading.Event(), list[int]()

    def run() -> None:
        number = 0
        while not ending.wait(0.1):
            now, share = time.time_ns() // 1000, per_second // 10
            rows = [row(now + i, number + i) for i in range(share)]
            number += share
            assert call(address, "POST", "/v1/streams/s/publications", rows).status == 200
            told.append(rows[-1]["id"])

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield told
    finally:
        ending.set()
        thread.join()


class Muted:
    """A place between a page and a server that carries everything, or nothing while it is mute, and never hangs up."""

    def __init__(self, address: str) -> None:
        self._to = int(address.rpartition(":")[2])
        self._heard = threading.Event()
        self._heard.set()
        self._place = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self.address = f"http://127.0.0.1:{self._place.getsockname()[1]}"
        threading.Thread(target=self._run, daemon=True).start()

    def __enter__(self) -> "Muted":
        return self

    def __exit__(self, *_: object) -> None:
        self._heard.set()
        for place in (self._place, *self._open):
            place.close()

    def mute(self) -> None:
        """Carry nothing from now on."""
        self._heard.clear()

    def speak(self) -> None:
        """Carry everything again, also what was held back."""
        self._heard.set()

    def _run(self) -> None:
        while True:
            try:
                here, _ = self._place.accept()
                there = socket.create_connection(("127.0.0.1", self._to))
            except OSError:
                return
            self._open += [here, there]
            for pair in ((here, there), (there, here)):
                threading.Thread(target=self._carry, args=pair, daemon=True).start()

    def _carry(self, source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                self._heard.wait()
                target.sendall(data)
            target.shutdown(socket.SHUT_RDWR)
        except OSError:
            return


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
