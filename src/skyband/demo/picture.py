"""The picture of the day: the city as a heat map, three subscribers and their tops, and the rates below."""

import textwrap
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from skyband.demo.city import HEIGHT, WIDTH, City
from skyband.demo.day import CLOSES, EVERYWHERE, OPENS, Event, clock
from skyband.demo.ledger import DayTally
from skyband.demo.scene import STEP, Scene
from skyband.demo.subscriber import ROLES, titles
from skyband.kernels.array import Floats, Int64s
from skyband.table.write import replacing

NIGHT, PANEL, INK, FAINT, WATER = "#0b1020", "#121a30", "#e8ecf8", "#8a94b0", "#16456b"
GLOW = LinearSegmentedColormap.from_list(
    "glow", [(0.0, "#121a30"), (0.25, "#3b2a63"), (0.5, "#9c3b70"), (0.75, "#f08a4b"), (1.0, "#fff1b8")]
)
CELLS = (240, 160)
BIN_MINUTES = 20


class Shown(NamedTuple):
    """The top of a shown subscriber: the numbers of its messages, best first, and their scores."""

    numbers: list[int]
    scores: list[float]


def draw_picture(scene: Scene, tally: DayTally, n_steps: int, tops: list[Shown], path: Path) -> None:
    """Draw the day up to step `n_steps`, and write it as PNG."""
    figure = Figure(figsize=(15.0, 11.6), facecolor=NIGHT)
    FigureCanvasAgg(figure)
    grid = figure.add_gridspec(
        3, 2, height_ratios=(6.4, 1.5, 1.5), width_ratios=(2.75, 1.0),
        left=0.05, right=0.98, top=0.93, bottom=0.04, hspace=0.17, wspace=0.03,
    )  # fmt: skip
    n_messages = int(tally.messages.sum())
    until = clock(OPENS + n_steps * STEP)
    _heading(figure, scene, n_messages, until)
    _draw_map(figure.add_subplot(grid[0, 0]), scene, n_messages, tops)
    _draw_lists(figure.add_subplot(grid[0, 1]), scene, tops, until)
    _draw_day(figure.add_subplot(grid[1, :]), scene.events, tally)
    _draw_changes(figure.add_subplot(grid[2, :]), scene.events, tally)
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=120, format="png")


def _heading(figure: Figure, scene: Scene, n_messages: int, until: str) -> None:
    figure.text(0.05, 0.965, f"A day in {scene.city.name}", color=INK, fontsize=24, weight="bold", va="center")
    words = (
        f"{n_messages:,} messages from {clock(OPENS)} to {until}, followed by {len(scene.subscribers.ks):,} subscribers"
    )
    figure.text(0.98, 0.962, words, color=FAINT, fontsize=13, ha="right", va="center")


def _draw_map(axes: Axes, scene: Scene, n_messages: int, tops: list[Shown]) -> None:
    xy = scene.messages.xy[:n_messages]
    heat = _blurred(np.histogram2d(xy[:, 0], xy[:, 1], CELLS, ((0, WIDTH), (0, HEIGHT)))[0])
    axes.imshow(
        np.sqrt(heat.T),
        origin="lower",
        extent=(0, WIDTH, 0, HEIGHT),
        cmap=GLOW,
        aspect="auto",
        interpolation="bilinear",
    )
    _draw_river(axes, scene.city)
    for district in scene.city.districts:
        axes.text(
            district.x, district.y - 0.46, district.label, color=INK, fontsize=10.5, ha="center", va="center",
            path_effects=[withStroke(linewidth=2.5, foreground=NIGHT)], zorder=8,
        )  # fmt: skip
    for who, top in enumerate(tops):
        _draw_ties(axes, scene, who, top)
    _bare(axes)
    axes.set(xlim=(0, WIDTH), ylim=(0, HEIGHT))
    axes.plot((0.3, 1.3), (0.3, 0.3), color=FAINT, linewidth=2)
    axes.text(0.8, 0.42, "1 km", color=FAINT, fontsize=9, ha="center")


def _blurred(heat: Floats) -> Floats:
    """The counts smoothed by a bell of two cells in both directions."""
    bell = np.exp(-0.5 * (np.arange(-6, 7) / 2.0) ** 2)
    bell /= bell.sum()
    for axis in (0, 1):
        heat = np.apply_along_axis(np.convolve, axis, heat, bell, mode="same")
    return heat


def _draw_river(axes: Axes, city: City) -> None:
    x = np.linspace(0, WIDTH, 300)
    y = city.river(x)
    axes.fill_between(x, y - 0.13, y + 0.13, color=WATER, linewidth=0, zorder=2)
    axes.plot(x, y, color="#2f74a8", linewidth=0.8, alpha=0.7, zorder=2)


