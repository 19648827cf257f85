"""The shape of a pipeline: what its stages need to know to read, route and match rows, kept beside the state.

A state folder is begun with one shape and keeps it. Workers read it once from there, so that no task carries the words.
"""

import json
from typing import Any, NamedTuple, cast

import pyarrow as pa

from skyband.contract import AnyEngine, Granularity, find_engine
from skyband.contract.family import FAMILIES
from skyband.pipeline.config import BadConfiguration, Config, Ids
from skyband.table import Bounds, Settings, Window, WindowKind, change_schema, match_schema, ranking_schema
from skyband.table.words import Words
from skyband.zoning import Zoning

ID_TYPES = {"text": pa.string(), "integers": pa.int64()}
OPS = ("subscribe", "unsubscribe", "resize", "advance")

# What a source yields; see docs/pipeline.md, and `skyband.pipeline.source.typed_rows` for many rows in one.
RAW = pa.schema(
    [
        ("noun", pa.string()),
        ("origin", pa.string()),
        ("offset", pa.int64()),
        ("form", pa.string()),
        ("value", pa.string()),
    ]
)


class Shape(NamedTuple):
    """How rows are read, divided among zones and matched."""

    family: str
    engine: str
    options: dict[str, Any]
    settings: Settings
    ids: Ids
    granularity: Granularity
    zoning: Zoning

    @property
    def n_zones(self) -> int:
        """Among how many engines the subscriptions are divided."""
        return self.zoning.n_zones

    def open_engine(self) -> AnyEngine:
        """A new engine for one zone. It has one thread: Spark has a zone at work on every core."""
        engine = find_engine(self.family, self.engine)
        return engine(self.settings, granularity=self.granularity, on_error="collect", threads=1, **self.options)

    def publications(self) -> pa.Schema:
        """The columns of a publication once it is prepared."""
        schema = FAMILIES[self.family].publications
        assert schema is not None
        return _with_ids(schema, id=self.ids.publications, object=self.ids.objects)

    def subscriptions(self) -> pa.Schema:
        """The columns of a subscription once it is prepared, and the time of an `advance`."""
        schema = _with_ids(FAMILIES[self.family].subscriptions, id=self.ids.subscriptions)
        return schema if "ts" in schema.names else schema.append(pa.field("ts", pa.int64()))

    def prepared(self) -> pa.Schema:
        """Rows after *prepare*: good ones as `asked` or `said`, bad ones with their text and the reason."""
        return pa.schema(
            [
                ("noun", pa.string()),
                ("origin", pa.string()),
                ("offset", pa.int64()),
                ("op", pa.string()),
                ("asked", pa.struct(list(self.subscriptions()))),
                ("said", pa.struct(list(self.publications()))),
                ("row", pa.string()),
                ("reason", pa.string()),
            ]
        )

    def routed(self) -> pa.Schema:
        """Rows after *route*: what each zone is to do, in which order within which batch."""
        return pa.schema(
            [
                ("batch", pa.int64()),
                ("zone", pa.int32()),
                ("place", pa.int64()),
                ("turn", pa.int64()),
                ("op", pa.string()),
                ("asked", pa.struct(list(self.subscriptions()))),
                ("said", pa.struct(list(self.publications()))),
            ]
        )

    def answers(self) -> pa.Schema:
        """What the engines answer: changes, or matches where answers do not stand."""
        asked_type, said_type = ID_TYPES[self.ids.subscriptions], self._said_type()
        if not FAMILIES[self.family].answers_stand:
            return match_schema(said_type, asked_type)
        return change_schema(asked_type, said_type)

    def _said_type(self) -> pa.DataType:
        """The type of the ids by which answers name publications."""
        return ID_TYPES[self.ids.objects if FAMILIES[self.family].has_objects else self.ids.publications]

    def rankings(self) -> pa.Schema:
        """The current tops; rank, publication and score are null where a top is empty."""
        schema = ranking_schema(ID_TYPES[self.ids.subscriptions], self._said_type())
        return pa.schema([field.with_nullable(field.name != "subscription") for field in schema])

    def to_json(self) -> str:
        """The shape as text, words included."""
        words = self.settings.words
        assert words is None or isinstance(words, Words)
        return json.dumps(
            {
                "family": self.family,
                "engine": self.engine,
                "options": self.options,
                "dims": self.settings.dims,
                "window": [int(self.settings.window.kind), self.settings.window.size],
                "bounds": self.settings.bounds.plain,
                "words": None if words is None else [words.documents, dict(words.frequencies)],
                "ids": list(self.ids),
                "granularity": self.granularity,
                "zoning": self.zoning.to_json(),
            },
            ensure_ascii=False,
        )


def make_shape(config: Config, zoning: Zoning) -> Shape:
    """The shape of a configuration, its subscriptions divided in this way."""
    if zoning.n_zones != config.zones or zoning.family != config.family:
        raise BadConfiguration(
            f"The zoning is for {zoning.n_zones} zones of {zoning.family}, and the configuration asks for "
            f"{config.zones} of {config.family}: fit it again with `skyband pipeline fit`."
        )
    shape = Shape(
        config.family, config.engine, dict(config.options), config.settings(), config.ids, config.granularity, zoning
    )
    try:
        shape.open_engine()
    except (TypeError, ValueError) as error:
        raise BadConfiguration(f"options: the engine {config.engine} cannot be opened with them: {error}") from None
    return shape


def parse_shape(text: str) -> Shape:
    """The shape that `to_json` wrote."""
    plain = json.loads(text)
    words = None if plain["words"] is None else Words(plain["words"][0], plain["words"][1])
    window = Window(WindowKind(plain["window"][0]), plain["window"][1])
    settings = Settings(plain["dims"], window, Bounds.of(plain["bounds"]), words)
    return Shape(
        plain["family"],
        plain["engine"],
        plain["options"],
        settings,
        Ids(*plain["ids"]),
        cast(Granularity, plain["granularity"]),
        Zoning.from_json(plain["zoning"]),
    )


def _with_ids(schema: pa.Schema, **kinds: str) -> pa.Schema:
    for name, kind in kinds.items():
        place = schema.get_field_index(name)
        if place >= 0:
            schema = schema.set(place, pa.field(name, ID_TYPES[kind]))
    return schema
