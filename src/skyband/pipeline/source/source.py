"""Sources: where a pipeline's publications and subscriptions come from, every one as the same raw rows.

A raw row has a noun, an origin, an offset, a form and a value. The order of rows is that of (noun, origin, offset), and
it is the same however often they are read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from skyband.pipeline.broker import ACCESS
from skyband.pipeline.config import BadConfiguration, Endpoint
from skyband.pipeline.kafka import add_kafka, kafka_jars
from skyband.pipeline.options import Option, check_options
from skyband.pipeline.source.file_rows import BAD, read_files
from skyband.pipeline.source.generated import Maker, generate, make_maker
from skyband.pipeline.source.sampling import bytes_per_row
from skyband.pipeline.source.typed_rows import PARCEL

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

STARTS = ("earliest", "latest")
GENERATED_SAMPLE = 10_000
_RAW = "noun string, origin string, offset bigint, form string, value string"
_FILES = "path string, modificationTime timestamp, length bigint, content binary"
# Spark forgets files that are older than this beside the newest: a file that is put there late would be left out.
_LONGEST_AGE = "36500d"


class SourceKind(NamedTuple):
    """A format that a source can have."""

    name: str
    description: str
    options: dict[str, Option]


class _Place(NamedTuple):
    """What a source is read with, beside its options."""

    spark: SparkSession
    noun: str
    endpoint: Endpoint
    stream: bool
    max_rows: int | None
    packed: bool = False

    def option(self, name: str) -> Any:
        """The value of an option, None if it is not given."""
        return self.endpoint.options.get(name)

    def reader(self, format: str) -> Any:
        """A reader of Spark's."""
        return (self.spark.readStream if self.stream else self.spark.read).format(format)


_FOLDER = {
    "path": Option("the folder that files are put into, each whole and under its final name at once", str, True),
    "glob": Option("which files to read, such as *.csv; all unless given, but none that begins with . or _"),
    "max_files": Option("how many files a micro-batch takes at most, in place of a number of rows", int),
}
SOURCES: dict[str, SourceKind] = {
    kind.name: kind
    for kind in (
        SourceKind("parquet", "A folder of Parquet files, each read once.", _FOLDER),
        SourceKind("ndjson", "A folder of files with one JSON object per line, each read once; gzip is fine.", _FOLDER),
        SourceKind("csv", "A folder of CSV files with a header, each read once; gzip is fine.", _FOLDER),
        SourceKind(
            "log",
            "An embedded log with one JSON object per record.",
            {"path": Option("the folder of the log", str, True)},
        ),
        SourceKind(
            "kafka",
            "A topic in Kafka with one JSON object per message.",
            {
                "servers": Option("the brokers to ask first, such as localhost:9092", str, True),
                "topic": Option("the name of the topic, or several with commas between them", str, True),
                "starting": Option("where a new stream begins, earliest or latest; earliest unless given"),
                "options": Option("further settings of Kafka's clients, by their own names", dict),
            },
        ),
        SourceKind("broker", "What is published at one broker of a network: publications only.", ACCESS),
        SourceKind(
            "rate",
            "Made-up rows for trials: so many per second, or so many per micro-batch.",
            {
                "rows_per_second": Option("how many rows come per second", int),
                "rows_per_batch": Option("how many rows come per micro-batch, in place of rows_per_second", int),
                "rows": Option(f"how many a batch query reads; {GENERATED_SAMPLE} unless given", int),
                "generator": Option("what rows are made: family, seed, dims, gap_us and more", dict, True),
            },
        ),
    )
}


def read_source(
    spark: SparkSession, noun: str, endpoint: Endpoint, *, stream: bool, max_rows: int | None, packed: bool = False
) -> DataFrame:
    """The raw rows of a source, as a stream or all that are there now.

    `max_rows` bounds a micro-batch. Files are never divided: a batch takes as many as hold about so many rows, and at
    least one. With `packed`, a source with types may give many rows as one, see `skyband.pipeline.source.typed_rows`:
    that is quicker, and nothing for whoever counts or samples rows.
    """
    check_source(noun, endpoint)
    if max_rows is not None and max_rows < 1:
        raise ValueError(f"max_rows is a number from 1 up, not {max_rows}.")
    return _READERS[endpoint.format](_Place(spark, noun, endpoint, stream, max_rows, packed))


def check_source(noun: str, endpoint: Endpoint) -> None:
    """Raise `BadConfiguration` for a format or an option that there is not, or an option that is missing or wrong."""
    kind = SOURCES.get(endpoint.format)
    if kind is None:
        raise BadConfiguration(f"{noun}: there is no format {endpoint.format!r}; there are {', '.join(SOURCES)}.")
    check_options(noun, endpoint, kind.options)
    if endpoint.format == "broker" and noun != "publications":
        raise BadConfiguration(f"{noun}: a broker hands over what is published there, and nothing else.")
    _check_values(noun, endpoint.options)


def jars_of(endpoints: Iterable[Endpoint], options: Mapping[str, str] = {}) -> list[Path]:
    """The jars that a session with these options needs for sources and sinks, beside those that PySpark brings."""
    return kafka_jars(options) if any(endpoint.format == "kafka" for endpoint in endpoints) else []


