"""The home of subscriptions: the engine that answers them, what it was given, and what was told of it.

Time goes on in *steps*. A step to the time t is: let subscriptions end, publish what was handed over late, let time
pass to t, publish what came, and let others begin. One engine that is given all publications in the same steps reports
the same changes row for row: what gates refuse changes nothing, and what they let in has come in time. Each step is
one record on the disk, synced before its changes are told, so that a home that starts again takes the same steps and
tells the same.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import skyband
from skyband.contract import FAMILIES, AnyEngine
from skyband.contract.tops import Id
from skyband.covering.routed import RoutedSubscription
from skyband.overlay.broker.frame import Publication
from skyband.table import Settings, Window

Row = tuple[Any, ...]


class HomeStep(NamedTuple):
    """What a step takes in: publications handed over, those that came, rows that begin, and ids that end.

    `since` is the time of the step before, which is on no disk if nothing came and nothing changed by it.
    """

    at: int
    handed: list[dict[str, Any]]
    came: list[dict[str, Any]]
    begins: list[dict[str, Any]]
    ends: list[Id]
    since: int

    @property
    def is_empty(self) -> bool:
        """Whether time passes and nothing else."""
        return not any((self.handed, self.came, self.begins, self.ends))


class Home:
    """The subscriptions at home at a broker; without any there is no engine, and nothing costs anything."""

    def __init__(self, family: str, engine: str, settings: Settings, horizon: int, options: dict[str, Any]) -> None:
        self.family, self.settings, self.horizon = family, settings, horizon
        self._engine_name, self._options = engine, options
        self._engine: AnyEngine | None = None
        self.subscriptions: dict[Id, RoutedSubscription] = {}
        self.applied = -(1 << 62)
        self.n_changes = 0
        self.n_handed_changes = 0
        self.changes: list[tuple[int, Row]] = []
        self.seen: dict[tuple[int, int], int] = {}
        self.begun: set[Id] = set()

    @property
    def engine(self) -> AnyEngine:
        """The engine, opened when something is first asked of it."""
        if self._engine is None:
            window = Window.time(self.horizon)
            bounds = self.settings.bounds if FAMILIES[self.family].has_bounds else None
            self._engine = skyband.open(
                self.family, self._engine_name, window=window, bounds=bounds, words=self.settings.words, **self._options
            )
        return self._engine

    def is_new(self, publication: Publication) -> bool:
        """Whether a publication has not come before; it has from now on."""
        if publication.key in self.seen:
            return False
        self.seen[publication.key] = publication.ts
        return True

    @property
    def has_engine(self) -> bool:
        """Whether anything was ever asked of the engine."""
        return self._engine is not None

    def absorb(self, row: dict[str, Any]) -> None:
        """Publish what comes late, between two steps: gates have kept it back, so that it changes nothing."""
        self.n_handed_changes += len(self.engine.publish([row]))

    def take(self, step: HomeStep) -> list[Row]:
        """Take a step; answers with the rows of its changes, which are numbered on from `n_changes`."""
        if self._engine is not None and self._engine.now is not None and self._engine.now < step.since:
            self._engine.advance(step.since)
        tables = [self.engine.unsubscribe(step.ends)] if step.ends else []
        if step.handed:
            tables.append(self.engine.publish(step.handed))
            self.n_handed_changes += len(tables[-1])
        if self._engine is not None or step.begins or step.came:
            tables.append(self.engine.advance(step.at))
            if step.came:
                tables.append(self.engine.publish(step.came))
            if step.begins:
                tables.append(self.engine.subscribe(step.begins))
        self.begun = (self.begun | {row["id"] for row in step.begins}) - set(step.ends)
        self.applied = step.at
        rows = [tuple(row.values()) for table in tables if len(table) for row in table.to_pylist()]
        self.changes += enumerate(rows, self.n_changes)
        self.n_changes += len(rows)
        self._forget(step.at)
        return rows

    def changes_from(self, heard: int) -> list[tuple[int, Row]]:
        """The changes with numbers from `heard` on, as far as they are kept."""
        return [change for change in self.changes if change[0] >= heard]

    def gates(self, at: int) -> dict[Id, float]:
        """The gates of the subscriptions that have begun, for a time."""
        found = self.engine.gates(at=max(at, self.applied))
        return dict(zip(found["subscription"].to_pylist(), found["gate"].to_pylist(), strict=True))

    def staircase(self, id: Id) -> tuple[tuple[int, float], ...]:
        """How the gate of a subscription widens from the time of the last step on."""
        found = self.engine.staircase([id])
        times = [self.applied if at is None else at for at in found["at"].to_pylist()]
        return tuple(zip(times, found["gate"].to_pylist(), strict=True))

    def top(self) -> list[Row]:
        """The tops, as rows."""
        return [] if self._engine is None else [tuple(row.values()) for row in self._engine.top().to_pylist()]

    def _forget(self, now: int) -> None:
        """Forget changes, and what has come, of two horizons ago: nothing of that can come again."""
        limit = now - 2 * self.horizon
        if self.changes and self.changes[0][1][5] is not None and self.changes[0][1][5] < limit:
            self.changes = [change for change in self.changes if change[1][5] >= limit]
            self.seen = {key: ts for key, ts in self.seen.items() if ts >= limit}


def rows_of(publications: Iterable[Publication]) -> list[dict[str, Any]]:
    """The rows of publications in the order in which steps take them: by time, then by id."""
    return [each.row for each in sorted(publications, key=lambda each: (each.ts, each.spoken.id))]
