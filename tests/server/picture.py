"""`python -m tests.server.picture` makes the picture of the console that its page of documentation shows."""

import sys
import tempfile
import time
from pathlib import Path

from skyband.demo.hosted import keep_publishing
from skyband.server import Running, make_server_config
from tests.server.browser import open_browser

PLACE = Path(__file__).resolve().parents[2] / "docs" / "_static" / "console.png"
# So that there is something to see.
SECONDS = 45


def draw(path: Path, screen: str = "map", seconds: float = SECONDS) -> None:
    """Let the city be published to for a while, and write what a screen shows."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        config = make_server_config({"port": 0, "data": folder})
        with Running(config, beside=keep_publishing) as server, open_browser() as page:
            page.open(f"{server.address}/#/{screen}")
            page.until("document.documentElement.dataset.fresh === 'live' && !!document.querySelector('.chip')", 120)
            time.sleep(seconds)
            page.picture(path)


if __name__ == "__main__":
    draw(Path(sys.argv[1]) if len(sys.argv) > 1 else PLACE)
