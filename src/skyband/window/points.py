"""The window family for the skeleton: points, scored by distance, sum or cosine."""

import math

import numpy as np

from skyband.kernels.array import Floats, Int64s
from skyband.kernels.slots import BLOCK
from skyband.kernels.sphere import unit_vectors
from skyband.topk.kernels.score import Contents
from skyband.topk.questions import NewQuestions
from skyband.topk.score import by_kind
from skyband.topk.skeleton import Continuous
from skyband.topk.store import Arrivals, Store
from skyband.window.rows import Publications, Subscriptions

ON_SPHERE = by_kind(lambda form: form.on_sphere)


def _norms(points: Floats) -> Floats:
    # Added up dimension by dimension, as `skyband.topk.score.norm` does.
    if len(points) == 1:
        square = 0.0
        for x in points[0].tolist():
            square += x * x
        return np.array([math.sqrt(square)])
    total = np.zeros(len(points))
    for column in points.T:
        total += column * column
    return np.sqrt(total)


def _have_places(rows: Subscriptions) -> bool:
    return bool(ON_SPHERE[rows.score].any())


class Points(Continuous[Subscriptions, Publications]):
    """Rows of the window family as the kernels want them, and back."""

    family = "window"
    subscriptions = Subscriptions
    publications = Publications

    def _questions_of(self, rows: Subscriptions) -> NewQuestions:
        if _have_places(rows):
            self._opened().put_on_sphere(unit_vectors)
        return self._as_questions(rows)

    def _questions_in_passing(self, rows: Subscriptions, store: Store) -> tuple[NewQuestions, Contents]:
        contents = store.contents
        if _have_places(rows) and not contents.sphere.shape[1]:
            contents = contents._replace(sphere=unit_vectors(np.ascontiguousarray(contents.point[:, : store.tail].T)))
        return self._as_questions(rows), contents

    def _as_questions(self, rows: Subscriptions) -> NewQuestions:
        n = len(rows.k)
        nothing = np.zeros(0, np.int64)
        return NewQuestions(
            kinds=rows.score,
            points=rows.points,
            weights=rows.weights,
            norms=_norms(rows.points),
            alphas=np.zeros(n),
            signatures=np.zeros(n, np.int64),
            offsets=np.zeros(n + 1, np.int64),
            terms=nothing,
            term_weights=np.zeros(0),
            sphere=unit_vectors(rows.points) if _have_places(rows) else None,
        )

    def _arrivals(self, rows: Publications) -> Arrivals:
        n = len(rows.ts)
        return Arrivals(
            ids=rows.ids,
            ts=rows.ts,
            points=rows.points,
            norms=_norms(rows.points),
            signatures=np.zeros(n, np.int64),
            offsets=np.zeros(n + 1, np.int64),
            terms=np.zeros(0, np.int64),
            weights=np.zeros(0),
        )

    def _subscriptions_of(self, slots: Int64s) -> Subscriptions:
        block, i = slots // BLOCK, slots % BLOCK
        kinds = self._question_store.questions.kinds[block]
        return Subscriptions(
            ids=self._roster.ids.ids(slots),
            k=self._rows.ks(slots),
            score=kinds,
            points=np.ascontiguousarray(self._question_store.questions.centre[block, :, i]),
            weights=np.ascontiguousarray(self._question_store.questions.weight[block, :, i]),
            window=self._question_store.windows(slots),
            threshold=self._question_store.thresholds(slots, self._rows.signs(slots)),
        )

    def _publications_of(self, indices: Int64s) -> Publications:
        store = self._opened()
        points = np.ascontiguousarray(store.contents.point[:, indices].T)
        return Publications(store.ids_of(indices), store.ts[indices], points)
