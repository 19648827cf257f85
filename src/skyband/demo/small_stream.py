"""Small streams of the other families, so that each can be looked at: stocks, adverts for visitors, and sensors.

Everything is drawn from a seed; only the times are those of the clock.
"""

import itertools
import random
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from skyband.server.stream.spec import StreamSpec

Row = dict[str, Any]
Draw = Callable[[random.Random], Row]


class SmallStream(NamedTuple):
    """A stream with its subscriptions, and publications without end, so many per second."""

    name: str
    spec: StreamSpec
    subscriptions: list[Row]
    publications: Iterator[Row]
    per_second: float


def small_streams(seed: int) -> list[SmallStream]:
    """One stream for each family beside that of the city, which stays the first by name."""
    dice = [random.Random(f"{seed} {name}") for name in ("stocks", "visitors", "sensors")]
    return [_stocks(dice[0]), _adverts(dice[1]), _sensors(dice[2])]


# fmt: off
STOCKS = ("Aral", "Bolt", "Cove", "Dune", "Echo", "Fern", "Glen", "Halo", "Iris", "Jade", "Kite", "Lark", "Mesa",
          "Nova", "Opal", "Pike", "Quay", "Reed", "Sage", "Tide", "Umbra", "Vale", "Wren", "Yarn", "Zeal")
# fmt: on
INVESTORS = (
    ("income", 4.0, 7.0),
    ("growth", 0.0, 1.5),
    ("balanced", 1.5, 4.5),
)


def _stocks(dice: random.Random) -> SmallStream:
    """Stocks with their yields and price-earnings ratios; who invests wants the cheapest within a range of yields."""
    asked = [{"id": id, "k": 5, "lo": lo, "hi": hi} for id, lo, hi in INVESTORS]
    for number in range(120):
        middle, half = dice.uniform(0.0, 8.0), 0.15 + 2.2 * dice.random() ** 2
        lo, hi = max(0.0, middle - half), min(8.0, middle + half)
        asked.append({"id": f"fund-{number}", "k": dice.choice((5, 5, 5, 3)), "lo": round(lo, 2), "hi": round(hi, 2)})
    places = {name: [dice.uniform(0.2, 7.8), dice.uniform(8.0, 34.0)] for name in STOCKS}

    def changes() -> Iterator[Row]:
        order = list(STOCKS)
        for name in itertools.chain(order, _drawn(dice, lambda dice: dice.choice(order))):
            place = places[name]
            place[1] = min(38.0, max(5.0, place[1] * dice.lognormvariate(0.0, 0.09)))
            yield {"object": name, "x": round(place[0], 2), "y": round(place[1], 2)}

    return SmallStream("stocks", StreamSpec("ranges"), asked, changes(), 4.0)


class Advert(NamedTuple):
    """Whom an advert is for: ages, incomes in thousands and distances in kilometres, each with a weight."""

    name: str
    age: tuple[float | None, float | None]
    income: tuple[float | None, float | None]
    near: float | None
    weights: tuple[float, float, float]


ADVERTS = (
    Advert("mortgage", (25, 45), (45, 120), 30, (2.0, 3.0, 1.0)),
    Advert("skateboard", (12, 24), (None, 40), 15, (4.0, 1.0, 1.5)),
    Advert("pension-plan", (45, 68), (35, None), None, (3.0, 2.5, 0.0)),
    Advert("opera-tickets", (35, None), (50, None), 12, (1.5, 2.0, 3.0)),
    Advert("night-bus", (16, 35), (None, 50), 6, (2.0, 1.5, 3.5)),
    Advert("river-cruise", (58, None), (30, None), None, (4.0, 1.5, 0.0)),
    Advert("bicycle", (18, 50), (20, 90), 10, (1.0, 1.0, 4.0)),
    Advert("evening-class", (22, 60), (None, 60), 8, (1.0, 2.0, 3.0)),
    Advert("sports-car", (30, 60), (95, None), None, (1.5, 5.0, 0.0)),
    Advert("game-console", (12, 32), (None, 70), None, (4.0, 1.0, 0.0)),
    Advert("garden-shed", (38, 75), (30, 100), 25, (2.0, 1.0, 2.0)),
    Advert("concert", (16, 40), (15, 80), 20, (3.0, 1.0, 2.0)),
    Advert("hearing-check", (60, None), (None, None), 15, (4.0, 0.0, 2.0)),
    Advert("child-care", (24, 44), (25, 110), 5, (2.0, 1.0, 4.0)),
    Advert("city-flat", (22, 38), (40, 95), 4, (1.5, 3.0, 2.5)),
    Advert("ski-weekend", (20, 50), (50, None), None, (2.0, 3.0, 0.0)),
)


def _adverts(dice: random.Random) -> SmallStream:
    """Visitors by age, income and distance; each is shown the adverts that fit best and have some budget left."""
    asked = [
        {
            "id": advert.name,
            "lo": [advert.age[0], advert.income[0], None],
            "hi": [advert.age[1], advert.income[1], advert.near],
            "weights": list(advert.weights),
            "budget": dice.randrange(25, 90),
        }
        for advert in ADVERTS
    ]

    def visitor(dice: random.Random) -> Row:
        age = round(min(90.0, max(12.0, dice.gauss(38, 16))))
        income, far = round(dice.lognormvariate(3.8, 0.5)), round(dice.expovariate(0.12), 1)
        return {"point": [age, income, far], "text": f"Somebody of {age}, earning {income},000, {far} km away"}

    spec = StreamSpec("ranked", options={"k": 5})
    return SmallStream("visitors", spec, asked, _drawn(dice, visitor), 1.0)


MACHINES = 12


def _sensors(dice: random.Random) -> SmallStream:
    """Readings of machines: temperature, vibration, humidity and noise, of which people want the most telling."""
    asked: list[Row] = [
        {"id": "hottest", "k": 5, "score": "sum", "weights": [1.0, 0.0, 0.0, 0.0]},
        {"id": "needs-oil", "k": 5, "score": "euclidean", "point": [62.0, 4.0, 40.0, 70.0]},
        {"id": "worst-of-all", "k": 3, "score": "sum", "weights": [0.5, 6.0, 0.1, 0.3]},
    ]
    for number in range(60):
        point = [dice.uniform(35, 85), dice.uniform(0, 8), dice.uniform(20, 80), dice.uniform(50, 95)]
        asked.append({"id": f"engineer-{number}", "k": 5, "score": "euclidean", "point": [round(x, 1) for x in point]})
    states = [
        [dice.uniform(40, 75), dice.uniform(0.5, 6), dice.uniform(25, 70), dice.uniform(55, 85)]
        for _ in range(MACHINES)
    ]
    spreads = (1.5, 0.35, 2.0, 1.5)

    def reading(dice: random.Random) -> Row:
        number = dice.randrange(MACHINES)
        state = states[number]
        state[:] = [x + dice.gauss(0.0, spread) for x, spread in zip(state, spreads, strict=True)]
        state[1] = abs(state[1])
        return {
            "point": [round(x, 2) for x in state],
            "text": f"machine {number + 1}: {state[0]:.0f} °C, {state[1]:.1f} mm/s",
        }

    return SmallStream("sensors", StreamSpec("window", window="10m", clock="wall"), asked, _drawn(dice, reading), 3.0)


def _drawn(dice: random.Random, draw: Callable[[random.Random], Any]) -> Iterator[Any]:
    while True:
        yield draw(dice)