def _draw_ties(axes: Axes, scene: Scene, who: int, top: Shown) -> None:
    colour, (x, y) = ROLES[who].colour, scene.subscribers.xy[who]
    for rank, number in enumerate(top.numbers):
        to_x, to_y = scene.messages.xy[number]
        axes.plot((x, to_x), (y, to_y), color=colour, linewidth=2.2 - 0.3 * rank, alpha=0.9, zorder=5)
        axes.plot(to_x, to_y, "o", color=colour, markersize=7, markeredgecolor=NIGHT, zorder=6)
    axes.plot(x, y, "*", color=colour, markersize=24, markeredgecolor=NIGHT, markeredgewidth=1.2, zorder=7)


def _draw_lists(axes: Axes, scene: Scene, tops: list[Shown], until: str) -> None:
    _bare(axes)
    axes.set(xlim=(0, 1), ylim=(0, 1))
    for who, top in enumerate(tops):
        y, colour = 0.985 - who * 0.333, ROLES[who].colour
        axes.plot(0.045, y - 0.012, "*", color=colour, markersize=15)
        title = titles(scene.city)[who]
        axes.text(0.09, y, title[0].upper() + title[1:], color=colour, fontsize=11.5, weight="bold", va="top")
        about = f"follows {', '.join(ROLES[who].words)}; top {len(top.numbers)} at {until}"
        axes.text(0.09, y - 0.033, about, color=FAINT, fontsize=8.8, va="top")
        for rank, number in enumerate(top.numbers):
            _draw_entry(axes, scene, number, top.scores[rank], y - 0.066 - rank * 0.0485)


def _draw_entry(axes: Axes, scene: Scene, number: int, score: float, y: float) -> None:
    when_and_score = f"{clock(scene.messages.minute(number))}\n{score:.3f}"
    text = textwrap.fill(scene.messages.texts[number], 45, max_lines=2)
    for x, words, colour in ((0.045, when_and_score, FAINT), (0.17, text, INK)):
        axes.text(x, y, words, color=colour, fontsize=8.5, va="top", linespacing=1.15)


def _draw_day(axes: Axes, events: tuple[Event, ...], tally: DayTally) -> None:
    starts, messages = _binned(tally.messages)
    axes.bar(starts, messages / BIN_MINUTES, width=BIN_MINUTES * 0.86, align="edge", color="#f08a4b")
    _strip(axes, "messages per minute")
    top = axes.get_ylim()[1] * 1.45
    axes.set_ylim(0, top)
    _shade(axes, events)
    for i, event in enumerate(events):
        words = event.headline if event.district == EVERYWHERE else event.headline.split(" in ")[0]
        middle = (event.start + event.end) / 2
        axes.text(middle, top * (0.95 - 0.11 * (i % 2)), words, color="#a8d4f5", fontsize=9, ha="center", va="top")


def _draw_changes(axes: Axes, events: tuple[Event, ...], tally: DayTally) -> None:
    starts, enters = _binned(tally.enters)
    leaves = _binned(tally.leaves)[1]
    for label, counts, colour in (("enters", enters, "#7bed9f"), ("leaves", -leaves, "#ff6b81")):
        width = BIN_MINUTES * 0.86
        axes.bar(starts, counts / BIN_MINUTES, width=width, align="edge", color=colour, label=label)
    _shade(axes, events)
    _strip(axes, "changes per minute")
    axes.yaxis.set_major_formatter(lambda value, _: f"{abs(value):,.0f}")
    low, high = axes.get_ylim()
    axes.set_ylim(low, high * 1.35)
    axes.legend(loc="upper left", frameon=False, labelcolor=INK, fontsize=9, ncols=2, borderaxespad=0.2)


def _shade(axes: Axes, events: tuple[Event, ...]) -> None:
    for event in events:
        axes.axvspan(event.start, event.end, color="#5aa9e6", alpha=0.13, linewidth=0, zorder=0)


def _binned(counts: Int64s) -> tuple[Int64s, Floats]:
    sums = counts.reshape(-1, BIN_MINUTES // STEP).sum(axis=1)
    return OPENS + BIN_MINUTES * np.arange(len(sums)), sums.astype(np.float64)


def _strip(axes: Axes, label: str) -> None:
    axes.set_facecolor(PANEL)
    axes.set_ylabel(label, color=FAINT, fontsize=10)
    axes.set_xlim(OPENS, CLOSES)
    hours = range(OPENS, CLOSES + 1, 60)
    axes.set_xticks(list(hours), [clock(hour) for hour in hours])
    axes.tick_params(colors=FAINT, labelsize=9, length=0)
    axes.grid(axis="y", color=FAINT, alpha=0.15)
    axes.set_axisbelow(True)
    axes.spines[:].set_visible(False)


def _bare(axes: Axes) -> None:
    axes.set_facecolor(PANEL)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_visible(False)
