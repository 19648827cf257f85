"""What the covering family is, for all who ask."""

from skyband.contract.family import Family
from skyband.covering import rows

FAMILY = Family(
    name="covering",
    publications=None,
    subscriptions=rows.SUBSCRIPTIONS,
    parse_publications=None,
    parse_subscriptions=rows.parse_subscriptions,
    signs=(frozenset({"lo", "hi"}), frozenset({"lo", "hi"})),
    order=4,
)
