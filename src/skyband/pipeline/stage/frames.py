"""The stages as functions from DataFrame to DataFrame: prepare, route and match.

Every stage is a thin wrapper around a function of `skyband.pipeline.stage.worker`, which Spark calls in its Python
workers. In a stream rows go from stage to stage in parcels, see `skyband.pipeline.stage.ipc`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial, reduce
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 (the name that Spark's own documentation uses)
from pyspark.sql.pandas.types import from_arrow_schema

from skyband.pipeline.stage import worker
from skyband.pipeline.stage.ipc import PARCELS
from skyband.pipeline.stage.worker import Job
from skyband.pipeline.state.spec import Shape

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql.types import StructType

# Spark gives a function with an environment of its own a worker of its own, to which it always returns.
PART = "SKYBAND_PART"


def prepare(raw: DataFrame, shape: Shape, state: str) -> DataFrame:
    """Typed rows for the raw rows of sources; bad ones with their text and the reason."""
    with own_worker(raw.sparkSession.sparkContext, "prepare"):
        return raw.mapInArrow(partial(worker.prepare, state=state), spark_schema(shape.prepared()))


def prepare_parcels(raw: DataFrame, state: str) -> DataFrame:
    """The same rows in parcels, which is how they travel in a stream."""
    with own_worker(raw.sparkSession.sparkContext, "prepare"):
        return raw.mapInArrow(partial(worker.prepare_parcels, state=state), spark_schema(PARCELS))


def route(prepared: DataFrame, job: Job) -> DataFrame:
    """A parcel for each zone with what it is to do, from one task that holds the router."""
    with own_worker(prepared.sparkSession.sparkContext, job.who):
        return prepared.mapInArrow(partial(worker.route, job=job), spark_schema(PARCELS))


def match(routed: DataFrame, jobs: list[Job]) -> DataFrame:
    """How many answers each zone has, from the task that holds its engine, which leaves them for the driver."""
    schema, parts = spark_schema(worker.ANSWERED), []
    for zone, job in enumerate(jobs):
        with own_worker(routed.sparkSession.sparkContext, job.who):
            rows = routed.where(F.col("zone") == zone)
            parts.append(rows.mapInArrow(partial(worker.match, job=job), schema))
    return reduce(DataFrame.unionAll, parts)


def ping(frame: DataFrame, who: str) -> DataFrame:
    """A frame that passes through the worker of a part and back."""
    with own_worker(frame.sparkSession.sparkContext, who):
        return frame.mapInArrow(worker.ping, frame.schema)


def spark_schema(schema: pa.Schema) -> "StructType":
    """The schema as Spark has it."""
    return from_arrow_schema(schema)


@contextmanager
def own_worker(context: "SparkContext", who: str) -> Iterator[None]:
    """Functions that are made within this block run in a worker of that name."""
    before = context.environment.get(PART)
    context.environment[PART] = who
    try:
        yield
    finally:
        if before is None:
            del context.environment[PART]
        else:
            context.environment[PART] = before
