"""Regions in one and a half dimensions: slabs, the boxes that Paint-Dense makes of them, and what it asks for that."""

import numpy as np
import pytest

from skyband.kernels.array import Floats, Int64s
from skyband.ranges.boxes import Boxes
from skyband.ranges.half_open import Sloped
from skyband.ranges.kernels.boxrank import Field
from skyband.ranges.kernels.message import FARTHEST, Messages, above, make_messages, points_of
from skyband.ranges.kernels.message_boxes import make_mosaic
from skyband.ranges.kernels.paint import Style, Update
from skyband.ranges.kernels.polygon import X1, X2, PolygonEasel, lay_region, make_easel, paint_slabs, trace
from skyband.ranges.kernels.range_scan import ObjectChanges
from skyband.ranges.kernels.region_slabs import FIRST, check_slabs, top_of
from skyband.ranges.kernels.tile_merge import R2
from skyband.ranges.painter import Objects, SubscriberGroups
from skyband.ranges.server import PaintPlan

SEEDS = range(10)
N_CELLS = 5


class Scene:
    """Objects on a small grid with many ties, and space to paint with, for somebody who wants the k best."""

    def __init__(self, seed: int, k: int, n: int = 20) -> None:
        random = np.random.default_rng(seed)
        self.k = k
        self.boxes = Boxes(3)
        self.x = random.integers(0, N_CELLS, (n, 2)).astype(float)
        self.y = random.integers(0, 8, n).astype(float)
        self.tie = random.permutation(n)
        self.boxes.add(0, np.arange(n), np.column_stack([self.x, self.y]))
        self.easel: PolygonEasel = make_easel(200, k)
        self.random = random

    @property
    def field(self) -> Field:
        return Field(self.boxes.trees, self.x, self.y, self.tie)

    @property
    def style(self) -> Style:
        return Style(0, self.k, False, self.k)

    def nobody(self) -> Boxes:
        return Boxes(4)

    def set_y(self, object: int, y: float) -> Update:
        """Give an object another y."""
        old, place = float(self.y[object]), np.append(self.x[object], self.y[object])
        self.boxes.set(0, object, place, 2, y)
        self.y[object] = y
        return Update(object, 3, old, y)

    def top(self, wide: Floats, y: Floats) -> list[int]:
        """The k best for a range (l1, r1, r2), if the objects had these y."""
        left, right, high = wide
        inside = (left <= self.x[:, 0]) & (self.x[:, 0] <= right) & (self.x[:, 1] <= high)
        order = np.lexsort((self.tie, y))
        return [int(i) for i in order if inside[i]][: self.k]


def grid() -> Floats:
    """Ranges with ends at and between all places, as points (l1, r1, r2)."""
    ends = np.arange(-1.0, N_CELLS + 0.5, 0.5)
    ranges = np.stack(np.meshgrid(ends, ends, ends, indexing="ij"), axis=-1).reshape(-1, 3)
    return ranges[ranges[:, 0] <= ranges[:, 1]]


def holders(low: Floats, high: Floats, ranges: Floats) -> Int64s:
    """For each range whether its point is in a box, as a number."""
    points = points_of(
        np.column_stack([ranges[:, 0], np.full(len(ranges), -np.inf)]), np.column_stack([ranges[:, 1], ranges[:, 2]])
    )
    return np.asarray(((low <= points) & (points <= high)).all(axis=1), np.int64)


@pytest.mark.parametrize("k", [1, 2, 4])
@pytest.mark.parametrize("seed", SEEDS)
def test_slabs_have_the_nearest_that_rank_before(seed: int, k: int) -> None:
    scene = Scene(seed, k)
    slabs = scene.easel.slabs
    for object in range(6):
        x, own = scene.x[object], (scene.y[object], scene.tie[object])
        assert trace(scene.style, scene.field, scene.nobody().trees, object, scene.y[object], scene.easel)
        check_slabs(slabs, k)
        z = int(slabs.at[FIRST])
        assert slabs.bottom[z] == x[X2]
        while z >= 0:
            for high in {float(slabs.bottom[z]), top_of(slabs, z)}:
                before = [i for i in range(20) if (scene.y[i], scene.tie[i]) < own and scene.x[i, X2] <= high]
                places = [float(scene.x[i, X1]) for i in before]
                west = sorted((place for place in places if place <= x[X1]), reverse=True)[:k]
                east = sorted(place for place in places if place > x[X1])[:k]
                assert slabs.west[z, : slabs.n[z, 0]].tolist() == west
                assert slabs.east[z, : slabs.n[z, 1]].tolist() == east
            z = int(slabs.next[z])


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("seed", SEEDS)
def test_boxes_cover_the_region_once(seed: int, k: int) -> None:
    scene, ranges = Scene(seed, k), grid()
    mosaic = scene.easel.mosaic
    for object in range(4):
        assert trace(scene.style, scene.field, scene.nobody().trees, object, scene.y[object], scene.easel)
        assert lay_region(scene.style, scene.field, scene.nobody().trees, object, scene.easel)
        n = int(mosaic.length[0])
        covered = sum((holders(mosaic.low[i], mosaic.high[i], ranges) for i in range(n)), np.zeros(len(ranges)))
        wanted = [object in scene.top(wide, scene.y) for wide in ranges]
        assert covered.tolist() == wanted
        for i in range(n):
            assert mosaic.low[i, 2] == mosaic.high[i, 2] == -FARTHEST
            for j in range(n):
                sides = mosaic.low[i, :3] == mosaic.low[j, :3], mosaic.high[i, :3] == mosaic.high[j, :3]
                goes_on = mosaic.high[i, R2] < FARTHEST and above(mosaic.high[i, R2]) == mosaic.low[j, R2]
                assert not (np.all(sides) and goes_on)


