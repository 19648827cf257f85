"""The workloads and approaches of the ranges paper's evaluation (section V), as arrays that servers are made of."""

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import numpy as np

from skyband.kernels.array import Bools, Floats
from skyband.overlay import quadrants
from skyband.ranges import workload as ranges
from skyband.ranges.boxes import Boxes
from skyband.ranges.half_open import Sloped
from skyband.ranges.kernels.message import Messages, points_of
from skyband.ranges.kernels.range_scan import ObjectChanges
from skyband.ranges.painter import Objects, SubscriberGroups
from skyband.ranges.placement import draw_boxes
from skyband.ranges.server import PaintPlan, Server
from skyband.workload.seed import Purpose, generator

SEED = 1


class RangesSetting(NamedTuple):
    """A workload of the paper, and how it is replayed.

    `n_warm` changes pass before the clock starts, then rounds of `batch`. Unicast is stopped after `patience` seconds.
    """

    n_subscriptions: int
    n_events: int
    n_objects: int = 10_000
    dims: int = 1
    objects: Literal["uniform", "clustered"] = "uniform"
    data: str = "uniform"
    change: Literal["uniform", "gaussian"] = "uniform"
    volatility: float = 1.0
    n_warm: int = 20
    batch: int = 100
    patience: float = 1.0

    @property
    def options(self) -> ranges.Options:
        """The options of the generator."""
        data: Any = self.data
        return ranges.Options(
            seed=SEED,
            n_objects=self.n_objects,
            n_events=self.n_warm + self.n_events,
            n_subscriptions=self.n_subscriptions,
            dims=self.dims,
            objects=self.objects,
            data=data,
            change=self.change,
            volatility=self.volatility,
        )


# Small enough for a toy run, and to have everything compiled before the clock starts.
TOY = RangesSetting(40, 8, n_objects=12, n_warm=2, batch=4)


class World(NamedTuple):
    """Objects as they are at first, subscriptions as points, and what happens to the objects."""

    x: Floats
    y: Floats
    alive: Bools
    points: Floats
    changes: ObjectChanges

    def fresh_objects(self) -> Objects:
        """The objects as they are at first, for one server to change."""
        n, objects = len(self.y), Objects(self.x.shape[1])
        objects.reserve(n, -np.arange(n))
        objects.x[:n], objects.y[:n], objects.alive[:n] = self.x, self.y, self.alive
        return objects

    def part(self, lo: int, hi: int) -> ObjectChanges:
        """The changes from `lo` to `hi`, as one step."""
        object, x, y, alive, _ = self.changes
        return ObjectChanges(object[lo:hi], x[lo:hi], y[lo:hi], alive[lo:hi], np.array([hi - lo]))


def make_world(setting: RangesSetting) -> World:
    """The workload of a setting: what its tables hold, without a table of millions of subscriptions."""
    options, n, dims = setting.options, setting.n_objects, setting.dims
    batches = list(ranges.stream(options, 1 << 16))
    object, y = (np.concatenate([batch[name].to_numpy() for batch in batches]) for name in ("object", "y"))
    places = [batch["x"].combine_chunks() for batch in batches]
    x = np.concatenate([(part if dims == 1 else part.flatten()).to_numpy() for part in places]).reshape(-1, dims)
    random = generator(SEED, Purpose.SUBSCRIPTIONS)
    low, high = draw_boxes(random, setting.n_subscriptions, options.data, x[:n], options.cluster_width)
    alive = np.ones(len(y), np.bool_)
    changes = ObjectChanges(object[n:], x[n:], y[n:], alive[n:], np.array([len(y) - n]))
    return World(x[:n], y[:n], alive[:n], points_of(low, high), changes)


class Crowd(SubscriberGroups):
    """Subscriptions that all ask for the k best; those to another k share the tree."""

    def __init__(self, tree: Boxes, k: int) -> None:
        super().__init__(tree.dims // 2)
        self.points, self.k, self._of = tree, np.array([k]), {k: 0}


def plant(world: World) -> Boxes:
    """The subscriptions in a tree."""
    groups = SubscriberGroups(world.x.shape[1])
    groups.points.add(groups.of(1), np.arange(len(world.points)), world.points)
    return groups.points


class Approach(NamedTuple):
    """What makes messages of changes."""

    label: str
    algorithm: Literal["unicast", "dense", "sparse", "relax"]
    epsilon: float = 0.0
    servers: int = 1

    @property
    def is_exact(self) -> bool:
        """Whether those are told whom a change concerns, and nobody else."""
        return self.algorithm != "relax" and self.epsilon == 0.0

    def painter(self, world: World, crowd: Crowd) -> "Server | Sloped | Relax":
        """A server for this world, or what takes its place."""
        if self.algorithm == "relax":
            return Relax()
        plan = PaintPlan(self.algorithm, self.epsilon, self.servers)
        server = (Server if world.x.shape[1] == 1 else Sloped)(world.fresh_objects(), crowd, plan)
        server.subscribe(np.arange(len(world.points)), 0, world.points)
        return server


class Relax:
    """CN-Relax: without a server, each change goes to all whose range holds the object."""

    def paint(self, changes: ObjectChanges) -> Iterator[Messages]:
        """One message for each change."""
        messages = quadrants(changes.x)
        messages.object[:], messages.y[:] = changes.object, changes.y
        yield messages

    def costs(self) -> dict[str, int]:
        """Nothing is asked of any index."""
        return {}


UNICAST = Approach("Unicast", "unicast")
DENSE = Approach("Paint-Dense", "dense")
SPARSE = Approach("Paint-Sparse", "sparse")
RELAX = Approach("CN-Relax", "relax")


def loosened(approach: Approach, epsilon: float) -> Approach:
    """The approximate form, named as in the paper."""
    return approach._replace(label=f"{approach.label}({epsilon:g})", epsilon=epsilon)