def _check_values(noun: str, options: Mapping[str, Any]) -> None:
    if "path" in options and not Path(options["path"]).is_dir():
        raise BadConfiguration(f"{noun}: there is no folder {options['path']}; make it, or correct the path.")
    if options.get("starting", "earliest") not in STARTS:
        raise BadConfiguration(f"{noun}: starting is {' or '.join(STARTS)}, not {options['starting']!r}.")
    if "generator" in options:
        if ("rows_per_second" in options) == ("rows_per_batch" in options):
            raise BadConfiguration(f"{noun}: the format rate needs one of rows_per_second and rows_per_batch.")
        _maker(noun, options["generator"])


def _maker(noun: str, given: Mapping[str, Any]) -> Maker:
    try:
        return make_maker(given)
    except ValueError as error:
        raise BadConfiguration(f"{noun}: {error}") from None


def _files(place: _Place) -> DataFrame:
    folder, glob, format = os.path.abspath(place.option("path")), place.option("glob"), place.endpoint.format
    # Without it Spark takes folders named like year=2024 for columns.
    options: dict[str, Any] = {"recursiveFileLookup": True} | ({"pathGlobFilter": glob} if glob else {})
    if place.stream:
        options["maxFileAge"] = _LONGEST_AGE
        if place.option("max_files"):
            options["maxFilesPerTrigger"] = place.option("max_files")
        elif place.max_rows is not None:
            options["maxBytesPerTrigger"] = max(1, round(place.max_rows * bytes_per_row(Path(folder), format, glob)))
    # Spark keeps account of the files, and our own readers read them: only they number the rows.
    listed: DataFrame = place.reader("binaryFile").options(**options).schema(_FILES).load(folder).select("path")
    packed = place.packed and format == "parquet"
    read = partial(read_files, noun=place.noun, folder=folder, format=format, packed=packed)
    return listed.mapInArrow(read, f"{_RAW}, {PARCEL} binary" if packed else _RAW)


def _log(place: _Place) -> DataFrame:
    from pyspark.sql import functions

    from skyband.pipeline.source.log_source import NAME, LogDataSource

    place.spark.dataSource.register(LogDataSource)
    limit = {"maxRows": place.max_rows} if place.stream and place.max_rows else {}
    read = place.reader(NAME).options(path=os.path.abspath(place.option("path")), **limit).load()
    return _raw(place.noun, functions.lit("log"), read["offset"], read["value"], read)


def _kafka(place: _Place) -> DataFrame:
    from pyspark.sql import functions

    starting = place.option("starting") or "earliest"
    if not place.stream and starting == "latest":
        raise BadConfiguration(f"{place.noun}: a batch query of a topic cannot start with the latest message.")
    add_kafka(place.spark)
    own = {
        name if name.startswith("kafka.") else f"kafka.{name}": str(value)
        for name, value in (place.option("options") or {}).items()
    }
    options = own | {
        "kafka.bootstrap.servers": place.option("servers"),
        "subscribe": place.option("topic"),
        "startingOffsets": starting,
    }
    if place.stream and place.max_rows is not None:
        options["maxOffsetsPerTrigger"] = str(place.max_rows)
    read = place.reader("kafka").options(**options).load()
    origin = functions.concat_ws("/", read["topic"], read["partition"].cast("string"))
    text = read["value"].cast("string")
    shown = functions.concat(functions.lit(f"{BAD} the message is not UTF-8: "), functions.make_valid_utf8(text))
    value = functions.when(functions.is_valid_utf8(text), text).otherwise(shown)
    # A message without a value is no row, and is rejected as such.
    return _raw(place.noun, origin, read["offset"], functions.coalesce(value, functions.lit("null")), read)


def _broker(place: _Place) -> DataFrame:
    from skyband.pipeline.source.broker_source import NAME, BrokerDataSource

    place.spark.dataSource.register(BrokerDataSource)
    options = {name: str(value) for name, value in place.endpoint.options.items()}
    limit = {"maxRows": place.max_rows} if place.stream and place.max_rows else {}
    read = place.reader(NAME).options(**options, **limit).load()
    return _raw(place.noun, read["origin"], read["offset"], read["value"], read)


def _rate(place: _Place) -> DataFrame:
    from pyspark.sql import functions

    maker = _maker(place.noun, place.option("generator"))
    if not place.stream:
        read = place.spark.range(place.option("rows") or GENERATED_SAMPLE).select(functions.col("id").alias("value"))
    elif place.option("rows_per_batch"):
        read = place.reader("rate-micro-batch").option("rowsPerBatch", place.option("rows_per_batch")).load()
    else:
        read = place.reader("rate").option("rowsPerSecond", place.option("rows_per_second")).load()
    return read.select("value").mapInArrow(partial(generate, noun=place.noun, maker=maker), _RAW)


def _raw(noun: str, origin: Any, offset: Any, value: Any, read: DataFrame) -> DataFrame:
    from pyspark.sql import functions

    return read.select(
        functions.lit(noun).alias("noun"),
        origin.alias("origin"),
        offset.alias("offset"),
        functions.lit("json").alias("form"),
        value.alias("value"),
    )


_READERS: dict[str, Callable[[_Place], DataFrame]] = {
    **dict.fromkeys(("parquet", "ndjson", "csv"), _files),
    "log": _log,
    "kafka": _kafka,
    "broker": _broker,
    "rate": _rate,
}
