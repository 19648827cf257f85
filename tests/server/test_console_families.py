"""Every family as it is drawn: against brute force, and against what the server answers."""

import random
from collections.abc import Callable
from typing import Any

import pytest

from skyband.server import Running
from tests.server.browser import Page
from tests.server.calling import WINDOW, Reply, call
from tests.server.conftest import Shown

NOTE = "(document.querySelectorAll('.map-count')[1]?.textContent ?? '')"
LIVE = "document.documentElement.dataset.fresh === 'live'"
BOXED = {
    "ranges": {"family": "ranges", "engine": "scan"},
    "ranked": {"family": "ranked", "engine": "scan", "options": {"k": 3}},
}

pytestmark = pytest.mark.jit_only


@pytest.fixture
def families(start: Callable[..., Running]) -> str:
    return start(streams=BOXED | {"window": WINDOW}).address


def publish(address: str, stream: str, rows: list[dict[str, Any]]) -> Reply:
    return call(address, "POST", f"/v1/streams/{stream}/publications", rows)


def subscribe(address: str, stream: str, rows: list[dict[str, Any]]) -> None:
    assert call(address, "POST", f"/v1/streams/{stream}/subscriptions", rows).status == 201


def intervals(dice: random.Random, n: int) -> list[dict[str, Any]]:
    """Intervals between few places, so that many ends are alike."""
    spans = [sorted(dice.choices(range(9), k=2)) for _ in range(n)]
    return [
        {"id": f"s{i}", "k": dice.choice((1, 2, 3)), "lo": float(lo), "hi": float(hi)}
        for i, (lo, hi) in enumerate(spans)
    ]


def test_a_staircase_holds_those_whose_top_has_the_object(shown: Shown) -> None:
    page, address = shown
    page.open(f"{address}/#/overview")
    page.until(LIVE)
    wrong = page.run("""(async () => {
      const { tilesOf, rankFor, outlineOf, isLower } = await import("/console/staircase.js");
      let seed = 7;
      const draw = (n) => (seed = (seed * 16807) % 2147483647) % n;
      const wrong = [];
      let checked = 0;
      for (let turn = 0; turn < 400; turn++) {
        const objects = Array.from({ length: 1 + draw(9) }, (_, i) => ({ id: `o${i}`, x: draw(7), y: draw(5) }));
        const k = 1 + draw(4);
        for (const object of objects) {
          const tiles = tilesOf(object, objects, k);
          for (let l = -1; l <= 7; l++) for (let r = l; r <= 7; r++) {
            const inside = objects.filter((one) => l <= one.x && one.x <= r).sort((a, b) => (isLower(a, b) ? -1 : 1));
            const place = inside.indexOf(object);
            const rank = place >= 0 && place < k ? place + 1 : null;
            checked += 1;
            if (rankFor(tiles, l, r) !== rank) wrong.push([turn, object, l, r, rank]);
          }
          // No two tiles share a point, and the outline has at most k steps.
          if (new Set(tiles.map((tile) => `${tile.l1} ${tile.r0}`)).size !== tiles.length) wrong.push([turn, "tiles"]);
          if (outlineOf(object, objects, k).length !== 2 * k + 2) wrong.push([turn, "outline"]);
        }
      }
      return checked > 10000 ? wrong.slice(0, 5) : "too little was checked";
    })()""")
    assert wrong == []


def test_the_screen_of_ranges_agrees_with_the_server(page: Page, families: str) -> None:
    dice = random.Random(3)
    subscribe(families, "ranges", intervals(dice, 60))
    for i in range(60):
        row = {
            "id": i,
            "ts": i,
            "object": f"o{dice.randrange(12)}",
            "x": float(dice.randrange(9)),
            "y": float(dice.randrange(6)),
        }
        assert publish(families, "ranges", [row | ({"y": None} if dice.random() < 0.15 else {})]).status == 200
    page.open(f"{families}/#/map?stream=ranges&show=s0,s1")
    page.until(f"{LIVE} && /is among the lowest/.test(document.body.innerText)")
    objects = {row["publication"] for id in range(60) for row in top(families, f"s{id}")}
    assert objects
    for name in sorted(objects):
        page.run(f"location.hash = '#/map?stream=ranges&show=s0,s1&object={name}'")
        told = page.until(f"{NOTE}.startsWith('{name} ') && {NOTE}")
        k = call(families, "GET", "/v1/streams/ranges/subscriptions/s0").body["k"]
        same = [
            f"s{id}"
            for id in range(60)
            if call(families, "GET", f"/v1/streams/ranges/subscriptions/s{id}").body["k"] == k
        ]
        having = [id for id in same if name in {row["publication"] for row in top(families, id)}]
        assert told == f"{name} is among the lowest {k} of {len(having)} of {len(same)} intervals"
    assert page.complaints == []


