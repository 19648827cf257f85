"""A pipeline in a process of its own that is killed and started again, over one stream made from a seed.

Run as a module, it is that process: `python -m tests.pipeline.crash FOLDER`.
"""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import pyarrow as pa

from skyband.log import Log
from skyband.pipeline.config import Config, make_config
from skyband.pipeline.sink import read_changes, read_tops
from skyband.pipeline.state.folder import State
from tests.pipeline.short import SHORT
from tests.pipeline.streams import Alone, Batch

Row = dict[str, Any]
ROOT = Path(__file__).resolve().parents[2]
PART = "SKYBAND_PART"
ROWS = 30
DIMS = 2
SECOND = 1_000_000
# A session takes up to so long to start and to do its first batch on a busy machine, in seconds.
PATIENCE = 480.0


def stream(seed: int, n_batches: int) -> list[Batch]:
    """Batches of as many commands as publications: subscriptions come, go and change size all the time.

    Some of the publications are retractions of those before them.
    """
    rng = random.Random(seed)
    standing: list[str] = []
    batches, now, n_asked = [], 0, 0
    for number in range(n_batches):
        commands: list[Row] = []
        for _ in range(ROWS):
            op = rng.choice(["subscribe", "subscribe", "unsubscribe", "resize"]) if standing else "subscribe"
            if op == "subscribe":
                n_asked += 1
                standing.append(f"s{n_asked}")
                row: Row = {
                    "op": op,
                    "id": standing[-1],
                    "score": "euclidean",
                    "k": rng.randint(1, 4),
                    "point": _point(rng),
                }
                commands.append(row | ({"window_us": rng.randint(1, 20) * SECOND} if rng.random() < 0.3 else {}))
            elif op == "unsubscribe":
                commands.append({"op": op, "id": standing.pop(rng.randrange(len(standing)))})
            else:
                commands.append({"op": op, "id": rng.choice(standing), "k": rng.randint(1, 6)})
        publications: list[Row] = []
        for place in range(ROWS):
            now += rng.choice([-SECOND, 0, SECOND, SECOND])
            if rng.random() < 0.15:
                publications.append(_retraction(rng, number * ROWS + place, now))
                continue
            publications.append({"id": f"p{number * ROWS + place}", "ts": now, "point": _point(rng)})
        batches.append(Batch(commands, publications))
    return batches


def _retraction(rng: random.Random, n_before: int, now: int) -> Row:
    """Withdraw one of the last publications, which may be gone already, or may have been a retraction."""
    row: Row = {"op": "retract", "id": f"p{n_before - rng.randint(1, 40)}"}
    return row | rng.choice([{}, {"ts": now}])


def _point(rng: random.Random) -> list[float]:
    return [rng.randint(0, 40) / 4 for _ in range(DIMS)]


def config_of(folder: Path, **changed: Any) -> Config:
    """The configuration of the pipeline in a folder, with what `write_changed` put there."""
    file = folder / "changed.json"
    changed = (json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}) | changed
    document: Row = {
        "family": "window",
        "dims": DIMS,
        "window": "30s",
        "zones": 2,
        "batch": ROWS,
        "state": "state",
        # A task that lost its worker is tried again, up to four times in all.
        "master": "local[2,4]",
        "publications": {"format": "log", "path": "publications"},
        "subscriptions": {"format": "log", "path": "subscriptions"},
        "changes": {"format": "parquet", "path": "changes"},
        "tops": {"format": "parquet", "path": "tops", "compact_every": 7},
        "spark": SHORT,
    }
    return make_config(document | changed, folder)


def write_changed(folder: Path, **changed: Any) -> None:
    """Let the pipeline in a folder be configured otherwise."""
    (folder / "changed.json").write_text(json.dumps(changed), encoding="utf-8")


def write_stream(folder: Path, batches: Sequence[Batch]) -> None:
    """Put a stream into the logs that the pipeline in a folder reads."""
    for noun, place in (("subscriptions", 0), ("publications", 1)):
        with Log(folder / noun) as log:
            log.append([json.dumps(row) for batch in batches for row in batch[place]])


class Outcome(NamedTuple):
    """What a pipeline delivered: every change with its batch and row, and the tops at the end."""

    changes: list[Row]
    tops: list[Row]


def outcome(folder: Path) -> Outcome:
    """What the pipeline in a folder has delivered."""
    changes = read_changes(folder / "changes", keyed=True).to_pylist()
    return Outcome(changes, _ordered(read_tops(folder / "tops")))


def _ordered(tops: pa.Table) -> list[Row]:
    rows: list[Row] = tops.to_pylist()
    return sorted((row for row in rows if row["rank"] is not None), key=lambda row: (row["subscription"], row["rank"]))


