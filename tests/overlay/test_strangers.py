"""Clients that know the page about the overlay and nothing else, on odd charts, do odd things; brute force is right."""

import random
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pytest

from skyband.overlay.broker.chart import Chart
from skyband.overlay.broker.options import BrokerOptions
from skyband.overlay.broker.zone_map import ZoneMap
from skyband.overlay.strategy import STRATEGIES
from tests.overlay.strangers import Network

EXACT = [name for name, strategy in STRATEGIES.items() if strategy.exact]
MODES: tuple[Literal["watermark", "eager"], ...] = ("watermark", "eager")
SECOND = 1_000_000
HORIZON = 8 * SECOND
CHARTS: dict[str, Callable[[], Chart]] = {
    "one": lambda: Chart(1, []),
    "two": lambda: Chart(2, [(0, 1)]),
    "line": lambda: Chart(30, [(i, i + 1) for i in range(29)]),
    "star": lambda: Chart(9, [(0, i) for i in range(1, 9)]),
    "ring": lambda: Chart(6, [(i, (i + 1) % 6) for i in range(6)]),
}
N_SOAK, N_GROUP = 200, 20


def options_of(chart: str, strategy: str, mode: Any, chance: random.Random) -> BrokerOptions:
    """How brokers work: little credit and patience, checkpoints all the time, and the other way round."""
    its = CHARTS[chart]()
    return BrokerOptions(
        chart=its,
        strategy=strategy,
        mode=mode,
        tick=SECOND,
        horizon=HORIZON,
        zones=ZoneMap(10.0 * np.random.default_rng(1).random((200, 2)), its.n_brokers),
        credit=chance.choice([2, 5, 64]),
        beat=20_000,
        checkpoint=chance.choice([1, 5, 1000]),
        patience=chance.choice([None, 1, 1000]),
        covering=chance.random() < 0.8,
    )


class Strangers:
    """Clients who draw what they do; scores tie, points coincide, and ids are used again."""

    def __init__(self, network: Network, chance: random.Random) -> None:
        self.network, self.chance = network, chance
        self.n_brokers = network.options.chart.n_brokers
        self._n = 0
        self._side = chance.choice([1, 3, 10])

    def act(self) -> None:
        """Do one thing or another."""
        what = self.chance.random()
        if what < 0.15:
            self.subscribe()
        elif what < 0.25:
            self.unsubscribe()
        elif what < 0.35:
            self.retract()
        elif what < 0.45:
            self.burst()
        else:
            self.publish()

    def subscribe(self) -> None:
        """For next to everything or nothing, wherever; ids are the same at all brokers."""
        chance, number = self.chance, self.chance.randrange(self.n_brokers)
        score = chance.choice(["euclidean", "euclidean", "chebyshev", "sum"])
        row = {"id": f"s{chance.randrange(3)}", "k": chance.choice([1, 2, 3, 1000]), "score": score}
        row |= {"weights" if score == "sum" else "point": self.point()}
        row |= {"window_us": chance.choice([1, SECOND, 3 * SECOND, HORIZON])}
        if chance.random() < 0.3:
            row["threshold"] = chance.choice([0.0, 2.0, 100.0])
        if (number, row["id"]) not in self.network.asked:
            self.network.subscribe(number, row)

    def unsubscribe(self) -> None:
        """Or withdraw what was never asked for."""
        number = self.chance.randrange(self.n_brokers)
        known = [id for broker, id in self.network.asked if broker == number]
        self.network.unsubscribe(number, self.chance.choice([*known, "nothing"]))

    def publish(self) -> None:
        """A new publication, or one with an id that was there before."""
        number = self.chance.randrange(self.n_brokers)
        self._n += 1
        again = [id for broker, id in self.network.spoken if broker == number]
        id = self.chance.choice(again) if again and self.chance.random() < 0.1 else self._n
        self.network.publish(number, id, self.point())

    def burst(self) -> None:
        """Many at once."""
        for _ in range(self.chance.choice([5, 40])):
            self.publish()

    def retract(self) -> None:
        """Something that is there, or nothing."""
        number = self.chance.randrange(self.n_brokers)
        known = [id for broker, id in self.network.spoken if broker == number]
        self.network.retract(number, self.chance.choice([*known[-5:], -1]))

    def point(self) -> list[float]:
        """Few places."""
        return [float(self.chance.randrange(self._side)) for _ in range(2)]


