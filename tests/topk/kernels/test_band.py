"""Bands against lists that are searched through each time."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skyband.kernels.array import Int64s
from skyband.topk.kernels.band import (
    BOUND,
    BOUND_ITEM,
    DELIVERED,
    MARKS,
    N_CLASSES,
    N_GAUGE,
    N_HEAD,
    ROOM,
    SIGN,
    SIZE,
    START,
    Bands,
    Departed,
    K,
    Recency,
    best_retracted,
    check_band,
    class_for,
    deal,
    depart,
    drop_last,
    ensure_room,
    expire_row,
    free_row,
    free_rows,
    insert,
    insert_best,
    insert_undominated,
    is_outlived,
    is_within,
    leave_rows,
    make_departed,
    most_taken,
    remember_behind,
    settle_row,
    tighten,
)
from skyband.topk.kernels.buffer import ENTER, LEAVE, FoundChanges, make_told
from skyband.topk.kernels.deliveries import EMPTY, make_delivery_set
from skyband.topk.kernels.scan import RETRACTED

BASE = 100
LARGEST = np.iinfo(np.int64).max
ROOMS = [4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256]
ARRIVALS = ["in order", "late", "mostly in order"]


class Entry(NamedTuple):
    score: float
    item: int
    stamp: int


def make_bands(ks: list[int], signs: list[float], places: int = 4096) -> Bands:
    """Empty rows."""
    head, gauge = np.zeros((len(ks), N_HEAD), np.int64), np.zeros((len(ks), N_GAUGE))
    head[:, K], head[:, BOUND_ITEM] = ks, -1
    gauge[:, SIGN], gauge[:, BOUND] = signs, np.inf
    pool = (np.zeros(places), np.zeros(places, np.int64), np.zeros(places, np.int32))
    return Bands(head, gauge, *pool, np.full(N_CLASSES, -1, np.int64), np.array([0, places]))


def entries(bands: Bands, slot: int) -> list[tuple[float, int]]:
    """Scores and items of a row."""
    row = slice(bands.head[slot, START], bands.head[slot, START] + bands.head[slot, SIZE])
    return list(zip(bands.score[row].tolist(), bands.item[row].tolist(), strict=True))


def check_pool(bands: Bands) -> None:
    """Every place of the pool that was ever used belongs to one row or to one free room."""
    owners = np.zeros(len(bands.score), np.int64)
    for start, room in bands.head[:, [START, ROOM]].tolist():
        assert room == 0 or room in ROOMS
        owners[start : start + room] += 1
    for room_class, start in enumerate(bands.free.tolist()):
        while start >= 0:
            owners[start : start + ROOMS[room_class]] += 1
            start = int(bands.item[start])
    assert (owners[: bands.end[0]] == 1).all()
    assert not owners[bands.end[0] :].any()


def told_of(told: FoundChanges) -> list[tuple[int, int, float, int, bool]]:
    n = int(told.length[0])
    columns = (told.op, told.item, told.score, told.rank, told.first)
    return list(zip(*(column[:n].tolist() for column in columns), strict=True))


def stamps_for(arrivals: str, n: int, random: np.random.Generator) -> Int64s:
    """Recencies of publications in the order they arrive, some of which may be late."""
    stamps = np.arange(n, dtype=np.int64)
    if arrivals == "late":
        # Late by a little, so that what arrives is not over already.
        stamps = np.argsort(np.argsort(stamps + random.integers(0, 12, n), kind="stable"))
    if arrivals == "mostly in order":
        for i in random.integers(0, n - 5, n // 8):
            stamps[i : i + 5] = np.roll(stamps[i : i + 5], 1)
    return 1000 + stamps


class Twin:
    """A row, and a list of everything that was offered to it and is not over."""

    def __init__(self, bands: Bands, slot: int) -> None:
        self.bands, self.slot = bands, slot
        self.k, self.sign = int(bands.head[slot, K]), float(bands.gauge[slot, SIGN])
        self.live: list[Entry] = []
        self.top: list[Entry] = []
        self.seen: set[int] = set()

    def key(self, entry: Entry) -> tuple[float, int]:
        return self.sign * entry.score, -entry.stamp

    def dominators(self, entry: Entry) -> int:
        return sum(other.stamp > entry.stamp and self.key(other) < self.key(entry) for other in self.live)

    def skyband(self) -> list[Entry]:
        return sorted((entry for entry in self.live if self.dominators(entry) < self.k), key=self.key)

    def row(self) -> list[tuple[float, int]]:
        return entries(self.bands, self.slot)

    def told(self, best: list[Entry]) -> list[tuple[int, int, float, int, bool]]:
        """What is to be told when the top becomes this."""
        best = best[: self.k]
        leaves = sorted((entry for entry in self.top if entry not in best), key=self.key)
        rows = [(LEAVE, entry.item, entry.score, 0, False) for entry in leaves]
        for i, entry in enumerate(best):
            if entry not in self.top:
                rows.append((ENTER, entry.item, entry.score, i + 1, entry.item not in self.seen))
        self.top = best
        self.seen |= {entry.item for entry in best}
        return rows

    def settle(self, best: list[Entry], recency: Recency, departed: Departed, told: FoundChanges) -> None:
        """Settle the row, and compare what it tells."""
        told.length[0] = 0
        n_enters = settle_row(self.bands, self.slot, 3, recency, departed, told)
        rows = told_of(told)
        assert rows == self.told(best)
        assert n_enters == sum(op == ENTER for op, *_ in rows)
        assert (told.step[: len(rows)] == 3).all()
        assert (told.slot[: len(rows)] == self.slot).all()
        for i, (_, item) in enumerate(self.row()):
            marks = self.bands.state[self.bands.head[self.slot, START] + i] & MARKS
            assert bool(marks & DELIVERED) == (item in self.seen)


@pytest.mark.parametrize("arrivals", ARRIVALS)
@pytest.mark.parametrize("sign", [0.0, 1.0, -1.0])
@pytest.mark.parametrize("k", [1, 2, 5])
def test_a_row_is_the_skyband(k: int, sign: float, arrivals: str) -> None:
    """Arrivals and expiries in steps: two rows in one pool, of which the other never lets anything go."""
    random = np.random.default_rng([k, int(sign) + 1, ARRIVALS.index(arrivals)])
    n = 150
    stamps, scores = stamps_for(arrivals, n, random), random.integers(-3, 4, n).astype(np.float64)
    ages = stamps // 3
    bands, departed, told = make_bands([k, 3], [sign, -sign]), make_departed(16), make_told(64)
    twins = [Twin(bands, 0), Twin(bands, 1)]
    index, newest = 0, -1
    while index < n:
        cut = int(ages[max(0, index - int(random.integers(5, 40)))])
        for _ in range(int(random.integers(0, 6))):
            if index < n and ages[index] > cut:
                in_order = int(stamps[index]) > newest
                entry = Entry(float(scores[index]), BASE + index, int(stamps[index]))
                for twin in twins:
                    twin.live.append(entry)
                    position = insert_undominated(
                        bands, twin.slot, entry.score, entry.item, Recency(stamps, BASE, in_order), departed
                    )
                    kept = twin.skyband()
                    assert twin.row() == [other[:2] for other in kept]
                    assert position == (kept.index(entry) if entry in kept else -1)
                    twin.settle(kept, Recency(stamps, BASE, False), departed, told)
                newest = max(newest, int(stamps[index]))
            index += 1
        for twin in twins[: int(random.integers(0, 3))]:
            oldest = expire_row(bands, twin.slot, ages, BASE, cut, departed)
            twin.live = [entry for entry in twin.live if ages[entry.item - BASE] > cut]
            kept = twin.skyband()
            assert twin.row() == [other[:2] for other in kept]
            assert oldest == min((int(ages[entry.item - BASE]) for entry in kept), default=LARGEST)
            twin.settle(kept, Recency(stamps, BASE, False), departed, told)
            check_band(bands, twin.slot, Recency(stamps, BASE, False), True)
        check_pool(bands)
    assert len(twins[0].seen) > k


@pytest.mark.parametrize("sign", [0.0, 1.0, -1.0])
@pytest.mark.parametrize("k", [1, 3])
def test_a_step_tells_only_what_differs_at_its_end(k: int, sign: float) -> None:
    """Many arrivals and expiries before a row is settled."""
    random = np.random.default_rng([k, int(sign) + 1])
    n = 200
    stamps, scores = stamps_for("late", n, random), random.integers(0, 5, n).astype(np.float64)
    recency = Recency(stamps, BASE, False)
    bands, departed, told = make_bands([k], [sign]), make_departed(64), make_told(64)
    twin, index = Twin(bands, 0), 0
    while index < n:
        for _ in range(int(random.integers(0, 8))):
            if index == n:
                break
            entry = Entry(float(scores[index]), BASE + index, int(stamps[index]))
            if random.random() < 0.2:
                cut = int(stamps[index]) - int(random.integers(5, 30))
                expire_row(bands, 0, stamps, BASE, cut, departed)
                twin.live = [other for other in twin.live if other.stamp > cut]
            twin.live.append(entry)
            insert_undominated(bands, 0, entry.score, entry.item, recency, departed)
            assert twin.row() == [other[:2] for other in twin.skyband()]
            index += 1
        twin.settle(twin.skyband(), recency, departed, told)
        assert departed.length[0] == 0
        check_band(bands, 0, recency, True)
        check_pool(bands)


@pytest.mark.parametrize("sign", [0.0, 1.0, -1.0])
@pytest.mark.parametrize(("k", "capacity"), [(1, 1), (1, 4), (3, 3), (3, 10)])
def test_a_row_holds_the_best_of_what_was_offered(k: int, capacity: int, sign: float) -> None:
    random = np.random.default_rng([k, capacity, int(sign) + 1])
    n = 150
    stamps, scores = stamps_for("late", n, random), random.integers(0, 6, n).astype(np.float64)
    recency = Recency(stamps, BASE, False)
    bands, departed, told = make_bands([k], [sign]), make_departed(16), make_told(64)
    twin = Twin(bands, 0)
    for index in range(n):
        entry = Entry(float(scores[index]), BASE + index, int(stamps[index]))
        before, was_whole = len(twin.row()), bands.gauge[0, BOUND] == np.inf
        twin.live.append(entry)
        best = sorted(twin.live, key=twin.key)
        place = best.index(entry)
        taken = place < before or (was_whole and before < capacity)
        assert insert_best(bands, 0, capacity, entry.score, entry.item, recency) == (place if taken else -1)
        assert twin.row() == [other[:2] for other in best[: before + taken]]
        if before + taken > capacity:
            n_newer = sum(other.stamp > best[capacity].stamp for other in best[:capacity])
            assert is_outlived(bands, 0, recency) == (n_newer >= k)
            drop_last(bands, 0, departed)
        assert twin.row() == [other[:2] for other in best[: min(before + taken, capacity)]]
        is_whole = was_whole and len(twin.row()) == len(best)
        assert bands.gauge[0, BOUND] == (np.inf if is_whole else -np.inf)
        twin.settle(best[: len(twin.row())], recency, departed, told)
        check_band(bands, 0, recency, False)
        if random.random() < 0.15:
            cut = int(stamps[index]) - int(random.integers(3, 20))
            expire_row(bands, 0, stamps, BASE, cut, departed)
            twin.live = [other for other in twin.live if other.stamp > cut]
            best = sorted(twin.live, key=twin.key)
            assert twin.row() == [other[:2] for other in best[: len(twin.row())]]
            twin.settle(best[: len(twin.row())], recency, departed, told)
            check_band(bands, 0, recency, False)
            if len(twin.row()) < k:
                # As after a search: the row begins anew, and is whole.
                twin.live = [other for other in twin.live if other[:2] in twin.row()]
                bands.gauge[0, BOUND] = np.inf
        check_pool(bands)


@pytest.mark.parametrize("sign", [0.0, 1.0, -1.0])
@pytest.mark.parametrize("k", [1, 3])
def test_a_row_takes_what_lies_within_its_bound(k: int, sign: float) -> None:
    """The bound moves to an entry now and then, and a tie with it is decided by recency."""
    random = np.random.default_rng([k, int(sign) + 1])
    n = 120
    stamps, scores = stamps_for("late", n, random), random.integers(0, 4, n).astype(np.float64)
    recency = Recency(stamps, BASE, False)
    bands, departed, told, deliveries = make_bands([k], [sign]), make_departed(16), make_told(64), make_delivery_set(4)
    twin, bound, n_without = Twin(bands, 0), (np.inf, 0), 0
    for index in range(n):
        entry = Entry(float(scores[index]), BASE + index, int(stamps[index]))
        if index % 10 == 5:
            last = twin.skyband()[-1]
            bound = twin.key(last)
            bands.gauge[0, BOUND], bands.head[0, BOUND_ITEM] = bound[0], last.item
        elif index % 10 == 0:
            # Without an entry to compare with, or with one that is forgotten, everything on the bound is within.
            bound = (bound[0] if index % 20 else np.inf, 0)
            bands.gauge[0, BOUND], bands.head[0, BOUND_ITEM] = bound[0], random.choice([-1, BASE - 1])
        within = twin.key(entry) <= bound
        n_without += not within
        assert is_within(bands, 0, twin.key(entry)[0], entry.item, recency) == within
        if within:
            twin.live.append(entry)
        kept = twin.skyband()
        wanted = kept.index(entry) if entry in kept else -1
        assert insert(bands, 0, 0, entry.score, entry.item, recency, departed, deliveries, 7) == wanted
        twin.settle(kept, recency, departed, told)
        assert twin.row() == [other[:2] for other in kept]
        check_band(bands, 0, recency, True)
        if index % 7 == 6:
            cut = int(stamps[index]) - 25
            expire_row(bands, 0, stamps, BASE, cut, departed)
            twin.live = [other for other in twin.live if other.stamp > cut]
            twin.settle(twin.skyband(), recency, departed, told)
    assert n_without > 5
    assert deliveries.used[0] == 0


@pytest.mark.parametrize("sign", [0.0, 1.0, -1.0])
@pytest.mark.parametrize(("k", "capacity"), [(1, 1), (2, 3), (3, 3)])
def test_a_row_of_the_best_remembers_whom_it_let_go(k: int, capacity: int, sign: float) -> None:
    random = np.random.default_rng([k, capacity, int(sign) + 1])
    n = 100
    stamps, scores = 1000 + random.permutation(n), random.integers(0, 9, n).astype(np.float64)
    recency = Recency(stamps, BASE, False)
    bands, departed, told, deliveries = make_bands([k], [sign]), make_departed(16), make_told(64), make_delivery_set(n)
    twin, remembered = Twin(bands, 0), set[int]()
    for index in range(n):
        if index % 20 == 19:
            twin.live, twin.top = [], []
            free_row(bands, 0)
            bands.gauge[0, BOUND] = np.inf
        entry = Entry(float(scores[index]), BASE + index, int(stamps[index]))
        twin.live.append(entry)
        best = sorted(twin.live, key=twin.key)
        if best.index(entry) < capacity < len(best):
            n_newer = sum(other.stamp > best[capacity].stamp for other in best[:capacity])
            if best[capacity].item in twin.seen and n_newer < k:
                remembered.add(best[capacity].item)
        wanted = best.index(entry) if best.index(entry) < capacity else -1
        assert insert(bands, 0, capacity, entry.score, entry.item, recency, departed, deliveries, 7) == wanted
        assert twin.row() == [other[:2] for other in best[:capacity]]
        twin.settle(best[:capacity], recency, departed, told)
        check_band(bands, 0, recency, False)
    assert set(deliveries.item[deliveries.turn != EMPTY].tolist()) == remembered
    assert set(deliveries.turn.tolist()) <= {EMPTY, 7}
    assert sign == 0.0 or remembered


def test_whether_the_last_one_is_outlived() -> None:
    recency = Recency(np.array([7, 5, 9, 1], np.int64), BASE, False)
    for k in (1, 2, 3, 4):
        bands = make_bands([k], [1.0])
        for i, n_newer in enumerate([0, 1, 0, 3]):
            insert_best(bands, 0, 9, float(i), BASE + i, recency)
            assert is_outlived(bands, 0, recency) == (n_newer >= k)


def test_rooms_are_the_smallest_that_do() -> None:
    for length in range(1, 257):
        bands = make_bands([1], [1.0], places=256)
        ensure_room(bands, 0, length)
        room = min(room for room in ROOMS if room >= length)
        assert bands.head[0, ROOM] == bands.end[0] == room
        assert ROOMS[class_for(length)] == room
        ensure_room(bands, 0, room)
        assert bands.end[0] == room
        check_pool(bands)


@pytest.mark.parametrize("n", [1, 4, 5, 13, 64, 65, 100])
def test_a_row_grows_within_what_it_may_take(n: int) -> None:
    """Each arrival is worse than all before, so that nothing is ever evicted."""
    bands, departed = make_bands([1], [1.0], places=most_taken(n)), make_departed(1)
    recency = Recency(np.arange(n, dtype=np.int64), 0, True)
    for item in range(n):
        assert insert_undominated(bands, 0, float(item), item, recency, departed) == item
        assert entries(bands, 0) == [(float(i), i) for i in range(item + 1)]
        check_pool(bands)
    assert bands.end[0] <= len(bands.score)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), max_size=30), st.integers(1, 3), st.data())
def test_free_rooms_are_dealt_evenly(given_up: list[tuple[int, int]], n: int, data: st.DataObject) -> None:
    frees, items = np.full((3, N_CLASSES), -1, np.int64), np.zeros(len(given_up), np.int64)

    def rooms(arena: int, room_class: int) -> list[int]:
        found, room = [], int(frees[arena, room_class])
        while room >= 0:
            found.append(room)
            room = int(items[room])
        return found

    for room, (arena, room_class) in enumerate(given_up):
        items[room], frees[arena, room_class] = frees[arena, room_class], room
    mine = data.draw(st.integers(0, n - 1))
    had_none = [room_class for room_class in range(4) if not rooms(mine, room_class)]
    n_got = deal(frees, items, n, mine)
    assert n_got == sum(ROOMS[room_class] * len(rooms(mine, room_class)) for room_class in had_none)
    for room_class in range(4):
        dealt = [rooms(arena, room_class) for arena in range(3)]
        wanted = [room for room, (_, its) in enumerate(given_up) if its == room_class]
        assert sorted(room for some in dealt for room in some) == wanted
        sizes = [len(some) for some in dealt[:n]]
        assert max(sizes) - min(sizes) <= 1
        assert not any(dealt[n:])


def test_rooms_that_were_given_up_are_used_again() -> None:
    bands, departed = make_bands([1] * 3, [1.0] * 3), make_departed(1)
    recency = Recency(np.arange(20, dtype=np.int64), 0, True)

    def fill(slot: int) -> int:
        """Let a row grow to 20 entries; returns how much of the pool was taken that was never used."""
        before = int(bands.end[0])
        for item in range(20):
            insert_undominated(bands, slot, float(item), item, recency, departed)
            check_pool(bands)
        assert entries(bands, slot) == [(float(item), item) for item in range(20)]
        return int(bands.end[0]) - before

    assert fill(0) == sum(room for room in ROOMS if room <= 20)
    assert fill(1) == 20
    free_rows(np.array([0, 1]), bands)
    check_pool(bands)
    assert bands.head[:, SIZE].tolist() == [0, 0, 0]
    assert [fill(slot) for slot in range(3)] == [0, 0, 20]
    assert entries(bands, 1) == entries(bands, 2)


def test_a_row_without_room_is_given_up_for_nothing() -> None:
    bands = make_bands([1, 1], [1.0, 1.0])
    ensure_room(bands, 0, 3)
    free_row(bands, 1)
    free_row(bands, 0)
    free_row(bands, 0)
    check_pool(bands)
    assert bands.free.tolist() == [0] + [-1] * (N_CLASSES - 1)


@pytest.mark.parametrize(("k_after", "gone"), [(3, []), (2, [2]), (1, [1, 2]), (4, [])])
def test_members_that_depart_and_return_have_not_left(k_after: int, gone: list[int]) -> None:
    """A row is emptied and filled again before it is settled, for another k."""
    bands, departed, told = make_bands([3], [1.0]), make_departed(8), make_told(16)
    recency = Recency(np.arange(9, dtype=np.int64), 0, False)
    for item in range(4):
        insert_undominated(bands, 0, float(item), item, recency, departed)
    settle_row(bands, 0, 0, recency, departed, told)
    told.length[0] = 0
    for at in range(int(bands.head[0, START]), int(bands.head[0, START]) + 4):
        depart(bands, at, departed)
    bands.head[0, SIZE], bands.head[0, K] = 0, k_after
    for item in (2, 0, 3, 1):
        insert_undominated(bands, 0, float(item), item, recency, departed)
    settle_row(bands, 0, 1, recency, departed, told)
    check_band(bands, 0, recency, True)
    enters = [(ENTER, 3, 3.0, 4, True)] if k_after == 4 else []
    assert told_of(told) == [(LEAVE, item, float(item), 0, False) for item in gone] + enters
    assert departed.length[0] == 0
    states = bands.state[bands.head[0, START] :][:k_after]
    assert (states & DELIVERED != 0).all()


def test_a_member_that_returns_to_the_top_is_no_first_one() -> None:
    bands, departed, told = make_bands([1], [-1.0]), make_departed(4), make_told(16)
    stamps = np.array([5, 3], np.int64)
    recency = Recency(stamps, 0, False)
    for item, score in enumerate([1.0, 2.0]):
        insert_undominated(bands, 0, score, item, recency, departed)
        settle_row(bands, 0, item, recency, departed, told)
    expire_row(bands, 0, stamps, 0, 3, departed)
    settle_row(bands, 0, 2, recency, departed, told)
    assert told_of(told) == [
        (ENTER, 0, 1.0, 1, True),
        (LEAVE, 0, 1.0, 0, False),
        (ENTER, 1, 2.0, 1, True),
        (LEAVE, 1, 2.0, 0, False),
        (ENTER, 0, 1.0, 1, False),
    ]
    assert told.step[:5].tolist() == [0, 1, 1, 2, 2]


def test_a_settled_row_tells_nothing_again() -> None:
    bands, departed, told = make_bands([2, 5], [1.0, 0.0]), make_departed(4), make_told(16)
    recency = Recency(np.arange(5, dtype=np.int64), 0, True)
    assert settle_row(bands, 0, 0, recency, departed, told) == 0
    for item in range(5):
        insert_undominated(bands, 0, 1.0, item, recency, departed)
    assert settle_row(bands, 0, 0, recency, departed, told) == 2
    assert settle_row(bands, 0, 0, recency, departed, told) == 0
    assert told.length[0] == 2
    assert entries(bands, 0) == [(1.0, 4), (1.0, 3)]


def test_the_members_of_rows_that_are_given_up_leave() -> None:
    bands, departed, told = make_bands([2, 1, 3], [1.0, -1.0, 0.0]), make_departed(4), make_told(16)
    recency = Recency(np.arange(4, dtype=np.int64), 0, True)
    for slot in (0, 2):
        for item in range(4):
            insert_undominated(bands, slot, float(item % 2), item, recency, departed)
        settle_row(bands, slot, 0, recency, departed, told)
    told.length[0] = 0
    leave_rows(np.array([2, 1, 0]), bands, told)
    left = [(2, 3, 1.0), (2, 2, 0.0), (2, 1, 1.0), (0, 2, 0.0), (0, 0, 0.0)]
    assert told_of(told) == [(LEAVE, item, score, 0, False) for _, item, score in left]
    assert told.slot[:5].tolist() == [slot for slot, *_ in left]


@pytest.mark.parametrize("broken", ["order", "twice", "member", "dominators", "room"])
def test_the_check_finds_what_is_wrong(broken: str) -> None:
    bands, departed, told = make_bands([2], [1.0]), make_departed(4), make_told(16)
    recency = Recency(np.arange(5, dtype=np.int64), 0, True)
    for item in range(4):
        insert_undominated(bands, 0, float(item), item, recency, departed)
    settle_row(bands, 0, 0, recency, departed, told)
    check_band(bands, 0, recency, True)
    start = int(bands.head[0, START])
    if broken == "order":
        bands.score[start] = 9.0
    elif broken == "twice":
        bands.item[start + 3], bands.score[start + 3] = bands.item[start + 2], bands.score[start + 2]
    elif broken == "member":
        bands.state[start] -= 1
    elif broken == "dominators":
        bands.state[start + 3] += 4
    else:
        bands.head[0, ROOM] = 3
    with pytest.raises(AssertionError):
        check_band(bands, 0, recency, True)


def test_a_bound_keeps_the_place_of_what_was_retracted() -> None:
    """A tie with it is decided by recency, as if it were still there."""
    bands = make_bands([1], [1.0])
    bands.gauge[0, BOUND], bands.head[0, BOUND_ITEM] = 5.0, 1
    recency = Recency(np.array([0, 1 - RETRACTED, 2]), 0, False)
    assert [is_within(bands, 0, 5.0, item, recency) for item in (0, 2)] == [False, True]
    assert best_retracted(bands, 0, recency.stamp, 0) == -1


def test_a_row_that_is_cut_is_bounded_there_and_remembers_what_was_delivered() -> None:
    for sign in (1.0, -1.0):
        recency, departed, deliveries = Recency(np.arange(9), 0, True), make_departed(9), make_delivery_set(9)
        bands, told = make_bands([4], [sign]), make_told(64)
        for item in range(8):
            # Ever worse, so that nobody is dominated.
            insert_undominated(bands, 0, sign * item, item, recency, departed)
        settle_row(bands, 0, 0, recency, departed, told)
        insert_undominated(bands, 0, -sign, 8, recency, departed)
        remember_behind(bands, 0, 4, deliveries, 7)
        tighten(bands, 0, 4, departed)
        assert entries(bands, 0) == [(-sign, 8), (0.0, 0), (sign, 1), (2 * sign, 2)]
        assert (bands.gauge[0, BOUND], bands.head[0, BOUND_ITEM]) == (2.0, 2)
        # The fourth of the first four was a member: it departs, and may come back.
        assert departed.item[: departed.length[0]].tolist() == [3]
        assert deliveries.item[deliveries.turn != EMPTY].tolist() == [3]
