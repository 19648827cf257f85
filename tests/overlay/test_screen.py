"""What the screen leaves out is refused by every proxy that it leaves out, at all times and by whatever score."""

import random

import pytest

from skyband.overlay.broker.frame import SUBSCRIBING, Proxy, Publication
from skyband.overlay.broker.retainer import Retainer, admits_now, admits_widely
from skyband.overlay.broker.screen import WORTHWHILE, ProxyScreen
from skyband.overlay.broker.step import gate_at
from skyband.overlay.simulate.scenario import FamilyDraw
from skyband.table import Settings
from skyband.window.routing import ROUTING
from tests.overlay.test_retainer import steps_of

SETTINGS = Settings()
N_PROXIES = 2 * WORTHWHILE


def drawn_proxy(id: int, chance: random.Random) -> Proxy:
    """A proxy for a score of any kind; steps of sums and cosines count down."""
    asked = ROUTING.subscription(FamilyDraw().subscription(chance, id, 5), SETTINGS)
    steps = steps_of(chance)
    signed = steps if asked.ascending else tuple((at, -gate) for at, gate in steps)
    return Proxy(asked, 0, 0, signed, None, SUBSCRIBING)


def drawn_publication(id: int, chance: random.Random, now: int) -> Publication:
    row = {"id": id, "ts": now} | FamilyDraw().content(chance)
    return Publication(0, id, ROUTING.spoken(row, SETTINGS), row, 0)


@pytest.mark.parametrize("seed", range(10))
def test_nothing_that_passes_is_left_out(seed: int) -> None:
    chance, screen, known = random.Random(seed), ProxyScreen(), dict[tuple[int, int], Proxy]()
    n_left_out = 0
    for now in range(14):
        for _ in range(20):
            number, id = chance.randrange(3), chance.randrange(N_PROXIES)
            if chance.random() < 0.2:
                screen.drop(number, id)
                known.pop((number, id), None)
            else:
                known[number, id] = drawn_proxy(id, chance)
                screen.put(number, known[number, id], now)
        said = drawn_publication(now, chance, now)
        near = screen.near(said.spoken.place, now)
        asked = {(number, proxy.asked.id): proxy for number, proxies in near.items() for proxy in proxies}
        assert asked.items() <= known.items()
        for key in known.keys() - asked.keys():
            proxy = known[key]
            assert not proxy.asked.passes(proxy.asked.score(said.spoken.content), gate_at(proxy.steps, now))
        n_left_out += len(known) - len(asked)
    assert n_left_out > 0


@pytest.mark.parametrize("admits", [admits_now, admits_widely])
@pytest.mark.parametrize("seed", range(6))
def test_a_retainer_sends_what_proxies_let_in(seed: int, admits: object) -> None:
    """Held against asking every proxy about every publication after each thing that happens."""
    chance, sent, right = random.Random(seed), set[tuple[int, int]](), set[tuple[int, int]]()
    keeper = Retainer(lambda number, said, column: sent.add((number, said.number)), lambda: -(10**6), True, admits)  # type: ignore[arg-type]
    known, published = dict[tuple[int, int], Proxy](), list[Publication]()
    for now in range(14):
        for id in range(N_PROXIES) if now == 0 else chance.sample(range(N_PROXIES), 3):
            number = id
            fresh, before = drawn_proxy(id, chance), known.get((number, id))
            # Mostly another version of the same subscription, and at times another one with its id.
            is_same = before is not None and before.asked.ascending == fresh.asked.ascending and chance.random() < 0.8
            known[number, id] = fresh._replace(asked=before.asked) if is_same and before is not None else fresh
            keeper.put(number, known[number, id], now)
            right |= {(number, said.number) for said in published if admits(known[number, id], said, now)}  # type: ignore[operator]
        published.append(drawn_publication(now, chance, now))
        keeper.offer(published[-1], now, -1)
        keeper.pass_time(now)
        for (number, _), proxy in known.items():
            right |= {(number, said.number) for said in published if admits(proxy, said, now)}  # type: ignore[operator]
        assert sent == right
    assert 0 < len(sent) < N_PROXIES * len(published)
