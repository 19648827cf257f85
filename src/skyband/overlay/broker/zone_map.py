"""The zone map: which broker publications at a place go to, known to all, so that they get there at once.

The zones are those of `skyband.overlay.zones`, fitted to a sample of places; broker i has zone i.
"""

import numpy as np

from skyband.contract.tops import Id
from skyband.covering.routed import RoutedSubscription
from skyband.kernels.array import Floats
from skyband.overlay.zones import Zones


class ZoneMap:
    """A zone of the space of publications for each broker; places with an odd number of coordinates get one more."""

    def __init__(self, sample: Floats, n_brokers: int) -> None:
        sample = np.ascontiguousarray(sample, np.float64)
        self.n_dims = sample.shape[1]
        self.zones = Zones(self._even(sample), n_brokers)
        borders = self.zones.borders
        self.low, self.high = borders.low[:, : self.n_dims], borders.high[:, : self.n_dims]
        self._bests: dict[Id, tuple[RoutedSubscription, Floats]] = {}

    def zone_of(self, place: tuple[float, ...]) -> int:
        """The broker whose zone holds a place."""
        return int(self.zones.zone_of(self._even(np.array([place])))[0])

    def check_dims(self, what: str, n_dims: int) -> None:
        """Raise a ValueError for what has another number of dimensions than the map."""
        if n_dims != self.n_dims:
            raise ValueError(f"{what} has {n_dims} dimensions, and the zone map of the brokers {self.n_dims}.")

    def neighbours(self, zone: int) -> list[int]:
        """The brokers whose zones share a border with this one."""
        return sorted(int(other) for other in self.zones.neighbours(zone))

    def bests(self, asked: RoutedSubscription) -> Floats:
        """For each zone, how good a publication in it can be for a subscription at best."""
        found = self._bests.get(asked.id)
        if found is None or found[0] is not asked:
            found = self._bests[asked.id] = asked, asked.bests(self.low, self.high)
        return found[1]

    def zone_for(self, asked: RoutedSubscription) -> int:
        """The zone where publications can be best for a subscription: its rendezvous."""
        bests = self.bests(asked)
        return int(bests.argmin() if asked.ascending else bests.argmax())

    def reached(self, asked: RoutedSubscription, gate: float) -> list[int]:
        """The zones that may hold what passes a gate."""
        bests = self.bests(asked)
        reached: list[int] = np.flatnonzero(bests <= gate if asked.ascending else bests >= gate).tolist()
        return reached

    def _even(self, places: Floats) -> Floats:
        return places if places.shape[1] % 2 == 0 else np.column_stack([places, np.zeros(len(places))])
