"""The verbs: what every engine does, in what order answers come, and how long a publication lives."""

from skyband.contract.engine import Engine, Granularity
from skyband.contract.horizon import Horizon
from skyband.contract.intake import FARTHEST, Ids, Intake
from skyband.contract.ranked import Matching, RankedEngine
from skyband.contract.registry import AnyEngine, engines, find_engine, register
from skyband.contract.rows import pack, take, unpack
from skyband.contract.snapshot import FORMAT, UnreadableSnapshot, snapshot_of
from skyband.contract.tops import Tops

__all__ = [
    "FARTHEST",
    "FORMAT",
    "AnyEngine",
    "Engine",
    "Granularity",
    "Horizon",
    "Ids",
    "Intake",
    "Matching",
    "RankedEngine",
    "Tops",
    "UnreadableSnapshot",
    "engines",
    "find_engine",
    "pack",
    "register",
    "snapshot_of",
    "take",
    "unpack",
]
