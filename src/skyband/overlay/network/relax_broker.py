"""CN-Relax, the baseline without a server: each change goes to all whose range has the object in it.

Bundles spread from wherever a change happens, along the same tree, to all zones of the quadrant. Gateways keep every
object that reaches their zone, and answer from those. All changes of an object come from one broker, which knows where
the object was, so that it can say to those around there that it is gone. Zones stay as they are.
"""

from typing import Any

import numpy as np
import pyarrow as pa

import skyband
from skyband.contract.tops import Id
from skyband.kernels.array import Floats
from skyband.overlay.broker.event import Refused
from skyband.overlay.network.gateway import Gateway
from skyband.overlay.network.paint_rows import PaintRows
from skyband.overlay.network.paint_server import RankedObject, Sighting
from skyband.overlay.network.parcel import Ask, Bundle, Parcel, Row
from skyband.overlay.network.zone_broker import ZoneBroker
from skyband.overlay.network.zone_event import Divide, Retire, Stands, ZoneEffect, ZoneEvent
from skyband.overlay.routing import quadrants
from skyband.ranges.kernels.message import GONE
from skyband.table.answer_rows import AnswerRows


class RelaxGateway(Gateway):
    """Keeps all objects that come, and lists from them; `counters` has how many subscriptions each message was for."""

    def __init__(self, dims: int) -> None:
        super().__init__(dims)
        self._engine = skyband.open("ranges", "paint")
        self._n_heard = self._n_received = 0
        self._places: Floats = self.points()

    @property
    def counters(self) -> dict[str, int]:
        """How many messages the subscriptions have received."""
        return {"received": self._n_received}

    def wait(self, key: int, row: Row) -> bool:
        """Take a subscription: all that it asks for is here."""
        self.take_all({key: row})
        return True

    def take_all(self, rows: dict[int, Row]) -> None:
        """Take subscriptions by key."""
        self.rows |= rows
        self._places = self.points()
        if rows:
            self._engine.subscribe([row | {"id": key} for key, row in rows.items()])

    def hear(self, event: int, rows: PaintRows) -> AnswerRows:
        """Take the messages of an event, whose number is of the broker where it happened."""
        for low, high in zip(rows.low, rows.high, strict=True):
            self._n_received += int(((low <= self._places) & (self._places <= high)).all(axis=1).sum())
        changes = [self._change(row) for row in zip(rows.objects.to_pylist(), rows.x, rows.y.tolist(), strict=True)]
        told: AnswerRows = self._engine.publish(changes)
        return told

    def _change(self, row: tuple[Id, Floats, float]) -> Row:
        object, x, y = row
        self._n_heard += 1
        place, its = x.tolist() if self.dims > 1 else float(x[0]), None if y == GONE else y
        return {"id": self._n_heard, "ts": self._n_heard, "object": object, "x": place, "y": its}

    def give_up(self, key: int) -> bool:
        """Let a subscription go; False if it is not here."""
        if self.rows.pop(key, None) is None:
            return False
        self._places = self.points()
        self._engine.unsubscribe([key])
        return True

    def top(self) -> dict[int, list[RankedObject]]:
        """The list of each subscription."""
        tops: dict[int, list[RankedObject]] = {key: [] for key in self.rows}
        for row in self._engine.top().to_pylist():
            tops[row["subscription"]].append(RankedObject(row["publication"], row["score"]))
        return tops

    def check(self) -> None:
        """Assert that the engine has the subscriptions."""
        assert self._engine.n_subscriptions == len(self.rows)


class RelaxBroker(ZoneBroker):
    """A broker whose links all lead somewhere, the one to the broker before it too.

    `places` is where the objects were last whose changes come from here.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.places: dict[Id, tuple[float, ...]] = {}
        self._n_events = 0

    def make_gateway(self) -> Gateway:
        """What keeps the lists here, and the objects."""
        return RelaxGateway(self.dims)

    def step(self, now: int, event: ZoneEvent) -> list[ZoneEffect]:
        """What follows from an event, in order; regions stay as they are."""
        if isinstance(event, Divide | Retire):
            return [Refused("With CN-Relax zones neither split nor merge: nothing may overtake a change of an object.")]
        return super().step(now, event)

    def _from_above(self, source: int, parcel: Parcel) -> None:
        assert isinstance(parcel, Bundle), "Without a server there is nothing else that comes from it."
        self.spread(source, parcel)

    def admit(self, parcel: Ask) -> None:
        """Take a subscription that has come to its gateway."""
        self.gateway.wait(parcel.key, parcel.row)
        self.tell(Stands(parcel.key, parcel.row["id"], 0))

    def release(self, key: int) -> None:
        """Let a subscription go that has come to its gateway."""
        self.gateway.give_up(key)

    def publish(self, sighting: Sighting) -> None:
        """Tell a change to whoever has the object in its range, now or before."""
        rows = self._rows(sighting)
        if len(rows.y):
            self._n_events += 1
            self.spread(None, Bundle(self._n_events, rows))

    def _rows(self, sighting: Sighting) -> PaintRows:
        """A message to those around where the object was, if it has gone from there, and one to those around it now."""
        before = self.places.pop(sighting.object, None)
        told: list[tuple[tuple[float, ...], float]] = []
        if before is not None and (sighting.y is None or before != sighting.x):
            told.append((before, GONE))
        if sighting.y is not None:
            self.places[sighting.object] = sighting.x
            told.append((sighting.x, sighting.y))
        x = np.array([place for place, _ in told], np.float64).reshape(len(told), self.dims)
        boxes, y = quadrants(x), np.array([y for _, y in told], np.float64)
        k = np.zeros(len(told), np.int64)
        return PaintRows(boxes.low, boxes.high, x, y, k, pa.array([sighting.object] * len(told)))
