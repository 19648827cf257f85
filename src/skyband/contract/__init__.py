"""The verbs: what every engine does, in what order answers come, and how long a publication lives."""

from skyband.contract.checked import Checked, Given, check
from skyband.contract.engine import Engine, Granularity
from skyband.contract.family import FAMILIES, Family, Parse, check_settings, infer_family
from skyband.contract.horizon import Horizon
from skyband.contract.intake import Ids, Intake
from skyband.contract.reading import ReadRows, read_publications, read_subscriptions
from skyband.contract.registry import AUTO, AnyEngine, engines, find_engine, register
from skyband.contract.rows import pack, take, unpack
from skyband.contract.snapshot import FORMAT, UnreadableSnapshot, snapshot_of
from skyband.contract.tops import Tops
from skyband.table.instant import FARTHEST

__all__ = [
    "AUTO",
    "FAMILIES",
    "FARTHEST",
    "FORMAT",
    "AnyEngine",
    "Checked",
    "Engine",
    "Family",
    "Given",
    "Granularity",
    "Horizon",
    "Ids",
    "Intake",
    "Parse",
    "ReadRows",
    "Tops",
    "UnreadableSnapshot",
    "check",
    "check_settings",
    "engines",
    "find_engine",
    "infer_family",
    "pack",
    "read_publications",
    "read_subscriptions",
    "register",
    "snapshot_of",
    "take",
    "unpack",
]
