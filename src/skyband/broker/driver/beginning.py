"""The first record of a new journal: an empty broker whose lives and publications are numbered on from the time of day.

A broker that has lost its journal thus begins beyond every number that others may remember of it, and none of what it
publishes is taken for something that they have had already.
"""

from skyband.overlay.broker.broker import Broker
from skyband.overlay.broker.checkpoint import KIND
from skyband.overlay.broker.record import pack_record

PER_SECOND = 1 << 20
"""More than a broker publishes in a second."""


def beginning(broker: Broker, now: int) -> bytes:
    """The record, for a broker that has nothing yet."""
    seconds = now // 1_000_000
    origin = broker.origin.saved() | {"n": seconds * PER_SECOND}
    return pack_record(KIND, seconds, origin, [], broker.home.saved(set()))
