"""Tops kept from events alone: after each event they are the tops that the server has."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from skyband.client.stream_event import ChangesEvent, ResetEvent, SnapshotEvent, StreamEvent, TopRow
from skyband.contract import Granularity
from skyband.contract.tops import Id

# A publication and its score; the place in the list is the rank.
Ranked = list[tuple[Id, float]]


class StandingTops:
    """The tops of all subscriptions that events have told of.

    The rows of a change give the new rank of what has entered or moved, and what others shift by follows from that.
    Where a stream was opened with the granularity "publication", ranks are those after each row, which has to be known.
    """

    def __init__(self, granularity: Granularity = "batch") -> None:
        self.granularity = granularity
        self._tops: dict[Id, Ranked] = {}

    def __iter__(self) -> Iterator[Id]:
        return iter(list(self._tops))

    def __len__(self) -> int:
        return len(self._tops)

    def of(self, subscription: Id) -> list[TopRow]:
        """The top of a subscription, best first."""
        held = self._tops.get(subscription, [])
        return [TopRow(rank, publication, score) for rank, (publication, score) in enumerate(held, 1)]

    def take(self, event: StreamEvent) -> None:
        """Take in an event."""
        match event:
            case ResetEvent():
                self._tops.clear()
            case SnapshotEvent():
                for id, top in event.tops.items():
                    self._tops[id] = [(row.publication, row.score) for row in top]
            case ChangesEvent():
                by_row = self.granularity == "publication" and not event.net
                for id, rows in groupby(event.changes, key=lambda row: row["subscription"]):
                    listed = list(rows)
                    for part in [[row] for row in listed] if by_row else [listed]:
                        self._apply(id, part)
                for id in event.ended:
                    # One that was registered again in the same step has a top.
                    if not self._tops.get(id):
                        self._tops.pop(id, None)

    def _apply(self, id: Id, rows: Sequence[Mapping[str, Any]]) -> None:
        held = self._tops.setdefault(id, [])
        changed = {row["publication"] for row in rows}
        held[:] = [each for each in held if each[0] not in changed]
        for row in rows:
            if row["op"] != "leave":
                held.insert(row["rank"] - 1, (row["publication"], row["score"]))
