"""Who watches the demo: a terminal with the live view, or a pipe that is told in plain lines."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.live import Live
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from skyband.demo.day import clock
from skyband.demo.frame import Frame
from skyband.demo.view import render, short

Taking = Callable[[], Frame]

# Ten frames a second are smooth enough; where the day is behind, most of the time is left to it.
FRAME_SECONDS, BEHIND_SECONDS = 0.09, 0.4
STREAM_SECONDS = 40.0


def say(console: Console, what: str) -> None:
    """One plain line."""
    console.print(what, markup=False, highlight=False, soft_wrap=True)


@contextmanager
def working(console: Console, what: str) -> Iterator[None]:
    """Say what is being done, with the seconds it has taken so far where the console can show them."""
    if not can_show(console):
        say(console, f"{what} ...")
        yield
        return
    began = time.perf_counter()
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        progress.add_task(what, total=None)
        yield
    say(console, f"{what}: {time.perf_counter() - began:.1f} s")


class Watcher(Protocol):
    """Is shown the day as it runs, and may leave frames out."""

    def show(self, take: Taking, minute: int, part: float) -> None:
        """Show a frame at a minute of the day, of which that part is over."""


class HourLines:
    """Plain progress lines, one for each simulated hour."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def show(self, take: Taking, minute: int, part: float) -> None:
        if minute % 60:
            return
        frame = take()
        rates, traffic = frame.rates, frame.traffic
        carried = "" if traffic is None else f", micro-batch {traffic.batches:,}"
        say(
            self._console,
            f"{clock(minute)}  {rates.messages:>7,} messages ({short(rates.per_second(rates.messages))}/s), "
            f"{short(rates.scores)} scores ({short(rates.per_second(rates.scores))}/s), "
            f"{rates.changes:,} changes, {rates.deliveries:,} deliveries{carried}: {frame.happening}",
        )


class Screen:
    """The live view, paced so that a day takes about `STREAM_SECONDS` where the engine or the pipeline keeps up."""

    def __init__(self, console: Console, live: Live, seconds: float) -> None:
        self._console, self._live, self._seconds = console, live, seconds
        self._began = time.perf_counter()
        self._drawn = float("-inf")

    def show(self, take: Taking, minute: int, part: float) -> None:
        due = self._began + part * self._seconds
        now = time.perf_counter()
        if now - self._drawn >= (FRAME_SECONDS if now < due else BEHIND_SECONDS) or part >= 1.0:
            self._live.update(render(take(), self._console.width), refresh=True)
            self._drawn = now
        time.sleep(max(0.0, due - time.perf_counter()))


def can_show(console: Console) -> bool:
    """Whether the live view can be drawn here: a terminal that moves its cursor and has the characters."""
    return console.is_terminal and not console.is_dumb_terminal and not console.options.ascii_only


@contextmanager
def watching(console: Console, live: bool, seconds: float = STREAM_SECONDS) -> Iterator[Watcher]:
    """The watcher for this console; the screen is put back as it was at the end."""
    if not (live and can_show(console)):
        yield HourLines(console)
        return
    with Live(console=console, screen=True, auto_refresh=False) as view:
        yield Screen(console, view, seconds)
