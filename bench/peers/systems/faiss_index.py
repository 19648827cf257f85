"""FAISS: an index of all live points for each batch, by brute force and by inverted lists."""

import os
from typing import Any

import numpy as np
import pyarrow as pa

from bench.peers.answer import Answer, best
from bench.peers.package import Wheel, module
from bench.peers.peer import Peer
from bench.peers.work import integers, vectors
from skyband.kernels.array import Int64s

N_PROBES = 8


class FaissFlat(Peer):
    """The flat index: all distances, in single precision."""

    name = "FAISS flat"
    work = "window"
    package = Wheel("faiss-cpu")
    lacks = "single precision; no expiry in order, no push: everybody asks again"
    # Squares are differences of products in single precision, off by some 1e-7: much for the root of a small one.
    tolerance = 1e-4

    def subscribe(self, subscriptions: pa.Table) -> None:
        # Read once, when its library for matrices is loaded; the one of numpy is another.
        os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = str(self.course.threads)
        self.faiss = module("faiss")
        self.faiss.omp_set_num_threads(self.course.threads)
        self.centres = vectors(subscriptions["point"]).astype(np.float32)
        self.ids, self.points = np.empty(0, np.int64), np.empty((0, self.centres.shape[1]), np.float32)

    def prepare(self, batch: pa.Table) -> Any:
        return integers(batch["id"]), vectors(batch["point"]).astype(np.float32)

    def publish(self, prepared: Any) -> None:
        ids, points = prepared
        self.ids, self.points = (
            np.concatenate(pair)[-self.course.n_live :] for pair in ((self.ids, ids), (self.points, points))
        )
        self.squares, self.found = self._index().search(self.centres, min(self.course.k, len(self.ids)))

    def _index(self) -> Any:
        index = self.faiss.IndexFlatL2(self.points.shape[1])
        index.add(self.points)
        return index

    def top(self) -> Answer:
        asker: Int64s = np.repeat(np.arange(self.course.n), self.found.shape[1])
        # An inverted list that holds too few answers with −1.
        found, scores = self.found.ravel(), np.sqrt(np.maximum(self.squares.ravel(), 0.0)).astype(np.float64)
        there = found >= 0
        return best(asker[there], self.ids[found[there]], scores[there], self.course.k, ascending=True)


class FaissLists(FaissFlat):
    """Inverted lists, as many as the root of the live points, of which 8 are looked through."""

    name = "FAISS IVF"
    lacks = "approximate; single precision; no expiry in order, no push: everybody asks again"
    exact = False
    lists: Any = None

    def _index(self) -> Any:
        if self.lists is None:
            self.lists = self._trained()
        self.lists.reset()
        self.lists.add(self.points)
        return self.lists

    def _trained(self) -> Any:
        """Empty lists, trained with the first window."""
        n_lists = max(1, int(np.sqrt(len(self.points))))
        # The lists refer to it without keeping it alive.
        self.coarse = self.faiss.IndexFlatL2(self.points.shape[1])
        lists = self.faiss.IndexIVFFlat(self.coarse, self.points.shape[1], n_lists)
        # With fewer than 39 points for a list it says so on the console.
        lists.cp.min_points_per_centroid = 1
        lists.train(self.points)
        lists.nprobe = N_PROBES
        return lists


PEERS = (FaissFlat, FaissLists)
