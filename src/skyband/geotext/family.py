"""What the geotext family is, for all who ask."""

from skyband.contract.family import Family
from skyband.geotext import rows

FAMILY = Family(
    name="geotext",
    publications=rows.PUBLICATIONS,
    subscriptions=rows.SUBSCRIPTIONS,
    parse_publications=rows.parse_publications,
    parse_subscriptions=rows.parse_subscriptions,
    read_publications=rows.read_publications,
    read_subscriptions=rows.read_subscriptions,
    signs=(frozenset({"x", "y"}), frozenset({"x", "y", "alpha"})),
    yields_to=frozenset({"ranges"}),
    has_windows=True,
    has_retractions=True,
    has_bounds=True,
    has_words=True,
    order=1,
)
