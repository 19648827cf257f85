"""The nouns: publications, subscriptions, changes and rankings, and how tables become them."""

from skyband.model import covering, geotext, ranges, ranked, window
from skyband.model.change import Op, change_schema, gate_schema, match_schema, ranking_schema, staircase_schema
from skyband.model.family import FAMILIES, Family, Parse, infer_family
from skyband.model.read import (
    Reading,
    Rows,
    Source,
    read_publications,
    read_subscriptions,
    read_table,
    to_table,
    write_table,
)
from skyband.model.reject import (
    MissingColumn,
    OnError,
    Reject,
    Rejected,
    UnreadableFile,
    rejects_table,
    shorten,
)
from skyband.model.settings import UNBOUNDED, Bounds, Settings, Window, WindowKind, WindowLike, Windows, WordModel
from skyband.model.show import aligned, show
from skyband.model.sieve import Parsed
from skyband.model.subscription import LARGEST_K
from skyband.model.window import Score

__all__ = [
    "FAMILIES",
    "LARGEST_K",
    "UNBOUNDED",
    "Bounds",
    "Family",
    "MissingColumn",
    "OnError",
    "Op",
    "Parse",
    "Parsed",
    "Reading",
    "Reject",
    "Rejected",
    "Rows",
    "Score",
    "Settings",
    "Source",
    "UnreadableFile",
    "Window",
    "WindowKind",
    "WindowLike",
    "Windows",
    "WordModel",
    "aligned",
    "change_schema",
    "covering",
    "gate_schema",
    "geotext",
    "infer_family",
    "match_schema",
    "ranges",
    "ranked",
    "ranking_schema",
    "read_publications",
    "read_subscriptions",
    "read_table",
    "rejects_table",
    "shorten",
    "show",
    "staircase_schema",
    "to_table",
    "window",
    "write_table",
]
