"""Rows as the engine of a home takes them: what it refuses is left out, and said, and nobody stops for it.

Brokers check each row by itself, and nobody knows all ids. So two brokers may publish the same id, ids of different
kinds, or points of different dimensions; a home takes the first, and leaves out what does not go with it. What was left
out because of its id comes when that is free: a broker may use an id again, and be heard of that sooner than of the
retraction.
"""

from collections.abc import Sequence
from typing import Any

from skyband.contract import AnyEngine
from skyband.contract.tops import Id
from skyband.table import Reject, Rejected

Row = dict[str, Any]
Answer = Any


class FittingRows:
    """What an engine can take of the rows for it; `refused` are the publications that it could not, by id and time."""

    def __init__(self) -> None:
        self.refused: dict[tuple[Id, int], Row] = {}
        self.reasons: list[str] = []
        self.given_up: list[Id] = []
        self.ids_are_text: bool | None = None

    def publish(self, engine: AnyEngine, rows: list[Row]) -> Answer:
        """Publish what goes; answers with the changes, and with nothing if nothing goes."""
        rows = [row for row in rows if self._is_of_kind(row)]
        while rows:
            try:
                return engine.publish(rows)
            except Rejected as error:
                reasons = {reject.row: _why(reject) for reject in error.rejects}
                for number, reason in sorted(reasons.items()):
                    self._refuse(rows[number - 1], reason)
                rows = [row for number, row in enumerate(rows, 1) if number not in reasons]
        return []

    def subscribe(self, engine: AnyEngine, rows: list[Row]) -> list[Answer]:
        """Subscribe all, or one by one those that go."""
        try:
            return [engine.subscribe(rows)]
        except ValueError:
            return [answer for row in rows for answer in self._subscribe(engine, row)]

    def retract(self, engine: AnyEngine, ids: Sequence[Id]) -> list[Answer]:
        """Retract publications; what was left out because of their ids comes instead."""
        keys = sorted((key for key in self.refused if key[0] in ids), key=lambda key: key[1])
        rows = [self.refused.pop(key) for key in keys]
        return [engine.retract(list(ids)), *([self.publish(engine, rows)] if rows else [])]

    def told(self) -> tuple[list[str], list[Id]]:
        """What clients have to be told, and the subscriptions that are not answered; once."""
        said, self.reasons, self.given_up = (self.reasons, self.given_up), [], []
        return said

    def forget(self, limit: int) -> None:
        """Nobody speaks any more of publications that are older."""
        self.refused = {key: row for key, row in self.refused.items() if key[1] >= limit}

    def _subscribe(self, engine: AnyEngine, row: Row) -> list[Answer]:
        try:
            return [engine.subscribe([row])]
        except ValueError as error:
            self.given_up.append(row["id"])
            self.reasons.append(f"The subscription {row['id']!r} is not answered: {error}")
            return []

    def _is_of_kind(self, row: Row) -> bool:
        """Whether an id is a text or a number as those before."""
        is_text = isinstance(row["id"], str)
        if self.ids_are_text is None:
            self.ids_are_text = is_text
        if is_text != self.ids_are_text:
            self._refuse(row, f"ids have been {'texts' if self.ids_are_text else 'numbers'} here so far")
        return is_text == self.ids_are_text

    def _refuse(self, row: Row, reason: str) -> None:
        self.refused[row["id"], row["ts"]] = row
        self.reasons.append(f"The publication {row['id']!r} is left out: {reason}.")


def _why(reject: Reject) -> str:
    return "another one that is live has this id" if reject.column == "id" else f"its {reject.column} {reject.reason}"
