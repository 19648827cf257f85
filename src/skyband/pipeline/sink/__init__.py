"""Sinks: where a pipeline's changes and tops go, each batch exactly once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import pyarrow as pa

from skyband.pipeline.broker import ACCESS
from skyband.pipeline.config import BadConfiguration, Endpoint
from skyband.pipeline.options import Option, check_options
from skyband.pipeline.sink.files import FORMATS, ChangeFiles, read_changes
from skyband.pipeline.sink.sink import Discard, Sink, SinkFailed
from skyband.pipeline.sink.top_files import COMPACT_EVERY, TopFiles, read_tops

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = [
    "SINKS",
    "Sink",
    "SinkFailed",
    "SinkKind",
    "What",
    "check_sink",
    "open_sink",
    "read_changes",
    "read_tops",
]

What = Literal["changes", "tops"]


class SinkKind(NamedTuple):
    """A format that a sink can have."""

    name: str
    description: str
    accepts: tuple[What, ...]
    options: dict[str, Option]


class _Place(NamedTuple):
    """What a sink is made from, beside its options."""

    endpoint: Endpoint
    what: What
    spark: SparkSession | None
    private: Path

    def option(self, name: str) -> Any:
        """The value of an option, None if it is not given."""
        return self.endpoint.options.get(name)


_PATH = Option("the folder to write to, which is created if necessary", required=True)
_EVERY = Option(f"after how many batches all tops are written anew; {COMPACT_EVERY} unless given", int)

SINKS: dict[str, SinkKind] = {
    kind.name: kind
    for kind in (
        SinkKind(
            "parquet",
            "Parquet files: one per batch for changes; a base and changes to it for tops.",
            ("changes", "tops"),
            {"path": _PATH, "compact_every": _EVERY._replace(description=f"tops only: {_EVERY.description}")},
        ),
        SinkKind("ndjson", "One file per batch, with one JSON object per line.", ("changes",), {"path": _PATH}),
        SinkKind("csv", "One file per batch, with a header.", ("changes",), {"path": _PATH}),
        SinkKind("log", "An embedded log, with one JSON object per record.", ("changes",), {"path": _PATH}),
        SinkKind(
            "postgres",
            "A table in PostgreSQL.",
            ("changes", "tops"),
            {
                "dsn": Option("how to connect, such as postgresql://user:password@host:5432/database", str, True),
                "table": Option("the name of the table, which is created if necessary", str, True),
                "schema": Option("the schema that the table is in; the one of the connection unless given"),
            },
        ),
        SinkKind(
            "kafka",
            "A topic in Kafka, with one JSON object per message for changes, and one JSON list per message for tops.",
            ("changes", "tops"),
            {
                "servers": Option("the brokers to ask first, such as localhost:9092", str, True),
                "topic": Option("the name of the topic, which is created if necessary", str, True),
                "options": Option("further settings of Kafka's clients, by their own names", dict),
            },
        ),
        SinkKind("broker", "Publications at a broker, with the score as their only coordinate.", ("changes",), ACCESS),
        SinkKind("discard", "Nothing is kept: for measuring everything else.", ("changes", "tops"), {}),
    )
}


def open_sink(endpoint: Endpoint, what: What, *, spark: SparkSession | None, folder: Path, schema: pa.Schema) -> Sink:
    """The sink of an endpoint, opened for staged files of this schema; `folder` is for what it has to remember."""
    check_sink(endpoint, what)
    sink = _MAKERS[endpoint.format](_Place(endpoint, what, spark, folder))
    sink.open(schema)
    return sink


def check_sink(endpoint: Endpoint, what: What) -> None:
    """Raise `BadConfiguration` for a format or an option that there is not, or an option that is missing or wrong."""
    kind = SINKS.get(endpoint.format)
    if kind is None:
        raise BadConfiguration(f"{what}: there is no format {endpoint.format!r}; there are {', '.join(SINKS)}.")
    if what not in kind.accepts:
        able = [name for name, other in SINKS.items() if what in other.accepts]
        raise BadConfiguration(f"{what}: the format {kind.name} takes no {what}; those that do are {', '.join(able)}.")
    check_options(what, endpoint, kind.options)


def _files(place: _Place) -> Sink:
    folder = Path(place.option("path"))
    if place.what == "tops":
        return TopFiles(folder, place.private, place.option("compact_every") or COMPACT_EVERY)
    return ChangeFiles(folder, place.endpoint.format, place.private)


def _log(place: _Place) -> Sink:
    from skyband.pipeline.sink.log_sink import LogSink

    return LogSink(Path(place.option("path")), place.private)


def _postgres(place: _Place) -> Sink:
    try:
        from skyband.pipeline.sink.postgres import PostgresSink
    except ImportError as error:
        raise BadConfiguration(
            f'The format postgres needs a package that cannot be imported ({error}): pip install "skyband[spark]".'
        ) from None
    return PostgresSink(place.option("dsn"), place.option("table"), place.option("schema"), place.what, place.private)


def _kafka(place: _Place) -> Sink:
    from skyband.pipeline.sink.kafka_sink import KafkaSink

    if place.spark is None:
        raise ValueError("The format kafka needs a Spark session.")
    options = {str(name): str(value) for name, value in (place.option("options") or {}).items()}
    servers, topic = place.option("servers"), place.option("topic")
    return KafkaSink(place.spark, servers, topic, place.what, place.private, options)


def _broker(place: _Place) -> Sink:
    from skyband.pipeline.sink.broker_sink import BrokerSink

    return BrokerSink(place.endpoint.options, place.private)


_MAKERS: dict[str, Callable[[_Place], Sink]] = {
    **dict.fromkeys(FORMATS, _files),
    "log": _log,
    "postgres": _postgres,
    "kafka": _kafka,
    "broker": _broker,
    "discard": lambda _: Discard(),
}
