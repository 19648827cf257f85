"""Charts of a change log as a picture: SVG, written by hand, so that no package has to draw it."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from skyband.cli.chart import show_step, show_time

if TYPE_CHECKING:
    from skyband.kernels.array import Int64s
    from skyband.replay.history import Id, Stay, Stretches

WIDTH, LEFT, RIGHT = 960, 170, 24
PLOT = WIDTH - LEFT - RIGHT
PANEL, LANE, HEADING, AXIS = 120, 18, 44, 34
FILLS = {"enter": "#2e9e5b", "leave": "#d1495b", "move": "#e0a030"}
BAR = "#2f74a8"
STYLE = (
    "svg { background: #ffffff; font-family: system-ui, sans-serif; font-size: 12px; fill: #222a3a; } "
    ".title { font-size: 18px; font-weight: bold; } .heading { font-size: 14px; font-weight: bold; } "
    ".faint { fill: #6b7488; } .line { stroke: #c5cbd8; }"
)


def draw_svg(name: str, found: "Stretches", tops: "Sequence[tuple[Id, Sequence[Stay]]]", timed: bool) -> str:
    """The picture of a log: changes over time, and below it the tops of some subscriptions."""
    parts, y = [], 34
    parts.append(_text(LEFT, y, f"Changes of {name}", "title"))
    parts.append(_text(WIDTH - RIGHT, y, f"a column is {show_step(found.step)}", "faint", "end"))
    y += 20
    for op, counts in found.counts.items():
        parts += _columns(op, counts, y)
        y += PANEL + 8
    parts += _axis(found, y, timed)
    y += AXIS
    for subscription, stays in tops:
        parts.append(_text(LEFT, y + 20, f"Top of {subscription}", "heading"))
        y += HEADING - 12
        parts += [part for lane, stay in enumerate(stays) for part in _lane(stay, found, y + lane * LANE)]
        y += LANE * len(stays) + 4
        parts += _axis(found, y, timed)
        y += AXIS
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" width="{WIDTH}" height="{y}" role="img" '
        f'aria-labelledby="title">\n<title id="title">{escape(f"Changes of {name} over time")}</title>\n'
        f"<style>{STYLE}</style>\n"
    )
    return head + "\n".join(parts) + "\n</svg>\n"


def _columns(op: str, counts: "Int64s", y: int) -> Iterator[str]:
    most, n = max(int(counts.max()), 1), len(counts)
    yield _text(LEFT - 10, y + 12, f"{op} {int(counts.max()):,}", "", "end")
    yield _text(LEFT - 10, y + PANEL, "0", "faint", "end")
    yield f'<line class="line" x1="{LEFT}" y1="{y + PANEL}" x2="{WIDTH - RIGHT}" y2="{y + PANEL}"/>'
    for i, count in enumerate(counts.tolist()):
        if count:
            height = max(1.0, count / most * PANEL)
            left, wide = LEFT + PLOT * i / n, max(PLOT / n - 1, 0.5)
            yield (
                f'<rect x="{left:.1f}" y="{y + PANEL - height:.1f}" width="{wide:.1f}" height="{height:.1f}" '
                f'fill="{FILLS[op]}"><title>{count:,} {op}</title></rect>'
            )


def _lane(stay: "Stay", found: "Stretches", y: int) -> Iterator[str]:
    span = found.end - found.start
    end = found.end if stay.end is None else stay.end
    left, right = (LEFT + PLOT * (us - found.start) / span for us in (stay.start, end))
    label = str(stay.publication)
    label = label if len(label) <= 16 else label[:15] + "…"
    yield _text(LEFT - 10, y + 13, f"{label}: {stay.score:.4g}", "", "end")
    yield (
        f'<rect x="{left:.1f}" y="{y + 3}" width="{max(right - left, 1.0):.1f}" height="{LANE - 6}" fill="{BAR}" '
        f'rx="2"><title>{escape(str(stay.publication))}</title></rect>'
    )


def _axis(found: "Stretches", y: int, timed: bool) -> Iterator[str]:
    yield f'<line class="line" x1="{LEFT}" y1="{y}" x2="{WIDTH - RIGHT}" y2="{y}"/>'
    yield _text(LEFT, y + 16, show_time(found.start, timed), "faint")
    yield _text(WIDTH - RIGHT, y + 16, show_time(found.end, timed), "faint", "end")


def _text(x: float, y: float, words: str, kind: str, anchor: str = "start") -> str:
    written = escape("".join(sign if sign.isprintable() else "�" for sign in words))
    return f'<text x="{x}" y="{y}" class="{kind}" text-anchor="{anchor}">{written}</text>'
