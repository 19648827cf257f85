"""What waits to be written to one peer: in order, and what a core repeats while it still waits here only once."""

from collections import deque

from skyband.broker.wire.envelope import Parcel

ParcelKey = tuple[int, int, int, int, int]
CHUNK = 64 * 2**10


class Outgoing:
    """A queue of parcels that takes so many bytes and no more."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._queue: deque[Parcel] = deque()
        self._keys: set[ParcelKey] = set()
        self.n_bytes = 0

    def put(self, parcel: Parcel) -> bool:
        """Queue a parcel, unless it is queued already; false where there is no room."""
        key = _key(parcel)
        if key in self._keys:
            return True
        if self.n_bytes + len(parcel.packed) > self._most_bytes:
            return False
        self._queue.append(parcel)
        self.n_bytes += len(parcel.packed)
        if parcel.header.number:
            self._keys.add(key)
        return True

    def take(self) -> list[Parcel]:
        """Take what can be written at once."""
        taken, n_bytes = [], 0
        while self._queue and n_bytes < CHUNK:
            parcel = self._queue.popleft()
            self._keys.discard(_key(parcel))
            n_bytes += len(parcel.packed)
            taken.append(parcel)
        self.n_bytes -= n_bytes
        return taken


def _key(parcel: Parcel) -> ParcelKey:
    header = parcel.header
    return header.source, header.target, header.incarnation, header.lane, header.number
