"""What the oracles of window and geotext share: publications that live for a while, and are all looked at each time."""

from abc import abstractmethod
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from skyband.contract import Engine, Horizon, pack, take, unpack
from skyband.contract.explanation import Bound
from skyband.contract.tops import Id
from skyband.kernels.array import Bools
from skyband.table import WindowKind, staircase_schema
from skyband.topk.answer import Answer, Member, change_table, differences, ranking_table
from skyband.topk.rows import TimedPublications, TopSubscriptions
from skyband.topk.store import WIDEST
from skyband.topk.survey import Evidence, WantedTop, survey_of

NOTHING_KEPT = "The engine oracle keeps no candidates: it looks at every publication in every step."

SubscriptionsT = TypeVar("SubscriptionsT", bound=TopSubscriptions)
PublicationsT = TypeVar("PublicationsT", bound=TimedPublications)


class Question(NamedTuple):
    """A subscription: `ask` is what the family scores by; `ascending` says that smaller scores are better."""

    k: int
    window: WindowKind
    size: int
    threshold: float | None
    ascending: bool
    ask: Any


class Said(NamedTuple):
    """A publication that has a place in some window; one that was retracted keeps it, and is in no top."""

    id: Id
    ts: int
    content: Any
    retracted: bool = False

    @property
    def recency(self) -> tuple[Any, ...]:
        """What is retracted comes before what was published under the same id later."""
        return self.ts, self.id, not self.retracted


