"""What is left out of what is held back is refused by the proxy that asks, for good and by whatever score."""

import random
from typing import NamedTuple

import pytest

from skyband.overlay.broker.frame import Proxy, Publication
from skyband.overlay.broker.held_places import HeldPlaces
from skyband.overlay.broker.retainer import admits_now, admits_since
from tests.overlay.test_screen import drawn_proxy, drawn_publication


class Holding(NamedTuple):
    publication: Publication


def a_proxy(id: int, chance: random.Random) -> Proxy:
    """One in two is a lease, which ends at some time."""
    proxy = drawn_proxy(id, chance)
    return proxy._replace(closes=chance.choice([None, chance.randrange(14)]))


@pytest.mark.parametrize("seed", range(6))
def test_nothing_that_a_proxy_lets_in_is_left_out(seed: int) -> None:
    chance, places, held = random.Random(seed), HeldPlaces[Holding](), list[Holding]()
    n_left_out, n_gone = 0, 0
    for now in range(14):
        for id in range(chance.randrange(30)):
            held.append(Holding(drawn_publication(100 * now + id, chance, now)))
            places.add(held[-1])
        for _ in range(chance.randrange(20) if held else 0):
            if len(held) > n_gone:
                places.drop_oldest()
                n_gone += 1
        places.check()
        assert len(places) == len(held) - n_gone
        for id in range(20):
            proxy = a_proxy(id, chance)
            near = places.near(proxy, now)
            assert [row for row, _ in near] == sorted({row for row, _ in near})
            found = [each for _, each in near]
            assert [each for each in held[n_gone:] if each in found] == found
            for each in held[n_gone:]:
                is_let_in = any(admits(proxy, each.publication, now) for admits in (admits_now, admits_since))
                assert not is_let_in or each in found
            n_left_out += len(held) - n_gone - len(found)
    assert n_left_out > 0
    assert n_gone > 0


def test_numbers_are_those_of_now() -> None:
    """They are taken anew when the gone have left room."""
    chance, places = random.Random(0), HeldPlaces[Holding]()
    proxy = a_proxy(0, chance)._replace(steps=((0, float("inf")),), closes=None)
    for number in range(1000):
        places.add(Holding(drawn_publication(number, chance, number)))
        if len(places) > 10:
            places.drop_oldest()
    places.check()
    assert len(places) == 10
    passed = [kept.publication.spoken.id for _, kept in places.near(proxy, 1000)]
    assert set(passed) <= set(range(990, 1000))
