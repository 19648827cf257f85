"""What the window family is, for all who ask."""

from skyband.contract.family import Family
from skyband.window import rows

FAMILY = Family(
    name="window",
    publications=rows.PUBLICATIONS,
    subscriptions=rows.SUBSCRIPTIONS,
    parse_publications=rows.parse_publications,
    parse_subscriptions=rows.parse_subscriptions,
    read_publications=rows.read_publications,
    read_subscriptions=rows.read_subscriptions,
    signs=(frozenset({"point"}), frozenset({"score"})),
    has_windows=True,
    has_retractions=True,
    has_dims=True,
    order=0,
)
