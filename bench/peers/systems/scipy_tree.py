"""SciPy's KD-tree: built anew of all live points for each batch, or once of the centres of fences."""

from typing import Any

import numpy as np
import pyarrow as pa

from bench.peers.answer import Answer, best, matched
from bench.peers.package import Wheel, module
from bench.peers.peer import Peer
from bench.peers.work import integers, vectors
from skyband.kernels.array import Floats
from skyband.kernels.earth import EARTH_RADIUS


class TreeNearest(Peer):
    """A tree of the live points, asked by everybody."""

    name = "SciPy cKDTree"
    work = "window"
    package = Wheel("scipy")
    lacks = "no insertion, no expiry, no push: a tree is built and everybody asks again"

    def subscribe(self, subscriptions: pa.Table) -> None:
        self.tree = module("scipy.spatial").cKDTree
        self.centres = vectors(subscriptions["point"])
        self.ids, self.points = np.empty(0, np.int64), np.empty((0, self.centres.shape[1]))

    def prepare(self, batch: pa.Table) -> Any:
        return integers(batch["id"]), vectors(batch["point"])

    def publish(self, prepared: Any) -> None:
        ids, points = prepared
        self.ids, self.points = (
            np.concatenate(pair)[-self.course.n_live :] for pair in ((self.ids, ids), (self.points, points))
        )
        wanted = np.arange(1, min(self.course.k, len(self.ids)) + 1)
        self.scores, self.found = self.tree(self.points).query(self.centres, wanted, workers=self.course.threads)

    def top(self) -> Answer:
        asker = np.repeat(np.arange(self.course.n), self.found.shape[1])
        return best(asker, self.ids[self.found.ravel()], self.scores.ravel(), self.course.k, ascending=True)


class TreeFences(Peer):
    """A tree of the centres; those in reach of the widest fence are measured one by one."""

    name = "SciPy cKDTree"
    work = "fence"
    package = Wheel("scipy")
    lacks = "no new fences, no leaving: one tree of the centres for all of the run"

    def subscribe(self, subscriptions: pa.Table) -> None:
        self.centres = on_sphere(vectors(subscriptions["point"]))
        self.reach = 2.0 * np.sin(subscriptions["threshold"].to_numpy() / (2.0 * EARTH_RADIUS))
        self.tree = module("scipy.spatial").cKDTree(self.centres)

    def prepare(self, batch: pa.Table) -> Any:
        return integers(batch["id"]), on_sphere(vectors(batch["point"]))

    def publish(self, prepared: Any) -> None:
        ids, places = prepared
        near = self.tree.query_ball_point(places, self.reach.max(), workers=self.course.threads)
        at, fences = np.repeat(np.arange(len(ids)), [len(each) for each in near]), np.concatenate(near).astype(np.int64)
        chords = np.sqrt(((places[at] - self.centres[fences]) ** 2).sum(axis=1))
        inside = chords <= self.reach[fences]
        self.found = ids[at[inside]], fences[inside]

    def top(self) -> Answer:
        return matched(*self.found)


def on_sphere(places: Floats) -> Floats:
    """Longitudes and latitudes in degrees as points of the unit sphere."""
    east, up = np.radians(places).T
    return np.stack([np.cos(up) * np.cos(east), np.cos(up) * np.sin(east), np.sin(up)], axis=1)


PEERS = (TreeNearest, TreeFences)
