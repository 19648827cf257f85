"""Tops kept from changes alone: the running sum of a change log is the set of current answers."""

import pyarrow as pa

from skyband.table import Op

Id = int | str


class Tops:
    """For each subscription the publications of its top, with their scores."""

    def __init__(self) -> None:
        self._members: dict[Id, dict[Id, float]] = {}

    def apply(self, changes: pa.Table) -> None:
        """Add the rows of one answer of an engine, in their order; a row that does not fit raises a ValueError."""
        for row in changes.to_pylist():
            members = self._members.setdefault(row["subscription"], {})
            publication = row["publication"]
            if (row["op"] == Op.ENTER) == (publication in members):
                raise ValueError(f"The change {row} does not fit the answer so far.")
            if row["op"] == Op.LEAVE:
                del members[publication]
            else:
                members[publication] = row["score"]

    def of(self, subscription: Id) -> dict[Id, float]:
        """The top of a subscription: publications and their scores."""
        return dict(self._members.get(subscription, {}))

    def subscriptions(self) -> list[Id]:
        """Those whose top is not empty."""
        return [subscription for subscription, members in self._members.items() if members]