@pytest.mark.parametrize("k", [1, 2, 4])
@pytest.mark.parametrize("seed", SEEDS)
def test_messages_cover_what_an_update_changes_once(seed: int, k: int) -> None:
    scene, ranges, messages = Scene(seed, k), grid(), make_messages(4000, 2)
    for to in (3.0, 100.0, 0.0, np.inf):
        object = int(scene.random.integers(20))
        before = scene.y.copy()
        update = Update(object, 3, before[object], to)
        if to == np.inf:
            scene.boxes.remove(0, np.array([object]), np.append(scene.x[object], before[object])[np.newaxis])
            scene.y[object] = to
        else:
            update = scene.set_y(object, to)
        if update.old == update.new:
            continue
        messages.length[0] = 0
        assert paint_slabs(scene.style, scene.field, scene.nobody().trees, update, scene.easel, messages)
        check_told(scene, ranges, messages, before, object)


def check_told(scene: Scene, ranges: Floats, messages: Messages, before: Floats, object: int) -> None:
    """Everybody is told exactly what is new to them, once."""
    n = int(messages.length[0])
    inside = [holders(messages.low[i], messages.high[i], ranges) for i in range(n)]
    assert (messages.event[:n] == 3).all()
    assert (messages.y[:n] == scene.y[messages.object[:n]]).all()
    assert (messages.x[:n] == scene.x[messages.object[:n]]).all()
    for at, wide in enumerate(ranges):
        was, now = scene.top(wide, before), scene.top(wide, scene.y)
        now = [each for each in now if scene.y[each] < np.inf]
        wanted = [object] if object in was or object in now else []
        wanted += [each for each in now if each not in was and each != object]
        assert [int(messages.object[i]) for i in range(n) if inside[i][at]] == wanted


@pytest.mark.parametrize("room", [0, 1, 2])
def test_too_little_room_is_said(room: int) -> None:
    scene, messages = Scene(0, 2), make_messages(4000, 2)
    update = scene.set_y(int(scene.y.argmin()), 9.0)
    assert paint_slabs(scene.style, scene.field, scene.nobody().trees, update, scene.easel, messages)
    n = int(messages.length[0])
    assert n > 5
    assert not paint_slabs(scene.style, scene.field, scene.nobody().trees, update, make_easel(room, 2), messages)
    few = make_messages(3, 2)
    assert paint_slabs(scene.style, scene.field, scene.nobody().trees, update, scene.easel, few)
    assert few.length[0] == n


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("room", [0, 1])
def test_boxes_need_room_too(room: int, sparse: bool) -> None:
    scene, messages, ranges = Scene(1, 3), make_messages(4000, 2), grid()
    everybody = Boxes(4, order="curve")
    points = np.insert(ranges, 2, -FARTHEST, axis=1)
    everybody.add(0, np.arange(len(points)), points)
    style = scene.style._replace(sparse=sparse)
    update = scene.set_y(int(scene.y.argmin()), 9.0)
    easel = scene.easel._replace(mosaic=make_mosaic(room, 2))
    assert not paint_slabs(style, scene.field, everybody.trees, update, easel, messages)
    messages.length[0] = 0
    assert paint_slabs(style, scene.field, everybody.trees, update, scene.easel, messages)
    check_told(scene, ranges, messages, np.where(np.arange(20) == update.object, update.old, scene.y), update.object)


@pytest.mark.jit_only
@pytest.mark.parametrize(("k", "calls"), [(1, 6.35), (2, 11.31), (5, 26.13)])
def test_as_many_calls_as_in_the_paper(k: int, calls: float) -> None:
    """Table VII: 10,000 objects, uniform, Paint-Dense."""
    n, n_events, random = 10_000, 4000, np.random.default_rng(7)
    objects, groups = Objects(2), SubscriberGroups(2)
    objects.reserve(n, np.arange(n))
    objects.x[:n], objects.y[:n], objects.alive[:n] = random.random((n, 2)), random.random(n), True
    groups.points.add(groups.of(k), np.zeros(1, np.int64), np.zeros((1, 4)))
    painter = Sloped(objects, groups, PaintPlan("dense"))
    chosen = random.permutation(n)[:n_events]
    old, share = objects.y[chosen], random.random(n_events)
    new = np.where(random.random(n_events) < 0.5, old + (1.0 - old) * share, old * share)
    for _ in painter.paint(ObjectChanges(chosen, objects.x[chosen], new, np.ones(n_events, bool), np.arange(n_events))):
        pass
    costs = painter.costs()
    assert costs["first_k"] == 2 * n_events
    assert abs((costs["min_x"] + costs["min_y"]) / n_events / calls - 1.0) < 0.05
