"""The demo from start to end: make a city, compile, play the day, sum up."""

import contextlib
import importlib.util
import os
import time
from pathlib import Path

from rich.console import Console

from skyband.contract import AnyEngine
from skyband.demo.day import OPENS, clock
from skyband.demo.ledger import Ledger
from skyband.demo.play import open_engine, play, warm_up
from skyband.demo.scene import STEP, Scene, make_scene
from skyband.demo.subscriber import ROLES
from skyband.demo.summary import DemoSummary, print_summary, summarise, write_files
from skyband.demo.watcher import STREAM_SECONDS, can_show, say, watching, working
from skyband.kernels.compile import CACHE

# A rough figure for an idle machine with 2 cores.
COMPILE_SECONDS = 35
# A file in the kernel cache, which is named by the kernels' sources: what the demo needs is compiled.
READY = "demo.ready"


def run(
    *,
    seed: int = 7,
    subscribers: int = 4000,
    publications: int = 60000,
    out: Path = Path("build/demo"),
    live: bool = True,
    console: Console | None = None,
) -> DemoSummary:
    """Play a seeded day in a city, and write the change log, a summary and a picture to `out`.

    In a terminal the day is shown as it runs, in about 40 seconds; with `live` False, or in a pipe, it runs as fast as
    it can and says how far it is. The same seed and sizes give the same change log. Ctrl-C ends the day early.
    """
    _check(seed, subscribers, publications)
    console = console or Console()
    out.mkdir(parents=True, exist_ok=True)
    with working(console, f"Making a city, {publications:,} messages and {subscribers:,} subscribers"):
        scene = make_scene(seed, subscribers, publications)
    with working(console, _compiling()):
        warm_up(scene)
        _note_compiled()
    say(console, _announcement(scene, live and can_show(console)))
    engine, began = open_engine(), time.perf_counter()
    with watching(console, live) as watcher:
        ledger = play(scene, engine, watcher)
    seconds = time.perf_counter() - began
    if ledger.n_steps < len(ledger.tally.messages):
        say(console, f"Stopped at {clock(OPENS + ledger.n_steps * STEP)}; this is the day so far.")
    with working(console, "Drawing the picture and writing the files"):
        picture = _draw(scene, engine, ledger, out)
        summary = summarise(scene, seed, engine, ledger, seconds, out, picture)
        write_files(summary, scene, ledger.table())
    if picture is None:
        say(console, "There is no picture: matplotlib is not installed; skyband[plot] brings it.")
    print_summary(console, summary)
    return summary


def _check(seed: int, subscribers: int, publications: int) -> None:
    if seed < 0:
        raise ValueError(f"The seed must be 0 or more, not {seed}.")
    if subscribers < len(ROLES):
        raise ValueError(f"The demo needs at least {len(ROLES)} subscribers, not {subscribers}.")
    if publications < 1:
        raise ValueError(f"The demo needs at least one publication, not {publications}.")


def _compiling() -> str:
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        return "Running without compiled kernels (NUMBA_DISABLE_JIT is set), which is slow"
    if CACHE is not None and (CACHE / READY).exists():
        return "Loading the compiled kernels"
    return f"Compiling the kernels that are new here (up to about {COMPILE_SECONDS} s, the first time only)"


def _note_compiled() -> None:
    if CACHE is not None:
        with contextlib.suppress(OSError):
            (CACHE / READY).touch()


def _announcement(scene: Scene, shown: bool) -> str:
    pace = f"in about {STREAM_SECONDS:.0f} s" if shown else "as fast as it can"
    return f"Playing a day in {scene.city.name}, from 06:00 to 24:00, {pace}; Ctrl-C ends it early."


def _draw(scene: Scene, engine: AnyEngine, ledger: Ledger, out: Path) -> Path | None:
    if importlib.util.find_spec("matplotlib") is None:
        return None
    # Matplotlib takes a second to import and is not a requirement.
    from skyband.demo.picture import Shown, draw_picture

    rows = engine.top(list(range(len(ROLES)))).to_pylist()
    tops = []
    for who in range(len(ROLES)):
        top = [row for row in rows if row["subscription"] == who]
        tops.append(Shown([row["publication"] for row in top], [row["score"] for row in top]))
    path = out / "day.png"
    draw_picture(scene, ledger.tally, ledger.n_steps, tops, path)
    return path
