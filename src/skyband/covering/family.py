"""What the covering family is, for all who ask."""

from skyband.contract.family import Family
from skyband.covering import rows

FAMILY = Family(
    name="covering",
    subscriptions=rows.SUBSCRIPTIONS,
    parse_subscriptions=rows.parse_subscriptions,
    signs=(frozenset({"lo", "hi"}), frozenset({"lo", "hi"})),
    strange=frozenset({"score"}),
    keeper="CoverSet",
    order=4,
)
