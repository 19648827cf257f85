"""Arrivals written one by one beside lists."""

import numpy as np

from skyband.topk.kernels.arrival import ArrivalRows, StoredTimes, StoreEnds, write_arrivals
from skyband.topk.kernels.score import Contents

BASE, ORIGIN, ROOM = 100, 1000, 40


def test_arrivals_go_to_the_ends_of_all_arrays() -> None:
    random = np.random.default_rng(1)
    for _ in range(50):
        n, index, term, place = (int(number) for number in random.integers((1, 0, 0, 0), 9))
        counts = random.integers(0, 3, n)
        offsets = np.concatenate([[0], np.cumsum(counts)])
        n_terms, latest = int(offsets[-1]), int(random.integers(0, 9))
        ts = np.sort(random.integers(0, 99, n)) if random.random() < 0.7 else random.integers(0, 99, n)
        points, codes, weights = random.random((n, 2)), random.integers(0, 9, n_terms), random.random(n_terms)
        rows = ArrivalRows(ts, points, random.random(n), random.integers(0, 9, n), offsets, codes, weights)
        into = Contents(
            point=np.full((2, ROOM), -1.0),
            norm=np.full(ROOM, -1.0),
            signature=np.full(ROOM, -1),
            term_start=np.full(ROOM, -1),
            term_count=np.full(ROOM, -1),
            terms=np.full(ROOM, -1),
            term_weights=np.full(ROOM, -1.0),
            diagonal=1.0,
        )
        times = StoredTimes(np.full(ROOM, -1), np.full(ROOM, -1), np.full(ROOM, -1))
        in_order = write_arrivals(rows, StoreEnds(index, term, place, BASE, ORIGIN, latest), times, into)
        assert in_order == bool((np.diff([latest, *ts]) > 0).all())
        here, words = slice(index, index + n), slice(term, term + n_terms)
        assert (into.point[:, here] == points.T).all()
        assert (into.norm[here] == rows.norms).all()
        assert (into.signature[here] == rows.signatures).all()
        assert (into.term_start[here] == term + offsets[:-1]).all()
        assert (into.term_count[here] == counts).all()
        assert (into.terms[words] == codes).all()
        assert (into.term_weights[words] == weights).all()
        assert (times.ts[here] == ts).all()
        assert (times.timeline[place : place + n] == BASE + index + np.arange(n)).all()
        assert (times.stamp[here] == (ORIGIN + place + np.arange(n) if in_order else 0)).all()
        for array, n_written in ((times.ts, n), (times.stamp, n), (into.terms, n_terms), (into.norm, n)):
            assert (array == -1).sum() >= ROOM - n_written
