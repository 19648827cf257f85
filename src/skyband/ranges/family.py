"""What the ranges family is, for all who ask."""

from skyband.contract.family import Family
from skyband.ranges import rows

FAMILY = Family(
    name="ranges",
    publications=rows.PUBLICATIONS,
    subscriptions=rows.SUBSCRIPTIONS,
    parse_publications=rows.parse_publications,
    parse_subscriptions=rows.parse_subscriptions,
    read_publications=rows.read_publications,
    signs=(frozenset({"object", "x", "y"}), frozenset({"k", "lo", "hi"})),
    has_dims=True,
    has_objects=True,
    order=2,
)
