"""Files through the pipeline's stages on Spark: the change log is the one that the local runner writes."""

import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet
from pyspark.sql import SparkSession

from skyband.contract import FAMILIES
from skyband.contract.rows import take
from skyband.kernels.array import Int64s
from skyband.pipeline.backfill import Progress, changes_of, run_history, temporary_state
from skyband.pipeline.config import Ids
from skyband.pipeline.fit import SAMPLE
from skyband.pipeline.session import open_session
from skyband.pipeline.stage.step import PUBLISH, RETRACT
from skyband.pipeline.state.folder import State
from skyband.pipeline.state.spec import Shape
from skyband.replay import Percentiles, Plan, Summary, SummaryOnly, TableWriter
from skyband.replay.run import Prepared, as_written, prepare, schema_of
from skyband.replay.source import Loaded
from skyband.table import Reject, Rejected, Source, WindowKind
from skyband.table.typed import restated
from skyband.zoning import fit

NEVER = Percentiles(None, None, None, None)
# The columns of prepared rows that subscriptions and publications are folded into.
FOLDED = {"subscriptions": "asked", "publications": "said"}


def replay_on_spark(
    publications: Source,
    subscriptions: Source,
    plan: Plan | None = None,
    *,
    zones: int = 1,
    until: int | None = None,
    progress: Progress | None = None,
    writer: TableWriter | None = None,
    rejects: dict[str, list[Reject]] | None = None,
    spark: SparkSession | None = None,
) -> Summary:
    """Run engines over files or tables, one for each zone, and pass every change on to the writer.

    Everything is as in `skyband.replay.replay`, the order of the changes included. There are no latencies: the engines
    work in other processes. `publishing_seconds` is the time of the slowest zone.
    """
    started = time.perf_counter()
    prepared = prepare(publications, subscriptions, plan or Plan(), until)
    _check_windows(prepared)
    spark = spark or open_session()
    shape = _shape(prepared, zones)
    with temporary_state() as folder:
        state = State(folder)
        state.begin(shape)
        frame = spark.createDataFrame(_rows(prepared, shape))
        size, tops = prepared.plan.batch, False
        commit = run_history(spark, state, shape, frame, size, until, tops, progress, started)
        staged = state.staged(0)
        _refuse(prepared, staged / "dead.parquet")
        schema, target = schema_of(prepared), writer or SummaryOnly()
        target.begin(schema)
        n_rows = 0
        for table in changes_of(staged, shape):
            n_rows += len(table)
            target.write(as_written(table.drop_columns(["batch", "row"]), schema))
    if rejects is not None:
        rejects |= {"publications": prepared.publications.rejects, "subscriptions": prepared.subscriptions.rejects}
    return _summary(prepared, shape, commit.report["parts"], n_rows, time.perf_counter() - started)


def _check_windows(prepared: Prepared) -> None:
    """Windows of two kinds need one memory for both, which zones do not share."""
    rows = prepared.subscriptions.rows
    kinds = set(np.unique(rows.window.kind).tolist()) if "window" in rows._fields else set()
    if {int(WindowKind.TIME), int(WindowKind.COUNT)} <= kinds and int(WindowKind.UNBOUNDED) not in kinds:
        raise ValueError(
            "Some subscriptions have windows in time and some in number of publications: on Spark all are of one kind. "
            "Use the local runner."
        )


def _shape(prepared: Prepared, zones: int) -> Shape:
    said, asked = prepared.publications.rows, prepared.subscriptions.rows
    kinds = {pa.string(): "text", pa.int64(): "integers"}
    objects = kinds[said.objects.type] if FAMILIES[prepared.family].has_objects else "text"
    sampled = [take(rows, _some(len(rows.ids))) for rows in (asked, said)]
    return Shape(
        family=prepared.family,
        engine=prepared.engine.name,
        options=prepared.plan.options(type(prepared.engine)),
        settings=prepared.settings,
        ids=Ids(kinds[said.ids.type], kinds[asked.ids.type], objects),
        granularity=prepared.plan.granularity,
        zoning=fit(prepared.family, sampled[0], sampled[1], zones, prepared.settings),
    )


def _some(n_rows: int) -> Any:
    """Rows for a sample, spread evenly."""
    return np.unique(np.linspace(0, n_rows - 1, min(n_rows, SAMPLE)).astype(np.int64)) if n_rows else np.arange(0)


