"""The store where something was retracted: it keeps its place, loses its id, and is forgotten in its turn."""

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pytest

from skyband.contract import Horizon
from skyband.topk.store import Arrivals, Store


def arrivals(ids: Sequence[int | str], ts: Sequence[int]) -> Arrivals:
    n = len(ids)
    nothing = np.zeros(0, np.int64)
    points, norms = np.arange(n, dtype=np.float64).reshape(n, 1), np.zeros(n)
    offsets = np.zeros(n + 1, np.int64)
    return Arrivals(pa.array(ids), np.array(ts), points, norms, np.zeros(n, np.int64), offsets, nothing, norms[:0])


def test_a_place_without_a_publication() -> None:
    store = Store(1, 1.0)
    store.append(arrivals([1, 2, 3], [10, 20, 30]))
    store.retract(np.array([1]))
    assert store.ids.find(pa.array([2])).tolist() == [1]
    store.release(np.array([1]))
    assert store.ids.find(pa.array([1, 2, 3])).tolist() == [0, -1, 2]
    assert store.ids_of(np.array([2, 1, 0])).to_pylist() == [3, 2, 1]
    assert store.between(0, 3).tolist() == [0, 2]
    assert store.live.stamp[1] < store.live.floor
    store.check()


def test_the_same_id_at_the_same_time_comes_after_it() -> None:
    store = Store(1, 1.0)
    store.append(arrivals([5, 6], [10, 10]))
    store.retract(np.array([0, 1]))
    store.release(np.array([0, 1]))
    assert store.n_newer(np.array([10, 10]), pa.array([5, 6])).tolist() == [1, 0]
    store.append(arrivals([6, 5], [10, 10]))
    assert store._timeline[:4].tolist() == [0, 3, 1, 2]
    store.check()


def test_random_moves_against_a_list() -> None:
    random = np.random.default_rng(1)
    for horizon in (Horizon(us=20), Horizon(n=15), Horizon(us=9, n=6)):
        store, rows, now, n_given = Store(1, 1.0), list[tuple[int, int, bool]](), 0, 0
        for _ in range(400):
            now += int(random.integers(0, 3))
            what = random.random()
            live = [i for i, row in enumerate(rows) if row[2]]
            if what < 0.3 and live:
                place = int(random.choice(live))
                index = store.ids.find(pa.array([rows[place][1]]))
                store.retract(index)
                store.release(index)
                rows[place] = (*rows[place][:2], False)
            else:
                free = sorted({row[1] for row in rows if not row[2]} - {row[1] for row in rows if row[2]})
                id = int(random.choice(free)) if free and what > 0.8 else n_given
                n_given += 1
                ts = now - int(random.integers(0, 5))
                store.append(arrivals([id], [ts]))
                rows.append((ts, id, True))
            rows.sort()
            rows = [
                row
                for i, row in enumerate(rows)
                if len(rows) - i <= horizon.n or (horizon.us and row[0] > now - horizon.us)
            ]
            store.forget(now, horizon)
            store.check()
            timeline = store._timeline[store._first : store._last] - store.base
            known = zip(store.ts[timeline].tolist(), store.ids_of(timeline).to_pylist(), strict=True)
            assert [(*pair, bool(store.stamp[i] >= 0)) for pair, i in zip(known, timeline, strict=True)] == rows


def test_the_head_is_the_first_that_is_live_however_many_are_forgotten() -> None:
    # The last to arrive takes the seventh place: it is kept beside the 494 latest.
    for n_kept, head in ((1, 499), (63, 437), (64, 436), (65, 435), (200, 300), (494, 6), (495, 6), (500, 1), (501, 0)):
        store = Store(1, 1.0)
        store.append(arrivals(list(range(500)), list(range(500))))
        store.append(arrivals([1000], [5]))
        store.forget(499, Horizon(n=n_kept))
        assert store.head == head
        store.check()


@pytest.mark.parametrize("name", [int, "{:02}".format])
def test_batches_out_of_order_against_a_list(name: Callable[[int], int | str]) -> None:
    random = np.random.default_rng(2)
    for _ in range(60):
        store, rows, n_given = Store(1, 1.0), list[tuple[int, int | str]](), 0
        names = [name(i) for i in random.permutation(100)]
        for _ in range(int(random.integers(1, 12))):
            n = int(random.integers(1, 9))
            # Few times for many ids, so that most rows tie with others.
            ts = random.integers(0, int(random.choice([2, 6, 60])), n).tolist()
            new = list(zip(ts, names[n_given : n_given + n], strict=True))
            asked = sorted(new)
            newer = store.n_newer(np.array([row[0] for row in asked]), pa.array([row[1] for row in asked]))
            assert newer.tolist() == [sum(other > row for other in rows) for row in asked]
            store.append(arrivals([row[1] for row in new], ts))
            rows, n_given = sorted(rows + new), n_given + n
            store.check()
            timeline = store._timeline[store._first : store._last] - store.base
            assert list(zip(store.ts[timeline].tolist(), store.ids_of(timeline).to_pylist(), strict=True)) == rows


@pytest.mark.parametrize("name", [int, "{:02}".format])
def test_who_is_late_against_a_list(name: Callable[[int], int | str]) -> None:
    random = np.random.default_rng(3)
    for horizon in (Horizon(n=1), Horizon(n=5), Horizon(us=6, n=8), Horizon(us=6)):
        for _ in range(40):
            names = [name(i) for i in random.permutation(60)]
            before = [(int(ts), names.pop()) for ts in np.sort(random.integers(0, 8, 10))]
            store = Store(1, 1.0)
            store.append(arrivals([id for _, id in before], [ts for ts, _ in before]))
            new = [(int(ts), names.pop()) for ts in random.integers(0, 14, 20)]
            ts, rank = np.array([row[0] for row in new]), np.argsort(np.argsort([*map(sorted(new).index, new)]))
            now = np.maximum(np.maximum.accumulate(ts), before[-1][0])
            late = store.late(ts, pa.array([row[1] for row in new]), rank, now, horizon)
            for i, row in enumerate(new):
                is_old = bool(row[0] <= now[i] - horizon.us) if horizon.us else True
                is_behind = sum(other > row for other in before + new[:i]) >= horizon.n if horizon.n else True
                assert late[i] == (is_old and is_behind), (horizon, i)
