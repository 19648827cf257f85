"""kill -9 at any moment: nothing that was acknowledged is lost, and nothing is told twice with the same id."""

import http.client
import itertools
import json
import random
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.server.calling import PushedEvent, Reader, call

SUBS = "/v1/streams/s/subscriptions"
PUBS = "/v1/streams/s/publications"
EVENTS = "/v1/streams/s/events?subscriptions=ann"
CONFIG = "streams: {s: {family: window, engine: scan}}\ncheckpoint_every: 40\n"


class Life:
    """A server in a process of its own, which ends without a word."""

    def __init__(self, folder: Path, more: str = "") -> None:
        config = folder / "serve.yaml"
        config.write_text(CONFIG + more)
        command = [sys.executable, "-m", "skyband", "serve", str(config), "--port", "0", "--json"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        told = "".join(itertools.islice(self.process.stdout, 4))
        self.address: str = json.loads(told)["address"]

    def kill(self) -> None:
        """End it now."""
        self.process.kill()
        self.process.communicate()


class Publisher(threading.Thread):
    """Somebody who publishes one row after the other, and tries the one again that nobody answered."""

    def __init__(self, address: str, first: int) -> None:
        super().__init__(daemon=True)
        self.address = address
        self.next = first
        self.stopping = False
        self.steps: dict[int, str] = {}

    def run(self) -> None:
        """Publish until the server is gone."""
        try:
            while not self.stopping:
                row = {"id": self.next, "ts": self.next, "point": [float(self.next % 7)]}
                answer = call(self.address, "POST", PUBS, [row], {"idempotency-key": str(self.next)})
                assert answer.status == 200, answer
                self.steps[self.next] = answer.body["step"]
                self.next += 1
        except (OSError, http.client.HTTPException, json.JSONDecodeError):
            return


class Witness:
    """Somebody who has seen every event, through all lives."""

    def __init__(self) -> None:
        self.last: str | None = None
        self.told: dict[str, Any] = {}
        self.top: dict[int, float] = {}

    def see(self, event: PushedEvent) -> None:
        """Add an event to what is known; an id that was seen before has to mean the same."""
        assert event.kind != "reset"
        for told in (event.data or {}).get("tops", []):
            self.top = {row["publication"]: row["score"] for row in told["top"]}
        if event.kind != "changes":
            self.last = event.id or self.last
            return
        assert event.id is not None
        assert event.id not in self.told
        self.told[event.id] = event.data
        for row in event.data["changes"]:
            assert row["publication"] not in self.top
            self.top[row["publication"]] = row["score"]
        self.last = event.id

    def watch(self, reader: Reader) -> threading.Thread:
        """See everything that a reader is sent, until its connection ends."""

        def run() -> None:
            for event in reader.rest():
                self.see(event)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread


def campaign(folder: Path, n_kills: int, seed: int) -> None:
    """Kill a server again and again while it works, and hold what there is in the end against what was acknowledged."""
    chance, witness, next_row = random.Random(seed), Witness(), 0
    steps: dict[int, str] = {}
    for life in range(n_kills + 1):
        server = Life(folder)
        if not life:
            call(server.address, "POST", SUBS, [{"id": "ann", "k": 1000, "score": "euclidean", "point": [0.0]}])
        watching = witness.watch(Reader(server.address, EVENTS, witness.last))
        publisher = Publisher(server.address, next_row)
        publisher.start()
        deadline = time.monotonic() + 30
        while publisher.next == next_row and time.monotonic() < deadline:
            time.sleep(0.001)
        if life < n_kills:
            time.sleep(chance.uniform(0, 0.4))
            server.kill()
            watching.join()
        else:
            publisher.stopping = True
        publisher.join()
        assert publisher.next > next_row, "it has acknowledged nothing"
        steps |= publisher.steps
        next_row = publisher.next
    step = call(server.address, "GET", SUBS + "/ann/top").body["step"]
    while witness.last is None or int(witness.last.partition(".")[2]) < int(step.partition(".")[2]):
        assert watching.is_alive(), "the witness does not fit what it was told"
        time.sleep(0.01)
    top = call(server.address, "GET", SUBS + "/ann/top").body["top"]
    server.kill()
    watching.join()
    found = {row["publication"]: row["score"] for row in top}
    assert sorted(steps) == sorted(found) == list(range(next_row)), "what was acknowledged is there, and once"
    assert witness.top == found, "and all of it was told"
    for row, its in steps.items():
        assert [change["publication"] for change in witness.told[its]["changes"]] == [row]


def test_nothing_acknowledged_is_lost_by_three_kills(tmp_path: Path) -> None:
    campaign(tmp_path, 3, 1)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(4))
def test_nothing_acknowledged_is_lost_by_a_hundred_kills(tmp_path: Path, seed: int) -> None:
    campaign(tmp_path, 25, seed)
