"""What is sent to each peer, counted by what it is for, as the simulator counts it."""

from collections import Counter

from skyband.broker.wire.body import KINDS
from skyband.broker.wire.envelope import Parcel

NAMES = {kind.number: kind.frame.__name__ for kind in KINDS} | {0: "Acknowledgement"}


class LinkTraffic:
    """Frames and bytes that were queued for peers, by kind."""

    def __init__(self) -> None:
        self.frames: Counter[tuple[int, str]] = Counter()
        self.bytes: Counter[tuple[int, str]] = Counter()

    def note(self, peer: int, parcel: Parcel) -> None:
        """A parcel is queued."""
        key = (peer, NAMES.get(parcel.header.kind, "Other"))
        self.frames[key] += 1
        self.bytes[key] += len(parcel.packed)
