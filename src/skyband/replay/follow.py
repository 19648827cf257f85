"""A run over publications that are still coming: each batch is published when it is there, and answered at once."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from skyband.contract import FAMILIES
from skyband.replay.plan import Plan
from skyband.replay.run import (
    Prepared,
    as_written,
    check_ahead,
    prepare_opened,
    schema_of,
    summary_of,
    take_piece,
    warm_up,
)
from skyband.replay.source import Loaded, Opened, load, open_source
from skyband.replay.summary import Stopwatch, Summary
from skyband.replay.table_file import TableWriter
from skyband.table import Reading, Reject, Rejected, Source
from skyband.table.operation import without_retractions
from skyband.table.sieve import Sieve

# Told of rows that were left out, as soon as they are: publications or subscriptions, and their rejects.
Refused = Callable[[str, list[Reject]], None]


def follow(
    batches: Iterator[Reading],
    subscriptions: Source,
    plan: Plan,
    *,
    name: str,
    writer: TableWriter,
    refused: Refused = lambda noun, rejects: None,
) -> Summary | None:
    """Run an engine over batches as they come, and pass every change on to the writer; None if nothing came.

    The first batch with a good row tells the family, and is counted for words without weights; retractions before it
    wait until then. The writer is begun when that batch was answered, and what can be checked without publications is
    checked before the first is asked for. `name` is what errors call the publications.
    """
    started = time.perf_counter()
    plan.check()
    asked = open_source(subscriptions, "subscriptions")
    ahead = check_ahead(asked, plan)
    run, early, waiting = None, list[Reject](), list[Reading]()
    for reading in batches:
        if run is not None:
            run.take(run.loaded(reading))
            continue
        if _retracts_only(reading, plan):
            waiting.append(reading)
            continue
        prepared = _prepared(Opened("publications", name, reading), asked, plan, ahead)
        if isinstance(prepared, Prepared):
            run = Following(prepared, waiting, early, writer, refused)
        else:
            early += prepared
            refused("publications", prepared)
    return None if run is None else summary_of(run.prepared, run.watch, time.perf_counter() - started, run.rejects)


def _retracts_only(reading: Reading, plan: Plan) -> bool:
    """Whether a batch has retractions, and nothing that could tell what is to be retracted."""
    if plan.family is not None and not FAMILIES[plan.family].has_retractions:
        return False
    return len(reading.table) > 0 and len(without_retractions(reading.table)) == 0 and not reading.rejects


def _prepared(said: Opened, asked: Opened, plan: Plan, ahead: Loaded | None) -> Prepared | list[Reject]:
    """The run that the first batch leads to, or its rejects if it has no good row."""
    if not said.table.num_columns:
        if plan.on_error == "raise":
            raise Rejected(said.reading.rejects, said.name)
        return said.reading.rejects
    prepared = prepare_opened(said, asked, plan, counted="the first batch", ahead=ahead)
    return prepared if len(prepared.publications.checked) else prepared.publications.rejects


class Following:
    """A run that has begun: its engine, what it is read against, and what has come of it so far."""

    def __init__(
        self,
        prepared: Prepared,
        waiting: list[Reading],
        rejects: list[Reject],
        writer: TableWriter,
        refused: Refused,
    ) -> None:
        self.prepared = prepared
        self.watch = Stopwatch()
        self.rejects = rejects
        self._schema = schema_of(prepared)
        self._writer = writer
        self._refused = refused
        self._columns = prepared.publications.checked.reading.table.column_names
        rows = prepared.publications.rows
        self._kinds = {"id": rows.ids.type} | ({"object": rows.objects.type} if "objects" in rows._fields else {})
        warm_up(prepared)
        self._begin([*map(self.loaded, waiting), prepared.publications])

    def _begin(self, first: list[Loaded]) -> None:
        """Answer what came first, and only then begin to write."""
        engine, asked = self.prepared.engine, self.prepared.subscriptions
        answers = [as_written(asked.give(engine.subscribe, engine), self._schema)]
        for loaded in first:
            answers += self._answers(loaded)
        self._writer.begin(self._schema)
        for changes in answers:
            self._writer.write(changes)
        if asked.rejects:
            self._refused("subscriptions", asked.rejects)
        for loaded in first:
            self._refuse(loaded)

    def loaded(self, reading: Reading) -> Loaded:
        """The good rows of a later batch."""
        name, plan = self.prepared.publications.name, self.prepared.plan
        reading = self._like_the_first(reading)
        return load(Opened("publications", name, reading), self.prepared.family, self.prepared.settings, plan.on_error)

    def take(self, loaded: Loaded) -> None:
        """Publish and retract the rows of a batch, and pass on what changes."""
        for changes in self._answers(loaded):
            self._writer.write(changes)
        self._refuse(loaded)

    def _answers(self, loaded: Loaded) -> Iterator[pa.Table]:
        for piece in loaded.pieces(self.prepared.plan.batch):
            for changes in take_piece(self.prepared.engine, loaded, piece, self.watch):
                yield as_written(changes, self._schema)

    def _refuse(self, loaded: Loaded) -> None:
        if loaded.rejects:
            self.rejects += loaded.rejects
            self._refused("publications", loaded.rejects)

    def _like_the_first(self, reading: Reading) -> Reading:
        """The batch with the columns that rows of it may lack, and without ids of another type than there were."""
        table = reading.table
        for name in self._columns:
            if name not in table.column_names:
                table = table.append_column(name, pa.nulls(len(table)))
        bad, rejects = np.zeros(len(table), np.bool_), list(reading.rejects)
        for column, kind in self._kinds.items():
            for row, value in enumerate(Sieve(table, "publications").values(column)):
                why = _another_type(column, value, kind)
                if why is not None and not bad[row]:
                    bad[row] = True
                    rejects.append(Reject(int(reading.row_numbers[row]), column, repr(value), why))
        if not bad.any():
            return Reading(table, rejects, reading.row_numbers)
        return Reading(table.filter(pa.array(~bad)), sorted(rejects), reading.row_numbers[~bad])


def _another_type(column: str, value: Any, kind: pa.DataType) -> str | None:
    """Why an id does not go with those that came before; None if it does, or is none at all."""
    if type(value) not in (int, str) or (type(value) is int) == (kind == pa.int64()):
        return None
    first, this = ("text", "an integer") if type(value) is int else ("an integer", "text")
    return f"{column} is {this} in a column that began with {first}; one column has one type of id"
