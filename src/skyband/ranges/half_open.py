"""Paint-Dense and Paint-Sparse for ranges [l1, r1] x (-inf, r2], which the ranges paper calls 1.5-dimensional."""

from skyband.kernels.array import Floats, Int64s
from skyband.ranges.boxes import Boxes
from skyband.ranges.kernels.paint import Style, Update
from skyband.ranges.kernels.polygon import make_easel, paint_slabs
from skyband.ranges.painter import Objects, SubscriberGroups
from skyband.ranges.server import PaintPlan, lowest_rank
from skyband.ranges.single import OneByOne


class Sloped(OneByOne):
    """Paints slab by slab; of a plan the algorithm, sparse or dense, and epsilon count.

    Subscriptions with a lower end in the second dimension are told nothing: with any of those it takes `Boxed`.
    """

    def __init__(self, objects: Objects, groups: SubscriberGroups, plan: PaintPlan) -> None:
        self.plan = plan
        self._easel = make_easel(32, 1)
        super().__init__(objects, groups)

    def _new_boxes(self, places: Floats) -> Boxes:
        return Boxes(3)

    def _calls(self) -> Int64s:
        return self._easel.counts

    def _make_room(self, k: int, more: bool) -> None:
        room, most = len(self._easel.mosaic.size), len(self._easel.slots)
        if more or k > most:
            easel = make_easel(2 * room if more else room, max(k, most))
            self._easel = easel._replace(counts=self._easel.counts)

    def _paint(self, update: Update, group: int) -> bool:
        k, is_sparse = int(self.groups.k[group]), self.plan.algorithm == "sparse"
        style = Style(group, k, is_sparse, lowest_rank(k, self.plan.epsilon))
        return paint_slabs(style, self._field(), self.groups.points.trees, update, self._easel, self._outbox.messages)

    @property
    def n_bytes(self) -> int:
        easel = self._easel
        parts = [*easel.slabs, *easel.mosaic, *easel.walk]
        return super().n_bytes + sum(part.nbytes for part in parts)
