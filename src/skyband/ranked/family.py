"""What the ranked family is, for all who ask."""

from skyband.contract.family import Family
from skyband.ranked import rows

FAMILY = Family(
    name="ranked",
    publications=rows.PUBLICATIONS,
    subscriptions=rows.SUBSCRIPTIONS,
    parse_publications=rows.parse_publications,
    parse_subscriptions=rows.parse_subscriptions,
    signs=(frozenset({"point"}), frozenset({"lo", "hi"})),
    order=3,
)
