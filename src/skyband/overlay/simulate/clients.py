"""The clients of a broker in the simulator, who remember all that they were told."""

from typing import Any

from skyband.contract.tops import Id
from skyband.overlay.broker.event import (
    Accepted,
    Changed,
    Drained,
    Heard,
    Lapsed,
    Refused,
    Taken,
    TakenBack,
    Told,
)


class Clients:
    """What the clients of one broker were told; publications that were accepted or taken back have their numbers."""

    def __init__(self) -> None:
        self.changes: list[tuple[int, tuple[Any, ...]]] = []
        self.accepted: dict[Id, int] = {}
        self.taken: dict[Id, None] = {}
        self.refused: list[str] = []
        self.heard: list[tuple[Id, Id]] = []
        self.lapses: list[Lapsed] = []
        self.taken_back: dict[Id, int] = {}
        self.may_leave = False

    def hear(self, what: Told) -> None:
        """They are told something."""
        if isinstance(what, Changed):
            self.changes.extend(enumerate(what.rows, what.first))
        elif isinstance(what, Accepted):
            self.accepted[what.id] = what.number
        elif isinstance(what, TakenBack):
            self.taken_back[what.id] = what.number
        elif isinstance(what, Taken):
            self.taken[what.id] = None
        elif isinstance(what, Refused):
            self.refused.append(what.reason)
        elif isinstance(what, Heard):
            self.heard.append((what.subscription, what.id))
        elif isinstance(what, Drained):
            self.may_leave = what.is_free
        elif isinstance(what, Lapsed):
            self.lapses.append(what)
