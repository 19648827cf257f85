"""The engine of the ranges family that paints: changes become messages, and tops are kept from messages alone."""

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa

from skyband.contract import Engine, Given, pack, register, take, unpack
from skyband.kernels.array import Bools, Floats, Int64s
from skyband.kernels.growth import grown
from skyband.kernels.object_ids import Lexicon
from skyband.ranges.batch import BatchServer
from skyband.ranges.boxed import Boxed
from skyband.ranges.half_open import Sloped
from skyband.ranges.kernels.message import FARTHEST, Messages
from skyband.ranges.kernels.range_scan import ObjectChanges
from skyband.ranges.kernels.subscriber_rows import keep_in_time
from skyband.ranges.naive import Unicast
from skyband.ranges.object_survey import ObjectSurvey, bound_by_rows
from skyband.ranges.painter import Objects, Painter, SubscriberGroups
from skyband.ranges.rows import Publications, Subscriptions
from skyband.ranges.scan import Known
from skyband.ranges.server import Algorithm, PaintPlan, Server
from skyband.ranges.subscribers import Subscribers
from skyband.ranges.wire import message_schema, message_table
from skyband.table import LARGEST_K, Parsed, Reject, change_schema, ranking_schema, shorten
from skyband.table.answer_rows import AnswerRows, answer_shape
from skyband.table.argument import check_choice, check_flag, check_integer, check_integers, check_number

Shape = Literal["box", "1.5"]

NEVER = np.iinfo(np.int64).min
# So many servers, or boxes of a sketch, are more than anybody has.
MOST = 1_000_000


class Notified(NamedTuple):
    """What publications did: the messages that went through the network, in order, and how tops changed by them."""

    messages: pa.Table
    changes: pa.Table


def check_plan(plan: PaintPlan, shape: Shape, dims: int) -> None:
    """Raise a ValueError for what there is no painter for."""
    if shape == "1.5" and dims != 2:
        raise ValueError(f"Subscriptions of the shape 1.5 have two dimensions, not {dims}.")
    if shape == "1.5" and plan.algorithm == "unicast":
        raise ValueError("The shape 1.5 is painted by the algorithm sparse or dense; take the shape box for unicast.")
    if dims > 1 and (plan.servers > 1 or plan.sketch is not None):
        raise ValueError("Servers and sketches are for one dimension; with more of them leave both out.")
    if dims > 1 and shape == "box" and (plan.algorithm == "dense" or plan.epsilon > 0.0):
        raise ValueError(
            "Boxes in more than one dimension are painted by the algorithm sparse without an epsilon, or by unicast."
        )


def _as_asked(ends: Floats) -> Floats:
    """Ends of ranges as they were asked for: points are finite, where the farthest number stands for infinity."""
    return np.where(np.abs(ends) >= FARTHEST, np.copysign(np.inf, ends), ends)


