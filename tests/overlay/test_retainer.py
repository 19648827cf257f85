"""What is due to a destination, held against looking at all proxies at all times."""

import random

import pytest

from skyband.contract.tops import Id
from skyband.overlay.broker.frame import SUBSCRIBING, Proxy, Publication, Steps
from skyband.overlay.broker.retainer import Destination, Retainer, admits_now, admits_since
from skyband.overlay.broker.step import FOR_EVER, NEVER, gate_at, next_step
from skyband.overlay.simulate.world import below
from skyband.table import Settings
from skyband.window.routing import ROUTING, RoutedPoints


def steps_of(chance: random.Random) -> Steps:
    """Steps that widen at whole times, the last one perhaps open."""
    times = sorted(chance.sample(range(12), chance.randrange(1, 5)))
    gates = sorted(float(chance.randrange(20)) for _ in times)
    return tuple(zip(times, [*gates[:-1], chance.choice([gates[-1], float("inf")])], strict=True))


def proxy_of(id: int, chance: random.Random) -> Proxy:
    row = {"id": id, "k": 1, "score": "euclidean", "point": [0.0], "window_us": 10}
    return Proxy(RoutedPoints(row, Settings()), 0, 0, steps_of(chance), None, SUBSCRIBING)


@pytest.mark.parametrize("seed", range(20))
def test_the_next_step_is_the_first_after_a_time(seed: int) -> None:
    steps = steps_of(random.Random(seed))
    for at in range(-1, 14):
        later = [time for time, _ in steps[1:] if time > at]
        assert next_step(steps, at) == min(later, default=FOR_EVER)
        assert all(gate_at(steps, time) == gate_at(steps, at) for time in range(at, min(next_step(steps, at), 14)))


@pytest.mark.parametrize("seed", range(20))
def test_what_is_due_is_what_has_widened(seed: int) -> None:
    chance, destination, before = random.Random(seed), Destination(), NEVER
    for now in range(14):
        for _ in range(chance.randrange(3)):
            destination.put(proxy_of(chance.randrange(4), chance))
        known = destination.proxies.values()
        widened = [each.asked.id for each in known if gate_at(each.steps, before) != gate_at(each.steps, now)]
        assert [each.asked.id for each in destination.due(now)] == widened
        before = now


@pytest.mark.parametrize("n", [1, 2, 3, 8, 1000, 299_001])
def test_delays_are_those_that_randrange_draws(n: int) -> None:
    mine, its = random.Random(n), random.Random(n)
    if n > 1:
        assert [below(mine, n) for _ in range(50)] == [its.randrange(n) for _ in range(50)]
    else:
        assert below(mine, n) == 0


HOME, ELSEWHERE = 1, 2


def at(number: int, x: float, ts: int = 0) -> Publication:
    row = {"id": number, "ts": ts, "point": [x]}
    return Publication(ELSEWHERE, number, ROUTING.spoken(row, Settings()), row, 0)


class Sent:
    """A retainer whose destination may be asked first, and what was sent to it in which way."""

    def __init__(self, asks: bool = True) -> None:
        self.let_in: list[int] = []
        self.asked: list[tuple[Id, int]] = []
        self.asks = asks
        self.retainer = Retainer(self._emit, lambda: NEVER, True, admits_now, self._doubt)

    def _emit(self, number: int, publication: Publication, column: str) -> None:
        self.let_in.append(publication.number)

    def _doubt(self, number: int, proxy: Proxy, best: Publication) -> bool:
        if self.asks:
            self.asked.append((proxy.asked.id, best.number))
        return self.asks

    def put(self, *steps: tuple[int, float]) -> None:
        row = {"id": 7, "k": 1, "score": "euclidean", "point": [0.0], "window_us": 100}
        version = len(self.asked)
        proxy = Proxy(RoutedPoints(row, Settings()), HOME, version, steps, None, SUBSCRIBING)
        self.retainer.put(HOME, proxy, steps[0][0])


@pytest.fixture
def burst() -> Sent:
    """A gate that widens at 10, so that it lets in the publications 1, 2 and 3 at once, the second of which is best."""
    sent = Sent()
    sent.put((0, 1.0), (10, 5.0), (20, 7.0))
    for number, x in enumerate([4.0, 2.0, 3.0, 6.0, 0.5], 1):
        sent.retainer.offer(at(number, x), 1, ELSEWHERE)
    assert sent.let_in == [5]
    return sent


def test_a_gate_that_lets_in_several_asks_with_the_best_of_them(burst: Sent) -> None:
    burst.retainer.pass_time(10)
    assert burst.asked == [(7, 2)]
    assert burst.let_in == [5]


def test_what_the_answer_lets_in_is_sent_then(burst: Sent) -> None:
    burst.retainer.pass_time(10)
    burst.put((10, 3.5), (20, 7.0))
    assert burst.let_in == [5, 3]
    burst.retainer.pass_time(20)
    assert burst.asked == [(7, 2), (7, 1)]


def test_who_is_not_asked_gets_all_at_once(burst: Sent) -> None:
    burst.asks = False
    burst.retainer.pass_time(10)
    assert burst.let_in == [5, 1, 2, 3]


def test_one_alone_is_sent_without_a_question(burst: Sent) -> None:
    burst.put((1, 1.0), (10, 2.5), (20, 7.0))
    burst.retainer.pass_time(10)
    assert burst.let_in == [5, 2]
    assert burst.asked == []


def test_recalls_send_as_many_as_are_asked_for_best_first(burst: Sent) -> None:
    burst.retainer.recall(HOME, 7, 2, 1)
    assert burst.let_in == [5, 2, 3]
    burst.retainer.recall(HOME, 7, 9, 1)
    assert burst.let_in == [5, 2, 3, 1, 4]


@pytest.mark.parametrize("gate", [5.0, float("inf")])
def test_clocks_that_are_ahead_lose_nothing(gate: float) -> None:
    """A home whose clock is ahead begins later than it is here, and publications may come from later than that."""
    sent: list[int] = []
    retainer = Retainer(lambda _, publication, __: sent.append(publication.number), lambda: NEVER, True, admits_since)
    row = {"id": 1, "k": 1, "score": "euclidean", "point": [0.0], "window_us": 50}
    proxy = Proxy(RoutedPoints(row, Settings()), HOME, 0, ((20, gate),), None, SUBSCRIBING)
    for number, ts in ((1, 4), (2, 15), (3, -31)):
        retainer.offer(at(number, 2.0, ts), 10, ELSEWHERE)
    retainer.put(HOME, proxy, 10)
    # The third is not live any more when the home begins.
    assert sent == [1, 2]
    retainer.offer(at(4, 3.0, 30), 11, ELSEWHERE)
    assert sent == [1, 2, 4]
