"""The run itself: subscribe, publish batch by batch in the order of the file, pass on the changes."""

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from skyband.contract import AUTO, FAMILIES, AnyEngine, Granularity
from skyband.replay.plan import Plan, expiry_note, narrowest
from skyband.replay.retraction import Piece, withdraw
from skyband.replay.source import (
    Loaded,
    Opened,
    dims_of,
    dims_told,
    family_of,
    family_told,
    fit_words,
    lacks_weights,
    load,
    open_source,
    tells_time,
)
from skyband.replay.summary import Stopwatch, Summary
from skyband.replay.table_file import SummaryOnly, TableWriter
from skyband.table import (
    Bounds,
    OnError,
    Reject,
    Settings,
    Source,
    Window,
    WindowLike,
    WordModel,
    change_schema,
    match_schema,
)
from skyband.table.instant import Instant, one_instant
from skyband.table.operation import without_retractions
from skyband.table.words import Words

Progress = Callable[[int, int], None]


class Prepared(NamedTuple):
    """Everything read and checked, and the engine opened; nothing subscribed yet."""

    plan: Plan
    family: str
    settings: Settings
    engine: AnyEngine
    subscriptions: Loaded
    publications: Loaded
    timed: bool
    notes: list[str]


def replay(
    publications: Source,
    subscriptions: Source,
    *,
    family: str | None = None,
    engine: str = AUTO,
    window: WindowLike = None,
    bounds: Bounds | str | None = None,
    words: WordModel | None = None,
    granularity: Granularity = "batch",
    batch: int = 1000,
    on_error: OnError = "raise",
    k: int | None = None,
    matching: str | None = None,
    engine_options: Mapping[str, Any] | None = None,
    threads: int | None = None,
    until: Instant | None = None,
    progress: Progress | None = None,
    writer: TableWriter | None = None,
    rejects: dict[str, list[Reject]] | None = None,
) -> Summary:
    """Run an engine over files or tables, and pass every change on to the writer.

    The family is told by the columns if it is not given. With `until`, a time, only what was published by then
    takes part, and time then advances to it. With `on_error="collect"`, `rejects` is filled with the rejects of the
    publications and the subscriptions. `k` and `matching` are for ranked, where they are 20 and relaxed by default;
    `engine_options` are those that the engine has of its own, by name. The engine has so many `threads`, by default one
    for each core.
    """
    started = time.perf_counter()
    until = None if until is None else one_instant(until)
    default = None if window is None else Window.of(window)
    plan = Plan(
        *(family, engine, default, bounds, words, granularity, batch, on_error, k, matching, engine_options, threads)
    )
    prepared = prepare(publications, subscriptions, plan, until)
    warm_up(prepared)
    watch = run(prepared, writer or SummaryOnly(), until, progress)
    if rejects is not None:
        rejects |= {"publications": prepared.publications.rejects, "subscriptions": prepared.subscriptions.rejects}
    return summary_of(prepared, watch, time.perf_counter() - started, prepared.publications.rejects)


def prepare(publications: Source, subscriptions: Source, plan: Plan, until: int | None = None) -> Prepared:
    """Read and check both sources, and open the engine that fits them."""
    plan.check()
    asked, said = open_source(subscriptions, "subscriptions"), open_source(publications, "publications")
    return prepare_opened(said, asked, plan, until)


def prepare_opened(
    said: Opened,
    asked: Opened,
    plan: Plan,
    until: int | None = None,
    counted: str = "these publications",
    ahead: Loaded | None = None,
) -> Prepared:
    """Check the publications and subscriptions that were read, and open the engine that fits them.

    `counted` is what a note calls the publications that words without weights are weighed by; `ahead` are the
    subscriptions if they were checked before.
    """
    family = plan.family or family_of(said, asked)
    plan.check_family(family)
    its = FAMILIES[family]
    settings, notes = plan.settings(), []
    published = without_retractions(said.table) if its.has_retractions else said.table
    if its.publications is not None and len(said.table) and not len(published):
        said = said.filled(its.publications.names)
    if its.has_words and plan.words is None and (lacks_weights(published) or lacks_weights(asked.table)):
        settings = settings._replace(words=fit_words(published, family))
        notes.append(f"Weights that were not given are tf-idf, with the document frequencies of {counted}.")
    if "dims" in its.subscriptions.names and "dims" in asked.table.column_names:
        settings = settings._replace(dims=dims_told(said.table, family))
    subscribed = load(asked, family, settings, plan.on_error) if ahead is None else ahead
    settings = settings._replace(dims=dims_of(subscribed.rows))
    loaded = load(said, family, settings, plan.on_error)
    notes += expiry_note(subscribed.rows)
    settings = settings._replace(window=plan.window or narrowest(subscribed.rows))
    opened = plan.open(family, settings)
    opened.expect(subscribed.rows)
    if until is not None:
        loaded = loaded.until(until)
    return Prepared(plan, family, settings, opened, subscribed, loaded, tells_time(said.table), notes)


