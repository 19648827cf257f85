"""`python -m skyband.bench.pipeline_process WHAT ARGUMENT`: what a new process takes until Spark has done something.

WHAT is *recovery*, to the first delivered batch of the pipeline of a configuration, or *startup*, until Spark has run a
function of ours: with *archive*, which is how the pipeline starts Spark, or *plain*, without an archive of classes. A
process prints one JSON object, with moments by the clock of the day, which both processes have.
"""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skyband.bench.experiment import Progress
from skyband.bench.pipeline_course import PipelineCourse
from skyband.bench.pipeline_flow import Ours, reopen
from skyband.bench.row import Row, measured, skipped

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MODULE = "skyband.bench.pipeline_process"
WAYS = ("plain", "archive")
# An archive is made after a session, in the background; so long it is waited for, in seconds.
PATIENCE = 120


def run_process(what: str, argument: str, seconds: float) -> tuple[float, dict[str, Any]]:
    """Run this module in a process of its own: when that began, and the JSON object that it printed last."""
    began, command = time.time(), [sys.executable, "-m", MODULE, what, argument]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds)
    if done.returncode:
        raise RuntimeError(f"{MODULE} {what} has failed: {done.stderr.strip().splitlines()[-1:]}")
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return began, found


def recover(configuration: Path) -> dict[str, Any]:
    """Go on with a pipeline in a new process; what it printed, and the seconds until it had delivered."""
    began, found = run_process("recovery", str(configuration), 1800)
    return found | {"ready_s": found["ready_at"] - began, "delivered_s": found["delivered_at"] - began}


def start(how: str) -> dict[str, Any]:
    """Start Spark in a new process; what it printed, and the seconds it took."""
    began, found = run_process("startup", how, 600)
    return found | {"seconds": found["at"] - began}


def begin(spark: "SparkSession", course: PipelineCourse, folder: Path) -> Path:
    """The configuration of a pipeline that has state, and a batch to go on with: the third one of the course."""
    flow = Ours(spark, folder, course, 1, "parquet")
    for texts in course.batch_texts[:2]:
        flow.feed("publications", texts)
    flow.pipeline.stop()
    flow.append("publications", course.batch_texts[2])
    flow.inlet.close()
    return folder / "pipeline.yaml"


def recovered(given: dict[str, object], configuration: Path) -> Row:
    """A row with how long a new process takes to go on with a pipeline."""
    found = recover(configuration)
    measures = {"ready_s": found["ready_s"], "rebuilt_s": sum(found["parts"].values())}
    measures |= {f"rebuilt_s.{who}": seconds for who, seconds in found["parts"].items()}
    return measured(
        f"recovery, {given['n_subscriptions']:,}", "new process", given, [int(found["delivered_s"] * 1e9)], 1, measures
    )


def startup_rows(n_starts: int, given: dict[str, Any], progress: Progress) -> Iterator[Row]:
    """A row for each way to start, in turn."""
    progress("start-up of Spark")
    if not _has_archive():
        yield skipped("start-up", "archive", given, "Skipped: no archive of classes can be made here.")
        return
    taken: dict[str, list[int]] = {how: [] for how in WAYS}
    for _ in range(n_starts):
        for how in WAYS:
            taken[how].append(int(start(how)["seconds"] * 1e9))
    for how in WAYS:
        yield measured("start-up", how, given, taken[how], 1, {})


def _has_archive() -> bool:
    """Whether there is an archive; the first session lists classes for one, which is then made."""
    over = time.monotonic() + PATIENCE
    while time.monotonic() < over:
        if start("archive")["archive"]:
            return True
        time.sleep(5)
    return False


def _go_on(configuration: str) -> dict[str, Any]:
    """Run a pipeline until it has delivered something; what the parts took to be rebuilt."""
    shift = time.time() - time.perf_counter()
    ready, first = reopen(Path(configuration))
    parts = {who: part["rebuilt_seconds"] for who, part in first.parts.items()}
    return {"ready_at": ready + shift, "delivered_at": first.at + shift, "n_rows": first.n_rows, "parts": parts}


def _open(how: str) -> dict[str, Any]:
    """Open a session, and have it run a function; when that had run, and whether there was an archive."""
    import pyarrow as pa

    from skyband.pipeline import session
    from skyband.pipeline.java import Archive, Java, class_archive
    from skyband.pipeline.stage import worker

    used = []

    def archive(java: Java, jars: Path) -> Archive | None:
        found = None if how == "plain" else class_archive(java, jars)
        used.append(found is not None and found.class_list is None)
        return found

    vars(session)["class_archive"] = archive
    spark = session.open_session(name="start-up")
    rows = spark.range(1).mapInArrow(worker.ping, "id long").toArrow()
    assert rows.equals(pa.table({"id": [0]}).cast(rows.schema))
    found = {"at": time.time(), "archive": used[0]}
    spark.stop()
    return found


if __name__ == "__main__":
    print(json.dumps({"recovery": _go_on, "startup": _open}[sys.argv[1]](sys.argv[2])), flush=True)
