"""One stream: its engine, its subscriptions as they were sent, its numbered steps, and the verbs done to them.

Everything here follows from the records alone, in their order: no clock, no chance, no I/O. So doing the records of the
log again, from the beginning or from a checkpoint on, leads to the same answers under the same ids.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from skyband.contract.checked import Checked, check
from skyband.contract.family import FAMILIES
from skyband.contract.tops import Id
from skyband.server.store.record import Record
from skyband.server.store.rows import read_rows
from skyband.server.stream.numbered import NumberedStep, Ring, StepId
from skyband.server.stream.registry import Registered, Registry, texts_of
from skyband.server.stream.spec import StreamSpec
from skyband.table import Rejected
from skyband.table.answer_rows import table_of_answer

MOST_KEYS = 10_000


class KeyUsedOtherwise(ValueError):
    """An idempotency key came again with another verb or other rows."""


class NotRegistered(ValueError):
    """A subscription that is not there was named."""


class ChangedMeanwhile(ValueError):
    """A subscription is no longer what it was when somebody decided to change it."""


class StepResult(NamedTuple):
    """What a verb has led to: the steps, and what to answer to whoever asked for it."""

    steps: list[NumberedStep]
    answer: dict[str, Any]

    def rows(self) -> list[dict[str, Any]]:
        """All rows of the steps, in their order."""
        return [row for step in self.steps for row in step.rows.to_pylist()]


class ServedStream:
    """A stream that records are done to."""

    def __init__(self, tenant: str, name: str, spec: StreamSpec, epoch: str, most_rows: int) -> None:
        self.tenant = tenant
        self.name = name
        self.spec = spec
        self.epoch = epoch
        self.told = spec.told()
        self.engine = spec.open()
        self.family = FAMILIES[spec.family]
        self.registry = Registry()
        self.ring = Ring(most_rows)
        self.step = 0
        self.keys: OrderedDict[str, tuple[str, dict[str, Any]]] = OrderedDict()
        self.damaged: str | None = None
        self.integer_ids: bool | None = None
        """Whether publications have integers as ids; None as long as there were none."""
        self.integer_objects: bool | None = None
        """The same of objects."""

    @property
    def key(self) -> tuple[str, str]:
        """What tells it from all others."""
        return self.tenant, self.name

    @property
    def last(self) -> StepId:
        """The id of the last step."""
        return StepId(self.epoch, self.step)

    def check(self, noun: str, record: Record) -> Checked:
        """The rows of a record, checked; a bad one raises `Rejected`."""
        assert record.body is not None
        checked = check(self.spec.family, noun, read_rows(record.body), self.engine.settings)
        if checked.rejects:
            raise Rejected(checked.rejects, noun)
        return checked

    def do(self, record: Record, checked: Checked | None = None) -> StepResult:
        """Do a verb; rows that were checked before need not be given again. What cannot be done changes nothing."""
        if record.key is not None and record.key in self.keys:
            sign, answer = self.keys[record.key]
            if sign != _sign(record):
                raise KeyUsedOtherwise(f"The key {record.key!r} was used before, for something else.")
            return StepResult([], answer | {"repeated": True})
        verbs: dict[str, Callable[[Record, Checked | None], StepResult]] = {
            "subscribe": self._subscribe,
            "put": self._put,
            "unsubscribe": self._unsubscribe,
            "resize": self._resize,
            "publish": self._publish,
            "retract": self._retract,
            "advance": self._advance,
        }
        if "match" in record.facts:
            self._must_match(record, checked)
        result = verbs[record.verb](record, checked)
        if record.key is not None:
            self.keys[record.key] = (_sign(record), result.answer)
            if len(self.keys) > MOST_KEYS:
                self.keys.popitem(last=False)
        return result

    def renumber(self, epoch: str) -> None:
        """Begin another epoch: what was numbered so far can no longer be resumed."""
        self.epoch = epoch
        self.ring.begin_after(self.step)

    def top(self, ids: Sequence[Id] | None) -> dict[Id, list[dict[str, Any]]]:
        """The tops of these subscriptions, or of all, best first; a family without standing answers has none."""
        asked = list(self.registry) if ids is None else list(ids)
        found: dict[Id, list[dict[str, Any]]] = {id: [] for id in asked}
        if self.family.answers_stand and asked:
            for row in self.engine.top(asked).to_pylist():
                found[row.pop("subscription")].append(row)
        return found

    def _must_match(self, record: Record, checked: Checked | None) -> None:
        """Raise unless the subscription that a verb is about is the one that whoever asks has seen."""
        ids = record.facts.get("ids") or [id for id, _ in texts_of(checked or self.check("subscriptions", record))]
        for id in ids:
            entry = self.registry.get(id)
            if entry is None or record.facts["match"] not in ("*", entry.tag):
                raise ChangedMeanwhile(f"The subscription {id!r} is not the one of this If-Match: look at it again.")

    def _subscribe(self, record: Record, checked: Checked | None) -> StepResult:
        checked = checked or self.check("subscriptions", record)
        texts = texts_of(checked)
        changes = self.engine.subscribe(checked)
        for id, text in texts:
            self.registry.add(id, Registered(text, record.facts.get("until")))
        return self._stepped(changes, subscribed=len(texts))

    def _put(self, record: Record, checked: Checked | None) -> StepResult:
        """One subscription in place of the one with its id; one that is the same already is left alone."""
        checked = self._checked_again(checked or self.check("subscriptions", record))
        ((id, text),) = texts_of(checked)
        until, before = record.facts.get("until"), self.registry.get(id)
        if before is not None and before.text == text:
            self.registry.lengthen(id, until)
            return StepResult([], {"step": str(self.last), "created": False})
        steps = []
        if before is not None:
            self.registry.remove([id])
            steps = self._stepped(self.engine.unsubscribe([id])).steps
        result = self._stepped(self.engine.subscribe(checked), created=before is None)
        self.registry.add(id, Registered(text, until))
        return StepResult(steps + result.steps, result.answer)

    def _checked_again(self, checked: Checked) -> Checked:
        """Rows that the engine will take: what it has learned since they were checked may speak against them."""
        parsed = checked.parsed_for(self.family.parse_subscriptions, self.engine.settings)
        if parsed.rejects:
            raise Rejected(parsed.rejects, "subscriptions")
        return checked

    def _unsubscribe(self, record: Record, _: Checked | None) -> StepResult:
        ids = self.known(record.facts["ids"])
        changes = self.engine.unsubscribe(ids)
        self.registry.remove(ids)
        return self._stepped(changes, ended=tuple(ids), unsubscribed=len(ids))

    def publication_ids(self, texts: Iterable[str]) -> list[Id]:
        """The ids of publications that are written so in an address."""
        return _ids(texts, self.integer_ids)

    def explained_ids(self, texts: Iterable[str]) -> list[Id]:
        """The same of what is explained, which may be objects."""
        return _ids(texts, self.integer_objects if self.family.has_objects else self.integer_ids)

    def known(self, ids: Iterable[Id]) -> list[Id]:
        """These ids, each once, all of which are registered."""
        listed = list(dict.fromkeys(ids))
        strange = [id for id in listed if id not in self.registry]
        if strange:
            raise NotRegistered(f"There is no subscription {strange[0]!r} in the stream {self.name}.")
        return listed

    def _resize(self, record: Record, _: Checked | None) -> StepResult:
        facts = record.facts
        ids = self.known(facts["ids"])
        changes = self.engine.resize(ids, facts["k"]) if "k" in facts else None
        for id in ids:
            if "k" in facts:
                self.registry.replace(id, k=facts["k"])
            if "until" in facts:
                self.registry.lengthen(id, facts["until"])
        return self._stepped(changes) if changes is not None else StepResult([], {"step": str(self.last)})

    def _publish(self, record: Record, checked: Checked | None) -> StepResult:
        checked = checked or self.check("publications", record)
        late = self.engine.counters.get("late", 0)
        changes = self.engine.publish(checked)
        if len(checked):
            self.integer_ids = checked.rows.ids.type == pa.int64()
            if self.family.has_objects:
                self.integer_objects = checked.rows.objects.type == pa.int64()
        late = self.engine.counters.get("late", 0) - late
        return self._stepped(changes, published=len(checked) - late, late=late)

    def _retract(self, record: Record, _: Checked | None) -> StepResult:
        before = self.engine.counters.get("retracted", 0)
        changes = self.engine.retract(record.facts["ids"])
        return self._stepped(changes, retracted=self.engine.counters["retracted"] - before)

    def _advance(self, record: Record, _: Checked | None) -> StepResult:
        return self._stepped(self.engine.advance(record.facts["now"]))

    def _stepped(self, changes: Any, ended: tuple[Id, ...] = (), **told: Any) -> StepResult:
        rows: pa.Table = table_of_answer(changes)
        self.step += 1
        step = NumberedStep(self.last, rows, ended)
        self.ring.add(step)
        return StepResult([step], {"step": str(step.id), "now": self.engine.now, "changes": rows.num_rows, **told})


def _ids(texts: Iterable[str], integers: bool | None) -> list[Id]:
    if not integers:
        return list(texts)
    return [int(text) for text in texts if text.isascii() and text.removeprefix("-").isdecimal() and len(text) < 19]


def _sign(record: Record) -> str:
    """What a verb asks for, in short; the same for the same verb with the same rows."""
    plain = record._replace(
        at=0, key=None, facts={k: v for k, v in record.facts.items() if k not in ("until", "match")}
    )
    return hashlib.sha256(plain.encode().encode()).hexdigest()
