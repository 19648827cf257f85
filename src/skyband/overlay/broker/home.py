"""The home of subscriptions: the engine that answers them, what it was given, and what was told of it.

Time goes on in *steps*. A step to the time t is: let subscriptions end, publish what was handed over late, let time
pass to t, retract what was taken back, publish what came, and let others begin. One engine that is given all
publications in the same steps reports the same changes row for row: what gates refuse changes nothing, and what they
let in has come in time. Each step is one record on the disk, synced before its changes are told, so that a home that
starts again takes the same steps and tells the same.
"""

import base64
from collections.abc import Iterable, Set
from typing import Any, NamedTuple

import skyband
from skyband.contract import FAMILIES, AnyEngine
from skyband.contract.tops import Id
from skyband.covering.routed import RoutedSubscription
from skyband.overlay.broker.fitting import FittingRows
from skyband.overlay.broker.frame import Publication
from skyband.table import Bounds, Settings, Window

Row = tuple[Any, ...]


class HomeStep(NamedTuple):
    """What a step takes in: publications handed over, those that came, rows that begin, and ids that end.

    `retracted` are ids of publications that are taken back by the step, and `forgone` of those that were before.
    `since` is the time of the step before, which is on no disk if nothing came and nothing changed by it.
    """

    at: int
    handed: list[dict[str, Any]]
    came: list[dict[str, Any]]
    begins: list[dict[str, Any]]
    ends: list[Id]
    since: int
    retracted: list[Id]
    forgone: list[Id]

    @property
    def is_empty(self) -> bool:
        """Whether time passes and nothing else."""
        return not any((self.handed, self.came, self.begins, self.ends, self.retracted, self.forgone))


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
        self.withdrawn: dict[tuple[int, int], int] = {}
        self.begun: set[Id] = set()
        # Those whose end is in no step yet; the same ids may be subscribed again by then.
        self.ending: list[Id] = []
        self._forgotten = self.applied
        self.fitting = FittingRows()
        self._foreseen: AnyEngine | None = None
        self._ids_to_come: list[Id] = []

    @property
    def engine(self) -> AnyEngine:
        """The engine, opened when something is first asked of it."""
        if self._engine is None:
            window = Window.time(self.horizon)
            bounds = self.settings.bounds if FAMILIES[self.family].has_bounds else None
            self._engine = skyband.open(
                self.family,
                self._engine_name,
                window=window,
                bounds=bounds,
                words=self.settings.words,
                threads=1,
                **self._options,
            )
        return self._engine

    def is_new(self, publication: Publication) -> bool:
        """Whether a publication has not come before; it has from now on."""
        if publication.key in self.seen:
            return False
        self.seen[publication.key] = publication.ts
        return True

    def forgets_refused(self, publication: Publication) -> bool:
        """Whether the engine could not take a publication that is taken back: nothing is left to be done then."""
        return self.fitting.refused.pop((publication.spoken.id, publication.ts), None) is not None

    def is_withdrawn_now(self, publication: Publication) -> bool:
        """Whether it was not known before that a publication was taken back; it is from now on."""
        is_news = publication.key not in self.withdrawn
        if is_news:
            self.withdrawn[publication.key] = publication.since
        return is_news

    @property
    def has_engine(self) -> bool:
        """Whether anything was ever asked of the engine."""
        return self._engine is not None

    def end(self, id: Id) -> bool:
        """A subscription is answered no more from the next step on; tells whether it has begun."""
        if id not in self.begun:
            return False
        self.begun.discard(id)
        self.ending.append(id)
        return True

    def absorb(self, row: dict[str, Any]) -> None:
        """Publish what comes late, between two steps: gates have kept it back, so that it changes nothing."""
        n_refused = len(self.fitting.reasons)
        self.n_handed_changes += len(self.fitting.publish(self.engine, [row]))
        if self._foreseen is not None and len(self.fitting.reasons) == n_refused:
            self._foreseen.publish([row])

    def forgo(self, id: Id) -> None:
        """Retract what was taken back before the time of the last step: no gate has let it in since."""
        self.n_handed_changes += sum(map(len, self.fitting.retract(self.engine, [id])))
        if self._foreseen is not None:
            self._foreseen.retract([id])

    def foresee(self, ids: list[Id]) -> None:
        """Publications with these ids will be taken back by later steps: gates are those without them."""
        if self._foreseen is not None:
            self._foreseen.retract([id for id in ids if id not in self._ids_to_come])
        self._ids_to_come = ids

    def take(self, step: HomeStep) -> list[Row]:
        """Take a step; answers with the rows of its changes, which are numbered on from `n_changes`."""
        if self._engine is not None and self._engine.now is not None and self._engine.now < step.since:
            self._engine.advance(step.since)
        tables = [self.engine.unsubscribe(step.ends)] if step.ends else []
        if step.handed:
            tables.append(self.fitting.publish(self.engine, step.handed))
            self.n_handed_changes += len(tables[-1])
        if step.forgone:
            forgone = self.fitting.retract(self.engine, step.forgone)
            self.n_handed_changes += sum(map(len, forgone))
            tables += forgone
        if self._engine is not None or step.begins or step.came:
            tables.append(self.engine.advance(step.at))
            if step.retracted:
                tables += self.fitting.retract(self.engine, step.retracted)
            if step.came:
                tables.append(self.fitting.publish(self.engine, step.came))
            if step.begins:
                tables += self.fitting.subscribe(self.engine, step.begins)
        begun = {row["id"] for row in step.begins} - set(self.fitting.given_up)
        self.begun = (self.begun - set(step.ends)) | begun
        self.ending = [id for id in self.ending if id not in step.ends]
        self.applied, self._foreseen = step.at, None
        rows = [tuple(row.values()) for table in tables if len(table) for row in table.to_pylist()]
        self.changes += enumerate(rows, self.n_changes)
        self.n_changes += len(rows)
        self._forget(step.at)
        return rows

    @property
    def first_kept(self) -> int:
        """The number of the oldest change that is kept, or of the next one where none is."""
        return self.changes[0][0] if self.changes else self.n_changes

    def changes_from(self, heard: int) -> list[tuple[int, Row]]:
        """The changes with numbers from `heard` on, as far as they are kept."""
        return [change for change in self.changes if change[0] >= heard]

    def gates(self, at: int) -> dict[Id, float]:
        """The gates of the subscriptions that have begun, for a time, without what is known to be taken back."""
        return self._gates_of(self._ahead, at)

    def gates_of_now(self) -> dict[Id, float]:
        """The gates as of the last step, with all that it had."""
        return self._gates_of(self.engine, self.applied)

    def _gates_of(self, engine: AnyEngine, at: int) -> dict[Id, float]:
        found = engine.gates(at=max(at, self.applied))
        return dict(zip(found["subscription"].to_pylist(), found["gate"].to_pylist(), strict=True))

    @property
    def _ahead(self) -> AnyEngine:
        """The engine, or a copy of it without what is known to be taken back: nobody else can say what comes then."""
        if not self._ids_to_come or self._engine is None:
            return self.engine
        if self._foreseen is None:
            self._foreseen = type(self._engine).from_bytes(self._engine.to_bytes(), self._engine.settings)
            self._foreseen.retract(self._ids_to_come)
        return self._foreseen

    def staircase(self, id: Id) -> tuple[tuple[int, float], ...]:
        """How its gate widens from the time of the last step on, without what is known to be taken back."""
        found = self._ahead.staircase([id])
        times = [self.applied if at is None else at for at in found["at"].to_pylist()]
        return tuple(zip(times, found["gate"].to_pylist(), strict=True))

    def top(self) -> list[Row]:
        """The tops, as rows."""
        return [] if self._engine is None else [tuple(row.values()) for row in self._engine.top().to_pylist()]

    def saved(self, pending: Set[tuple[int, int]], retracting: Set[tuple[int, int]] = frozenset()) -> dict[str, Any]:
        """The state as plain values, for a checkpoint; what is pending is in no step yet, and has to come again."""
        engine: dict[str, Any] | None = None
        if self._engine is not None:
            settings = self._engine.settings
            packed = base64.b64encode(self._engine.to_bytes()).decode()
            engine = {"dims": settings.dims, "bounds": settings.bounds.plain, "packed": packed}
        return {
            "applied": self.applied,
            "n_changes": self.n_changes,
            "n_handed_changes": self.n_handed_changes,
            "changes": self.changes,
            "seen": [(*key, ts) for key, ts in self.seen.items() if key not in pending],
            "withdrawn": [(*key, ts) for key, ts in self.withdrawn.items() if key not in retracting],
            "begun": sorted(self.begun, key=str),
            "ending": self.ending,
            "refused": list(self.fitting.refused.values()),
            "ids_are_text": self.fitting.ids_are_text,
            "engine": engine,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take on a state that was saved."""
        self.applied, self.n_changes = state["applied"], state["n_changes"]
        self.n_handed_changes = state["n_handed_changes"]
        self.changes = [(number, tuple(row)) for number, row in state["changes"]]
        self.seen = {(origin, number): ts for origin, number, ts in state["seen"]}
        self.withdrawn = {(origin, number): ts for origin, number, ts in state["withdrawn"]}
        self.begun, self.ending = set(state["begun"]), list(state["ending"])
        self.fitting.refused = {(row["id"], row["ts"]): row for row in state["refused"]}
        self.fitting.ids_are_text = state["ids_are_text"]
        if state["engine"] is not None:
            dims, bounds, packed = (state["engine"][name] for name in ("dims", "bounds", "packed"))
            settings = self.engine.settings._replace(dims=dims, bounds=Bounds.of(bounds))
            self._engine = type(self.engine).from_bytes(base64.b64decode(packed), settings, threads=1)

    def _forget(self, now: int) -> None:
        """Forget changes, and what has come, of two horizons ago: nothing of that can come again."""
        limit = now - 2 * self.horizon
        if self.changes and self.changes[0][1][5] is not None and self.changes[0][1][5] < limit:
            self.changes = [change for change in self.changes if change[1][5] >= limit]
        if limit >= self._forgotten + self.horizon:
            # Looking through all of it costs more than a step, and need not be done at each.
            self._forgotten = limit
            self.fitting.forget(limit)
            self.seen = {key: ts for key, ts in self.seen.items() if ts >= limit}
            self.withdrawn = {key: ts for key, ts in self.withdrawn.items() if ts >= limit}


def rows_of(publications: Iterable[Publication]) -> list[dict[str, Any]]:
    """The rows of publications in the order in which steps take them: by time, then by id."""
    return [each.row for each in sorted(publications, key=lambda each: in_order(each.ts, each.spoken.id))]


def in_order(at: int, id: Id) -> tuple[int, bool, Id]:
    """By time, then by id: numbers before texts, where brokers publish both."""
    return at, isinstance(id, str), id
