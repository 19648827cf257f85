"""Which way parcels go: straight to their target, or link by link along the shortest ways of the chart."""

from functools import lru_cache

from skyband.broker.chart.network_chart import NetworkChart


class WayFinder:
    """The ways as one broker knows them."""

    def __init__(self, chart: NetworkChart, number: int) -> None:
        self._chart, self._number = chart.options.chart, number
        self._by_links = chart.ways == "links"
        self.before = lru_cache(65_536)(self._before)

    def next_hop(self, target: int) -> int:
        """The peer to which a parcel for a broker is handed."""
        return self._chart.next_hop(self._number, target) if self._by_links else target

    def is_right(self, peer: int, source: int, target: int) -> bool:
        """Whether a parcel from a broker to another one can come here from a peer."""
        n = self._chart.n_brokers
        if not (source < n and target < n) or source == self._number:
            return False
        if not self._by_links:
            return source == peer and target == self._number
        return self.before(source, target) == peer

    def _before(self, source: int, target: int) -> int | None:
        """The broker before this one on the way between two others, None if this one is not on it."""
        at = source
        while at != target:
            after = self._chart.next_hop(at, target)
            if after == self._number:
                return at
            at = after
        return None