def top(address: str, id: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = call(address, "GET", f"/v1/streams/ranges/subscriptions/{id}/top").body["top"]
    return found


def test_an_object_that_is_chosen_by_pointer_is_drawn(page: Page, families: str) -> None:
    subscribe(families, "ranges", [{"id": "ann", "k": 1, "lo": 0, "hi": 10}])
    publish(
        families,
        "ranges",
        [{"id": 1, "ts": 1, "object": "near", "x": 2, "y": 3}, {"id": 2, "ts": 2, "object": "far", "x": 8, "y": 9}],
    )
    page.open(f"{families}/#/map?stream=ranges&object=far")
    page.until(f"{LIVE} && {NOTE}.startsWith('far ') && document.querySelector('.chip')")
    rect = page.run("document.querySelector('.map canvas').getBoundingClientRect().toJSON()")
    x, y, w, h = rect["x"], rect["y"], rect["width"], rect["height"]
    # From 0 to 10 across and from 0 to 9 up, with 24 pixels around.
    at = {"x": x + 24 + (w - 48) * 0.2, "y": y + h - 24 - (h - 48) / 3, "button": "left", "clickCount": 1}
    page.command("Input.dispatchMouseEvent", type="mousePressed", **at)
    page.command("Input.dispatchMouseEvent", type="mouseReleased", **at)
    page.until(f"location.hash.includes('object=near') && {NOTE}.startsWith('near ')")


def test_adverts_for_a_visitor_and_budgets_that_run_down(page: Page, families: str) -> None:
    subscribe(families, "ranked", [
        {"id": "skate", "lo": [12, None], "hi": [25, None], "weights": [4.0, 1.0], "budget": 2},
        {"id": "loan", "lo": [20, 400], "hi": [35, 500], "weights": [2.0, 3.0], "budget": 9},
        {"id": "news", "lo": [0, None], "hi": [99, None], "weights": [1.0, 0.0]},
    ])  # fmt: skip
    page.open(f"{families}/#/map?stream=ranked")
    page.until(f"{LIVE} && document.querySelectorAll('.budgets li').length === 2")
    assert budgets(page) == {"skate": "2 of 2 left", "loan": "9 of 9 left"}
    answers = publish(families, "ranked", [{"id": "v1", "ts": 1, "point": [24, 441]}])
    assert answers.status == 200
    page.until("document.querySelectorAll('.advert').length === 3")
    assert page.run("[...document.querySelectorAll('.advert')].map((it) => it.dataset.id)") == ["skate", "loan", "news"]
    fits = "[...document.querySelectorAll('.advert .fit')].map((it) => it.ariaLabel)"
    assert page.run(fits) == [
        "dimension 1: from 12 to 25, weight 4, met",
        "dimension 2: from any to any, weight 1, met",
        "dimension 1: from 20 to 35, weight 2, met",
        "dimension 2: from 400 to 500, weight 3, met",
        "dimension 1: from 0 to 99, weight 1, met",
    ]
    publish(families, "ranked", [{"id": "v2", "ts": 2, "point": [13, 300]}])
    page.until("/spent/.test(document.querySelector('.budgets .spent')?.innerText)", 60)
    assert budgets(page) == {"skate": "spent", "loan": "8 of 9 left"}
    publish(families, "ranked", [{"id": "v3", "ts": 3, "point": [13, 300]}])
    page.until("document.querySelectorAll('.advert').length === 1", 60)
    assert page.run("[...document.querySelectorAll('.advert')].map((it) => it.dataset.id)") == ["news"]
    page.run("document.querySelector('[aria-label=\"The visitor before\"]').click()")
    page.until("document.querySelectorAll('.advert').length === 2")
    assert page.complaints == []


def budgets(page: Page) -> dict[str, str]:
    """What the screen says is left, by subscription."""
    listed: list[str] = page.run("[...document.querySelectorAll('.budgets li')].map((it) => it.innerText)")
    found: dict[str, str] = {}
    for text in listed:
        name, left = (line.strip() for line in text.splitlines() if line.strip())
        found[name] = left
    return found


def encloses(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether everything in the other box lies in the one."""
    below = all(a is None or (b is not None and a <= b) for a, b in zip(one["lo"], other["lo"], strict=True))
    above = all(a is None or (b is not None and a >= b) for a, b in zip(one["hi"], other["hi"], strict=True))
    return below and above


@pytest.mark.parametrize("stream", BOXED)
def test_a_forest_is_what_brute_force_finds(families: str, stream: str) -> None:
    dice = random.Random(5)
    asked = intervals(dice, 120)
    if stream == "ranked":
        spans = [[sorted(dice.choices(range(6), k=2)) for _ in range(2)] for _ in range(120)]
        asked = [
            {"id": f"s{i}", "lo": [float(span[0]) for span in its], "hi": [float(span[1]) for span in its]}
            for i, its in enumerate(spans)
        ]
        asked[3] |= {"lo": [None, 0.0]}
        asked[4] |= {"lo": [1.0], "hi": [4.0], "dims": [1]}
        asked[5] |= {"hi": [None, None], "lo": [0.0, 0.0]}
    subscribe(families, stream, asked)
    told = call(families, "GET", f"/v1/console/streams/{stream}/covering").body
    members = {member["id"]: member for member in told["members"]}
    assert (sorted(members), told["more"]) == (sorted(row["id"] for row in asked), False)
    if stream == "ranked":
        assert (members["s4"]["lo"], members["s4"]["hi"]) == ([None, 1.0], [None, 4.0])
    for member in members.values():
        others = [other for other in members.values() if other is not member and encloses(other, member)]
        strict = [other for other in others if not encloses(member, other)]
        above = members.get(member["covered_by"])
        assert above is None or encloses(above, member)
        # Of equal boxes one stands for the others.
        assert (above is None) <= (not strict), member
    stands = [member for member in members.values() if member["covered_by"] is None]
    assert not any(encloses(one, other) for one in stands for other in stands if one is not other)


def test_a_stream_without_boxes_has_no_forest(families: str) -> None:
    said = call(families, "GET", "/v1/console/streams/window/covering")
    assert (said.status, "are not boxes" in said.body["detail"]) == (422, True)


def test_a_forest_is_drawn_and_grows(page: Page, families: str) -> None:
    subscribe(
        families, "ranges", [{"id": "wide", "k": 1, "lo": 0, "hi": 10}, {"id": "narrow", "k": 1, "lo": 2, "hi": 3}]
    )
    page.open(f"{families}/#/covering?stream=ranges")
    page.until(f"{LIVE} && document.querySelectorAll('.forest .member').length === 2")
    assert page.run("document.querySelectorAll('.forest path.link').length") == 1
    subscribe(
        families, "ranges", [{"id": "wider", "k": 1, "lo": -1, "hi": 11}, {"id": "apart", "k": 1, "lo": 20, "hi": 21}]
    )
    page.until("document.querySelectorAll('.forest .member').length === 3")
    assert "1 stand for themselves alone: apart" in page.text()
    page.run(
        "document.querySelector('[href=\"#member-narrow\"]').dispatchEvent(new MouseEvent('click', CLICK))".replace(
            "CLICK", "{bubbles: true, cancelable: true}"
        )
    )
    page.until("/narrow asks for 2 to 3, within wide/.test(document.body.innerText.replace(/\\s+/g, ' '))")
    assert page.run("document.querySelectorAll('.box').length") == 3
    assert page.complaints == []


def test_points_of_more_dimensions_are_shown_in_two_that_are_chosen(shown: Shown) -> None:
    page, address = shown
    page.open(f"{address}/#/map?stream=sensors&axes=0,1")
    page.until(f"{LIVE} && document.querySelectorAll('.map-axes select').length === 2", 120)
    listed = "[...document.querySelectorAll('.map-axes select')].map((it) => [it.value, it.options.length])"
    assert page.run(listed) == [["0", 4], ["1", 4]]
    page.choose(".map-axes label:nth-child(2) select", "3")
    page.until("new URLSearchParams(location.hash.split('?')[1]).get('axes') === '0,3'")
    place = page.run("import('/console/place.js').then(({ placeOf }) => placeOf({ point: [5, 6, 7, 8] }, [0, 3]))")
    assert place == [5, 8]