def play(chart: str, strategy: str, mode: Any, seed: int) -> None:
    """A run that is looked at a few times when all is quiet."""
    chance = random.Random(f"{chart} {strategy} {mode} {seed}")
    network = Network(options_of(chart, strategy, mode, chance), seed)
    clients = Strangers(network, chance)
    for _ in range(3):
        for _ in range(30):
            clients.act()
            network.pass_time(chance.choice([0, 1, 3_000, 100_000]))
        # Time for all that is on its way; watermarks take a round trip or two after the tick.
        at = (network.now // SECOND + 5) * SECOND
        network.pass_time(at + SECOND * 9 // 10 + 7 - network.now)
        answers, right = network.answers(), network.right(at)
        for name in right:
            assert answers[name] == right[name], f"{name} at {at}, {network.asked[name]}"


@pytest.mark.few(8)
@pytest.mark.parametrize("chart", CHARTS)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("strategy", EXACT)
def test_answers_are_right_whatever_strangers_do(strategy: str, mode: str, chart: str) -> None:
    for seed in range(2):
        play(chart, strategy, mode, seed)


@pytest.mark.soak
@pytest.mark.parametrize("first", range(0, N_SOAK, N_GROUP))
@pytest.mark.parametrize("chart", CHARTS)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("strategy", EXACT)
def test_answers_are_right_over_many_seeds(strategy: str, mode: str, chart: str, first: int) -> None:
    for seed in range(first, first + N_GROUP):
        play(chart, strategy, mode, 1000 + seed)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_no_broker_stops_for_what_does_not_go_together(strategy: str, mode: str) -> None:
    """Ids that are live elsewhere, of another kind, and points of other dimensions: the rest is answered."""
    if mode == "watermark" and not STRATEGIES[strategy].waits:
        return
    network = Network(options_of("two", strategy, mode, random.Random(3)), 3)
    network.subscribe(1, {"id": "s", "k": 3, "score": "euclidean", "point": [0.0, 0.0], "window_us": HORIZON})
    network.pass_time(3 * SECOND)
    network.publish(0, 7, [1.0, 0.0])
    network.publish(0, 8, [1.0])
    network.pass_time(SECOND // 3)
    network.publish(1, 7, [2.0, 0.0])
    network.publish(1, "seven", [2.0, 0.0])
    network.publish(0, 9, [3.0, 0.0])
    network.pass_time(3 * SECOND)
    if STRATEGIES[strategy].exact:
        assert network.tops[1, "s"] == {7: 1.0, 9: 3.0}
        assert "The publication 7 is left out: another one that is live has this id." in network.refused
        assert any("'seven' is left out: ids have been numbers here so far" in each for each in network.refused)
        network.retract(0, 7)
        network.pass_time(3 * SECOND)
        assert network.tops[1, "s"] == {7: 2.0, 9: 3.0}
    network.unsubscribe(1, "s")
    network.pass_time(3 * SECOND)
    before = len(network.refused)
    network.subscribe(1, {"id": "t", "k": 3, "score": "euclidean", "point": [0.0], "window_us": HORIZON})
    network.pass_time(3 * SECOND)
    assert any("'t'" in each for each in network.refused[before:])
    network.subscribe(1, {"id": "u", "k": 3, "score": "euclidean", "point": [0.0, 0.0], "window_us": HORIZON})
    network.publish(1, 10, [0.0, 0.0])
    network.pass_time(3 * SECOND)
    if STRATEGIES[strategy].exact:
        assert 10 in network.tops[1, "u"]


def test_what_a_broker_knows_at_once_is_refused_at_once() -> None:
    network = Network(options_of("one", "covering", "eager", random.Random(1)), 1)
    network.publish(0, 1, [0.0, 0.0])
    network.publish(0, 1, [1.0, 1.0])
    assert network.refused == ["The publication 1 is live already: retract it first, or take another id."]
    network.pass_time(HORIZON + SECOND)
    network.publish(0, 1, [1.0, 1.0])
    network.subscribe(0, {"id": 1, "k": 1, "score": "euclidean", "point": [0.0, 0.0], "window_us": HORIZON})
    network.subscribe(0, {"id": "a", "k": 1, "score": "euclidean", "point": [0.0, 0.0], "window_us": HORIZON})
    network.subscribe(0, {"id": 2, "k": 1, "score": "euclidean", "point": [0.0], "window_us": HORIZON})
    assert "'a' has an id of another kind than 1" in network.refused[1]
    assert "2 is about 1 dimensions, and 1 about 2" in network.refused[2]
    assert len(network.refused) == 3
