"""What the ranked family is, for all who ask."""

from skyband.contract.family import Family
from skyband.ranked import rows

FAMILY = Family(
    name="ranked",
    publications=rows.PUBLICATIONS,
    subscriptions=rows.SUBSCRIPTIONS,
    parse_publications=rows.parse_publications,
    parse_subscriptions=rows.parse_subscriptions,
    read_publications=rows.read_publications,
    read_subscriptions=rows.read_subscriptions,
    signs=(frozenset({"point"}), frozenset({"lo", "hi"})),
    has_dims=True,
    answers_stand=False,
    run_options={"k": 20, "matching": "relaxed"},
    order=3,
)
