"""What a pipeline uses of its processors: seconds by stage, told by every process that works for it.

A process tells what it has used since it told last, or since it began. So nothing is left out, whatever lies between
two batches, and what a process does after it has told is told with the next batch. Sources tell in a column beside
their rows, tasks in their reports, and of Java the operating system knows.
"""

import socket
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# In the order in which a row goes through them; Java carries rows between all of them.
SOURCE, PREPARE, ROUTE, MATCH, MERGE, DELIVER, JAVA = "source", "prepare", "route", "match", "merge", "deliver", "jvm"
STAGES = (SOURCE, PREPARE, ROUTE, MATCH, MERGE, DELIVER, JAVA)
# The column in which a source tells nanoseconds, null but in the last row of a batch.
SPENT = "spent"

_told = 0.0


def used() -> float:
    """The processor seconds that this process has used since it was asked last, or since it began."""
    global _told
    now = time.process_time()
    seconds, _told = now - _told, now
    return seconds


def telling(batches: Iterable[pa.RecordBatch], before: float = 0.0) -> Iterator[pa.RecordBatch]:
    """The batches of a source, with what this process has used for each of them, and others before the first."""
    for batch in batches:
        if batch.num_rows:
            spent = np.zeros(batch.num_rows, np.int64)
            spent[-1], before = round((before + used()) * 1e9), 0.0
            told = pa.array(spent, mask=np.arange(batch.num_rows) < batch.num_rows - 1)
            batch = batch.append_column(SPENT, told)
            yield batch


def told_by_source(batch: pa.RecordBatch) -> float:
    """The seconds that a source has told beside these rows."""
    if SPENT not in batch.schema.names:
        return 0.0
    nanoseconds: int = pc.sum(batch.column(SPENT)).as_py() or 0
    return nanoseconds / 1e9


def java_of_worker() -> tuple[str, float] | None:
    """The Java process that this one works for, by a name, and its processor seconds by now; None without one."""
    for process in psutil.Process().parents()[:2]:
        if process.name().startswith("java"):
            return f"{socket.gethostname()}/{process.pid}", _seconds_of(process)
    return None


def _seconds_of(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


class Account:
    """What a run has used since its last report; `begin` and `lap` are called by the thread that works."""

    def __init__(self, spark: "SparkSession | None") -> None:
        self._seconds = dict.fromkeys(STAGES, 0.0)
        self._began = 0.0
        self._driver = None if spark is None else psutil.Process(_pid_of(spark))
        # On one machine all work for the Java process of the driver.
        self._is_local = spark is not None and _is_local(spark.sparkContext.master)
        self._java = {} if self._driver is None else {"driver": _seconds_of(self._driver)}

    def begin(self) -> None:
        """From here on the work of this thread is counted."""
        self._began = time.thread_time()

    def lap(self, stage: str) -> None:
        """What this thread has done since it began, or since the lap before, was for this stage."""
        now = time.thread_time()
        self._seconds[stage] += now - self._began
        self._began = now

    def add(self, reports: Iterable[dict[str, Any]]) -> None:
        """Take what tasks have told; of Java processes, which several may tell of, only the sum is kept."""
        for report in reports:
            for stage, seconds in report["processor"].items():
                self._seconds[stage] += seconds
            java = report.pop("java", None)
            if java is not None and not self._is_local:
                self._add_java(*java)

    def _add_java(self, name: str, seconds: float) -> None:
        """A Java process that was not known counts from now on."""
        self._seconds[JAVA] += max(0.0, seconds - self._java.get(name, seconds))
        self._java[name] = seconds

    def take(self) -> dict[str, float]:
        """The seconds of each stage since they were taken last."""
        if self._driver is not None:
            now = _seconds_of(self._driver)
            self._seconds[JAVA] += now - self._java["driver"]
            self._java["driver"] = now
        taken, self._seconds = self._seconds, dict.fromkeys(STAGES, 0.0)
        return taken


def _pid_of(spark: "SparkSession") -> int:
    """The number of the Java process of the driver."""
    machine: Any = spark.sparkContext._jvm
    # It names itself as its number, an @ and the machine.
    name: str = machine.org.apache.spark.util.Utils.getProcessName()
    return int(name.partition("@")[0])


def _is_local(master: str | None) -> bool:
    return master is not None and master.startswith("local") and not master.startswith("local-cluster")
