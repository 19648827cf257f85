"""Pictures of networks, and the live view: what they show is what was counted."""

from collections import deque
from io import StringIO
from pathlib import Path
from xml.etree import ElementTree

import pytest
from rich.console import Console

from skyband.cli.overlay.network_svg import draw_scenes, draw_traffic
from skyband.cli.overlay.network_view import NetworkView, render
from skyband.overlay.simulate.example import SIX, scenes_of
from skyband.overlay.simulate.run import drawn, simulate
from skyband.overlay.simulate.scenario import ScenarioShape
from skyband.overlay.simulate.world import BrokerWorld
from skyband.overlay.strategy import STRATEGIES
from tests.cli.calling import call, document, failure

SMALL = ("--seconds", 6, "--publications", 12, "--subscriptions", 3, "--brokers", 4)
SHAPE = ScenarioShape(n_brokers=20, n_subscriptions=3, n_publications=12, seconds=4)
SVG = "{http://www.w3.org/2000/svg}"
PICTURES = Path(__file__).parents[2] / "docs" / "_static"


def test_a_picture_has_all_brokers_and_what_went_between_them(tmp_path: Path) -> None:
    (found,) = document("overlay", "simulate", "covering", *SMALL, "--picture", tmp_path / "net.svg")
    tree = ElementTree.parse(tmp_path / "net.svg")
    assert len(tree.findall(f"{SVG}circle")) == 4
    told = sorted(title.text or "" for title in tree.findall(f"{SVG}line/{SVG}title"))
    pairs: dict[tuple[int, int], int] = {}
    for link in found["links"]:
        pair = min(link["source"], link["target"]), max(link["source"], link["target"])
        pairs[pair] = pairs.get(pair, 0) + link["messages"]
    assert told == sorted(f"{n:,} messages between {a} and {b}" for (a, b), n in pairs.items())
    columns = [sent["messages"] for name, sent in found["columns"].items() if name != "upkeep"]
    assert sum(pairs.values()) == sum(columns)


def test_a_picture_as_png(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    assert call("overlay", "simulate", "covering", *SMALL, "--picture", tmp_path / "net.png").exit_code == 0
    assert (tmp_path / "net.png").read_bytes().startswith(b"\x89PNG")


def test_a_picture_needs_a_name_that_says_what_it_is() -> None:
    assert "must end in .svg or .png" in failure("overlay", "simulate", "covering", "--picture", "net.pdf", code=2)


def test_without_traffic_there_are_links_and_no_others() -> None:
    tree = ElementTree.fromstring(draw_traffic(SIX, {}, "Nothing & nobody"))
    assert len(tree.findall(f"{SVG}line")) == len(SIX.links)


def test_the_end_is_shown_where_there_is_no_terminal() -> None:
    done = call("overlay", "simulate", "zone-leases", *SMALL, "--watch")
    assert done.exit_code == 0
    for part in ("zone-leases, watermark", "busiest links", "answered up to", "told"):
        assert part in done.stdout
    assert done.stdout.splitlines()[-1].split()[-1] == "ok"


def test_frames_show_what_has_been_counted() -> None:
    world = BrokerWorld(drawn("zone-leases", 1, SHAPE)).run()
    console = Console(width=120, record=True, file=StringIO())
    world.brokers[3] = None
    console.print(render(world, deque(["somebody is told"]), 120))
    text = console.export_text()
    assert f"{world.n_events:,} events  {world.tally.total:,} messages" in text
    assert "brokers, and 4 more" in text
    assert "down" in text
    assert "somebody is told" in text


def test_a_terminal_sees_frames_on_the_way() -> None:
    console = Console(width=100, force_terminal=True, record=True, file=StringIO())
    view = NetworkView(console, pace=0.05)
    outcome = simulate(drawn("covering", 1, SHAPE, storm=False), view=view)
    text = console.export_text()
    assert text.count("busiest links") > 2
    assert f"{outcome.n_events:,} events" in text


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_pictures_of_the_docs_are_what_the_command_draws(strategy: str) -> None:
    """`skyband overlay draw docs/_static` makes them anew."""
    scenes = scenes_of(strategy)
    drawing = draw_scenes(strategy, scenes)
    assert (PICTURES / f"overlay-{strategy}.svg").read_text(encoding="utf-8") == drawing
    arrows = [path for path in ElementTree.fromstring(drawing).findall(f"{SVG}path") if "marker-end" in path.attrib]
    assert len(arrows) == sum(len(scene.hops) for scene in scenes)


def test_the_command_draws_a_picture_for_each_strategy(tmp_path: Path) -> None:
    found = document("overlay", "draw", tmp_path / "pictures")
    assert [Path(file).name for file in found["files"]] == [f"overlay-{strategy}.svg" for strategy in STRATEGIES]
    assert all(Path(file).read_text().startswith("<svg") for file in found["files"])
