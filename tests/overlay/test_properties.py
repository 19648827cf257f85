"""Each property of a run by its number: brokers that are right have it, and those that are wrong so are accused."""

import itertools
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from skyband.overlay.broker.broker import Broker
from skyband.overlay.broker.chart import random_tree_chart
from skyband.overlay.broker.event import Effect, Happening, Refused, Tell
from skyband.overlay.broker.frame import Publication
from skyband.overlay.broker.options import BrokerOptions
from skyband.overlay.simulate.gossip_bound import GossipBound
from skyband.overlay.simulate.run import drawn, simulate, wrongs_of
from skyband.overlay.simulate.scenario import CALM, Scenario, ScenarioShape
from skyband.overlay.simulate.twin import check_covering, check_trace, check_twins, check_updates
from skyband.overlay.simulate.world import BrokerWorld
from skyband.overlay.strategy import STRATEGIES
from skyband.overlay.strategy.flood_publications import PublicationFlooding
from skyband.overlay.strategy.gossip import BasicGossiping
from skyband.overlay.strategy.proxy_tree import CoveredLink, PlainLink
from tests.overlay.planted import AcceptsBeforeSync, KthScoreAsGate
from tests.overlay.worlds import STEADY

SMALL = ScenarioShape(n_brokers=5, n_subscriptions=5, n_publications=40, seconds=14)


class LosesArrivals(Broker):
    """Takes no publication with a number that 5 divides."""

    def __init__(self, number: int, options: BrokerOptions) -> None:
        super().__init__(number, options)
        is_new = self.home.is_new

        def forgetful(publication: Publication) -> bool:
            return publication.number % 5 != 0 and is_new(publication)

        self.home.is_new = forgetful  # type: ignore[method-assign]


class NumbersBackwards(Broker):
    """Numbers publications downwards."""

    def write(self, kind: str, *fields: Any, then: Callable[[], None]) -> None:
        super().write(kind, *((-fields[0], *fields[1:]) if kind == "published" else fields), then=then)


class TakesNoCredit(Broker):
    """Sends as much as it likes."""

    def __init__(self, number: int, options: BrokerOptions) -> None:
        super().__init__(number, options)
        self.sessions.credit = 10**9


class SaysWhatItLikes(Broker):
    """Depends on what has happened in this process before."""

    said = itertools.count()

    def step(self, now: int, event: Happening) -> list[Effect]:
        return [*super().step(now, event), Tell(Refused(str(next(self.said))))]


def calm(strategy: str, seed: int, **options: Any) -> Scenario:
    """A scenario in which nothing goes wrong."""
    return drawn(strategy, seed, SMALL, storm=False, **options)


def numbers(wrongs: Iterable[str]) -> set[str]:
    """The properties that are named in sentences."""
    return {wrong.split("(")[0].split()[-1] for wrong in wrongs}


@pytest.mark.few(7)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_run_and_its_twins_have_all_properties(strategy: str, seed: int) -> None:
    assert wrongs_of(drawn(strategy, seed, SMALL), twins=True) == []


def test_outcomes_of_twins_are_shown() -> None:
    outcome = simulate(drawn("basic-gossiping", 1, SMALL), SaysWhatItLikes, shrinks=False, twins=True)
    assert numbers(outcome.wrongs) == {"10"}


@pytest.mark.parametrize(
    ("number", "strategy", "wrong"),
    [
        ("1", "covering", LosesArrivals),
        ("3", "covering", AcceptsBeforeSync),
        ("3", "covering", NumbersBackwards),
        ("4", "covering", KthScoreAsGate),
        ("4", "zone-leases", KthScoreAsGate),
        ("9", "subscription-flooding", TakesNoCredit),
    ],
)
def test_brokers_that_are_wrong_are_accused_by_number(number: str, strategy: str, wrong: type[Broker]) -> None:
    options: dict[str, Any] = {"credit": 1} if wrong is TakesNoCredit else {}
    found = (wrongs_of(drawn(strategy, seed, SMALL, mode="eager", **options), wrong) for seed in range(20))
    assert any(number in numbers(wrongs) for wrongs in found)


