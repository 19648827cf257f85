"""The rows of the skeleton's engines against dictionaries of lists."""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from skyband.kernels.idmap import IdMap
from skyband.kernels.slots import BLOCK
from skyband.table import ranking_schema
from skyband.topk.bands import BandRows
from skyband.topk.kernels.band import (
    ROOMS,
    SIZE,
    Recency,
    expire_row,
    insert_best,
    insert_undominated,
    make_departed,
    most_taken,
    settle_row,
)
from skyband.topk.kernels.buffer import LEAVE, make_told
from skyband.topk.kernels.refill import n_within, slackened
from skyband.topk.roster import Deliveries

BASE, N_ITEMS = 50, 600
SCHEMA = ranking_schema(pa.string(), pa.int64())


def pairs(delivered: Deliveries) -> list[tuple[int, int]]:
    """Pairs of slot and item."""
    return list(zip(delivered.slot.tolist(), delivered.item.tolist(), strict=True))


@dataclass
class Row:
    """What a row should hold: items with their scores, best first, and which of them were delivered."""

    name: str
    k: int
    sign: float
    offered: list[tuple[float, int]] = field(default_factory=list)
    seen: set[int] = field(default_factory=set)

    @property
    def band(self) -> list[tuple[float, int]]:
        """What fewer than k newer ones are better than; an item is newer than one of a lower number."""
        kept = []
        for score, item in self.offered:
            better = [other for s, other in self.offered if other > item and self.sign * s <= self.sign * score]
            if len(better) < self.k:
                kept.append((score, item))
        return sorted(kept, key=lambda entry: (self.sign * entry[0], -entry[1]))


