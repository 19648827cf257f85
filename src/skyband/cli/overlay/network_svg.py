"""Networks as pictures, in SVG by hand: brokers with links as wide as their traffic, and what a strategy sends when."""

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from skyband.overlay.broker.chart import Chart
    from skyband.overlay.simulate.example import StrategyScene
    from skyband.overlay.simulate.layout import Place

Point = tuple[float, float]

SIDE, MARGIN, HEADING = 720, 48, 56
WIDEST, NARROWEST = 12.0, 1.0
COLOURS = {
    "subscribing": "#2f74a8",
    "publishing": "#e0a030",
    "delivering": "#2e9e5b",
    "updating": "#d1495b",
    "recalling": "#8659b5",
}
STYLE = (
    "svg { background: #ffffff; font-family: system-ui, sans-serif; font-size: 12px; fill: #222a3a; } "
    ".title { font-size: 18px; font-weight: bold; } .heading { font-size: 14px; font-weight: bold; } "
    ".faint { fill: #6b7488; } .link { stroke: #c5cbd8; stroke-width: 1.5; fill: none; } "
    ".broker { fill: #ffffff; stroke: #222a3a; stroke-width: 1.5; }"
)


def draw_traffic(chart: "Chart", links: Mapping[tuple[int, int], int], title: str) -> str:
    """The brokers of a chart; grey lines are its links, and others are as wide as what was sent between two brokers."""
    from skyband.overlay.simulate.layout import places_of

    places = [_scaled(place) for place in places_of(chart)]
    both: dict[tuple[int, int], int] = {}
    for (source, target), n in links.items():
        pair = (min(source, target), max(source, target))
        both[pair] = both.get(pair, 0) + n
    parts = [_text(MARGIN, 30, title, "title"), _text(MARGIN, 48, _legend(both), "faint")]
    parts += [_line(places[a], places[b], 'class="link"', "") for a, b in chart.links]
    most = max(both.values(), default=1)
    for (a, b), n in sorted(both.items(), key=lambda link: (link[1], link[0])):
        width = NARROWEST + (WIDEST - NARROWEST) * n / most
        colour = COLOURS["subscribing"] if (a, b) in set(chart.links) else COLOURS["publishing"]
        look = f'stroke="{colour}" stroke-width="{width:.1f}" stroke-opacity="0.55" stroke-linecap="round"'
        parts.append(_line(places[a], places[b], look, f"{n:,} messages between {a} and {b}"))
    radius = max(4.0, min(14.0, 160.0 / math.sqrt(chart.n_brokers)))
    for broker, place in enumerate(places):
        parts += _broker(place, radius, str(broker) if radius >= 9 else "")
    return _document(SIDE, SIDE + HEADING, title, parts)


def _legend(both: Mapping[tuple[int, int], int]) -> str:
    n, most = sum(both.values()), max(both.values(), default=0)
    return f"{n:,} messages; the widest line is {most:,}. Blue: along links of the chart. Yellow: straight."


def draw_scenes(strategy: str, scenes: "list[StrategyScene]") -> str:
    """What a strategy sends on six brokers: a panel for each scene, with arrows that are numbered in their order."""
    width, height = 250, 190
    parts = [_text(16, 28, strategy, "title"), *_arrow_heads()]
    for i, scene in enumerate(scenes):
        left = i * width + 16
        parts.append(_text(left, 56, f"{i + 1}. {scene.title}", "heading"))
        places = [(left + 16 + x * 185.0, 88 + y * 90.0) for x, y in SIX_PLACES]
        parts += [_line(places[a], places[b], 'class="link"', "") for a, b in SIX_LINKS]
        for number, hop in enumerate(scene.hops, 1):
            parts += _arrow(places[hop.source], places[hop.target], hop.column, str(number))
        for letter, place in zip("ABCDEF", places, strict=True):
            parts += _broker(place, 10.0, letter)
        if not scene.hops:
            parts.append(_text(left, height + 14, "nothing is sent", "faint"))
    parts += _key(height + 42)
    return _document(width * len(scenes) + 16, height + 56, f"What {strategy} sends", parts)


# A - C - D - E along the middle, B and F below.
SIX_PLACES: tuple[Point, ...] = ((0.0, 0.0), (0.33, 1.0), (0.33, 0.35), (0.67, 0.35), (1.0, 0.0), (0.67, 1.0))
SIX_LINKS = ((0, 2), (1, 2), (2, 3), (3, 4), (3, 5))


def _scaled(place: "Place") -> Point:
    room = SIDE / 2 - MARGIN
    return SIDE / 2 + place[0] * room, HEADING + SIDE / 2 + place[1] * room


def _arrow_heads() -> Iterator[str]:
    yield "<defs>"
    for column, colour in COLOURS.items():
        yield (
            f'<marker id="{column}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" orient="auto">'
            f'<path d="M0,0 L8,4 L0,8 z" fill="{colour}"/></marker>'
        )
    yield "</defs>"


def _arrow(start: Point, end: Point, column: str, label: str) -> Iterator[str]:
    """A bent arrow from the rim of one broker to that of another one, with its number beside its middle."""
    length = math.dist(start, end)
    along = ((end[0] - start[0]) / length, (end[1] - start[1]) / length)
    aside = (-along[1], along[0])
    a = (start[0] + along[0] * 12, start[1] + along[1] * 12)
    b = (end[0] - along[0] * 12, end[1] - along[1] * 12)
    bend = 8 + length * 0.08
    middle = ((a[0] + b[0]) / 2 + aside[0] * bend, (a[1] + b[1]) / 2 + aside[1] * bend)
    yield (
        f'<path d="M{a[0]:.1f},{a[1]:.1f} Q{middle[0]:.1f},{middle[1]:.1f} {b[0]:.1f},{b[1]:.1f}" fill="none" '
        f'stroke="{COLOURS[column]}" stroke-width="2" marker-end="url(#{column})"/>'
    )
    yield _text(middle[0] + aside[0] * 3, middle[1] + aside[1] * 3 + 4, label, "", "middle")


def _key(y: float) -> Iterator[str]:
    for i, (column, colour) in enumerate(COLOURS.items()):
        yield f'<rect x="{16 + i * 110}" y="{y - 10:.0f}" width="12" height="12" fill="{colour}"/>'
        yield _text(34 + i * 110, y, column, "faint")


def _broker(place: Point, radius: float, label: str) -> Iterator[str]:
    yield f'<circle class="broker" cx="{place[0]:.1f}" cy="{place[1]:.1f}" r="{radius:.1f}"/>'
    if label:
        yield _text(place[0], place[1] + 4, label, "", "middle")


def _line(start: Point, end: Point, look: str, title: str) -> str:
    line = f'<line x1="{start[0]:.1f}" y1="{start[1]:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}" {look}'
    return f"{line}><title>{escape(title)}</title></line>" if title else f"{line}/>"


def _text(x: float, y: float, words: str, kind: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">{escape(words)}</text>'


def _document(width: int, height: int, title: str, parts: list[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-labelledby="title">\n<title id="title">{escape(title)}</title>\n<style>{STYLE}</style>\n'
    )
    return head + "\n".join(parts) + "\n</svg>\n"