def check_ahead(asked: Opened, plan: Plan) -> Loaded | None:
    """Raise for what no publications can make good: the engine, its options, the settings, the subscriptions.

    Answers with the subscriptions where they do not depend on publications.
    """
    family = plan.family or family_told(asked)
    if family is None:
        return None
    plan.check_family(family)
    its, settings = FAMILIES[family], plan.settings()
    if "dims" in its.subscriptions.names and "dims" in asked.table.column_names:
        # Only publications tell how many dimensions there are.
        plan.open(family, settings)
        return None
    lacks_words = its.has_words and plan.words is None
    if lacks_words:
        settings = settings._replace(words=Words.fit([]))
    subscribed = load(asked, family, settings, plan.on_error)
    rows = subscribed.rows
    plan.open(family, settings._replace(dims=dims_of(rows), window=plan.window or narrowest(rows)))
    return None if lacks_words else subscribed


def warm_up(prepared: Prepared) -> None:
    """Have the kernels compiled, or loaded, by a twin with next to nothing to do, so that no latency is theirs."""
    twin = prepared.plan._replace(on_error="collect").open(prepared.family, prepared.settings)
    twin.expect(prepared.subscriptions.rows)
    twin.subscribe(prepared.subscriptions.checked.slice(0, 1))
    twin.publish(prepared.publications.checked.slice(0, 2))
    if len(prepared.publications.retractions.places):
        twin.retract(prepared.publications.rows.ids.slice(0, 1))
    if twin.now is not None:
        twin.advance(twin.now)


def run(prepared: Prepared, writer: TableWriter, until: int | None, progress: Progress | None) -> Stopwatch:
    """Subscribe, publish, retract, advance; returns the time of every batch."""
    engine, said = prepared.engine, prepared.publications
    schema, watch, done = schema_of(prepared), Stopwatch(), 0
    writer.begin(schema)
    writer.write(as_written(prepared.subscriptions.give(engine.subscribe, engine), schema))
    for piece in said.pieces(prepared.plan.batch):
        for changes in take_piece(engine, said, piece, watch):
            writer.write(as_written(changes, schema))
        done += piece.stop - piece.start
        if progress is not None:
            progress(done, said.n_rows)
    if until is not None:
        writer.write(as_written(engine.advance(until), schema))
    return watch


def take_piece(engine: AnyEngine, said: Loaded, piece: Piece, watch: Stopwatch) -> Iterator[pa.Table]:
    """Publish, or retract, the rows of a piece; the time of what is published is noted."""
    n = piece.stop - piece.start
    if not piece.publishes:
        yield from withdraw(engine, said.retractions.take(np.arange(piece.start, piece.stop)))
        return
    began = time.perf_counter()
    changes = said.give(engine.publish, engine, piece.start, n)
    watch.add(time.perf_counter() - began, n, len(changes))
    yield changes


def schema_of(prepared: Prepared) -> pa.Schema:
    """The schema of the change log: `at` is a timestamp if the publications had timestamps."""
    asked, said = prepared.subscriptions.rows, prepared.publications.rows
    family = FAMILIES[prepared.family]
    if not family.answers_stand:
        return match_schema(said.ids.type, asked.ids.type)
    schema = change_schema(asked.ids.type, family.named(said).type)
    if prepared.timed:
        place = schema.get_field_index("at")
        schema = schema.set(place, pa.field("at", pa.timestamp("us", "UTC"), nullable=False))
    return schema


def as_written(changes: pa.Table, schema: pa.Schema) -> pa.Table:
    """Changes with the types of the log; those of an engine that has seen nothing yet are guesses."""
    return changes.cast(schema) if len(changes) else schema.empty_table()


def summary_of(prepared: Prepared, watch: Stopwatch, seconds: float, rejects: list[Reject]) -> Summary:
    """What a run came to, with the rejects of all its publications."""
    counters = prepared.engine.counters
    changes = {op: counters.get(op, 0) for op in ("enter", "leave", "move")}
    n_subscriptions = prepared.engine.n_subscriptions
    memory = prepared.engine.memory() if n_subscriptions else {}
    return Summary(
        family=prepared.family,
        engine=prepared.engine.taken,
        n_publications=counters.get("publications", 0),
        n_subscriptions=n_subscriptions,
        n_rejected=len(rejects) + len(prepared.subscriptions.rejects),
        n_late=counters.get("late", 0),
        seconds=seconds,
        publishing_seconds=watch.total,
        publications_per_second=watch.rate,
        changes=changes if FAMILIES[prepared.family].answers_stand else {"match": watch.n_rows},
        deliveries=counters.get("delivery", 0),
        batch_latency=watch.per_batch(),
        publication_latency=watch.per_publication(),
        bytes_per_subscription={part: n_bytes / n_subscriptions for part, n_bytes in memory.items()},
        counters=counters,
        notes=prepared.notes,
        n_retracted=counters.get("retracted", 0),
        n_retracted_late=counters.get("retracted_late", 0),
    )
