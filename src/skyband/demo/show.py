"""The demo from start to end: make a city, compile, start Spark, play the day, sum up."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console

from skyband.demo.day import OPENS, clock
from skyband.demo.ledger import DayLedger
from skyband.demo.play import play
from skyband.demo.runner import DayRunner, InProcess, warm_up
from skyband.demo.scene import STEP, Scene, make_scene
from skyband.demo.subscriber import ROLES
from skyband.demo.summary import FOLDER, DemoSummary, print_summary, summarise, write_files
from skyband.demo.watcher import STREAM_SECONDS, can_show, say, watching, working
from skyband.kernels.compile import CACHE, sources_digest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from skyband.demo.spark import Starting

RunnerName = Literal["spark", "local"]

# What the pipeline imports, by the name that is imported.
PACKAGES = ("pyspark", "pandas", "yaml")
# A rough figure for an idle machine with 2 cores.
COMPILE_SECONDS = 35
# The package, which has the kernels.
PACKAGE = Path(__file__).parents[1]


def run(
    *,
    seed: int = 7,
    subscribers: int = 4000,
    publications: int = 60000,
    out: Path = Path("build/demo"),
    live: bool = True,
    runner: RunnerName | None = None,
    console: Console | None = None,
    spark: SparkSession | None = None,
) -> DemoSummary:
    """Play a seeded day in a city, and write the change log, a summary and a picture to `out`.

    The day runs through the pipeline on Spark, in `spark` or in a session of its own; with the runner local, or where
    Spark or Java is missing, in one engine in this process. The same seed and sizes give the same change log. In a
    terminal the day is shown as it runs; with `live` False, or in a pipe, it says now and then how far it is. Ctrl-C
    ends the day early.
    """
    _check(seed, subscribers, publications)
    console = console or Console()
    starting = _begin_spark(spark, out / FOLDER) if _wants_spark(console, runner) else None
    out.mkdir(parents=True, exist_ok=True)
    with working(console, f"Making a city, {publications:,} messages and {subscribers:,} subscribers"):
        scene = make_scene(seed, subscribers, publications)
    with working(console, _compiling()):
        warm_up(scene)
        _note_compiled()
    with _opened(console, scene, out, starting) as opened:
        say(console, _announcement(scene, live and can_show(console)))
        began = time.perf_counter()
        with watching(console, live) as watcher:
            ledger = play(scene, opened, watcher)
        seconds = time.perf_counter() - began
        if ledger.n_steps < len(ledger.tally.messages):
            say(console, f"Stopped at {clock(OPENS + ledger.n_steps * STEP)}; this is the day so far.")
    with working(console, "Drawing the picture and writing the files"):
        picture = _draw(scene, opened, ledger, out)
        summary = summarise(scene, seed, opened, ledger, seconds, out, picture)
        write_files(summary, scene, ledger.table())
    if picture is None:
        say(console, "There is no picture: matplotlib is not installed; skyband[plot] brings it.")
    print_summary(console, summary)
    say(console, "The same city live in a browser: run skyband serve --demo.")
    return summary


def _check(seed: int, subscribers: int, publications: int) -> None:
    if seed < 0:
        raise ValueError(f"The seed must be 0 or more, not {seed}.")
    if subscribers < len(ROLES):
        raise ValueError(f"The demo needs at least {len(ROLES)} subscribers, not {subscribers}.")
    if publications < 1:
        raise ValueError(f"The demo needs at least one publication, not {publications}.")


def _wants_spark(console: Console, asked: RunnerName | None) -> bool:
    """Whether the day runs on Spark: it does unless it is asked not to, or cannot."""
    lacking = None if asked == "local" else lacking_for_spark()
    if lacking is not None and asked == "spark":
        raise ValueError(lacking)
    if lacking is not None:
        say(console, f"{lacking} Until then the day runs in this process, without the pipeline.")
    return asked != "local" and lacking is None


def lacking_for_spark() -> str | None:
    """What the pipeline would need that is not here, in a sentence; None if everything is."""
    # Where nothing of Spark is installed, nothing of the pipeline is imported.
    for package in PACKAGES:
        if importlib.util.find_spec(package) is None:
            return f'The pipeline needs {package}, which is not installed: pip install "skyband[spark]".'
    from skyband.pipeline.java import NoJava, find_java

    try:
        find_java()
    except NoJava as error:
        return str(error)
    return None


def _begin_spark(spark: SparkSession | None, folder: Path) -> Starting:
    """Let Spark start while everything else is made ready."""
    from skyband.demo.spark import Starting, check_folder

    check_folder(folder)
    return Starting(spark)


@contextlib.contextmanager
def _opened(console: Console, scene: Scene, out: Path, starting: Starting | None) -> Iterator[DayRunner]:
    """The runner of the day, in this process or, if Spark is starting, in the pipeline."""
    if starting is None:
        yield InProcess(scene)
        return
    from skyband.demo.spark import on_spark

    with contextlib.ExitStack() as stack:
        with working(console, "Starting Spark and the pipeline"):
            stack.callback(starting.stop)
            runner = stack.enter_context(on_spark(scene, out / FOLDER, starting))
        yield runner
        stack.enter_context(working(console, "Stopping the pipeline"))


def _compiling() -> str:
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        return "Running without compiled kernels (NUMBA_DISABLE_JIT is set), which is slow"
    if CACHE is not None and _ready(CACHE).exists():
        return "Loading the compiled kernels"
    return f"Compiling the kernels that are new here (up to about {COMPILE_SECONDS} s, the first time only)"


def _note_compiled() -> None:
    if CACHE is not None:
        ready = _ready(CACHE)
        with contextlib.suppress(OSError):
            ready.mkdir(exist_ok=True)
            os.utime(ready)


def _ready(cache: Path) -> Path:
    """A folder, which is removed as others are when it is old, that says that what the demo needs is compiled."""
    return cache / f"demo-{sources_digest(PACKAGE)}"


def _announcement(scene: Scene, shown: bool) -> str:
    pace = f"in about {STREAM_SECONDS:.0f} s" if shown else "as fast as it can"
    return f"Playing a day in {scene.city.name}, from 06:00 to 24:00, {pace}; Ctrl-C ends it early."


def _draw(scene: Scene, runner: DayRunner, ledger: DayLedger, out: Path) -> Path | None:
    if importlib.util.find_spec("matplotlib") is None:
        return None
    # Matplotlib takes a second to import and is not a requirement.
    from skyband.demo.picture import Shown, draw_picture

    tops = [Shown(*_top_of(runner.tops(), who)) for who in range(len(ROLES))]
    path = out / "day.png"
    draw_picture(scene, ledger.tally, ledger.n_steps, tops, path)
    return path


def _top_of(tops: pa.Table, who: int) -> tuple[list[int], list[float]]:
    top = tops.filter(pc.equal(tops["subscription"], who)).sort_by("rank")
    return top["publication"].to_pylist(), top["score"].to_pylist()
