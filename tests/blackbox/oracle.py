"""What change logs have to be, from the pages on the file contract and on the contract alone.

The families have their brute force in `sliding.py`, `objects.py`, `matching.py` and `boxes.py`; here is what they
share. Nothing of it is clever: after every step every top is found anew, and told by how it differs from what was told
last.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Protocol

Row = dict[str, Any]
Change = tuple[Any, ...]


@dataclass
class Order:
    """A key that sorts larger ids first, whatever their type."""

    value: Any

    def __lt__(self, other: "Order") -> bool:
        return bool(self.value > other.value)


def retracts(row: Row) -> bool:
    """Whether a row of publications retracts an earlier one."""
    return row.get("op") == "retract"


def steps(rows: Sequence[Row], batch: int, granularity: str) -> Iterator[Sequence[Row]]:
    """The rows of each step: publications in batches, and runs of retractions, before which time may pass."""
    size = 1 if granularity == "publication" else batch
    now = -(2**63)
    for is_retraction, group in groupby(rows, retracts):
        run = list(group)
        if is_retraction:
            yield from retraction_steps(run, now)
        else:
            for start in range(0, len(run), batch):
                cut = run[start : start + batch]
                yield from (cut[inner : inner + size] for inner in range(0, len(cut), size))
        now = max(now, *(row["ts"] for row in run if row.get("ts") is not None), now)


def retraction_steps(run: Sequence[Row], now: int) -> Iterator[Sequence[Row]]:
    """A run of retractions, cut where time passes."""
    step: list[Row] = []
    for row in run:
        if row.get("ts") is not None and row["ts"] > now:
            now = row["ts"]
            if step:
                yield step
            yield [{"op": "advance", "ts": now}]
            step = []
        step.append(row)
    yield step


@dataclass
class Teller:
    """Tells how the top of one subscription has changed since it was last told."""

    subscription: Any
    told: dict[Any, float] = field(default_factory=dict)
    delivered: set[Any] = field(default_factory=set)

    def tell(self, top: list[tuple[Any, float]], at: int) -> Iterator[Change]:
        """Leaves by their old rank, then moves and enters by their new one."""
        members = dict(top)
        for member, score in self.told.items():
            if member not in members:
                yield (self.subscription, member, "leave", score, None, at, False)
        for rank, (member, score) in enumerate(top, 1):
            if member not in self.told:
                yield (self.subscription, member, "enter", score, rank, at, member not in self.delivered)
            elif self.told[member] != score:
                yield (self.subscription, member, "move", score, rank, at, False)
        self.told = members
        self.delivered |= set(members)


class State(Protocol):
    """What was published so far, and the tops that follow from it."""

    @property
    def now(self) -> int:
        """The time, in microseconds."""

    @property
    def reborn(self) -> set[Any]:
        """What came into being anew since the last step, and so is new to everyone; emptied by who asks."""

    def arrive(self, publication: Row) -> None:
        """Take in a publication."""

    def top(self, subscription: Row) -> list[tuple[Any, float]]:
        """Who is in the top of a subscription now, best first."""


def changes(state: State, subscriptions: Sequence[Row], moves: Iterable[Sequence[Row]]) -> list[Change]:
    """The change log, row for row."""
    tellers = [Teller(each["id"]) for each in subscriptions]
    log: list[Change] = []
    for step in moves:
        for publication in step:
            state.arrive(publication)
        for subscription, teller in zip(subscriptions, tellers, strict=True):
            teller.delivered -= state.reborn
            log += teller.tell(state.top(subscription), state.now)
        state.reborn.clear()
    return log


def vector(value: Any) -> list[Any]:
    """A number is a vector of one."""
    return list(value) if isinstance(value, list) else [value]
