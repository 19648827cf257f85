"""Messages of a run in calm weather beside what the paper's Table 3 says of them, where that is exact or a bound.

N are brokers, P publications and their retractions, S subscriptions and their ends, U changes of gates that homes have
sent, and M entries into tops. What a formula leaves to chance, as how far gossip gets, is taken from the run; what it
assumes, as the share that is covered, gives a bound from above or from below.
"""

from collections.abc import Callable, Iterable

from skyband.overlay.broker.frame import DELIVERING, PUBLISHING, RECALLING, SUBSCRIBING, UPDATING
from skyband.overlay.simulate.fact import RunFacts
from skyband.overlay.simulate.gossip_bound import is_tree
from skyband.overlay.simulate.watcher import RunWatcher
from skyband.overlay.simulate.world import BrokerWorld


class Counted:
    """What was counted in a run, and what it is compared with."""

    def __init__(self, world: BrokerWorld, watcher: RunWatcher) -> None:
        self.options, self.watcher = world.scenario.options, watcher
        self.chart, self.zones = self.options.chart, self.options.zones
        self.links = self.chart.n_brokers - 1
        self.facts = RunFacts(world)
        self._messages = world.tally.messages

    def equal(self, column: str, right: int, formula: str) -> Iterable[str]:
        """A formula that is exact."""
        found = self._messages[column]
        if found != right:
            yield f"There are {found} messages of {column}, and {formula} is {right}."

    def within(self, columns: tuple[str, ...], least: int, most: int | None, formula: str) -> Iterable[str]:
        """A formula that is a bound."""
        found = sum(self._messages[column] for column in columns)
        if found < least or (most is not None and found > most):
            bounds = f"{least} or more" if most is None else f"from {least} to {most}"
            yield f"There are {found} messages of {' and '.join(columns)}, and {formula} says {bounds}."


def _publication_flood(run: Counted) -> Iterable[str]:
    yield from run.equal(PUBLISHING, run.links * run.facts.n_told, "(N - 1) P")
    for column in (SUBSCRIBING, DELIVERING, UPDATING):
        yield from run.equal(column, 0, "what stays")


def _subscription_flood(run: Counted) -> Iterable[str]:
    facts = run.facts
    yield from run.equal(SUBSCRIBING, run.links * facts.n_asked, "S (N - 1)")
    yield from run.equal(PUBLISHING, 0, "what stays")
    yield from run.equal(UPDATING, run.links * sum(facts.renewed), "U (N - 1)")
    # A home gets what enters, and what an old gate lets in besides.
    least = sum(len(homes - {key[0]}) for key, homes in facts.entered.items())
    yield from run.within((DELIVERING,), least, run.links * facts.n_told, "M")


def _covering(run: Counted) -> Iterable[str]:
    facts, everywhere = run.facts, run.links * run.facts.n_asked
    if not run.options.covering:
        yield from run.equal(SUBSCRIBING, everywhere, "S (N - 1)")
    # The first subscription goes everywhere; others may be covered and uncovered again as gates move.
    yield from run.within((SUBSCRIBING,), run.links * bool(facts.n_asked), None, "(1 - c) S (N - 1)")
    yield from run.equal(PUBLISHING, 0, "what stays")
    yield from run.within((UPDATING,), 0, run.links * sum(facts.renewed), "(1 - c) U (N - 1)")
    # Ways to several homes share links, so that the links that lead to all of them take the place of M L.
    least = sum(facts.n_links_to(key[0], homes) for key, homes in facts.entered.items())
    yield from run.within((DELIVERING,), least, run.links * facts.n_told, "M L")


def _rendezvous(run: Counted) -> Iterable[str]:
    facts, chart, zones, informs = run.facts, run.chart, run.zones, run.options.inform == "neighbours"
    assert zones is not None
    beside = [len(zones.neighbours(broker)) if informs else 0 for broker in range(chart.n_brokers)]
    hosts = [(broker, zones.zone_for(asked)) for broker, asked in (*facts.wanted, *facts.unwanted)]
    ended = sum(beside[zones.zone_for(asked)] for _, asked in facts.unwanted)
    ways = sum(chart.distance(broker, host) for broker, host in hosts)
    yield from run.equal(SUBSCRIBING, ways + ended, "S L")
    met = [(key[0], zones.zone_of(each.place)) for key, each in facts.published.items()]
    ways = sum(chart.distance(origin, zone) for origin, zone in met)
    # Brokers beside the zone may have asked for it as well.
    yield from run.within((PUBLISHING,), ways, ways + sum(beside[zone] for _, zone in met), "P L")
    away = [each for each in facts.heard if zones.zone_for(each.asked) != each.broker]
    yield from run.equal(DELIVERING, len(away), "M")
    told = [beside[broker] * n for broker, n in enumerate(map(sum, zip(facts.renewed, facts.first, strict=True)))]
    yield from run.equal(UPDATING, sum(told), "n U")


def _basic_gossip(run: Counted) -> Iterable[str]:
    yield from _spread(run, (PUBLISHING,))


def _informed_gossip(run: Counted) -> Iterable[str]:
    facts = run.facts
    degrees = [len(run.chart.neighbours[broker]) for broker in range(run.chart.n_brokers)]
    asked = sum(degrees[broker] for broker, _ in (*facts.wanted, *facts.unwanted))
    yield from run.equal(SUBSCRIBING, asked, "n S")
    yield from run.equal(UPDATING, sum(d * n for d, n in zip(degrees, facts.renewed, strict=True)), "n U")
    yield from _spread(run, (PUBLISHING, DELIVERING))


def _spread(run: Counted, columns: tuple[str, ...]) -> Iterable[str]:
    """A tree has one way to each broker; where there are others, some messages come in vain."""
    reached = run.watcher.reached
    news = sum(map(len, reached.values())) - len(reached)
    yield from run.within(columns, news, news if is_tree(run.chart) else None, "s N P")


def _zone_leases(run: Counted) -> Iterable[str]:
    facts, zones = run.facts, run.zones
    assert zones is not None
    zone_of = {key: zones.zone_of(each.place) for key, each in facts.published.items()}
    away = sum(1 + (key in facts.retracted) for key, zone in zone_of.items() if zone != key[0])
    yield from run.equal(PUBLISHING, away, "P")
    first = [(broker, zones.reached(asked, facts.first_gate(asked))) for broker, asked in facts.wanted]
    least = sum(len(set(reached) - {broker}) for broker, reached in first)
    yield from run.within((SUBSCRIBING,), least, None, "the first leases")
    least = sum(len(homes - {zone_of[key]}) for key, homes in facts.entered.items())
    yield from run.within((DELIVERING, RECALLING), least, None, "M")
    yield from run.within((DELIVERING,), 0, run.links * facts.n_told, "M")


CHECKS: dict[str, Callable[[Counted], Iterable[str]]] = {
    "publication-flooding": _publication_flood,
    "subscription-flooding": _subscription_flood,
    "covering": _covering,
    "rendezvous": _rendezvous,
    "basic-gossiping": _basic_gossip,
    "informed-gossiping": _informed_gossip,
    "zone-leases": _zone_leases,
}


def check_counts(world: BrokerWorld, watcher: RunWatcher) -> Iterable[str]:
    """Counted messages are those of the formulas, where brokers ran undisturbed."""
    check = CHECKS.get(world.scenario.options.strategy)
    if check is not None and world.scenario.is_calm:
        yield from check(Counted(world, watcher))