def test_a_log_that_is_not_that_of_one_engine_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Property 2: the tops are right in the end, and a change has been told with another time."""
    tell = Broker.tell

    def late(broker: Broker, what: Any) -> None:
        if hasattr(what, "rows"):
            what = what._replace(rows=tuple((*row[:5], row[5] and row[5] + 1, *row[6:]) for row in what.rows))
        tell(broker, what)

    monkeypatch.setattr(Broker, "tell", late)
    assert numbers(wrongs_of(calm("covering", 1))) == {"2"}


def test_updates_that_have_to_come_in_order_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Property 5: a late lease that ends before the one after it must not replace that."""
    from skyband.overlay.broker.retainer import Retainer

    def put(retainer: Retainer, number: int, proxy: Any, now: int) -> None:
        retainer.destination(number).proxies.pop(proxy.asked.id, None)
        right(retainer, number, proxy, now)

    right = Retainer.put
    assert [list(check_updates(drawn("zone-leases", seed, SMALL))) for seed in range(6)] == [[]] * 6
    monkeypatch.setattr(Retainer, "put", put)
    assert any(list(check_updates(drawn("zone-leases", seed))) for seed in range(60))


def test_covering_that_stands_for_too_much_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Property 6."""
    assert list(check_covering(calm("covering", 2))) == []
    monkeypatch.setattr(CoveredLink, "wanted", lambda link: list(link.members)[:1])
    assert numbers(check_covering(calm("covering", 2))) == {"6"}


def test_without_watermarks_covering_may_change_what_is_told_on_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the tops when all is quiet."""
    scenario = calm("covering", 10, mode="eager").without(weather=STEADY)
    assert list(check_covering(scenario)) == []
    on, off = (BrokerWorld(scenario.with_options(covering=covering)).run() for covering in (True, False))
    assert [each.changes for each in on.audiences] != [each.changes for each in off.audiences]
    monkeypatch.setattr(PlainLink, "wanted", lambda link: list(link.members)[:1])
    assert "6" in numbers(check_covering(scenario))


@pytest.mark.parametrize(("fan_out", "rounds"), [(1, 2), (2, 3), (5, 5)])
def test_gossip_gets_as_far_as_its_bound(fan_out: int, rounds: int) -> None:
    """The mean over all choices, played out; and the least, which no choice is below."""
    chart, chance = random_tree_chart(8, 3), __import__("random").Random(1)
    options = BrokerOptions(chart=chart, strategy="basic-gossiping", mode="eager", fan_out=fan_out, rounds=rounds)
    bound, origin = GossipBound(options), 2

    def spread(broker: int, source: int, left: int) -> int:
        others = [other for other in chart.neighbours[broker] if other != source]
        chosen = chance.sample(others, min(fan_out, len(others))) if left else []
        return 1 + sum(spread(other, broker, left - 1) for other in chosen)

    reached = [spread(origin, -1, rounds) for _ in range(4000)]
    assert abs(sum(reached) / len(reached) - bound.mean(origin)) < 0.1
    assert bound.least(origin) <= min(reached)
    assert bound.total([origin] * 4000) <= sum(reached)
    assert bound.total([origin]) >= bound.least(origin)


def test_gossip_that_loses_more_than_it_says_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Property 8."""
    hear = BasicGossiping._hear

    def lazily(gossip: BasicGossiping, publication: Publication, source: int, rounds: int) -> None:
        hear(gossip, publication, source, 0 if publication.number % 2 else rounds)

    assert wrongs_of(calm("basic-gossiping", 3, fan_out=2)) == []
    monkeypatch.setattr(BasicGossiping, "_hear", lazily)
    assert numbers(wrongs_of(calm("basic-gossiping", 3, fan_out=2))) == {"8"}


def test_a_trace_that_depends_on_anything_else_is_found() -> None:
    """Property 10."""
    assert list(check_trace(calm("covering", 4))) == []
    assert numbers(check_trace(calm("covering", 4), SaysWhatItLikes)) == {"10"}


def test_messages_beyond_the_formula_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Property 11."""
    emit = PublicationFlooding.emit

    def twice(flooding: PublicationFlooding, target: int, publication: Publication, column: str) -> None:
        emit(flooding, target, publication, column)
        emit(flooding, target, publication, column)

    monkeypatch.setattr(PublicationFlooding, "emit", twice)
    assert numbers(check_twins(drawn("publication-flooding", 1, SMALL))) == {"11"}


def test_calm_is_what_has_no_trouble() -> None:
    scenario = drawn("covering", 5, SMALL)
    assert not scenario.is_calm
    assert scenario.without(weather=STEADY, crashes=()).is_calm
    assert calm("covering", 5).weather == CALM
