"""A network as a PNG: the same picture as in SVG, drawn by matplotlib."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from skyband.cli.overlay.network_svg import COLOURS, NARROWEST, WIDEST

if TYPE_CHECKING:
    from skyband.overlay.broker.chart import Chart


def draw_traffic_png(chart: "Chart", links: Mapping[tuple[int, int], int], title: str, path: Path) -> None:
    """Brokers and their links, as wide as what was sent between them."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ValueError(
            "A PNG is drawn by matplotlib: install skyband[plot], or give a name that ends in .svg."
        ) from error
    from skyband.overlay.simulate.layout import places_of

    places, most = places_of(chart), max(links.values(), default=1)
    figure = Figure(figsize=(7.5, 8.0), layout="constrained")
    axes = figure.subplots()
    for a, b in chart.links:
        axes.plot(*zip(places[a], places[b], strict=True), color="#c5cbd8", linewidth=1.0, zorder=1)
    for (a, b), n in links.items():
        is_link = (min(a, b), max(a, b)) in set(chart.links)
        colour, width = COLOURS["subscribing" if is_link else "publishing"], NARROWEST + (WIDEST - NARROWEST) * n / most
        axes.plot(*zip(places[a], places[b], strict=True), color=colour, linewidth=width / 2, alpha=0.5, zorder=2)
    axes.scatter(
        [x for x, _ in places], [y for _, y in places], s=120, facecolor="white", edgecolor="#222a3a", zorder=3
    )
    for broker, (x, y) in enumerate(places if chart.n_brokers <= 64 else []):
        axes.annotate(str(broker), (x, y), ha="center", va="center", fontsize=7, zorder=4)
    axes.set_title(f"{title}: {sum(links.values()):,} messages")
    # As in the other picture, from top to bottom.
    axes.set(xlim=(-1.1, 1.1), ylim=(1.1, -1.1))
    axes.set_aspect("equal")
    axes.set_axis_off()
    figure.savefig(path, format="png", dpi=100)
