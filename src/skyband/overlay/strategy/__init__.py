"""Strategies: the six of the top-k/w paper under its names, and ours under a name of its own."""

from skyband.overlay.strategy.covering import CoveringRouting
from skyband.overlay.strategy.flood_publications import PublicationFlooding
from skyband.overlay.strategy.flood_subscriptions import SubscriptionFlooding
from skyband.overlay.strategy.gossip import BasicGossiping, InformedGossiping
from skyband.overlay.strategy.rendezvous import RendezvousRouting
from skyband.overlay.strategy.strategy import Strategy
from skyband.overlay.strategy.zone_leases import ZoneLeases

__all__ = ["STRATEGIES", "Strategy", "strategy_named"]

STRATEGIES: dict[str, type[Strategy]] = {
    strategy.name: strategy
    for strategy in (
        PublicationFlooding,
        SubscriptionFlooding,
        CoveringRouting,
        RendezvousRouting,
        BasicGossiping,
        InformedGossiping,
        ZoneLeases,
    )
}


def strategy_named(name: str) -> type[Strategy]:
    """A strategy by its name; a ValueError lists those there are."""
    if name not in STRATEGIES:
        raise ValueError(f"There is no strategy {name!r}; there are {', '.join(STRATEGIES)}.")
    return STRATEGIES[name]
