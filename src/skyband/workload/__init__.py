"""Seeded workloads: subscriptions and publications for every family, with the papers' parameters as defaults.

Each family is a module with `Options`, `subscriptions(options)` and `generate(options)`; where
publications may be more than fit in memory there is also `stream(options, batch)`.
"""

import importlib
from types import ModuleType
from typing import Any

from skyband.workload.table import Workload

__all__ = ["FAMILIES", "STREAMS", "Workload"]


def _room(family: str) -> ModuleType:
    return importlib.import_module(f"skyband.{family}.workload")


def __getattr__(name: str) -> Any:
    if name == "FAMILIES":
        rooms = {family: _room(family) for family in ("window", "geotext", "ranges", "ranked", "covering")}
        return {family: (room.Options, room.generate) for family, room in rooms.items()}
    if name == "STREAMS":
        rooms = {family: _room(family) for family in ("window", "geotext", "ranges")}
        return {family: (room.subscriptions, room.stream) for family, room in rooms.items()}
    if name in ("window", "geotext", "ranges", "ranked", "covering"):
        return _room(name)
    raise AttributeError(name)
