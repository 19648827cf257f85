"""Paint-Sparse for subscriptions to boxes, in one dimension or more."""

import numpy as np

from skyband.kernels.array import Floats, Int64s
from skyband.kernels.sort_keys import curve_keys
from skyband.ranges.boxes import Boxes, extent_of
from skyband.ranges.kernels.orthant import make_bench, paint_boxes
from skyband.ranges.kernels.paint import Style, Update
from skyband.ranges.painter import Objects, SubscriberGroups
from skyband.ranges.single import OneByOne


class Ground(Boxes):
    """Points (x1 .. xd, y) in the order of a curve through x alone."""

    def __init__(self, places: Floats) -> None:
        super().__init__(places.shape[1] + 1)
        self._extent = extent_of(places)

    def keys(self, tree: int, low: Floats) -> Int64s:
        """The keys that items here have in a tree."""
        return curve_keys(low[:, :-1], *self._extent)


class Boxed(OneByOne):
    """Cuts the orthant of a changed object into boxes of subscriptions that are told the same; always exact."""

    def __init__(self, objects: Objects, groups: SubscriberGroups) -> None:
        self._bench = make_bench(64, 1, objects.dims)
        super().__init__(objects, groups)

    def _new_boxes(self, places: Floats) -> Boxes:
        return Ground(places)

    def _calls(self) -> Int64s:
        return self._bench.counts

    def _make_room(self, k: int, more: bool) -> None:
        room, most = len(self._bench.mosaic.size), len(self._bench.walk.slot)
        if more or k > most:
            bench = make_bench(2 * room if more else room, max(k, most), self.objects.dims)
            self._bench = bench._replace(counts=self._bench.counts)

    def _paint(self, update: Update, group: int) -> bool:
        k = int(self.groups.k[group])
        style = Style(group, k, True, k)
        return paint_boxes(style, self._field(), self.groups.points.trees, update, self._bench, self._outbox.messages)

    @property
    def n_bytes(self) -> int:
        bench = self._bench
        parts = [*bench.pending, *bench.mosaic, *bench.walk]
        return super().n_bytes + int(np.sum([part.nbytes for part in parts]))