class ContinuousOracle(Engine[SubscriptionsT, PublicationsT], Generic[SubscriptionsT, PublicationsT]):
    """Top-k over sliding windows, recomputed for every subscription after every step."""

    subscriptions: type[SubscriptionsT]
    publications: type[PublicationsT]

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.horizon = Horizon().widened(self.settings.window)
        self._questions: dict[Id, Question] = {}
        self._answers: dict[Id, Answer] = {}
        self._live: dict[Id, Said] = {}
        # Each with the batch and row that it came in.
        self._retracted: list[tuple[Said, tuple[Any, int]]] = []
        # The batch and row that each came in, for snapshots.
        self._asked: dict[Id, tuple[Any, int]] = {}
        self._sayings: dict[Id, tuple[Any, int]] = {}

    @abstractmethod
    def _question(self, rows: SubscriptionsT, i: int) -> Question: ...

    @abstractmethod
    def _content(self, rows: PublicationsT, i: int) -> Any: ...

    @abstractmethod
    def _score(self, question: Question, content: Any) -> float | None:
        """The score, or None where the publication cannot answer the question at all."""

    @property
    def n_subscriptions(self) -> int:
        return len(self._questions)

    def _registered(self, ids: pa.Array) -> Bools:
        return np.array([id in self._questions for id in ids.to_pylist()], np.bool_)

    def _stored(self, ids: pa.Array) -> Bools:
        return np.array([id in self._live for id in ids.to_pylist()], np.bool_)

    def _subscribe(self, rows: SubscriptionsT) -> pa.Table:
        ids = rows.ids.to_pylist()
        for i, id in enumerate(ids):
            self._questions[id] = self._question(rows, i)
            self._answers[id] = Answer()
            self._asked[id] = (rows, i)
        self.horizon = self.horizon.widened_by_all(rows.window)
        return self._changes([row for id in ids for row in self._tell(id)])

    def _unsubscribe(self, ids: pa.Array) -> pa.Table:
        rows = []
        for id in ids.to_pylist():
            rows += differences(id, self._answers.pop(id), [], self.now)
            del self._questions[id], self._asked[id]
        return self._changes(rows)

    def _resize(self, ids: pa.Array, k: int) -> pa.Table:
        wanted = set(ids.to_pylist())
        for id in wanted:
            self._questions[id] = self._questions[id]._replace(k=k)
            self._answers[id].delivered = {member.publication for member in self._answers[id].top}
            rows, i = self._asked[id]
            one = take(rows, np.array([i]))
            self._asked[id] = (one._replace(k=np.array([k])), 0)
        return self._changes([row for id in self._questions if id in wanted for row in self._tell(id)])

    def _publish(self, rows: PublicationsT) -> pa.Table:
        changes = []
        for i, (id, ts) in enumerate(zip(rows.ids.to_pylist(), rows.ts.tolist(), strict=True)):
            self._sayings[id] = (rows, i)
            self._arrive(Said(id, ts, self._content(rows, i)))
            if self.granularity == "publication":
                changes += self._tell_all()
        if self.granularity == "batch":
            changes += self._tell_all()
        return self._changes(changes)

    def _retract(self, ids: pa.Array) -> pa.Table:
        for id in ids.to_pylist():
            self._retracted.append((self._live.pop(id)._replace(retracted=True), self._sayings.pop(id)))
        return self._changes(self._tell_all())

    def _advance(self, now: int) -> pa.Table:
        return self._changes(self._tell_all())

    def _question_rows(self, ids: pa.Array) -> SubscriptionsT:
        rows, i = self._asked[ids[0].as_py()]
        one: SubscriptionsT = take(rows, np.array([i]))
        return one

    def _evidence(self, asked: SubscriptionsT) -> Evidence:
        question = self._question(asked, 0)
        placed = sorted(self._placed, key=lambda said: said.recency, reverse=True)
        scores = [self._score(question, said.content) for said in placed]
        size = min(question.size, WIDEST)
        rules = question.k, question.window, size, question.threshold, question.ascending
        wanted = WantedTop(asked.ids[0].as_py(), *rules)
        survey = survey_of(
            wanted,
            self.now,
            pa.array([said.id for said in placed], self._id_type("publications id")),
            np.array([said.ts for said in placed], np.int64),
            np.array([np.nan if score is None else score for score in scores], np.float64),
            np.array([said.retracted for said in placed], np.bool_),
        )

        bound = Bound("none", 0, None, None, False, NOTHING_KEPT)
        rows = (lambda place: self._row_of(placed[place])), (lambda *_: bound)
        return Evidence(asked, wanted, survey, self.settings, self.now, *rows)

    def _row_of(self, said: Said) -> PublicationsT:
        """A publication as it came in."""
        came = [origin for retracted, origin in self._retracted if retracted is said]
        rows, i = came[0] if came else self._sayings[said.id]
        one: PublicationsT = take(rows, np.array([i]))
        return one

    @property
    def _placed(self) -> list[Said]:
        """All that has a place in a window."""
        return [*self._live.values(), *(said for said, _ in self._retracted)]

    def _top(self, ids: pa.Array | None) -> pa.Table:
        wanted = list(self._questions) if ids is None else ids.to_pylist()
        tops = {id: self._answers[id].top for id in wanted}
        return ranking_table(tops, self._id_type("subscriptions id"), self._id_type("publications id"))

    def _gates(self, ids: pa.Array | None, at: int | None) -> pa.Table:
        wanted = self._wanted(ids)
        return pa.table([wanted, [self._gate(self._questions[id], at) for id in wanted]], schema=self._gate_schema())

    def _staircase(self, ids: pa.Array | None) -> pa.Table:
        rows = []
        for id in self._wanted(ids):
            question = self._questions[id]
            ends = {said.ts + question.size for said in self._live.values() if question.window == WindowKind.TIME}
            times = [self.now, *sorted(end for end in ends if self.now is not None and end > self.now)]
            steps = [(at, self._gate(question, at)) for at in times]
            rows += [(id, *step) for i, step in enumerate(steps) if i == 0 or step[1] != steps[i - 1][1]]
        schema = staircase_schema(self._id_type("subscriptions id"))
        return pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)

    def _wanted(self, ids: pa.Array | None) -> list[Id]:
        wanted = list(self._questions) if ids is None else ids.to_pylist()
        for id in wanted:
            if self._questions[id].window == WindowKind.COUNT:
                raise self._needs_all(id)
        return wanted

    def _gate(self, question: Question, at: int | None) -> float:
        if question.threshold is not None:
            return question.threshold
        best = self._best(question, at)
        is_open = float("inf") if question.ascending else float("-inf")
        return is_open if len(best) < question.k else best[-1].score

    def _arrive(self, said: Said) -> None:
        self.now = said.ts if self.now is None else max(self.now, said.ts)
        self._live[said.id] = said
        if said not in self._within(self._placed, self.horizon):
            del self._live[said.id]
            self._counters["late"] += 1

    def _tell_all(self) -> list[dict[str, Any]]:
        kept = self._within(self._placed, self.horizon)
        self._live = {said.id: said for said in kept if not said.retracted}
        self._retracted = [(said, origin) for said, origin in self._retracted if said in kept]
        self._sayings = {id: self._sayings[id] for id in self._live}
        rows = [row for id in self._questions for row in self._tell(id)]
        for answer in self._answers.values():
            answer.delivered &= set(self._live)
        return rows

    def _tell(self, id: Id) -> list[dict[str, Any]]:
        return differences(id, self._answers[id], self._best(self._questions[id]), self.now)

    def _best(self, question: Question, at: int | None = None) -> list[Member]:
        """The top as of now, or as of a later time if nothing else arrives."""
        reach = Horizon(
            us=question.size if question.window == WindowKind.TIME else 0,
            n=question.size if question.window == WindowKind.COUNT else 0,
            unbounded=question.window == WindowKind.UNBOUNDED,
        )
        scored = []
        for said in self._within(self._placed, reach, at):
            score = None if said.retracted else self._score(question, said.content)
            if score is not None and self._passes(question, score):
                scored.append((said, score))
        scored.sort(key=lambda pair: pair[0].recency, reverse=True)
        if question.threshold is None:
            scored.sort(key=lambda pair: pair[1] if question.ascending else -pair[1])
        return [Member(said.id, score) for said, score in scored[: question.k]]

    @staticmethod
    def _passes(question: Question, score: float) -> bool:
        if question.threshold is None:
            return True
        return score <= question.threshold if question.ascending else score >= question.threshold

    def _within(self, publications: list[Said], window: Horizon, at: int | None = None) -> list[Said]:
        """Those that are live in a window: young enough, or among the last n."""
        now = self.now if at is None else at
        recent = sorted(publications, key=lambda said: said.recency, reverse=True)
        return [said for i, said in enumerate(recent) if window.unbounded or i < window.n or _young(said, window, now)]

    def _save(self) -> dict[str, pa.Table]:
        delivered = [(sub, pub) for sub, answer in self._answers.items() for pub in sorted(answer.delivered)]
        return {
            "subscriptions": self._packed([self._asked[id] for id in self._questions]),
            "publications": self._packed([self._sayings[id] for id in self._live]),
            "retracted": self._packed([origin for _, origin in self._retracted]),
            "delivered": pa.table(
                {
                    "subscription": pa.array([d[0] for d in delivered], self._id_type("subscriptions id")),
                    "publication": pa.array([d[1] for d in delivered], self._id_type("publications id")),
                }
            ),
            "horizon": pa.table({name: [value] for name, value in self.horizon._asdict().items()}),
        }

    @staticmethod
    def _packed(origins: list[tuple[Any, int]]) -> pa.Table:
        tables = [pack(take(rows, np.array([i]))) for rows, i in origins]
        return pa.concat_tables(tables) if tables else pa.table({})

    def _load(self, tables: dict[str, pa.Table]) -> None:
        self.horizon = Horizon(**tables["horizon"].to_pylist()[0])
        if len(tables["publications"]):
            rows = unpack(self.publications, tables["publications"])
            for i, said in enumerate(self._said(rows)):
                self._live[said.id], self._sayings[said.id] = said, (rows, i)
        # Snapshots of earlier versions have no such table.
        if len(tables.get("retracted", ())):
            rows = unpack(self.publications, tables["retracted"])
            self._retracted = [(said._replace(retracted=True), (rows, i)) for i, said in enumerate(self._said(rows))]
        if len(tables["subscriptions"]):
            asked = unpack(self.subscriptions, tables["subscriptions"])
            for i, id in enumerate(asked.ids.to_pylist()):
                self._questions[id] = self._question(asked, i)
                self._asked[id] = (asked, i)
                self._answers[id] = Answer(self._best(self._questions[id]))
        for row in tables["delivered"].to_pylist():
            self._answers[row["subscription"]].delivered.add(row["publication"])

    def _said(self, rows: PublicationsT) -> list[Said]:
        times = zip(rows.ids.to_pylist(), rows.ts.tolist(), strict=True)
        return [Said(id, ts, self._content(rows, i)) for i, (id, ts) in enumerate(times)]

    def _changes(self, rows: list[dict[str, Any]]) -> pa.Table:
        return change_table(rows, self._id_type("subscriptions id"), self._id_type("publications id"))


def _young(said: Said, window: Horizon, now: int | None) -> bool:
    assert now is not None
    return window.us > 0 and now - window.us < said.ts <= now
