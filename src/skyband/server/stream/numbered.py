"""Numbered steps: what one verb has changed in a stream, and the ring that keeps the last of them for whoever resumes.

A step has the id `epoch.step`. Steps count from 1 within a stream, and doing the same records again gives the same
numbers, so an id never means two things. The epoch is drawn by chance when a stream is opened, or restored from a
backup, whose numbers may have been used since for something else.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.contract.tops import Id
from skyband.table.json_object import json_objects

STEP = "step"


class StepId(NamedTuple):
    """The id of a step; written `epoch.step`."""

    epoch: str
    number: int

    def __str__(self) -> str:
        return f"{self.epoch}.{self.number}"

    @classmethod
    def parse(cls, text: str) -> "StepId | None":
        """The id that was written so; None for any other text."""
        epoch, dot, number = text.rpartition(".")
        if not dot or not epoch or not (number.isascii() and number.isdigit()) or len(number) > 18:
            return None
        return cls(epoch, int(number))


class NumberedStep:
    """What a verb has changed: rows of an answer, and the subscriptions that have ended."""

    def __init__(self, id: StepId, rows: pa.Table, ended: tuple[Id, ...] = ()) -> None:
        self.id = id
        self.rows = rows
        self.ended = ended

    def rows_for(self, ids: frozenset[Id] | None, prefix: str = "") -> pa.Table:
        """The rows of these subscriptions, or of all, whose ids begin so."""
        rows = self.rows
        if not rows.num_rows:
            return rows
        if ids is not None:
            wanted = [id for id in ids if _fits(id, rows["subscription"].type)]
            rows = rows.filter(pc.is_in(rows["subscription"], value_set=pa.array(wanted, rows["subscription"].type)))
        if prefix:
            rows = rows.filter(pc.starts_with(pc.cast(rows["subscription"], pa.string()), pattern=prefix))
        return rows

    def heard_by(self, ids: frozenset[Id] | None, prefix: str = "") -> dict[Id, list[str]]:
        """The rows of each of these subscriptions as JSON, in their order."""
        rows = self.rows_for(ids, prefix)
        found: dict[Id, list[str]] = {}
        if rows.num_rows:
            texts = json_objects(_finite(rows), nulls=True).to_pylist()
            for id, text in zip(rows["subscription"].to_pylist(), texts, strict=True):
                found.setdefault(id, []).append(text)
        return found

    def firsts(self, ids: Iterable[Id]) -> dict[Id, list[Id]]:
        """What was delivered first to each of these subscriptions."""
        rows = self.rows_for(frozenset(ids))
        found: dict[Id, list[Id]] = {}
        if rows.num_rows and "first" in rows.column_names:
            for row in rows.filter(rows["first"]).select(["subscription", "publication"]).to_pylist():
                found.setdefault(row["subscription"], []).append(row["publication"])
        return found


class Ring:
    """The last steps of a stream, as many as have a number of rows together; older ones are forgotten."""

    def __init__(self, most_rows: int) -> None:
        self.most_rows = most_rows
        self.n_rows = 0
        self._steps: deque[NumberedStep] = deque()
        self._before = 0

    @property
    def begins(self) -> int:
        """The number of the step after which none is missing."""
        return self._before

    def __iter__(self) -> Iterator[NumberedStep]:
        return iter(self._steps)

    def begin_after(self, number: int) -> None:
        """Forget everything: the next step comes after this number."""
        self._steps.clear()
        self.n_rows, self._before = 0, number

    def add(self, step: NumberedStep) -> None:
        """Keep a step, and forget the oldest that are too many; a step without news takes no room."""
        weight = _weight(step)
        if weight:
            self._steps.append(step)
            self.n_rows += weight
        while self.n_rows > self.most_rows:
            oldest = self._steps.popleft()
            self.n_rows -= _weight(oldest)
            self._before = oldest.id.number

    def since(self, number: int) -> list[NumberedStep] | None:
        """The steps after a number, or None where some of them are forgotten."""
        if number < self._before:
            return None
        found: deque[NumberedStep] = deque()
        for step in reversed(self._steps):
            if step.id.number <= number:
                break
            found.appendleft(step)
        return list(found)

    def table(self) -> pa.Table | None:
        """All rows with the number of their step, for a checkpoint; None while there are none."""
        tables = [_with_number(step) for step in self._steps if step.rows.num_rows]
        return pa.concat_tables(tables) if tables else None

    def ended(self) -> list[tuple[int, list[Id]]]:
        """Which subscriptions ended at which step."""
        return [(step.id.number, list(step.ended)) for step in self._steps if step.ended]


def steps_of(epoch: str, table: pa.Table | None, ended: Iterable[tuple[int, list[Id]]]) -> list[NumberedStep]:
    """The steps that `Ring.table` and `Ring.ended` told of."""
    gone = {number: tuple(ids) for number, ids in ended}
    rows: dict[int, pa.Table] = {}
    if table is not None:
        numbers = table[STEP].to_numpy()
        plain = table.drop_columns([STEP])
        bounds = [0, *[i for i in range(1, len(numbers)) if numbers[i] != numbers[i - 1]], len(numbers)]
        for start, stop in pairwise(bounds):
            rows[int(numbers[start])] = plain.slice(start, stop - start)
    none = pa.table({"subscription": pa.array([], pa.string())})
    return [
        NumberedStep(StepId(epoch, number), rows.get(number, none), gone.get(number, ()))
        for number in sorted(rows.keys() | gone.keys())
    ]


def _fits(id: Id, kind: pa.DataType) -> bool:
    return isinstance(id, str) == bool(kind == pa.string())


def _finite(rows: pa.Table) -> pa.Table:
    """The rows with scores as text where one is infinite, for which JSON has no number."""
    if bool(np.isfinite(rows["score"].to_numpy()).all()):
        return rows
    texts = pc.replace_substring(pc.cast(rows["score"], pa.string()), "inf", "Infinity")
    return rows.set_column(rows.column_names.index("score"), "score", texts)


def _weight(step: NumberedStep) -> int:
    return int(step.rows.num_rows) + len(step.ended)


def _with_number(step: NumberedStep) -> pa.Table:
    return step.rows.append_column(STEP, pa.array([step.id.number] * step.rows.num_rows, pa.int64()))
