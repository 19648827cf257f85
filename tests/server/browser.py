"""A real Chromium, spoken to over its own protocol, and what it has to say of a page."""

import base64
import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import ClientConnection, connect

FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
         "--remote-debugging-port=0", "--no-first-run", "--disable-background-networking", "--disable-quic",
         "--disable-component-update", "--disable-sync")  # fmt: skip
NAMES = ("chromium", "chromium-browser", "google-chrome")
CODES: dict[str, dict[str, Any]] = {
    "Tab": {"code": "Tab", "windowsVirtualKeyCode": 9},
    "Enter": {"code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"},
    "ArrowLeft": {"code": "ArrowLeft", "windowsVirtualKeyCode": 37},
}
# What a person or a program finds by its name alone has to have one.
NAMED = ("button", "link", "textbox", "combobox", "checkbox", "image", "dialog")
FAINT_TEXT = """(() => {
  const parts = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (el) => {
    for (; el; el = el.parentElement) {
      const own = getComputedStyle(el).backgroundColor;
      if (/^rgb\\(/.test(own)) return parts(own);
    }
    return [255, 255, 255];
  };
  const found = [];
  for (const el of document.querySelectorAll("body *")) {
    const own = [...el.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!own || !el.checkVisibility() || el.closest(".hidden, noscript, option, [disabled], .skip")) continue;
    const style = getComputedStyle(el);
    const [a, b] = [light(parts(style.color)), light(ground(el))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    const text = el.textContent.trim().slice(0, 40);
    if (ratio < (parseFloat(style.fontSize) >= 24 ? 3 : 4.5)) found.push(`${text}: ${ratio.toFixed(2)}`);
  }
  return found;
})()"""


