"""The oracle of the ranges family: a table of objects, and the k lowest in each subscriber's range."""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from skyband.contract import Engine, register
from skyband.contract.explanation import Bound
from skyband.contract.tops import Id
from skyband.kernels.array import Bools
from skyband.ranges.object_survey import ObjectSurvey
from skyband.ranges.rows import Publications, Subscriptions
from skyband.topk.answer import Answer, Member, change_table, differences, ranking_table

NOTHING_KEPT = "The engine oracle keeps no candidates: it looks at every object after every step."


class RangeQuestion(NamedTuple):
    """The k lowest objects between lo and hi, both included, in every dimension."""

    k: int
    lo: list[float]
    hi: list[float]


class Object(NamedTuple):
    """The last word on an object; a deleted one has no y."""

    ts: int
    x: list[float]
    y: float | None


@register
class RangesOracle(Engine[Subscriptions, Publications]):
    """Range top-k over changing objects, from scratch."""

    family = "ranges"
    name = "oracle"
    good_for = "checking other engines: plain Python, everything recomputed after every step"

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._questions: dict[Id, RangeQuestion] = {}
        self._answers: dict[Id, Answer] = {}
        self._objects: dict[Id, Object] = {}

    @property
    def n_subscriptions(self) -> int:
        return len(self._questions)

    def _registered(self, ids: pa.Array) -> Bools:
        return np.array([id in self._questions for id in ids.to_pylist()], np.bool_)

    def _subscribe(self, rows: Subscriptions) -> pa.Table:
        ids = rows.ids.to_pylist()
        for i, id in enumerate(ids):
            self._questions[id] = RangeQuestion(int(rows.k[i]), rows.lo[i].tolist(), rows.hi[i].tolist())
            self._answers[id] = Answer()
        return self._changes([row for id in ids for row in self._tell(id)])

    def _unsubscribe(self, ids: pa.Array) -> pa.Table:
        rows = []
        for id in ids.to_pylist():
            rows += differences(id, self._answers.pop(id), [], self.now)
            del self._questions[id]
        return self._changes(rows)

    def _resize(self, ids: pa.Array, k: int) -> pa.Table:
        wanted = set(ids.to_pylist())
        for id in wanted:
            self._questions[id] = self._questions[id]._replace(k=k)
            self._answers[id].delivered = {member.publication for member in self._answers[id].top}
        return self._changes([row for id in self._questions if id in wanted for row in self._tell(id)])

    def _publish(self, rows: Publications) -> pa.Table:
        changes = []
        for i, object in enumerate(rows.objects.to_pylist()):
            y = None if rows.deleted[i] else float(rows.y[i])
            self._change(object, Object(int(rows.ts[i]), rows.x[i].tolist(), y))
            if self.granularity == "publication":
                changes += self._tell_all()
        if self.granularity == "batch":
            changes += self._tell_all()
        return self._changes(changes)

    def _change(self, id: Id, object: Object) -> None:
        self.now = object.ts if self.now is None else max(self.now, object.ts)
        if id in self._objects and self._objects[id].ts > object.ts:
            self._counters["late"] += 1
            return
        self._objects[id] = object
        if object.y is None:
            for answer in self._answers.values():
                answer.delivered.discard(id)

    def _advance(self, now: int) -> pa.Table:
        return self._changes([])

    def _top(self, ids: pa.Array | None) -> pa.Table:
        wanted = list(self._questions) if ids is None else ids.to_pylist()
        tops = {id: self._answers[id].top for id in wanted}
        return ranking_table(tops, self._id_type("subscriptions id"), self._id_type("publications object"))

    def _tell_all(self) -> list[dict[str, Any]]:
        return [row for id in self._questions for row in self._tell(id)]

    def _tell(self, id: Id) -> list[dict[str, Any]]:
        return differences(id, self._answers[id], self._lowest(self._questions[id]), self.now)

    def _lowest(self, question: RangeQuestion) -> list[Member]:
        inside = [
            Member(id, object.y)
            for id, object in self._objects.items()
            if object.y is not None
            and all(lo <= x <= hi for lo, x, hi in zip(question.lo, object.x, question.hi, strict=True))
        ]
        inside.sort(key=lambda member: member.publication, reverse=True)
        inside.sort(key=lambda member: member.score)
        return inside[: question.k]

    def _question_rows(self, ids: pa.Array) -> Subscriptions:
        question = self._questions[ids[0].as_py()]
        return Subscriptions(ids, np.array([question.k]), np.array([question.lo]), np.array([question.hi]))

    def _evidence(self, asked: Subscriptions) -> ObjectSurvey:
        objects, dims = list(self._objects.values()), asked.lo.shape[1]
        x = [object.x if object.y is not None else [np.nan] * dims for object in objects]
        return ObjectSurvey(
            asked,
            self.now,
            pa.array(list(self._objects), self._id_type("publications object")),
            np.array([object.ts for object in objects], np.int64),
            np.array(x, np.float64).reshape(len(objects), dims),
            np.array([object.y for object in objects], np.float64),
            np.array([object.y is not None for object in objects], np.bool_),
            lambda place: Bound("none", 0, None, None, False, NOTHING_KEPT),
        )

    def _changes(self, rows: list[dict[str, Any]]) -> pa.Table:
        return change_table(rows, self._id_type("subscriptions id"), self._id_type("publications object"))

    def _save(self) -> dict[str, pa.Table]:
        asked, objects = self._questions, self._objects
        delivered = [(sub, pub) for sub, answer in self._answers.items() for pub in sorted(answer.delivered)]
        subscription, object = self._id_type("subscriptions id"), self._id_type("publications object")
        return {
            "subscriptions": pa.table(
                {
                    "id": pa.array(list(asked), subscription),
                    "k": pa.array([q.k for q in asked.values()], pa.int64()),
                    "lo": pa.array([q.lo for q in asked.values()], pa.list_(pa.float64())),
                    "hi": pa.array([q.hi for q in asked.values()], pa.list_(pa.float64())),
                }
            ),
            "objects": pa.table(
                {
                    "id": pa.array(list(objects), object),
                    "ts": pa.array([o.ts for o in objects.values()], pa.int64()),
                    "x": pa.array([o.x for o in objects.values()], pa.list_(pa.float64())),
                    "y": pa.array([o.y for o in objects.values()], pa.float64()),
                }
            ),
            "delivered": pa.table(
                {
                    "subscription": pa.array([d[0] for d in delivered], subscription),
                    "publication": pa.array([d[1] for d in delivered], object),
                }
            ),
        }

    def _load(self, tables: dict[str, pa.Table]) -> None:
        for row in tables["objects"].to_pylist():
            self._objects[row["id"]] = Object(row["ts"], row["x"], row["y"])
        for row in tables["subscriptions"].to_pylist():
            self._questions[row["id"]] = RangeQuestion(row["k"], row["lo"], row["hi"])
            self._answers[row["id"]] = Answer(self._lowest(self._questions[row["id"]]))
        for row in tables["delivered"].to_pylist():
            self._answers[row["subscription"]].delivered.add(row["publication"])