def truth(folder: Path, batches: Sequence[Batch]) -> Outcome:
    """What one engine over everything, which nobody kills, has to say."""
    alone = Alone(State(folder / "state").shape())
    changes = [
        {"batch": number, "row": place} | row
        for number, batch in enumerate(batches)
        for place, row in enumerate(alone.apply(batch))
    ]
    return Outcome(changes, _ordered(alone.engine.top()))


def n_committed(folder: Path) -> int:
    """How many batches count so far."""
    with contextlib.suppress(FileNotFoundError):
        return sum(1 for name in os.listdir(folder / "state" / "batches") if name[0].isdigit())
    return 0


class Child:
    """The process that runs the pipeline of a folder, the Java machine below it, and Spark's Python workers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.said = (folder / "said").open("ab")
        environment = dict(os.environ, PYTHONPATH=os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
        command = [sys.executable, "-m", "tests.pipeline.crash", str(folder)]
        self.process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=self.said, stderr=self.said, start_new_session=True
        )

    def __enter__(self) -> "Child":
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.kill("tree")
        self.said.close()

    @property
    def ended(self) -> bool:
        """Whether the process is gone."""
        return self.process.poll() is not None

    def tree(self) -> list[psutil.Process]:
        """The process and all below it."""
        try:
            top = psutil.Process(self.process.pid)
            return [top, *top.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def workers(self, part: str | None = None) -> list[psutil.Process]:
        """The processes that hold a part of the pipeline, or wait to make one that does."""
        found = []
        for process in self.tree()[1:]:
            with contextlib.suppress(psutil.Error):
                name = process.environ().get(PART)
                if name is not None and part in (None, name):
                    found.append(process)
        return found

    def kill(self, kind: str, rng: random.Random | None = None) -> bool:
        """Kill without warning: the `tree`, the `driver` and its Java machine only, or a `worker`; whether one was."""
        if kind == "worker":
            held = [process for process in self.workers() if process.environ()[PART] != "prepare"]
            chosen = [(rng or random.Random(0)).choice(sorted(held, key=lambda process: process.pid))] if held else []
        else:
            workers = {process.pid for process in self.workers()}
            chosen = [process for process in self.tree() if kind == "tree" or process.pid not in workers]
        for process in chosen:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
        if kind != "worker":
            self.process.wait()
        return bool(chosen)

    def wait_for(self, n_batches: int) -> bool:
        """Wait until so many batches count; False if the process ended before."""
        deadline = time.monotonic() + PATIENCE
        while n_committed(self.folder) < n_batches:
            if self.ended:
                return n_committed(self.folder) >= n_batches
            assert time.monotonic() < deadline, f"Nothing happens: {self.told()}"
            time.sleep(0.01)
        return True

    def wait(self) -> int:
        """Wait for the end; the exit code."""
        return self.process.wait(PATIENCE)

    def told(self) -> str:
        """The last that the process said."""
        return (self.folder / "said").read_text(encoding="utf-8", errors="replace")[-3000:]


class Kill(NamedTuple):
    """What to kill, and when: so many batches after the last kill (0: while it starts), and a while later."""

    kind: str
    after: int
    seconds: float


def kills_of(seed: int, n_kills: int) -> Iterator[Kill]:
    """Kills of every kind at moments that the seed decides; every fifth comes while the session starts."""
    rng = random.Random(seed)
    for number in range(n_kills):
        if number % 5 == 4:
            # It follows the kill of a driver, so that there is a start to fall into.
            yield Kill(rng.choice(["tree", "driver"]), 0, rng.uniform(0, 8))
        else:
            kind = rng.choice(["tree", "driver"]) if number % 5 == 3 else rng.choice(["worker", "worker", "tree"])
            yield Kill(kind, rng.randint(1, 3), rng.uniform(0, 0.5))


def survive(folder: Path, kills: Sequence[Kill], seed: int = 0) -> list[str]:
    """Run the pipeline of a folder to its end through all these kills; which were done, and how often it started."""
    rng = random.Random(seed)
    done, child = ["start"], Child(folder)
    try:
        for kill in kills:
            if child.ended:
                child.said.close()
                done, child = [*done, "start"], Child(folder)
            child.wait_for(n_committed(folder) + kill.after)
            time.sleep(kill.seconds)
            if child.kill(kill.kind, rng):
                done.append(kill.kind)
        while child.wait() != 0:
            assert done[-1] != "start", f"The pipeline failed though nothing was killed: {child.told()}"
            child.said.close()
            done, child = [*done, "start"], Child(folder)
        return done
    finally:
        child.__exit__()


def main(folder: Path) -> None:
    """Run the pipeline in a folder until all is done."""
    from skyband.pipeline.run import Pipeline

    pipeline = Pipeline(config_of(folder))
    pipeline.start(until_idle=True)
    pipeline.wait()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
