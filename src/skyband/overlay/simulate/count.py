"""Messages of a run in calm weather beside what the paper's Table 3 says of them, where that is exact or a bound.

N are brokers, P publications and their retractions, S subscriptions. Floods take N - 1 messages each, and what is told
of a gate that moves in a flood is a multiple of that. Gossip sends at most `fan_out` messages for each publication and
broker.
"""

from collections.abc import Callable, Iterable

from skyband.overlay.broker.frame import PUBLISHING, SUBSCRIBING, UPDATING
from skyband.overlay.broker.record import whole_records
from skyband.overlay.simulate.world import BrokerWorld

Totals = dict[str, int]


def counted_records(world: BrokerWorld) -> Totals:
    """How often something is on the disks: published, retracted, wanted and unwanted."""
    kinds = [fields[0] for disk in world.disks for fields in whole_records(disk.history)]
    return {kind: kinds.count(kind) for kind in ("published", "retracted", "wanted", "unwanted")}


def _publication_flood(world: BrokerWorld, n: Totals) -> Iterable[str]:
    links = world.scenario.options.chart.n_brokers - 1
    yield from _differs(world, PUBLISHING, links * (n["published"] + n["retracted"]), "(N - 1) P")
    yield from _differs(world, SUBSCRIBING, 0, "0")


def _subscription_flood(world: BrokerWorld, n: Totals) -> Iterable[str]:
    links = world.scenario.options.chart.n_brokers - 1
    yield from _differs(world, SUBSCRIBING, links * (n["wanted"] + n["unwanted"]), "S (N - 1)")
    yield from _differs(world, PUBLISHING, 0, "0")
    if world.tally.messages[UPDATING] % links:
        yield f"There are {world.tally.messages[UPDATING]} messages of updating, which is no multiple of N - 1."


def _gossip(world: BrokerWorld, n: Totals) -> Iterable[str]:
    options = world.scenario.options
    most = options.fan_out * options.chart.n_brokers * n["published"]
    if world.tally.messages[PUBLISHING] > most:
        yield f"There are {world.tally.messages[PUBLISHING]} messages of publishing, and at most {most} should be."


def _zone_leases(world: BrokerWorld, n: Totals) -> Iterable[str]:
    if world.tally.messages[PUBLISHING] > n["published"] + n["retracted"]:
        yield f"There are {world.tally.messages[PUBLISHING]} messages of publishing, more than publications."


CHECKS: dict[str, Callable[[BrokerWorld, Totals], Iterable[str]]] = {
    "publication-flooding": _publication_flood,
    "subscription-flooding": _subscription_flood,
    "basic-gossiping": _gossip,
    "zone-leases": _zone_leases,
}


def check_counts(world: BrokerWorld) -> Iterable[str]:
    """Counted messages are those of the formulas, where brokers ran undisturbed."""
    check = CHECKS.get(world.scenario.options.strategy)
    if check is not None and world.scenario.is_calm:
        yield from check(world, counted_records(world))


def _differs(world: BrokerWorld, column: str, right: int, formula: str) -> Iterable[str]:
    found = world.tally.messages[column]
    if found != right:
        yield f"There are {found} messages of {column}, and {formula} is {right}."
