"""`python -m skyband.bench.pipeline_startup HOW`: how long a new process takes until Spark has run a function of ours.

HOW is *archive*, which is how the pipeline starts Spark, or *plain*, without an archive of classes. It prints one JSON
object: the clock of the day when the function had run, and whether there was an archive.
"""

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from skyband.bench.benchmark import Progress
from skyband.bench.child import run_module
from skyband.bench.row import Row, measured, skipped

WAYS = ("plain", "archive")
# An archive is made after a session, in the background; so long it is waited for, in seconds.
PATIENCE = 120


def start(how: str) -> dict[str, Any]:
    """Start Spark in a new process; what it printed, and the seconds it took."""
    began, found = run_module("skyband.bench.pipeline_startup", how, 600)
    return found | {"seconds": found["at"] - began}


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


def main() -> None:
    """Open a session, and have it run a function."""
    import pyarrow as pa

    from skyband.pipeline import session
    from skyband.pipeline.java import Archive, Java, class_archive
    from skyband.pipeline.stage import worker

    used = []

    def archive(java: Java, jars: Path) -> Archive | None:
        found = None if sys.argv[1] == "plain" else class_archive(java, jars)
        used.append(found is not None and found.class_list is None)
        return found

    vars(session)["class_archive"] = archive
    spark = session.open_session(name="start-up")
    rows = spark.range(1).mapInArrow(worker.ping, "id long").toArrow()
    assert rows.equals(pa.table({"id": [0]}).cast(rows.schema))
    print(json.dumps({"at": time.time(), "archive": used[0]}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