@register
class RangesPaint(Engine[Subscriptions, Publications]):
    """Range top-k over changing objects, by painting the region of the subscriptions that a change concerns.

    A subscription is a point, and those with an object in their top are a region around the object. A change is made
    into messages to boxes that cover the region: about k of them, or k² for an object that ranks lower, however many
    subscriptions there are. Each takes a few searches in trees of objects and of subscriptions. Subscribers keep their
    tops from these messages; that takes time for each one that is reached, and none for others.

    `algorithm` is `"sparse"`, which knows where subscriptions are and sends no message that reaches none, `"dense"`,
    which knows only objects, or `"unicast"`, a message for each subscription concerned. With an `epsilon` above 0, up
    to 1, there are fewer messages and some reach subscriptions that they do not concern. `batch` lets a batch, where
    changes are netted over batches, send only what tells its outcome. `servers` is the number of servers that divide
    the objects among them, and `sketch` the number of boxes by which a server knows the subscriptions, instead of all.

    In more than one dimension changes go one by one, and only `"sparse"` without an epsilon and `"unicast"` are there
    for boxes. With the `shape` `"1.5"` all subscriptions have two dimensions, of which the second is open below, and
    `"dense"` and `epsilon` are there too.

    `ks` are for `"dense"`, which needs to know nothing of a subscription but its k: it sends messages for these ks also
    when nobody here asks for them, to subscriptions that are known elsewhere alone. Those here come besides, whatever
    their k is.
    """

    family = "ranges"
    name = "paint"
    good_for = "many subscriptions, and wherever they are notified through a network"
    modes = ({}, {"algorithm": "dense"}, {"epsilon": 0.5})
    rare_modes = (
        {"algorithm": "unicast"},
        {"batch": False},
        {"servers": 3},
        {"sketch": 2},
        {"algorithm": "dense", "epsilon": 1.0},
        {"algorithm": "dense", "servers": 2},
        {"algorithm": "dense", "ks": (2, 40)},
    )

    def __init__(
        self,
        *args: Any,
        algorithm: Algorithm = "sparse",
        epsilon: float = 0.0,
        batch: bool = True,
        servers: int = 1,
        sketch: int | None = None,
        shape: Shape = "box",
        ks: Iterable[int] = (),
        **options: Any,
    ) -> None:
        super().__init__(*args, **options)
        check_choice("algorithm", algorithm, Algorithm)
        check_choice("shape", shape, Shape)
        epsilon = check_number("epsilon", epsilon, 0.0, 1.0)
        servers = check_integer("servers", servers, 1, MOST)
        sketch = None if sketch is None else check_integer("sketch", sketch, 1, MOST)
        if sketch is not None and algorithm != "sparse":
            raise ValueError(f"Only the algorithm sparse uses a sketch of the subscriptions, not {algorithm}.")
        self._ks = check_integers("ks", ks, 1, LARGEST_K)
        if self._ks and algorithm != "dense":
            raise ValueError(f"Only the algorithm dense is told the ks to paint for, not {algorithm}.")
        self._plan = PaintPlan(algorithm, epsilon, servers, sketch)
        self._shape = shape
        self._batch = check_flag("batch", batch)
        self._lexicon = Lexicon()
        self._ts = np.zeros(0, np.int64)
        self._outgoing: list[pa.Table] | None = None
        self._make(self.settings.dims or (1 if shape == "box" else 2))

    def _options(self) -> dict[str, Any]:
        return self._plan._asdict() | {"batch": self._batch, "shape": self._shape, "ks": list(self._ks)}

    def _make(self, dims: int) -> None:
        """Everything that depends on the number of dimensions, with nothing in it."""
        check_plan(self._plan, self._shape, dims)
        self._objects = Objects(dims)
        self._groups = SubscriberGroups(dims, self._ks)
        self._subscribers = Subscribers(self._groups)
        self._painter = self._make_painter()

    def _make_painter(self) -> Painter:
        objects, groups, is_unicast = self._objects, self._groups, self._plan.algorithm == "unicast"
        if self._shape == "1.5":
            return Sloped(objects, groups, self._plan)
        if objects.dims > 1:
            return Unicast(objects, groups) if is_unicast else Boxed(objects, groups)
        if self._batch and self.granularity == "batch" and not is_unicast:
            return BatchServer(objects, groups, self._plan)
        return Server(objects, groups, self._plan)

    def _admit(self, parsed: Parsed[Any], what: str, taken: Bools, why: str) -> Any:
        if self._shape == "1.5" and what == "subscriptions" and parsed.rows.lo.shape[1] == 2:
            floor = parsed.rows.lo[:, 1]
            bounded, open_below = np.flatnonzero(floor != -np.inf), np.flatnonzero(floor == -np.inf)
            reason = "must be minus infinity in the second dimension, as the shape is 1.5"
            rejects = [Reject(int(parsed.kept[i]), "lo", shorten(float(floor[i])), reason) for i in bounded]
            rows = take(parsed.rows, open_below)
            parsed = Parsed(rows, parsed.kept[open_below], [*parsed.rejects, *rejects])
            taken = taken[open_below]
        return super()._admit(parsed, what, taken, why)

    def _learn_dims(self, rows: Any) -> None:
        before = self.settings
        super()._learn_dims(rows)
        # The number of dimensions is learned once, from the first rows.
        if self.settings.dims not in (None, self._objects.dims):
            try:
                self._make(self.settings.dims)
            except ValueError:
                self.settings = before
                raise

    @property
    def n_subscriptions(self) -> int:
        return self._subscribers.rows.roster.ids.size

    def memory(self) -> dict[str, int]:
        return {
            "rows": self._subscribers.n_bytes,
            "deliveries": self._subscribers.deliveries.n_bytes,
            "objects": self._lexicon.n_bytes + self._ts.nbytes + self._objects.n_bytes,
            "painter": self._painter.n_bytes,
        }

    def _registered(self, ids: pa.Array) -> Bools:
        return self._subscribers.rows.roster.ids.find(ids) >= 0

    def _subscribe(self, rows: Subscriptions) -> pa.Table:
        if len(rows.ids):
            self._answer(self._add(rows))
        return self._table(self._at())

    def _add(self, rows: Subscriptions) -> Int64s:
        slots = self._subscribers.add(rows.ids, rows.k, rows.lo, rows.hi)
        self._enter(slots)
        return slots

    def _enter(self, slots: Int64s) -> None:
        for part in self._subscribers.parts(slots):
            self._groups.points.add(part.group, part.slots, part.points)
            self._painter.subscribe(part.slots, part.group, part.points)

    def _quit(self, slots: Int64s) -> None:
        for part in self._subscribers.parts(slots):
            self._groups.points.remove(part.group, part.slots, part.points)
            self._painter.unsubscribe(part.slots, part.group, part.points)

    def _answer(self, slots: Int64s) -> None:
        self._subscribers.fill(slots, self._objects)
        self._subscribers.tell(slots, self._lexicon.label)

    def _unsubscribe(self, ids: pa.Array) -> pa.Table:
        slots = self._subscribers.rows.roster.ids.find(ids)
        self._quit(slots)
        self._subscribers.change_log.leave(slots)
        changes = self._table(self._at())
        self._subscribers.remove(slots)
        return changes

    def _resize(self, ids: pa.Array, k: int) -> pa.Table:
        slots = self._subscribers.rows.roster.ids.find(ids)
        self._quit(slots)
        self._subscribers.resize(slots, k)
        self._enter(slots)
        self._answer(slots)
        return self._table(self._at())

    def _publish(self, rows: Publications) -> pa.Table:
        if not len(rows.ids):
            return self._table(self._at())
        objects = self._know(rows.objects)
        start = int(rows.ts[0]) if self.now is None else self.now
        now = np.maximum.accumulate(np.maximum(rows.ts, start))
        self.now = int(now[-1])
        kept = np.empty(len(objects), np.int64)
        kept = kept[: keep_in_time(objects, rows.ts, self._ts, kept)]
        self._counters["late"] += len(objects) - len(kept)
        if not len(kept):
            return self._table(self._at())
        by_batch = self.granularity == "batch"
        end = np.array([len(kept)]) if by_batch else np.arange(1, len(kept) + 1)
        self._paint(take(rows, kept), objects[kept], end)
        return self._table(now[-1:] if by_batch else now[kept])

    def _know(self, ids: pa.Array) -> Int64s:
        """The slots of objects, with room for what is to be known of them."""
        before = self._lexicon.n
        slots = self._lexicon.slots(ids)
        n = self._lexicon.n
        self._ts = grown(self._ts, n)
        self._ts[before:n] = NEVER
        # While a batch is painted, what moves is in two places: ties have room for that, so that none is ever copied.
        self._lexicon.reserve(n + len(slots))
        self._objects.reserve(n, self._lexicon.tie)
        self._subscribers.deliveries.bear(n)
        return slots

    def _paint(self, rows: Publications, objects: Int64s, end: Int64s) -> None:
        changes = ObjectChanges(objects, rows.x, rows.y, ~rows.deleted, end)
        label = self._lexicon.label
        for messages in self._painter.paint(changes):
            if self._outgoing is not None:
                self._outgoing.append(self._sent(messages, rows.ids))
            self._subscribers.receive(messages, changes, label)
        self._subscribers.finish(changes, label)
        self._counters.update(self._painter.costs())
        self._counters.update(self._subscribers.costs())

    def _sent(self, messages: Messages, ids: pa.Array) -> pa.Table:
        n = int(messages.length[0])
        events = ids.take(pa.array(messages.event[:n]))
        named = self._lexicon.ids.ids(messages.object[:n])
        return message_table(messages, self._groups.k, events, named, self._message_schema())

    def _message_schema(self) -> pa.Schema:
        kinds = (self._id_type("publications id"), self._id_type("publications object"))
        return message_schema(*kinds, self._objects.dims)

    def messages(self, publications: Given) -> Notified:
        """Publish, and tell which messages that sends through the network, besides how tops change.

        A message reaches the subscriptions to the best `k` whose range has l_out < l <= l_in and r_in <= r < r_out in
        every dimension, an infinite end counting as the farthest finite number; a null y says that the object is gone
        from there. `publication` is the event that caused it, or one of
        those that did in a batch that is told by its outcome. `SubscriberTable` keeps tops from such tables.
        """
        self._outgoing = []
        try:
            changes = self.publish(publications)
            tables = self._outgoing
        finally:
            self._outgoing = None
        return Notified(pa.concat_tables([self._message_schema().empty_table(), *tables]), changes)

    def _advance(self, now: int) -> pa.Table:
        return self._table(self._at())

    def _at(self) -> Int64s:
        return np.array([self.now or 0], np.int64)

    def _table(self, at: Int64s) -> AnswerRows:
        kinds = self._id_type("subscriptions id"), self._id_type("publications object")
        return self._subscribers.change_log.answer(answer_shape(change_schema, *kinds), self._lexicon.ids, 0, at)

    def _tally(self, changes: pa.Table) -> dict[str, int]:
        return self._subscribers.change_log.tally

    def _top(self, ids: pa.Array | None) -> pa.Table:
        rows = self._subscribers.rows
        slots = rows.roster.in_turn() if ids is None else rows.roster.ids.find(ids)
        schema = ranking_schema(self._id_type("subscriptions id"), self._id_type("publications object"))
        return rows.ranking(schema, slots, self._lexicon.ids, 0)

    def _subscriptions_of(self, slots: Int64s) -> Subscriptions:
        rows = self._subscribers.rows
        lo, hi = (self._subscribers.points[slots, side::2] for side in (0, 1))
        return Subscriptions(rows.roster.ids.ids(slots), rows.buffers.k[slots], lo, hi)

    def _question_rows(self, ids: pa.Array) -> Subscriptions:
        asked = self._subscriptions_of(self._subscribers.rows.roster.ids.find(ids))
        return asked._replace(lo=_as_asked(asked.lo), hi=_as_asked(asked.hi))

    def _evidence(self, asked: Subscriptions) -> ObjectSurvey:
        objects, n = self._objects, self._lexicon.n
        ids = self._lexicon.ids.ids(np.arange(n)) if n else pa.array([], self._id_type("publications object"))
        known = (ids, self._ts[:n], objects.x[:n], objects.y[:n], objects.alive[:n])
        return ObjectSurvey(asked, self.now, *known, bound_by_rows(self.name, self._subscribers.rows, asked))

    def _save(self) -> dict[str, pa.Table]:
        rows, n, objects = self._subscribers.rows, self._lexicon.n, self._objects
        slots = rows.roster.in_turn()
        row_of = np.zeros(rows.roster.slots.n_slots, np.int64)
        row_of[slots] = np.arange(len(slots))
        asked = self._subscriptions_of(slots)
        ids = self._lexicon.ids.ids(np.arange(n))
        known = Known(ids, self._ts[:n], objects.x[:n], objects.y[:n], objects.alive[:n])
        to, delivered = self._subscribers.deliveries.held()
        return {
            "subscriptions": pack(asked) if len(slots) else pa.table({}),
            "objects": pack(known) if n else pa.table({}),
            "delivered": pa.table({"subscription": row_of[to], "object": delivered}),
        }

    def _load(self, tables: dict[str, pa.Table]) -> None:
        if len(tables["objects"]):
            known = unpack(Known, tables["objects"])
            slots = self._know(known.ids)
            self._ts[slots], self._objects.x[slots], self._objects.y[slots] = known.ts, known.x, known.y
            self._objects.alive[slots] = known.alive
            self._painter = self._make_painter()
        if len(tables["subscriptions"]):
            slots = self._add(unpack(Subscriptions, tables["subscriptions"]))
            self._answer(slots)
            self._subscribers.change_log.discard()
            to, delivered = (np.array(tables["delivered"][name], np.int64) for name in ("subscription", "object"))
            self._subscribers.deliveries.add(slots[to], delivered)
        self._painter.costs()

    def check(self) -> None:
        """Assert the invariants of every structure."""
        self._lexicon.check()
        self._subscribers.check(self._lexicon.label)
        self._painter.check()
