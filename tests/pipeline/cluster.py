"""Spark's own standalone cluster on this machine: a master and two workers with one core each."""

import contextlib
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import psutil

from skyband.pipeline.java import find_java, launcher_home

# On a busy machine things take their time, in seconds.
PATIENCE = 480.0
PART = "SKYBAND_PART"
EXECUTOR = "CoarseGrainedExecutorBackend"


class Cluster(NamedTuple):
    """A running cluster: where drivers find it, and its processes."""

    url: str
    workers: list[int]

    def executors(self) -> list[psutil.Process]:
        """The processes of executors that live, oldest first."""
        found = []
        for pid in self.workers:
            with contextlib.suppress(psutil.Error):
                for process in psutil.Process(pid).children():
                    if any(EXECUTOR in word for word in process.cmdline()):
                        found.append(process)
        return sorted(found, key=lambda process: process.create_time())

    def parts(self) -> dict[int, set[str]]:
        """By executor, the parts of a pipeline that it has a Python worker for."""
        return {executor.pid: _parts_below(executor) for executor in self.executors()}


def _parts_below(executor: psutil.Process) -> set[str]:
    names = set()
    with contextlib.suppress(psutil.Error):
        for process in executor.children(recursive=True):
            with contextlib.suppress(psutil.Error):
                names.add(process.environ().get(PART, ""))
    return names - {""}


@contextlib.contextmanager
def open_cluster(folder: Path, n_workers: int = 2) -> Iterator[Cluster]:
    """A cluster that lasts as long as the block, with all its files in a folder."""
    started: list[subprocess.Popen[bytes]] = []
    here = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
    try:
        started.append(_start(folder / "master", "org.apache.spark.deploy.master.Master", here))
        url = _told(folder / "master", started[0], r"Starting Spark master at (spark://\S+)")
        for number in range(n_workers):
            place = folder / f"worker-{number}"
            limits = ["--cores", "1", "--memory", "1g", "--work-dir", str(place / "work")]
            started.append(_start(place, "org.apache.spark.deploy.worker.Worker", [*here, *limits, url]))
        for number in range(n_workers):
            _told(folder / f"worker-{number}", started[number + 1], r"(Successfully registered with master)")
        yield Cluster(url, [process.pid for process in started[1:]])
    finally:
        for process in reversed(started):
            _end(process)


def _start(folder: Path, program: str, words: list[str]) -> "subprocess.Popen[bytes]":
    import pyspark

    folder.mkdir(parents=True)
    home = Path(pyspark.__file__).parent
    environment = dict(os.environ) | {
        "JAVA_HOME": str(launcher_home(find_java())),
        "SPARK_HOME": str(home),
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_LOCAL_DIRS": str(folder / "local"),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    with (folder / "said").open("wb") as said:
        return subprocess.Popen(
            [str(home / "bin" / "spark-class"), program, *words],
            stdout=said,
            stderr=subprocess.STDOUT,
            env=environment,
            cwd=folder,
            start_new_session=True,
        )


def _told(folder: Path, process: "subprocess.Popen[bytes]", pattern: str) -> str:
    """Wait for a line in what a process says, and return what it tells."""
    deadline = time.monotonic() + PATIENCE
    while True:
        said = (folder / "said").read_text(encoding="utf-8", errors="replace")
        found = re.search(pattern, said)
        if found:
            return found[1]
        assert process.poll() is None, f"It ended with {process.returncode}: {said[-2000:]}"
        assert time.monotonic() < deadline, f"It does not say {pattern!r}: {said[-2000:]}"
        time.sleep(0.05)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End a process and all below it."""
    below: list[psutil.Process] = []
    with contextlib.suppress(psutil.Error):
        below = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    process.wait()
    for child in below:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child.pid, signal.SIGKILL)