def _rows(prepared: Prepared, shape: Shape) -> pa.Table:
    """Both files as prepared rows."""
    asked, said = prepared.subscriptions, prepared.publications
    parts = [
        _folded(asked, asked.checked.numbers, "subscribe", restated(asked.table, asked.rows, shape.subscriptions())),
        _folded(said, said.checked.numbers, PUBLISH, restated(said.table, said.rows, shape.publications())),
        _folded(said, said.checked.reading.row_numbers[said.retractions.places], RETRACT, _retracted(said, shape)),
    ]
    schema = shape.prepared()
    return pa.concat_tables(
        pa.Table.from_arrays(
            [part.get(field.name, pa.nulls(len(part["op"]), field.type)) for field in schema], schema=schema
        )
        for part in parts
    )


def _folded(loaded: Loaded, numbers: Int64s, op: str, table: pa.Table) -> dict[str, pa.Array]:
    """Columns of prepared rows, the rows of a table folded into one of them."""
    n = len(table)
    columns = [column.combine_chunks() for column in table.columns]
    return {
        "noun": pa.array([loaded.noun] * n, pa.string()),
        "origin": pa.array(["file"] * n, pa.string()),
        "offset": pa.array(numbers, pa.int64()),
        "op": pa.array([op] * n, pa.string()),
        FOLDED[loaded.noun]: pa.StructArray.from_arrays(columns, fields=list(table.schema)),
    }


def _retracted(said: Loaded, shape: Shape) -> pa.Table:
    """The rows that retract, with all columns of publications."""
    schema, (_, ids, ts, timed) = shape.publications(), said.retractions
    given = {"id": ids.cast(schema.field("id").type), "ts": pa.array(ts, pa.int64(), mask=~timed)}
    columns = [given.get(field.name, pa.nulls(len(ids), field.type)) for field in schema]
    return pa.Table.from_arrays(columns, schema=schema)


def _refuse(prepared: Prepared, dead: Path) -> None:
    """Add what was refused on the way to the rejects of the files, or raise it."""
    letters = pa.parquet.read_table(dead)
    for loaded in (prepared.subscriptions, prepared.publications):
        own = letters.filter(pc.equal(letters["noun"], loaded.noun)).to_pylist()
        refused = [
            Reject(row["offset"], row["reason"].split(": ", 1)[0], "", row["reason"].split(": ", 1)[-1]) for row in own
        ]
        if refused and prepared.plan.on_error == "raise":
            raise Rejected(refused, loaded.name)
        loaded.rejects.extend(refused)


def _summary(prepared: Prepared, shape: Shape, parts: dict[str, Any], n_rows: int, seconds: float) -> Summary:
    router = parts["router"]
    zones = [part for who, part in parts.items() if who != "router"]
    counters = Counter[str]()
    memory = Counter[str]()
    for zone in zones:
        counters.update(zone["counters"])
        memory.update(zone["memory"])
    # Zones count each what they were told of.
    counters.update({name: router[name] - counters[name] for name in ("retracted", "retracted_late")})
    slowest = max(zone["seconds"] for zone in zones)
    n_subscriptions = router["subscriptions"]
    n_publications = router["publications"] + router["late"]
    changes = {op: counters.get(op, 0) for op in ("enter", "leave", "move")}
    copies = router["copies"] / router["publications"] if router["publications"] else 0.0
    several = f"{shape.n_zones} zones" if shape.n_zones > 1 else "1 zone"
    return Summary(
        family=prepared.family,
        engine=prepared.engine.name,
        n_publications=n_publications,
        n_subscriptions=n_subscriptions,
        n_rejected=len(prepared.publications.rejects) + len(prepared.subscriptions.rejects),
        n_late=router["late"],
        seconds=seconds,
        publishing_seconds=slowest,
        publications_per_second=n_publications / slowest if slowest > 0 else None,
        changes=changes if FAMILIES[prepared.family].answers_stand else {"match": n_rows},
        deliveries=counters.get("delivery", 0),
        batch_latency=NEVER,
        publication_latency=NEVER,
        bytes_per_subscription={part: size / max(n_subscriptions, 1) for part, size in memory.items()},
        counters=dict(sorted(counters.items())),
        n_retracted=router["retracted"],
        n_retracted_late=router["retracted_late"],
        notes=[*prepared.notes, f"Ran on Spark in {several}; a publication went to {copies:.2f} of them on average."],
    )
