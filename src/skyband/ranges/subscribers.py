"""The subscribers' side: tops that are kept from messages alone."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from skyband.contract.family import FAMILIES
from skyband.contract.tops import Id
from skyband.kernels.array import Floats, Int64s
from skyband.kernels.growth import grown, grown_all
from skyband.kernels.heap import make_heap
from skyband.kernels.object_ids import Lexicon
from skyband.kernels.room import pauses, stops
from skyband.kernels.sort_keys import curve_keys
from skyband.ranges.boxes import extent_of
from skyband.ranges.kernels.deliveries import DeliveryPairs
from skyband.ranges.kernels.lowest import fill_rows, sort_objects
from skyband.ranges.kernels.message import Messages, points_of
from skyband.ranges.kernels.range_scan import ObjectChanges
from skyband.ranges.kernels.subscriber_rows import (
    DISCARDED,
    RECEIVED,
    SETTLED,
    Inbox,
    finish,
    hear_all,
    make_inbox,
    receive,
    tell_rows,
)
from skyband.ranges.painter import Objects, SubscriberGroups
from skyband.ranges.rows import Subscriptions
from skyband.ranges.wire import Wired, read_messages
from skyband.table import Rejected, Settings, Source, change_schema, ranking_schema, read_table
from skyband.table.answer_rows import AnswerRows, answer_shape
from skyband.topk.change_log import ChangeLog
from skyband.topk.kernels.buffer import Stamps, check_row
from skyband.topk.scan_rows import Reserve, ScanRows

# For fewer new subscriptions than this, sorting the objects in their ranges is faster than sorting all of them.
FEW = 16
# Changes that are told before they are taken away: an event may concern thousands.
ROOM = 1 << 16


class GroupPart(NamedTuple):
    """Subscriptions of one group."""

    slots: Int64s
    group: int
    points: Floats


class Subscribers:
    """Rows of exactly the best k, the trees that messages find them in, and what was delivered to them.

    `label` is by object, larger for the better one among equal y; those who call hand in the one that is valid then.
    """

    def __init__(self, groups: SubscriberGroups) -> None:
        self.groups = groups
        self.rows = ScanRows(Reserve(1, 0))
        self.change_log = ChangeLog(self.rows, ROOM)
        self.deliveries = DeliveryPairs()
        self.points = np.zeros((0, groups.points.dims))
        self._inbox = make_inbox()

    @property
    def n_bytes(self) -> int:
        own = [self.points, *self._inbox]
        return self.rows.n_bytes + self.groups.points.n_bytes + sum(array.nbytes for array in own)

    def costs(self) -> dict[str, int]:
        """How many messages were received since this was last asked for, and how many of them in vain."""
        counts = {"received": int(self._inbox.counts[RECEIVED]), "discarded": int(self._inbox.counts[DISCARDED])}
        self._inbox.counts[:] = 0
        return counts

    def add(self, ids: pa.Array, k: Int64s, lo: Floats, hi: Floats) -> Int64s:
        """Slots of new subscriptions, with empty rows and not in their groups yet."""
        # A range may lie at infinity altogether, where no object is: points are finite all the same.
        points = points_of(lo, hi)
        slots = self._enlist(ids, k, points)
        n_slots = self.rows.roster.slots.n_slots
        self.points = grown(self.points, n_slots)
        self.points[slots] = points
        self.rows.buffers.whole[slots] = True
        self.deliveries.begin(slots, n_slots)
        self._inbox = grown_all(self._inbox, n_slots, Inbox._fields[:3])
        return slots

    def _enlist(self, ids: pa.Array, k: Int64s, points: Floats) -> Int64s:
        """Slots in the order of the points in space: a message finds the rows that it reaches close together."""
        order = np.lexsort((curve_keys(points, *extent_of(points)), k))
        slots = np.empty(len(ids), np.int64)
        slots[order] = self.rows.add(
            ids.take(pa.array(order)), np.zeros(len(ids), np.int8), k[order], np.ones(len(ids))
        )
        # Changes are told in the order of subscribing all the same.
        turns = self.rows.roster.turn
        turns[slots] = np.sort(turns[slots])
        return slots

    def parts(self, slots: Int64s) -> Iterator[GroupPart]:
        """These subscriptions group by group."""
        ks = self.rows.buffers.k[slots]
        for k in np.unique(ks).tolist():
            chosen = slots[ks == k]
            yield GroupPart(chosen, self.groups.of(k), self.points[chosen])

    def remove(self, slots: Int64s) -> None:
        """Give up slots, which are in no group any more."""
        self.deliveries.end(slots)
        self.rows.remove(slots)

    def resize(self, slots: Int64s, k: int) -> None:
        """Let slots ask for k, as a new question: what was delivered is what is in their rows."""
        self.rows.resize(slots, k)
        self.deliveries.begin(slots, len(self.deliveries.pairs.tenancy))

    def fill(self, slots: Int64s, objects: Objects) -> None:
        """Add to these rows what is missing of their tops, from the objects themselves."""
        alive = np.flatnonzero(objects.alive[: objects.n])
        if len(slots) < FEW:
            for slot in slots:
                self._fill(slot[np.newaxis], self._lowest(slot, alive, objects), objects)
        else:
            self._fill(slots, alive, objects)

    def _lowest(self, slot: int, alive: Int64s, objects: Objects) -> Int64s:
        """The objects in the range of a slot, or at least the k lowest of them."""
        x, k, point = objects.x[alive], int(self.rows.buffers.k[slot]), self.points[slot]
        inside: Int64s = alive[((point[0::2] <= x) & (x <= point[1::2])).all(1)]
        if len(inside) > k:
            y = objects.y[inside]
            inside = inside[y <= np.partition(y, k - 1)[k - 1]]
        return inside

    def _fill(self, slots: Int64s, chosen: Int64s, objects: Objects) -> None:
        shelves = sort_objects(chosen, objects.x, objects.y, objects.tie)
        lo, hi = (np.ascontiguousarray(self.points[slots, side::2]) for side in (0, 1))
        most = min(int(self.rows.buffers.k[slots].max(initial=0)), len(chosen))
        fill_rows(slots, lo, hi, shelves, make_heap(most), self.rows.buffers)

    def tell(self, slots: Int64s, label: Int64s) -> None:
        """Tell how these rows have changed."""
        buffers, stamps = self.rows.buffers, Stamps(label, 0)

        def tell_from(done: int) -> int:
            return tell_rows(done, slots, buffers, stamps, self.deliveries.pairs, self._inbox, self.change_log.told)

        for _ in stops(tell_from, len(slots)):
            self._make_room()

    def hear(self, slots: Int64s, objects: Int64s, y: Floats, label: Int64s) -> None:
        """Let each of these slots take in an object."""
        hear_all(slots, objects, y, self.rows.buffers, Stamps(label, 0))

    def receive(self, messages: Messages, changes: ObjectChanges, label: Int64s) -> None:
        """Take a portion of the messages that these changes made."""
        trees, buffers, stamps = self.groups.points.trees, self.rows.buffers, Stamps(label, 0)

        def go_on() -> bool:
            pairs, told = self.deliveries.pairs, self.change_log.told
            return receive(messages, changes, trees, buffers, stamps, pairs, self._inbox, told)

        self._go_through(go_on)

    def finish(self, changes: ObjectChanges, label: Int64s) -> None:
        """There are no more messages from these changes: tell what is untold."""
        buffers, stamps = self.rows.buffers, Stamps(label, 0)

        def go_on() -> bool:
            return finish(changes, buffers, stamps, self.deliveries.pairs, self._inbox, self.change_log.told)

        self._go_through(go_on)

    def _go_through(self, go_on: Callable[[], bool]) -> None:
        for _ in pauses(go_on, lambda: tuple(self._inbox.progress.tolist())):
            self._make_room()

    def _make_room(self) -> None:
        """Give the kernel that stopped what it asked for."""
        n_changes, n_pairs = self._inbox.wanted.tolist()
        self.change_log.reserve(n_changes)
        self.deliveries.reserve(n_pairs)

    def check(self, label: Int64s) -> None:
        """Assert the invariants."""
        self.rows.check()
        self.groups.check()
        self.deliveries.check()
        assert not self._inbox.is_dirty.any()
        assert self._inbox.progress[: SETTLED + 1].tolist() == [0, 0, 0, -1]
        slots = self.rows.roster.in_turn()
        for slot in slots.tolist():
            check_row(self.rows.buffers, slot, Stamps(label, 0))
            assert self.rows.buffers.size[slot] <= self.rows.buffers.k[slot]
        assert sum(self.groups.points.size(group) for group in self.groups.in_use()) == len(slots)
        assert (np.flatnonzero(self.deliveries.pairs.tenancy) == np.sort(slots)).all()


class SubscriberTable:
    """Subscriptions somewhere in a network, which know nothing but their first tops and the messages they receive.

    `subscriptions` and `tops` are what an engine of the ranges family was given, and what its `top` answered then. A
    table that begins with nobody needs to be told the number of dimensions.
    `counters` says how many messages were received, and how many of them changed nothing.
    """

    def __init__(self, subscriptions: Source, tops: pa.Table | None = None, dims: int | None = None) -> None:
        rows = _parsed(subscriptions, dims)
        self.counters = {"received": 0, "discarded": 0}
        self._dims = rows.lo.shape[1]
        self._objects = Lexicon()
        self._subscribers = Subscribers(SubscriberGroups(self._dims))
        self._add(rows, tops)
        self._subscribers.change_log.discard()

    def subscribe(self, subscriptions: Source, tops: pa.Table | None = None) -> AnswerRows:
        """Take in more subscriptions with their tops as they are now, as changes."""
        self._add(_parsed(subscriptions, self._dims), tops)
        return self._changes()

    def unsubscribe(self, ids: Sequence[Id]) -> AnswerRows:
        """Give up subscriptions, all of which are here."""
        if len(ids):
            slots = self._subscribers.rows.roster.ids.find(pa.array(ids))
            if (slots < 0).any():
                raise KeyError(f"{ids[int(slots.argmin())]!r} is not subscribed here.")
            for part in self._subscribers.parts(slots):
                self._subscribers.groups.points.remove(part.group, part.slots, part.points)
            self._subscribers.change_log.leave(slots)
        changes = self._changes()
        if len(ids):
            self._subscribers.remove(slots)
        return changes

    def _add(self, rows: Subscriptions, tops: pa.Table | None) -> None:
        if len(rows.ids):
            slots = self._subscribers.add(rows.ids, rows.k, rows.lo, rows.hi)
            for part in self._subscribers.parts(slots):
                self._subscribers.groups.points.add(part.group, part.slots, part.points)
        if tops is not None and len(tops):
            self._take(tops)

    def _take(self, tops: pa.Table) -> None:
        slots = self._subscribers.rows.roster.ids.find(tops["subscription"].combine_chunks())
        ours = slots >= 0
        objects = self._know(tops["publication"].combine_chunks())
        scores = np.asarray(tops["score"].combine_chunks(), np.float64)
        self._subscribers.hear(slots[ours], objects[ours], scores[ours], self._objects.label)
        self._subscribers.tell(np.unique(slots[ours]), self._objects.label)

    def _know(self, ids: pa.Array) -> Int64s:
        slots = self._objects.slots(ids)
        self._subscribers.deliveries.bear(self._objects.n)
        return slots

    def receive(self, messages: pa.Table) -> None:
        """Take messages in the order in which they were sent."""
        self.hear(read_messages(messages, self._dims))

    def hear(self, wired: Wired) -> AnswerRows:
        """Take messages in the order in which they were sent, and tell what they change all together."""
        groups = self._subscribers.groups
        known = np.isin(wired.k, groups.k)
        wired.messages.group[:] = [groups.of(k) if ours else 0 for k, ours in zip(wired.k.tolist(), known, strict=True)]
        wired.messages.object[:] = self._know(wired.objects)
        # A box turned inside out reaches nobody, and neither does a message to a group that nobody here is in.
        wired.messages.low[~known], wired.messages.high[~known] = 1.0, 0.0
        nothing = np.zeros(0, np.int64)
        step = ObjectChanges(nothing, np.zeros((0, self._dims)), np.zeros(0), np.zeros(0, np.bool_), np.array([1]))
        if len(groups):
            self._subscribers.receive(wired.messages, step, self._objects.label)
            self._subscribers.finish(step._replace(end=np.zeros(1, np.int64)), self._objects.label)
        for name, count in self._subscribers.costs().items():
            self.counters[name] += count
        return self._changes()

    def _changes(self) -> AnswerRows:
        shape = answer_shape(change_schema, *self._id_types())
        return self._subscribers.change_log.answer(shape, self._objects.ids, 0, np.zeros(1, np.int64))

    def _id_types(self) -> list[pa.DataType]:
        known = (self._subscribers.rows.roster.ids, self._objects.ids)
        return [ids.type if ids.type is not None else pa.string() for ids in known]

    def top(self) -> pa.Table:
        """The tops as they are now, in the order in which the subscriptions were given."""
        rows = self._subscribers.rows
        return rows.ranking(ranking_schema(*self._id_types()), rows.roster.in_turn(), self._objects.ids, 0)

    def check(self) -> None:
        """Assert the invariants."""
        self._subscribers.check(self._objects.label)


def _parsed(subscriptions: Source, dims: int | None) -> Subscriptions:
    reading = read_table(subscriptions)
    parsed = FAMILIES["ranges"].parse_subscriptions(reading.table, Settings(dims=dims))
    if reading.rejects or parsed.rejects:
        raise Rejected([*reading.rejects, *parsed.rejects], "subscriptions")
    rows: Subscriptions = parsed.rows
    return rows
