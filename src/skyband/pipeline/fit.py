"""Fitting as Spark jobs: how often words occur, and how subscriptions are best divided among zones."""

from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (the name that Spark's own documentation uses)

from skyband.contract.family import FAMILIES
from skyband.pipeline.config import BadConfiguration, Config
from skyband.pipeline.source.source import read_source
from skyband.pipeline.stage import worker
from skyband.pipeline.stage.frames import spark_schema
from skyband.pipeline.stage.prepare import rounds
from skyband.pipeline.stage.structs import unfolded, whole
from skyband.pipeline.state.spec import Shape
from skyband.table import Settings
from skyband.table.words import Words
from skyband.zoning import Zoning, fit

# How many rows are looked at to divide the subscriptions.
SAMPLE = 20_000
SEED = 7


def fit_words(spark: SparkSession, config: Config) -> Words:
    """How many publications there are, and in how many of them each word occurs."""
    if not FAMILIES[config.family].has_words:
        raise BadConfiguration(f"The family {config.family} has no words to fit.")
    raw = read_source(spark, "publications", config.publications, stream=False, max_rows=None)
    documents = raw.mapInArrow(worker.documents, "words array<string>").where(F.col("words").isNotNull())
    counted = documents.select(F.explode("words").alias("word")).groupBy("word").count().toArrow()
    n_documents = documents.count()
    frequencies = dict(zip(counted["word"].to_pylist(), counted["count"].to_pylist(), strict=True))
    return Words(n_documents, {word: frequencies[word] for word in sorted(frequencies)})


def fit_zoning(spark: SparkSession, config: Config, sample: int = SAMPLE) -> Zoning:
    """Zones that divide the load of a sample of the sources evenly."""
    settings = config.settings()
    subscriptions = _sample(spark, config, settings, "subscriptions", sample)
    publications = _sample(spark, config, settings, "publications", sample)
    return fit(config.family, subscriptions, publications, config.zones, settings)


def find_zoning(spark: SparkSession, config: Config) -> Zoning:
    """The zoning that the configuration names, or one that is fitted now to what the sources hold."""
    if config.zoning is not None:
        try:
            return Zoning.from_json(config.zoning.read_text(encoding="utf-8"))
        except (OSError, KeyError, TypeError, ValueError) as error:
            raise BadConfiguration(
                f"zoning: {config.zoning} cannot be read ({error}); make it with `skyband pipeline fit`."
            ) from None
    if config.zones == 1:
        return unfitted(config)
    return fit_zoning(spark, config)


def unfitted(config: Config) -> Zoning:
    """Zones that know nothing of the data."""
    settings = config.settings()
    subscriptions, publications = (_parsed(config, settings, noun, None) for noun in ("subscriptions", "publications"))
    return fit(config.family, subscriptions, publications, config.zones, settings)


def _sample(spark: SparkSession, config: Config, settings: Settings, noun: str, most: int) -> Any:
    """Up to so many good rows of a source, chosen at random, as arrays."""
    endpoint = config.subscriptions if noun == "subscriptions" else config.publications
    raw: DataFrame = read_source(spark, noun, endpoint, stream=False, max_rows=None)
    n_rows = raw.count()
    chosen = raw if n_rows <= most else raw.sample(fraction=min(1.0, 1.1 * most / n_rows), seed=SEED).limit(most)
    shape = Shape(
        config.family,
        config.engine,
        dict(config.options),
        settings,
        config.ids,
        config.granularity,
        unfitted_zone(config),
    )
    prepared = chosen.mapInArrow(partial(worker.prepare_as, shape=shape), spark_schema(shape.prepared())).toArrow()
    return _parsed(config, settings, noun, prepared)


def unfitted_zone(config: Config) -> Zoning:
    """A single zone."""
    return unfitted(config._replace(zones=1))


def _parsed(config: Config, settings: Settings, noun: str, prepared: pa.Table | None) -> Any:
    family = FAMILIES[config.family]
    parse = family.parse_subscriptions if noun == "subscriptions" else family.parse_publications
    schema = family.subscriptions if noun == "subscriptions" else family.publications
    assert parse is not None
    assert schema is not None
    if prepared is None:
        return parse(schema.empty_table(), settings).rows
    wanted = pc.equal(prepared["op"], "subscribe" if noun == "subscriptions" else "publish")
    structs = whole(prepared.filter(wanted)["asked" if noun == "subscriptions" else "said"])
    # An id may occur in several batches of a stream; here its first row will do.
    first = next(rounds(structs.field("id"), np.arange(len(structs)), unique=True), np.empty(0, np.int64))
    chosen = structs.take(pa.array(first))
    return parse(unfolded(chosen) if len(chosen) else schema.empty_table(), settings).rows