def find_chromium() -> str:
    """The browser of this system; a test that needs one is skipped where there is none, unless that is an error."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        if os.environ.get("SKYBAND_REQUIRE_CHROMIUM"):
            raise RuntimeError("There is no Chromium on this machine.")
        pytest.skip("There is no Chromium on this machine.")
    return found


class Page:
    """One page of a browser; what it complains of and what it asks for is noted."""

    def __init__(self, socket: ClientConnection) -> None:
        self.complaints: list[str] = []
        self.asked: list[str] = []
        self._socket = socket
        self._n = 0
        for domain in ("Page", "Runtime", "Log", "Network", "Accessibility"):
            self.command(f"{domain}.enable")

    def command(self, method: str, **given: Any) -> dict[str, Any]:
        """Send a command, and wait for what it leads to."""
        self._n += 1
        self._socket.send(json.dumps({"id": self._n, "method": method, "params": given}))
        while True:
            message = json.loads(self._socket.recv(timeout=60))
            if message.get("id") == self._n:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                result: dict[str, Any] = message["result"]
                return result
            self._note(message)

    def run(self, code: str) -> Any:
        """The value of an expression in the page."""
        found = self.command("Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise RuntimeError(f"{code}: {found['exceptionDetails']}")
        return found["result"].get("value")

    def until(self, code: str, seconds: float = 60) -> Any:
        """Wait until an expression is true of the page, and return it."""
        deadline = time.monotonic() + seconds
        # An element is as good as true, and cannot be returned.
        told = f"(async () => {{ const it = await ({code}); return it instanceof Node ? true : it; }})()"
        while time.monotonic() < deadline:
            with contextlib.suppress(RuntimeError):  # while a page is being loaded there is nothing to ask
                if value := self.run(told):
                    return value
            time.sleep(0.1)
        raise AssertionError(f"It never was true: {code}\n{self.text()[:1500]}\n{self.complaints}")

    def open(self, address: str, width: int = 1280, height: int = 800, theme: str = "dark", calm: bool = False) -> None:
        """Go to an address, in a window of this size; a calm one asks for as little motion as possible."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.command("Emulation.setDeviceMetricsOverride", **size)
        motion = "reduce" if calm else "no-preference"
        wishes = {"prefers-color-scheme": theme, "prefers-reduced-motion": motion}
        self.command("Emulation.setEmulatedMedia", features=[{"name": k, "value": v} for k, v in wishes.items()])
        # The same page with another hash would not be loaded anew.
        self.command("Page.navigate", url="about:blank")
        self.command("Page.navigate", url=address)

    def count(self, selector: str) -> int:
        """How many elements there are."""
        return int(self.run(f"document.querySelectorAll({json.dumps(selector)}).length"))

    def choose(self, selector: str, value: str) -> None:
        """Choose in a list, or write into a field."""
        self.run(f"""(() => {{
          const it = document.querySelector({json.dumps(selector)});
          it.value = {json.dumps(value)};
          for (const kind of ["input", "change"]) it.dispatchEvent(new Event(kind, {{ bubbles: true }}));
        }})()""")

    def press(self, key: str, shift: bool = False) -> None:
        """Press a key."""
        of = {"key": key, "modifiers": 8 if shift else 0, "text": key if len(key) == 1 else ""} | CODES.get(key, {})
        self.command("Input.dispatchKeyEvent", type="keyDown", **of)
        self.command("Input.dispatchKeyEvent", type="keyUp", **of)

    def held_bytes(self) -> int:
        """How much memory the page's objects take, once nothing is left to be collected."""
        self.command("HeapProfiler.collectGarbage")
        return int(self.command("Runtime.getHeapUsage")["usedSize"])

    def text(self) -> str:
        """What can be read on the page."""
        return str(self.run("document.body.innerText"))

    def picture(self, path: Path) -> None:
        """Write what is seen as PNG."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(self.command("Page.captureScreenshot", format="png")["data"]))

    def nameless(self) -> list[str]:
        """Controls and pictures that have no name for those who do not see them."""
        nodes = self.command("Accessibility.getFullAXTree")["nodes"]
        seen = [node for node in nodes if not node.get("ignored") and node["role"]["value"] in NAMED]
        return [node["role"]["value"] for node in seen if not node.get("name", {}).get("value", "").strip()]

    def faint(self) -> list[str]:
        """Texts with less contrast than 4.5 to 1, or 3 to 1 where they are large."""
        found: list[str] = self.run(FAINT_TEXT)
        return found

    def _note(self, message: dict[str, Any]) -> None:
        told = message.get("params", {})
        match message.get("method"):
            case "Runtime.exceptionThrown":
                details = told["exceptionDetails"]
                self.complaints.append(str(details.get("exception", {}).get("description", details["text"])))
            case "Runtime.consoleAPICalled" if told["type"] in ("error", "warning", "assert"):
                self.complaints.append(str(told["args"]))
            case "Log.entryAdded" if told["entry"]["level"] in ("error", "warning"):
                self.complaints.append(f"{told['entry']['source']}: {told['entry']['text']}")
            case "Network.requestWillBeSent":
                self.asked.append(told["request"]["url"])


@contextlib.contextmanager
def open_browser() -> Iterator[Page]:
    """A browser with one page, which ends with the block."""
    program = find_chromium()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        log = Path(folder) / "log"
        command = [program, *FLAGS, f"--user-data-dir={folder}/profile", "about:blank"]
        with log.open("w") as file:
            process = subprocess.Popen(command, stdout=file, stderr=file)
        try:
            with connect(_page_address(log), max_size=None, ping_interval=None) as socket:
                yield Page(socket)
        finally:
            process.terminate()
            process.wait(30)


def _page_address(log: Path) -> str:
    """Where the one page is spoken to, as soon as it can be."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        line = next((line for line in log.read_text().splitlines() if "DevTools listening on ws://" in line), None)
        if line is not None:
            place = line.split("ws://")[1].partition("/")[0]
            with contextlib.suppress(OSError, StopIteration), urllib.request.urlopen(f"http://{place}/json") as answer:
                pages = (page for page in json.load(answer) if page["type"] == "page")
                return str(next(pages)["webSocketDebuggerUrl"])
        time.sleep(0.1)
    raise RuntimeError(f"Chromium did not start: {log.read_text()[-1000:]}")
