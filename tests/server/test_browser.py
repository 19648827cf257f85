"""The module for browsers: run by Node, and by a real Chromium whose page is of another site, where they are there."""

import json
import queue
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from skyband.server import Running
from tests.client.relay import Relay
from tests.server.calling import call

MODULE = Path(str(files("skyband.server").joinpath("static", "skyband.js")))
SCENE = Path(__file__).with_name("browser.mjs")
NODE = shutil.which("node")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
SECONDS = 120

PAGE = """<!doctype html><script type="module">
import { everything } from "/browser.mjs";
const tell = (told) => fetch("/told", { method: "POST", body: JSON.stringify(told) });
try {
  const module = await import("ADDRESS/static/skyband.js");
  await tell(await everything(module, "RELAY", () => fetch("/cut", { method: "POST" })));
} catch (error) {
  await tell({ failed: String(error.stack ?? error) });
}
</script>"""
IN_NODE = """
import * as module from "./skyband.mjs";
import { everything } from "./browser.mjs";
const told = await everything(module, process.argv[2], () => fetch(process.argv[3] + "/cut", { method: "POST" }));
await fetch(process.argv[3] + "/told", { method: "POST", body: JSON.stringify(told) });
process.exit(0);
"""


class Site:
    """Another web site: it has a page, cuts connections when it is asked to, and is told what has come out."""

    def __init__(self) -> None:
        self.told: queue.Queue[Any] = queue.Queue()
        self.pages: dict[str, tuple[str, str]] = {"/browser.mjs": ("text/javascript", SCENE.read_text())}
        self.cut: Callable[[], None] = lambda: None
        outer = self

        class _Answering(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                kind, text = outer.pages.get(self.path, ("text/plain", ""))
                self._answer(200 if text else 404, kind, text.encode())

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                if self.path == "/cut":
                    outer.cut()
                else:
                    outer.told.put(json.loads(body))
                self._answer(200, "text/plain", b"")

            def _answer(self, status: int, kind: str, body: bytes) -> None:
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                return

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), _Answering)
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}"


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site()
    threading.Thread(target=made.server.serve_forever, args=(0.05,), daemon=True).start()
    yield made
    made.server.shutdown()
    made.server.server_close()


@contextmanager
def process_of(words: list[str], folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is ended when it is no longer needed."""
    with (folder / "output").open("wb") as output:
        process = subprocess.Popen(words, cwd=folder, stdout=output, stderr=subprocess.STDOUT)
        try:
            yield process
        finally:
            process.kill()
            process.wait()


def told_by(words: list[str], folder: Path, site: Site) -> dict[str, Any]:
    """What a process tells the site."""
    with process_of(words, folder) as process:
        for _ in range(10 * SECONDS):
            try:
                told: dict[str, Any] = site.told.get(timeout=0.1)
                return told
            except queue.Empty:
                if process.poll() is not None and site.told.empty():
                    break
    raise AssertionError((folder / "output").read_text()[-3000:])


def check(told: dict[str, Any]) -> None:
    """What has to come out, wherever the module is run."""
    assert "failed" not in told, told["failed"]
    assert told["published"]["rows"] == 2500
    assert told["streams"] == ["t"]
    assert told["subscriptions"] == ["a/b c", "ann"]
    assert told["preview"] == [{"rank": 1, "publication": 7, "score": 0}]
    assert [told["why"][name] for name in ("in_top", "rank", "score", "kth_score")] == [False, 4, 2, 1]
    assert [row["publication"] for row in told["bob"]] == [3, 4]
    assert told["unsubscribed"] == 1
    assert told["problem"] == [True, 422, "rejected", "ts"]
    assert [row["publication"] for row in told["top"]] == [5, 10012, 10011]
    assert told["heard"] == "snapshot"
    assert told["over"] == ["StreamOver", "The stream was dropped."]
    assert told["refused"] == ["ServerProblem", 404, "no-stream"]
    assert "followed" not in told


def test_the_module_is_given_to_everybody(start: Callable[..., Running]) -> None:
    server = start()
    call(server.address, "POST", "/v1/tokens", {"scopes": ["admin"]})
    answer = call(server.address, "GET", "/static/skyband.js")
    assert (answer.status, answer.headers["content-type"]) == (200, "text/javascript; charset=utf-8")
    assert answer.body == MODULE.read_text()
    assert call(server.address, "GET", "/static/none.js").status == 401


@pytest.mark.skipif(NODE is None, reason="Node is not installed")
def test_node(start: Callable[..., Running], site: Site, tmp_path: Path) -> None:
    (tmp_path / "skyband.mjs").write_bytes(MODULE.read_bytes())
    (tmp_path / "browser.mjs").write_bytes(SCENE.read_bytes())
    (tmp_path / "run.mjs").write_text(IN_NODE)
    with Relay(start().address) as relay:
        site.cut = relay.cut
        check(told_by([str(NODE), "run.mjs", relay.address, site.address], tmp_path, site))
        assert relay.n_connections > 3


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
def test_chromium(start: Callable[..., Running], site: Site, tmp_path: Path) -> None:
    server = start(origins=[site.address])
    with Relay(server.address) as relay, tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        site.cut = relay.cut
        site.pages["/"] = ("text/html", PAGE.replace("ADDRESS", server.address).replace("RELAY", relay.address))
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-port=0"]
        words = [str(CHROMIUM), *flags, f"--user-data-dir={profile}", site.address + "/"]
        check(told_by(words, tmp_path, site))
        assert relay.n_connections > 3