class Twins:
    """Rows and what they should hold, taken through the same moves."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.rows, self.wanted = BandRows(), dict[int, Row]()
        self.recency = Recency(np.arange(N_ITEMS, dtype=np.int64), BASE, True)
        self.departed, self.told = make_departed(16), make_told(4096)
        self.items = IdMap()
        self.items.add(pa.array(range(7000, 7000 + N_ITEMS)), np.arange(N_ITEMS))
        self.n_added, self.next_item = 0, BASE

    def some(self) -> npt.NDArray[np.int64]:
        slots = self.random.permutation(np.array(list(self.wanted), np.int64))
        return slots[: int(self.random.integers(0, len(slots) + 1))]

    def add(self, n: int) -> npt.NDArray[np.int64]:
        ks, signs = self.random.integers(1, 5, n), self.random.choice([-1.0, 0.0, 1.0], n)
        names = [f"subscriber {self.n_added + i}" for i in range(n)]
        slots = self.rows.add(pa.array(names), self.random.integers(0, 3, n).astype(np.int8), ks, signs)
        self.n_added += n
        assert not self.wanted.keys() & set(slots.tolist())
        for i, slot in enumerate(slots.tolist()):
            self.wanted[slot] = Row(names[i], int(ks[i]), float(signs[i]))
        assert self.rows.ks(slots).tolist() == ks.tolist()
        assert self.rows.signs(slots).tolist() == signs.tolist()
        assert self.rows.n_members(slots) == 0
        return slots

    def remove(self, slots: npt.NDArray[np.int64]) -> None:
        self.told.length[0] = 0
        self.rows.leave(slots, self.told)
        gone = [(slot, item) for slot in slots.tolist() for _, item in self.top(slot)]
        n = int(self.told.length[0])
        assert n == self.rows.n_members(slots)
        assert list(zip(self.told.slot[:n].tolist(), self.told.item[:n].tolist(), strict=True)) == gone
        assert (self.told.op[:n] == LEAVE).all()
        self.rows.remove(slots)
        assert not self.rows.ks(slots).any()
        for slot in slots.tolist():
            del self.wanted[slot]

    def top(self, slot: int) -> list[tuple[float, int]]:
        return self.wanted[slot].band[: self.wanted[slot].k]

    def publish(self, n: int) -> None:
        """Items with few different scores, to every row."""
        for item in range(self.next_item, min(self.next_item + n, BASE + N_ITEMS)):
            score = float(self.random.integers(0, 4))
            for slot, row in self.wanted.items():
                self.rows.make_room(most_taken(len(row.band) + 1))
                row.offered.append((score, item))
                insert_undominated(self.rows.bands, slot, score, item, self.recency, self.departed)
                self.settle(slot)
        self.next_item += n

    def settle(self, slot: int) -> None:
        self.told.length[0] = 0
        settle_row(self.rows.bands, slot, 0, self.recency, self.departed, self.told)
        self.wanted[slot].seen |= {item for _, item in self.top(slot)}

    def expire(self) -> None:
        cut = self.next_item - BASE - int(self.random.integers(5, 30))
        for slot, row in self.wanted.items():
            expire_row(self.rows.bands, slot, self.recency.stamp, BASE, cut, self.departed)
            row.offered = [entry for entry in row.offered if entry[1] - BASE > cut]
            self.settle(slot)

    def check(self) -> None:
        self.rows.check(self.recency, True)
        slots = self.some()
        bands = {slot: self.wanted[slot].band for slot in slots.tolist()}
        assert self.rows.n_entries == sum(len(row.band) for row in self.wanted.values())
        assert self.rows.n_members(slots) == sum(len(self.top(slot)) for slot in bands)
        held = [
            (slot, item)
            for slot, band in bands.items()
            for _, item in band[len(self.top(slot)) :]
            if item in self.wanted[slot].seen
        ]
        assert pairs(self.rows.delivered(slots)) == held
        ranking = [
            {"subscription": self.wanted[slot].name, "rank": rank, "publication": 7000 + item - BASE, "score": score}
            for slot in bands
            for rank, (score, item) in enumerate(self.top(slot), start=1)
        ]
        table = self.rows.ranking(SCHEMA, slots, self.items, BASE)
        assert table.schema == SCHEMA
        assert table.to_pylist() == ranking


@pytest.mark.parametrize("seed", range(4))
def test_rows_hold_what_they_should(seed: int) -> None:
    twins = Twins(seed)
    twins.add(6)
    for _ in range(60):
        move = twins.random.integers(5)
        if move == 0:
            twins.add(int(twins.random.integers(1, 6)))
        elif move == 1:
            twins.remove(twins.some()[:3])
        elif move == 2:
            twins.expire()
        else:
            twins.publish(int(twins.random.integers(1, 8)))
        twins.check()
    assert twins.n_added > 12
    assert twins.next_item > BASE + 50


def test_rows_come_with_their_slots() -> None:
    """More subscriptions than a block has slots, some given up; who takes their slots begins with an empty row."""
    twins = Twins(7)
    first = twins.add(BLOCK + 10)
    twins.publish(2)
    twins.check()
    twins.remove(first[5:40])
    twins.check()
    again = twins.add(30)
    assert set(again.tolist()) & set(first[5:40].tolist())
    assert pairs(twins.rows.delivered(again)) == []
    assert twins.rows.ranking(SCHEMA, again, twins.items, BASE).num_rows == 0
    twins.publish(2)
    twins.check()


def test_the_room_of_rows_given_up_is_used_again() -> None:
    twins = Twins(8)
    slots = twins.add(12)
    twins.publish(20)
    end, n_bytes = int(twins.rows.bands.end[0]), twins.rows.n_bytes
    for _ in range(4):
        twins.remove(slots)
        assert twins.rows.n_entries == 0
        slots = twins.add(12)
        twins.publish(20)
        twins.check()
    assert twins.rows.bands.end[0] < 2 * end
    assert twins.rows.n_bytes < 2 * n_bytes


def test_room_is_made_without_losing_anything() -> None:
    twins = Twins(9)
    twins.add(3)
    twins.publish(5)
    before = twins.rows.bands
    for n in (0, 1, 5000, 10):
        twins.rows.make_room(n)
        assert len(twins.rows.bands.score) >= twins.rows.bands.end[0] + n
        assert len(twins.rows.bands.score) == len(twins.rows.bands.item) == len(twins.rows.bands.state)
        twins.check()
    assert twins.rows.bands.end is before.end
    assert twins.rows.n_bytes > sum(array.nbytes for array in before)


def test_rows_are_laid_out_anew_where_much_of_the_pool_is_free() -> None:
    twins = Twins(12)
    twins.add(40)
    twins.publish(60)
    twins.remove(twins.some())
    used = int(twins.rows.bands.end[0])
    twins.rows.make_room(10_000)
    slots, bands = np.array(list(twins.wanted)), twins.rows.bands
    sizes = bands.head[slots, SIZE]
    assert bands.end[0] == ROOMS[np.searchsorted(ROOMS, sizes[sizes > 0])].sum() < used
    assert (bands.free == -1).all()
    assert len(bands.score) >= bands.end[0] + 10_000
    twins.check()
    twins.publish(30)
    twins.check()


def test_what_was_delivered_may_be_noted_later() -> None:
    rows = BandRows()
    slots = rows.add(pa.array(["a", "b"]), np.zeros(2, np.int8), np.ones(2, np.int64), np.ones(2))
    recency = Recency(np.arange(5, dtype=np.int64), BASE, True)
    for item in range(4):
        insert_best(rows.bands, int(slots[1]), 9, float(item), BASE + item, recency)
    assert pairs(rows.delivered(slots)) == []
    said = Deliveries(slots[[1, 1, 0]], np.array([BASE + 2, BASE + 4, BASE + 2]))
    assert rows.mark_delivered(said).tolist() == [True, False, False]
    assert pairs(rows.delivered(slots)) == [(int(slots[1]), BASE + 2)]
    told, departed = make_told(8), make_departed(8)
    settle_row(rows.bands, int(slots[1]), 0, recency, departed, told)
    # The first of the row has entered the top, which tells of itself.
    assert pairs(rows.delivered(slots)) == [(int(slots[1]), BASE + 2)]
    rows.check(recency, False)


def test_how_many_are_nearly_as_good_as_the_kth() -> None:
    assert slackened(0.5, 0.2) == 0.6
    assert slackened(-0.5, 0.2) == -0.4
    random = np.random.default_rng(11)
    rows, ks, signs = BandRows(), np.array([1, 3, 7, 20]), np.array([1.0, -1.0, -1.0, 1.0])
    slots = rows.add(pa.array(list("abcd")), np.zeros(4, np.int8), ks, signs)
    recency = Recency(np.arange(30, dtype=np.int64), BASE, True)
    scores = np.round(random.random(20), 1)
    for slot in slots.tolist():
        rows.make_room(most_taken(30))
        for item, score in enumerate(scores.tolist()):
            insert_best(rows.bands, slot, 30, score, BASE + item, recency)
    for slack in (0.0, 0.05, 0.5, 20.0):
        for slot, k, sign in zip(slots.tolist(), ks.tolist(), signs.tolist(), strict=True):
            keys = np.sort(sign * scores)
            # At least k, and all that are no more worse than that.
            wanted = max(k, int((keys <= keys[k - 1] + slack * abs(keys[k - 1])).sum()))
            assert n_within(rows.bands, slot, slack) == wanted


def test_the_check_finds_rows_that_overlap() -> None:
    twins = Twins(10)
    slots = twins.add(2)
    twins.publish(3)
    twins.check()
    broken = twins.rows.bands.head.copy()
    broken[slots[1]] = broken[slots[0]]
    twins.rows.bands = twins.rows.bands._replace(head=broken)
    with pytest.raises(AssertionError):
        twins.rows.check(twins.recency, True)


def test_no_rows() -> None:
    rows, none = BandRows(), np.zeros(0, np.int64)
    rows.check(Recency(none, 0, True), True)
    assert (rows.n_entries, rows.n_members(none), pairs(rows.delivered(none))) == (0, 0, [])
    assert rows.ranking(SCHEMA, none, IdMap(), 0).num_rows == 0
